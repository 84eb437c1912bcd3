/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks whether a change cut off the data network: each peer and gateway that answered on a leg
 * before the change must answer on it afterwards, with frames of the leg's MTU if it did before.
 * Addresses that the new configuration no longer names are skipped, and so are peers that did not
 * answer before. Pings via kernel_ops.ping and changes nothing. Called by the applier.
 */
#ifndef PLENUM_NETCFG_APPLY_REACH_H
#define PLENUM_NETCFG_APPLY_REACH_H

#include "netcfg/plan/plan.h"

#define APPLY_REACH_MAX 128 /* maximum number of targets */

struct apply_reach_target {
	char leg[PLENUM_NAME_MAX];
	struct ip_addr to;
	bool gateway; /* the gateway of the leg's network; else a peer */
	bool full;    /* frames of the leg's MTU were answered, too */
};

struct apply_reach {
	struct apply_reach_target targets[APPLY_REACH_MAX]; /* those that answered */
	size_t n;
};

/* Finds the targets that answer now, with the configuration `running` (NULL: nothing runs, so
 * none). Takes at most a second. 0; negative errno: unknown, ret is empty. */
int apply_reach_before(struct kernel *k, const struct spec *running, const struct plan_context *ctx,
		       struct apply_reach *ret);
/* Checks that they answer with the new, applied configuration, until deadline_ns of clock_now_ns.
 * 0; -EHOSTUNREACH with each silent target as an error in d; other negative errno. */
int apply_reach_after(struct kernel *k, const struct spec *spec, const struct plan_context *ctx,
		      const struct apply_reach *before, uint64_t deadline_ns, struct diag *d);

#endif
