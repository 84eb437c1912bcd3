/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Independent legs without a bond: every worker has an address on each leg, and the transport uses
 * all of them at the same time. The host keeps the legs apart: packets that arrive on a leg are
 * answered via the same leg.
 */
#include "plugins/plugins.h"
#include <string.h>

static void dual_leg_check(const struct spec *s, struct diag *d)
{
	ha_refuse_bond(s, d);
	if (s->n_nets < 2)
		diag_add(d, DIAG_ERROR, &s->ha_pos, "ha.mode",
			 "dual-leg needs at least two devices; add entries to 'net', or write "
			 "mode: none");
	for (size_t i = 0; i < s->n_nets; i++)
		for (size_t j = 0; j < i; j++) {
			if (strcmp(s->nets[i].network, s->nets[j].network) != 0)
				continue;
			ha_net_error(d, s, i, "network",
				     "'%s' is also the network of '%s'; with dual-leg each device "
				     "needs its own network",
				     s->nets[i].network, s->nets[j].name);
			break;
		}
}

const struct planner_ops ha_dual_leg_planner = {
	.mode = SPEC_HA_DUAL_LEG,
	.check = dual_leg_check,
};
