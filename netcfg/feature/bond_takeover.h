/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a device becomes a port of Plenum's bond, moves other programs' addresses and routes from
 * the device to the bond, because addresses on a port do not work. This needs --force; without it
 * the plan refuses the device. All moves are steps of the plan that makes the device a port, and
 * the objects keep the protocol numbers of their programs. If another program's bond loses all its
 * ports to the new bond, its addresses and routes move as well. Only plan_bond.c calls these
 * functions.
 */
#ifndef PLENUM_NETCFG_BOND_TAKEOVER_H
#define PLENUM_NETCFG_BOND_TAKEOVER_H

#include "netcfg/plan/planner.h"

/* Returns true and sets why if the link, which is not yet a port of Plenum's bond, cannot become
 * one because of other programs' objects: they cannot move, or --force does not allow the move. */
bool bond_takeover_is_refused(struct plan_builder *b, const struct inv_link *l, struct reason *why);
/* Adds the steps that move the objects, after the members of the bond are known. Returns 0 or
 * -ENOMEM. */
int bond_takeover_want(struct plan_builder *b, const struct plan_leg *leg);

#endif
