/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Independent legs without a bond: every worker has an address on each, and the transport uses all
 * of them at once. The host's part is to keep them apart: what comes in by a leg is answered by it.
 */
#include "plugins/plugins.h"

static int dual_leg_legs(struct plan_builder *b)
{
	int r = 0;

	if (b->spec->n_nets < 2)
		diag_add(b->d, DIAG_ERROR, b->spec->n_nets ? &b->spec->nets[0].pos : NULL,
			 "ha.mode",
			 "dual-leg needs two data devices, but %zu %s given; add one under net or "
			 "write mode: none",
			 b->spec->n_nets, b->spec->n_nets == 1 ? "is" : "are");
	for (size_t i = 0; i < b->spec->n_nets && r == 0; i++)
		r = planner_leg_add(b, i);
	return r;
}

static int dual_leg_want(struct plan_builder *b)
{
	int r = 0;

	for (size_t i = 0; i < b->n_legs && r == 0; i++)
		r = planner_want_leg(b, &b->legs[i]);
	return r;
}

const struct planner_ops ha_dual_leg_planner = {
	.mode = SPEC_HA_DUAL_LEG,
	.legs = dual_leg_legs,
	.want = dual_leg_want,
};
