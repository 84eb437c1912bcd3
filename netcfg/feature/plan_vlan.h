/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The feature `vlan`: legs on a tagged network, with a VLAN link on the leg's device, ours or one
 * that the spec names.
 */
#ifndef PLENUM_NETCFG_PLAN_VLAN_H
#define PLENUM_NETCFG_PLAN_VLAN_H

#include "netcfg/plan/planner.h"

/* Adds the missing VLAN links to the projected inventory. 0, -ENOMEM. */
int plan_vlan_project(struct plan_builder *b);
/* The same for one device, such as a bond that the plan creates. */
int plan_vlan_project_on(struct plan_builder *b, const struct spec_network *network,
			 const struct inv_link *device);
/* The device of a leg: the parent if the spec names a VLAN of ours, else the named link. */
const struct inv_link *plan_vlan_device(const struct plan_builder *b,
					const struct spec_network *network,
					const struct inv_link *named);
/* The link with the leg's addresses: the device itself on an untagged network, else its VLAN.
 * NULL: impossible, and why. */
const struct inv_link *plan_vlan_link(const struct plan_builder *b,
				      const struct spec_network *network,
				      const struct inv_link *device, struct reason *why);
/* True and why if the leg's device must not change as its VLAN needs. */
bool plan_vlan_device_refusal(const struct plan_builder *b, const struct spec_network *network,
			      const struct inv_link *device, struct reason *why);
/* The parent of a VLAN that the spec names itself, and that Plenum never changes; NULL: the leg is
 * not on such a VLAN. */
const struct inv_link *plan_vlan_lower(const struct plan_builder *b, const struct plan_leg *leg);
/* True and why while the parent is down: the kernel would not bring the VLAN up. */
bool plan_vlan_waits(const struct plan_builder *b, const struct plan_leg *leg, struct reason *why);
/* Adds the desired state: the parent up with a sufficient MTU, and the VLAN on it. 0, -ENOMEM. */
int plan_vlan_want(struct plan_builder *b, const struct plan_leg *leg);

#endif
