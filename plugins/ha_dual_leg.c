/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Independent legs without a bond: every worker has an address on each, and the transport uses all
 * of them at once. The host's part is to keep them apart: what comes in by a leg is answered by it.
 */
#include "plugins/plugins.h"
#include <string.h>

static void dual_leg_check(const struct spec *s, struct diag *d)
{
	ha_refuse_bond(s, d);
	if (s->n_nets < 2)
		diag_add(d, DIAG_ERROR, &s->ha_pos, "ha.mode",
			 "dual-leg needs at least two devices; add them to net, or write mode: "
			 "none");
	for (size_t i = 0; i < s->n_nets; i++)
		for (size_t j = 0; j < i; j++) {
			if (strcmp(s->nets[i].network, s->nets[j].network) != 0)
				continue;
			ha_net_error(d, s, i, "network",
				     "'%s' is the network of '%s' too; with dual-leg each device "
				     "has a network of its own",
				     s->nets[i].network, s->nets[j].name);
			break;
		}
}

int ha_dual_leg_legs(struct plan_builder *b)
{
	int r = 0;

	for (size_t i = 0; i < b->spec->n_nets && r == 0; i++)
		r = planner_leg_add(b, i);
	return r;
}

int ha_dual_leg_want(struct plan_builder *b)
{
	int r = 0;

	for (size_t i = 0; i < b->n_legs && r == 0; i++)
		r = planner_want_leg(b, &b->legs[i]);
	return r;
}

const struct planner_ops ha_dual_leg_planner = {
	.mode = SPEC_HA_DUAL_LEG,
	.check = dual_leg_check,
	.legs = ha_dual_leg_legs,
	.want = ha_dual_leg_want,
};
