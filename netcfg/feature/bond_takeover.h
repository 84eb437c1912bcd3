/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What others have put on the devices that become ports of a bond of ours: a port's addresses and
 * routes are dead, so with the operator's word (--force) they move to the bond, all in the one plan
 * that takes the ports, and stay their owners'. The same goes for a bond of others all of whose
 * ports come over. Without that word the device is refused. Called by plan_bond.c alone.
 */
#ifndef PLENUM_NETCFG_PLAN_MOVE_H
#define PLENUM_NETCFG_PLAN_MOVE_H

#include "netcfg/plan/planner.h"

/* Whether the link, which is no port of a bond of ours, cannot become one: something of others is
 * on it that nobody has forced, or that cannot be moved. True and *why. */
bool bond_takeover_is_refused(struct plan_builder *b, const struct inv_link *l, struct reason *why);
/* The steps that move it all, once the members are known. 0, -ENOMEM. */
int bond_takeover_want(struct plan_builder *b, const struct plan_leg *leg);

#endif
