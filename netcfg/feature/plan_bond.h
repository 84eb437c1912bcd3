/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bond made of the data devices: which of them can be its ports, the bond as a link that the rest
 * of the plan stands on, and what the host shall have for it. Which mode it has and which rules
 * hold is said by the planners in plugins/, which call these in the order below; each does nothing
 * more than its comment says.
 *
 * From plan_bond_project on, b->spec has the bond as its one data device, so that legs, workers,
 * VLANs and steps are planned on it as on any other; the devices as written are in b->given.
 */
#ifndef PLENUM_NETCFG_PLAN_BOND_H
#define PLENUM_NETCFG_PLAN_BOND_H

#include "netcfg/plan/planner.h"

/* Judges the devices and adds the bond to what is planned on, made if it is not there. 0, -ENOMEM.
 */
int plan_bond_project(struct plan_builder *b, const struct inv_bond_setting *setting);
/* The port of a member as it is now; NULL: it is none of the bond yet. */
const struct inv_bond_port *plan_bond_port(const struct plan_builder *b,
					   const struct plan_member *m);
/* The ports of NICs that a leg is on, and what is asked of each: the leg's device, or those of the
 * bond's members that are there. How many. */
struct plan_place {
	const struct spec_net *net;
	const struct inv_link *link;
};
size_t plan_bond_places(const struct plan_builder *b, const struct plan_leg *leg,
			struct plan_place ret[static PLAN_PORTS_MAX]);
/* The bond's link as it is; NULL: it is not there yet. */
const struct inv_link *plan_bond_link(const struct plan_builder *b);
/* Notes why a member carries less than it could: its own state, and the bond's. */
void plan_bond_blame(struct plan_builder *b, struct plan_member *m, const struct reason *why);
/* The leg of the bond, and a row for each member. 0, -ENOMEM. */
int plan_bond_legs(struct plan_builder *b);
/* The bond, its ports and settings, and all that a leg wants. 0, -ENOMEM. */
int plan_bond_want(struct plan_builder *b);

#endif
