/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the link of a leg on its device: the device itself, or a VLAN on it. */
#include "netcfg/plan/make/vlan_link.h"
#include "netcfg/base/hash.h"
#include "netcfg/host/kernel.h"
#include "netcfg/plan/plan_guard.h"
#include <stdio.h>
#include <string.h>

/* Writes a name of the usual form, "eth1.100" or, if that is too long, a name that contains a hash
 * of the usual name. */
void vlan_link_name(const struct inv_link *device, uint16_t id, char ret[static IFNAMSIZ])
{
	static const uint64_t key[2] = {0x706c656e756d0000, 0x766c616e00000000};
	char name[IFNAMSIZ + 8];
	int len = snprintf(name, sizeof(name), "%s.%u", device->name, id);

	if (len >= IFNAMSIZ)
		len = snprintf(
			name, sizeof(name), "pl%06x.%u",
			(unsigned)(hash_keyed(key, device->name, strlen(device->name)) & 0xffffff),
			id);
	memcpy(ret, name, (size_t)len + 1);
}

const struct inv_link *vlan_link_device(const struct plan_builder *b,
					const struct spec_network *network,
					const struct inv_link *named)
{
	const struct inv_link *lower =
		network->vlan && named->kind == INV_LINK_VLAN && kernel_link_is_ours(named)
			? inv_link_by_index(b->inv, named->lower)
			: NULL;

	return lower ? lower : named;
}

/* Returns the VLAN that the spec names as the leg's device, which Plenum uses without changes.
 * Returns NULL and sets why if its VLAN id differs from that of the network. */
static const struct inv_link *named_vlan(const struct spec_network *network,
					 const struct inv_link *device, struct reason *why)
{
	if (device->vlan == network->vlan)
		return device;
	reason_set(
		why, "vlan-differs",
		"%s has VLAN id %u, but network %.*s uses %u; write its parent device, or vlan: %u",
		device->name, device->vlan, PLENUM_NAME_MAX, network->name, network->vlan,
		device->vlan);
	return NULL;
}

const struct inv_link *vlan_link_choose(const struct plan_builder *b,
					const struct spec_network *network,
					const struct inv_link *device, struct reason *why)
{
	const struct inv_link *l;
	char name[IFNAMSIZ];

	if (!network->vlan)
		return device;
	if (device->kind == INV_LINK_VLAN)
		return named_vlan(network, device, why);
	l = kernel_vlan_find(b->inv, device->ifindex, network->vlan);
	if (l && kernel_link_is_ours(l))
		return l;
	if (l) {
		reason_set(why, "vlan-foreign",
			   "another program created %s with VLAN id %u on %s; write device: %s to "
			   "use this interface, or remove the interface",
			   l->name, l->vlan, device->name, l->name);
		return NULL;
	}
	vlan_link_name(device, network->vlan, name);
	reason_set(why, "vlan-foreign",
		   "VLAN %u of %s needs the name %s, but another interface has this name; rename "
		   "or remove that interface",
		   network->vlan, device->name, name);
	return NULL;
}

bool vlan_link_parent_refusal(const struct plan_builder *b, const struct spec_network *network,
			      const struct inv_link *device, struct reason *why)
{
	const struct inv_link *mgmt = inv_link_by_name(b->inv, b->spec->management_interface);

	/* A parent that carries the management interface is allowed if the plan does not have to
	 * change the parent. */
	if (mgmt && plan_link_stands_on(b->inv, mgmt, device)) {
		if (device->up && network->mtu <= device->mtu)
			return false;
		reason_set(why, "management",
			   "%s carries the management interface %s, which is never reconfigured, "
			   "and VLAN %u needs the device %s; write another device%s",
			   device->name, mgmt->name, network->vlan,
			   device->up ? "with a larger mtu" : "up",
			   device->up ? " or a smaller mtu" : "");
		return true;
	}
	return plan_link_refusal(b->inv, "", device, why);
}

const struct inv_link *vlan_link_parent(const struct plan_builder *b, const struct plan_leg *leg)
{
	return leg->device == leg->link && leg->link->kind == INV_LINK_VLAN && leg->link->lower
		       ? inv_link_by_index(b->inv, leg->link->lower)
		       : NULL;
}

bool vlan_link_waits(const struct plan_builder *b, const struct plan_leg *leg, struct reason *why)
{
	const struct inv_link *lower = vlan_link_parent(b, leg);

	if (!lower || lower->up)
		return false;
	reason_set(why, "not-ready",
		   "%s is on %s, which is down; bring that link up, or write %s as the device and "
		   "a vlan "
		   "for the network",
		   leg->link->name, lower->name, lower->name);
	return true;
}
