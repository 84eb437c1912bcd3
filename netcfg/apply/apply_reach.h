/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks whether a change cut off the data network. Each peer and gateway that answered on a leg
 * before the change must answer on it afterwards. If the target answered frames of the leg's MTU
 * before the change, it must answer such frames again. Addresses that the new configuration does
 * not have are skipped. The functions send pings via kernel_ops.ping and change nothing. The
 * applier calls them.
 */
#ifndef PLENUM_NETCFG_APPLY_REACH_H
#define PLENUM_NETCFG_APPLY_REACH_H

#include "netcfg/plan/plan.h"

#define APPLY_REACH_MAX 128 /* maximum number of targets */

struct apply_reach_target {
	char leg[PLENUM_NAME_MAX];
	struct ip_addr to;
	bool gateway; /* the target is the gateway of the leg's network; otherwise a peer */
	bool full;    /* the target also answered frames of the leg's MTU */
};

struct apply_reach {
	struct apply_reach_target targets[APPLY_REACH_MAX]; /* the targets that answered */
	size_t n;
};

/* Finds the targets of the configuration `running` that answer now. running NULL: nothing runs, so
 * nothing is a target. Takes at most a second. Returns 0, or negative errno with an empty ret. */
int apply_reach_before(struct kernel *k, const struct spec *running, const struct plan_context *ctx,
		       struct apply_reach *ret);
/* Checks until deadline_ns of clock_now_ns() that these targets answer with the new, applied
 * configuration. Returns 0, -EHOSTUNREACH with an error in d for each target that does not answer,
 * or another negative errno. */
int apply_reach_after(struct kernel *k, const struct spec *spec, const struct plan_context *ctx,
		      const struct apply_reach *before, uint64_t deadline_ns, struct diag *d);

#endif
