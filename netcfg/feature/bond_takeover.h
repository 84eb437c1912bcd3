/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves addresses and routes of other programs from devices that become ports of our bond to the
 * bond, because addresses on a port do not work. This needs --force; without it the plan refuses
 * the device. All moves happen in the plan that takes the ports, and the objects still belong to
 * their owners. A foreign bond that loses all its ports to ours is treated the same way. Called
 * only by plan_bond.c.
 */
#ifndef PLENUM_NETCFG_BOND_TAKEOVER_H
#define PLENUM_NETCFG_BOND_TAKEOVER_H

#include "netcfg/plan/planner.h"

/* Whether the link, not yet a port of our bond, cannot become one: it carries foreign objects that
 * cannot move, or whose move is not forced. True and *why. */
bool bond_takeover_is_refused(struct plan_builder *b, const struct inv_link *l, struct reason *why);
/* Adds the steps that move the objects, once the members are known. 0, -ENOMEM. */
int bond_takeover_want(struct plan_builder *b, const struct plan_leg *leg);

#endif
