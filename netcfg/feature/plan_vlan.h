/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Legs on a tagged network: a VLAN link on the leg's device, ours or one that the spec names. Used
 * by plan_leg.c and plan_want.c alone.
 */
#ifndef PLENUM_NETCFG_PLAN_VLAN_H
#define PLENUM_NETCFG_PLAN_VLAN_H

#include "netcfg/plan/planner.h"

/* Adds the VLAN links to the projected inventory that legs need and the host does not have yet. 0,
 * -ENOMEM. */
int plan_vlan_project(struct plan_builder *b);
/* The same for one device, as a bond that is made itself: its VLAN is projected after it. */
int plan_vlan_project_on(struct plan_builder *b, const struct spec_network *network,
			 const struct inv_link *device);
/* The device of a leg for the link that its spec names: what is below a VLAN of ours, else itself.
 */
const struct inv_link *plan_vlan_device(const struct plan_builder *b,
					const struct spec_network *network,
					const struct inv_link *named);
/* The link that has the leg's addresses: the device where the network is untagged, else its VLAN.
 * NULL: there cannot be one, and why. */
const struct inv_link *plan_vlan_link(const struct plan_builder *b,
				      const struct spec_network *network,
				      const struct inv_link *device, struct reason *why);
/* True and why where the leg's device must not be what it has to be for the VLAN on it. */
bool plan_vlan_device_refusal(const struct plan_builder *b, const struct spec_network *network,
			      const struct inv_link *device, struct reason *why);
/* What a VLAN is on that the spec names itself, and that is not ours to change; NULL: the leg is
 * not on such a one. */
const struct inv_link *plan_vlan_lower(const struct plan_builder *b, const struct plan_leg *leg);
/* True and why while what it is on is down: the kernel would not bring the VLAN up. */
bool plan_vlan_waits(const struct plan_builder *b, const struct plan_leg *leg, struct reason *why);
/* The device up and large enough, and the VLAN on it. 0, -ENOMEM. */
int plan_vlan_want(struct plan_builder *b, const struct plan_leg *leg);

#endif
