/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two links of a leg: its device, and the link with its data IPs, which is the device itself or
 * a VLAN on it. These functions only choose links; the feature `vlan` (netcfg/feature/plan_vlan.c)
 * creates VLANs.
 */
#ifndef PLENUM_NETCFG_VLAN_LINK_H
#define PLENUM_NETCFG_VLAN_LINK_H

#include "netcfg/plan/planner.h"

/* Writes the name of a VLAN that Plenum creates on that device. */
void vlan_link_name(const struct inv_link *device, uint16_t id, char ret[static IFNAMSIZ]);
/* Returns the device of a leg: the link that the spec names or, if that is a VLAN of Plenum, its
 * parent. */
const struct inv_link *vlan_link_device(const struct plan_builder *b,
					const struct spec_network *network,
					const struct inv_link *named);
/* Returns the link with the leg's addresses: the device itself on an untagged network, otherwise
 * its VLAN. Returns NULL and sets why if there cannot be such a link. */
const struct inv_link *vlan_link_choose(const struct plan_builder *b,
					const struct spec_network *network,
					const struct inv_link *device, struct reason *why);
/* Returns true and sets why if the leg's VLAN needs a change of the device that must not be
 * made. */
bool vlan_link_parent_refusal(const struct plan_builder *b, const struct spec_network *network,
			      const struct inv_link *device, struct reason *why);
/* If the spec itself names the leg's VLAN, returns the VLAN's parent, which Plenum never changes;
 * otherwise returns NULL. */
const struct inv_link *vlan_link_parent(const struct plan_builder *b, const struct plan_leg *leg);
/* Returns true and sets why while the parent is down, because the kernel would not bring the VLAN
 * up. */
bool vlan_link_waits(const struct plan_builder *b, const struct plan_leg *leg, struct reason *why);

#endif
