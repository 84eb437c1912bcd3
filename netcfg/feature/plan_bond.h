/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Forms a bond from the data devices: checks which devices can be ports, adds the bond to the
 * planned host as a link, and adds its desired state. The planners in plugins/ define the modes and
 * call these functions in the order below.
 *
 * After plan_bond_project, b->spec has the bond as its only data device, so that legs, workers,
 * VLANs and steps are planned as on any other device. b->given has the devices as the operator
 * wrote them.
 */
#ifndef PLENUM_NETCFG_PLAN_BOND_H
#define PLENUM_NETCFG_PLAN_BOND_H

#include "netcfg/plan/planner.h"

/* Checks the devices and adds the bond, new or existing, to the planned host. Returns 0 or
 * -ENOMEM. */
int plan_bond_project(struct plan_builder *b, const struct inv_bond_setting *setting);
/* Returns the member's present state as a port of the bond, or NULL if it is not in the bond
 * yet. */
const struct inv_bond_port *plan_bond_port(const struct plan_builder *b,
					   const struct plan_member *m);
/* Finds the NIC ports of a leg, each with its entry in the spec. The ports are the leg's device or,
 * if the leg is a bond, the available members of the bond. Returns their number. */
struct plan_place {
	const struct spec_net *net;
	const struct inv_link *link;
};
size_t plan_bond_places(const struct plan_builder *b, const struct plan_leg *leg,
			struct plan_place ret[static PLAN_PORTS_MAX]);
/* Returns the link of the existing bond, or NULL if the bond does not exist yet. */
const struct inv_link *plan_bond_link(const struct plan_builder *b);
/* Marks a member and the bond as degraded, with a reason. */
void plan_bond_blame(struct plan_builder *b, struct plan_member *m, const struct reason *why);
/* Adds the leg of the bond, and an entry in the plan for each member. Returns 0 or -ENOMEM. */
int plan_bond_legs(struct plan_builder *b);
/* Adds the desired state: the bond, its ports and settings, and its leg. Returns 0 or -ENOMEM. */
int plan_bond_want(struct plan_builder *b);

#endif
