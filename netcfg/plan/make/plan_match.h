/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selects the devices of the legs that have `match` instead of `device`. The choice depends only on
 * the host and on the spec, not on the order of devices: exactly one device must match. A leg keeps
 * its recorded device (transport_choice.h) over reboots and restarts of the agent, also if that
 * device does not match any more. Only an operator's apply selects another device.
 */
#ifndef PLENUM_NETCFG_PLAN_MATCH_H
#define PLENUM_NETCFG_PLAN_MATCH_H

#include "netcfg/plan/planner.h"

/* Replaces resolved->nets by a copy in which each selected device has its interface name, and sets
 * b->picks. The caller frees the copy. Returns 0 or -ENOMEM. */
int plan_match_resolve(struct plan_builder *b, struct spec *resolved);
/* Returns what was selected for a leg of b->given, or NULL if its device is named. */
const struct plan_pick *plan_match_pick(const struct plan_builder *b, const struct spec_net *net);
/* Writes the device of the leg, and its match as text, into the plan. */
void plan_match_show(const struct plan_builder *b, const struct spec_net *net,
		     struct plan_leg_info *info);

#endif
