/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two links of a leg: its device, and the link with its data, which is the device itself or a
 * VLAN on it. Only chooses; the feature `vlan` (netcfg/feature/plan_vlan.h) creates VLANs.
 */
#ifndef PLENUM_NETCFG_VLAN_LINK_H
#define PLENUM_NETCFG_VLAN_LINK_H

#include "netcfg/plan/planner.h"

/* The name of a VLAN that Plenum creates on that device. */
void vlan_link_name(const struct inv_link *device, uint16_t id, char ret[static IFNAMSIZ]);
/* The device of a leg: the parent if the spec names a VLAN of ours, else the named link. */
const struct inv_link *vlan_link_device(const struct plan_builder *b,
					const struct spec_network *network,
					const struct inv_link *named);
/* The link with the leg's addresses: the device itself on an untagged network, else its VLAN.
 * NULL: impossible, and why. */
const struct inv_link *vlan_link_choose(const struct plan_builder *b,
					const struct spec_network *network,
					const struct inv_link *device, struct reason *why);
/* True and why if the leg's device must not change as its VLAN needs. */
bool vlan_link_parent_refusal(const struct plan_builder *b, const struct spec_network *network,
			      const struct inv_link *device, struct reason *why);
/* The parent of a VLAN that the spec names itself, and that Plenum never changes; NULL: the leg is
 * not on such a VLAN. */
const struct inv_link *vlan_link_parent(const struct plan_builder *b, const struct plan_leg *leg);
/* True and why while the parent is down: the kernel would not bring the VLAN up. */
bool vlan_link_waits(const struct plan_builder *b, const struct plan_leg *leg, struct reason *why);

#endif
