/* SPDX-License-Identifier: BSD-3-Clause */
/* Mode none: one data device without redundancy. */
#include "plugins/plugins.h"

/* Accepts more than one device, because an operator who stages changes may set the mode last;
 * none_legs() reports an error if the plan has more than one. */
static void none_check(const struct spec *s, struct diag *d)
{
	ha_refuse_bond(s, d);
}

static int none_legs(struct plan_builder *b)
{
	size_t n_enabled = 0;
	int r = 0;

	for (size_t i = 0; i < b->spec->n_nets && r == 0; i++) {
		n_enabled += b->spec->nets[i].enabled;
		if (n_enabled < 2 || !b->spec->nets[i].enabled)
			r = planner_leg_add(b, i);
	}
	if (n_enabled > 1)
		diag_add(b->d, DIAG_ERROR, &b->spec->nets[1].pos, "ha.mode",
			 "mode none uses one leg, but 'net' has %zu; write mode: dual-leg, or "
			 "remove all legs but one",
			 n_enabled);
	return r;
}

const struct planner_ops ha_none_planner = {
	.mode = SPEC_HA_NONE,
	.check = none_check,
	.legs = none_legs,
};
