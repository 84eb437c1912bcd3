/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a change has cut the data network off, by those who would notice: each peer and gateway
 * that answered on a leg before must answer on it afterwards, with frames as large as the leg's MTU
 * where it did so before. What the new configuration no longer names is not asked for, and where
 * nobody answered before nothing is known. Asks by kernel_ops.ping; changes nothing. Called by the
 * applier.
 */
#ifndef PLENUM_NETCFG_APPLY_REACH_H
#define PLENUM_NETCFG_APPLY_REACH_H

#include "netcfg/plan/plan.h"

#define APPLY_REACH_MAX 128	   /* who is asked, at most; more would tell no more */
#define PLAN_FORCE_PROBES "probes" /* --force: their answers do not count */

struct apply_reach_target {
	char leg[PLENUM_NAME_MAX];
	struct ip_addr to;
	bool gateway; /* of the leg's network, whichever that is; else a peer */
	bool full;    /* frames of the leg's MTU were answered too */
};

struct apply_reach {
	struct apply_reach_target targets[APPLY_REACH_MAX]; /* those that answered */
	size_t n;
};

/* Who answers now, with `running` (NULL: nothing runs, so nobody). Takes a second at most. 0;
 * negative errno: it cannot be known, ret is empty. */
int apply_reach_before(struct kernel *k, const struct spec *running, const struct plan_context *ctx,
		       struct apply_reach *ret);
/* Whether they do with the new configuration, which is applied, until deadline_ns of clock_now_ns.
 * 0; -EHOSTUNREACH with each that does not as an error in d; other negative errno. */
int apply_reach_after(struct kernel *k, const struct spec *spec, const struct plan_context *ctx,
		      const struct apply_reach *before, uint64_t deadline_ns, struct diag *d);

#endif
