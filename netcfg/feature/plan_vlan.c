/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans VLANs. A leg on a tagged network has two links: the VLAN with its data, and the parent
 * device.
 *
 * The parent changes as little as possible: it is brought up, and its MTU is raised if the
 * network's is larger. So its other traffic, including management, continues.
 */
#include "netcfg/feature/plan_vlan.h"
#include "netcfg/base/hash.h"
#include "netcfg/object/object.h"
#include "netcfg/plan/plan_guard.h"
#include "netcfg/plan/plan_project.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* "eth1.100", the usual form; if too long, a name from a hash of it. */
static void name_choose(const struct inv_link *device, uint16_t id, char ret[static IFNAMSIZ])
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

const struct inv_link *plan_vlan_device(const struct plan_builder *b,
					const struct spec_network *network,
					const struct inv_link *named)
{
	const struct inv_link *lower =
		network->vlan && named->kind == INV_LINK_VLAN && kernel_link_is_ours(named)
			? inv_link_by_index(b->inv, named->lower)
			: NULL;

	return lower ? lower : named;
}

int plan_vlan_project_on(struct plan_builder *b, const struct spec_network *network,
			 const struct inv_link *device)
{
	struct inv_link l;

	if (!network->vlan || device->kind == INV_LINK_VLAN ||
	    kernel_vlan_find(b->inv, device->ifindex, network->vlan))
		return 0;
	l = (struct inv_link){.kind = INV_LINK_VLAN,
			      .kind_text = "vlan",
			      .numa_node = device->numa_node,
			      .mac = device->mac,
			      /* The device gets this MTU first. */
			      .mtu = MAX_OF(device->mtu, network->mtu),
			      .mtu_max = device->mtu_max,
			      .lower = device->ifindex,
			      .vlan = network->vlan,
			      .speed_mbps = device->speed_mbps,
			      .alias = PLENUM_LINK_ALIAS,
			      .initialized = true};
	name_choose(device, network->vlan, l.name);
	/* If another link has that name, the leg reports it. */
	return inv_link_by_name(b->inv, l.name) ? 0 : plan_project_add(b, &l);
}

int plan_vlan_project(struct plan_builder *b)
{
	int r = 0;

	for (size_t i = 0; i < b->spec->n_nets && r == 0; i++) {
		const struct spec_net *net = &b->spec->nets[i];
		const struct spec_network *network = planner_network_find(b->spec, net->network);
		const struct inv_link *device = inv_link_find(b->inv, net->device);

		if (net->enabled && network && device)
			r = plan_vlan_project_on(b, network, device);
	}
	return r;
}

/* A VLAN that the spec names is used as it is. */
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

const struct inv_link *plan_vlan_link(const struct plan_builder *b,
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
			   "use it, or remove it",
			   l->name, l->vlan, device->name, l->name);
		return NULL;
	}
	name_choose(device, network->vlan, name);
	reason_set(
		why, "vlan-foreign",
		"VLAN %u of %s needs the name %s, which another interface has; rename or remove it",
		network->vlan, device->name, name);
	return NULL;
}

bool plan_vlan_device_refusal(const struct plan_builder *b, const struct spec_network *network,
			      const struct inv_link *device, struct reason *why)
{
	const struct inv_link *mgmt = inv_link_by_name(b->inv, b->spec->management_interface);

	/* The parent may carry management if it does not have to change. */
	if (mgmt && plan_link_stands_on(b->inv, mgmt, device)) {
		if (device->up && network->mtu <= device->mtu)
			return false;
		reason_set(why, "management",
			   "%s carries the management interface %s, which is never reconfigured, "
			   "and VLAN %u needs it %s; write another device%s",
			   device->name, mgmt->name, network->vlan,
			   device->up ? "with a larger mtu" : "up",
			   device->up ? " or a smaller mtu" : "");
		return true;
	}
	return plan_link_refusal(b->inv, "", device, why);
}

const struct inv_link *plan_vlan_lower(const struct plan_builder *b, const struct plan_leg *leg)
{
	return leg->device == leg->link && leg->link->kind == INV_LINK_VLAN && leg->link->lower
		       ? inv_link_by_index(b->inv, leg->link->lower)
		       : NULL;
}

bool plan_vlan_waits(const struct plan_builder *b, const struct plan_leg *leg, struct reason *why)
{
	const struct inv_link *lower = plan_vlan_lower(b, leg);

	if (!lower || lower->up)
		return false;
	reason_set(why, "not-ready",
		   "%s is on %s, which is down; bring it up, or write %s as the device and a vlan "
		   "for the network",
		   leg->link->name, lower->name, lower->name);
	return true;
}

static int want_value(struct plan_builder *b, const struct plan_leg *leg,
		      enum kernel_link_attr attr, uint32_t value, uint32_t was, const char *reason)
{
	struct plan_step *s = planner_want_add(b, &object_link, leg);

	if (!s)
		return -ENOMEM;
	planner_step_on(s, leg->device);
	s->change.kind = KERNEL_LINK;
	s->change.link = (struct kernel_link_value){attr, value, was};
	s->phase = OBJECT_PHASE_PARENT;
	s->disruptive = attr == KERNEL_LINK_MTU && leg->device->up;
	snprintf(s->reason, sizeof(s->reason), "%s", reason);
	return 0;
}

int plan_vlan_want(struct plan_builder *b, const struct plan_leg *leg)
{
	const struct inv_link *device = leg->device;
	struct plan_step *s;
	int r = 0;

	/* A larger MTU stays desired, because we may have set it. */
	if (leg->set_mtu)
		r = want_value(b, leg, KERNEL_LINK_MTU, MAX_OF(leg->mtu, device->mtu), device->mtu,
			       "the parent's MTU must cover the VLAN's");
	if (r == 0)
		r = want_value(b, leg, KERNEL_LINK_UP, 1, device->up,
			       "the parent of a VLAN must be up");
	if (r < 0)
		return r;
	s = planner_want_add(b, &object_vlan, leg);
	if (!s)
		return -ENOMEM;
	planner_step_on(s, leg->device);
	s->change.kind = KERNEL_VLAN;
	s->change.vlan.id = leg->network->vlan;
	memcpy(s->change.vlan.name, leg->link->name, sizeof(s->change.vlan.name));
	snprintf(s->reason, sizeof(s->reason), "network %s uses VLAN id %u", leg->network->name,
		 leg->network->vlan);
	return 0;
}
