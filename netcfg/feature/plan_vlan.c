/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans VLANs. A leg on a tagged network has two links: the VLAN with the data IPs, and its parent,
 * the device.
 *
 * The plan changes only two values of the parent: it brings the parent up, and raises the parent's
 * MTU if the network's MTU is larger. So other traffic of the parent, including management,
 * continues.
 */
#include "netcfg/feature/feature.h"
#include "netcfg/object/object.h"
#include "netcfg/plan/make/plan_project.h"
#include "netcfg/plan/make/vlan_link.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int project_on(struct plan_builder *b, const struct spec_network *network,
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
			      /* the MTU that the device has when the VLAN is created */
			      .mtu = MAX_OF(device->mtu, network->mtu),
			      .mtu_max = device->mtu_max,
			      .lower = device->ifindex,
			      .vlan = network->vlan,
			      .speed_mbps = device->speed_mbps,
			      .alias = PLENUM_LINK_ALIAS,
			      .initialized = true};
	vlan_link_name(device, network->vlan, l.name);
	/* Do nothing if another link has the name: plan_leg.c reports that later. */
	return inv_link_by_name(b->inv, l.name) ? 0 : plan_project_add(b, &l);
}

static int vlan_project(struct plan_builder *b)
{
	int r = 0;

	for (size_t i = 0; i < b->spec->n_nets && r == 0; i++) {
		const struct spec_net *net = &b->spec->nets[i];
		const struct spec_network *network = planner_network_find(b->spec, net->network);
		const struct inv_link *device = inv_link_find(b->inv, net->device);

		if (net->enabled && network && device)
			r = project_on(b, network, device);
	}
	return r;
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

static int vlan_want(struct plan_builder *b, const struct plan_leg *leg)
{
	const struct inv_link *device = leg->device;
	struct plan_step *s;
	int r = 0;

	if (leg->device == leg->link)
		return 0;
	/* The parent's MTU is part of the desired state even if it is already large enough, because
	 * Plenum may have set it. */
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

const struct plan_feature plan_feature_vlan = {
	.name = "vlan",
	.project = vlan_project,
	.want = {[PLAN_STAGE_BEFORE_LINK] = vlan_want},
};
