/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The last table of 'plenum inventory': the possible uses of each device of this host, and the
 * switch at its cable. It combines the inventory, NIC families from the plan, and switches from the
 * agent.
 */
#include "agent/ctl/ctl.h"

#include "netcfg/host/inventory.h"
#include "netcfg/plan/nic_use.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The switch at the cable of an interface; "": unknown. Borrowed. */
struct neighbour {
	const char *name, *port;
};

/* If all LLDP neighbours of the leg are at this interface, the agent has chosen the leg's switch.
 * Otherwise the leg is a bond, and each of its ports has its own neighbours: a single neighbour at
 * the port is the switch. */
static struct neighbour neighbour_of(const json_t *leg, const char *ifname)
{
	const json_t *list = json_object_get(leg, "neighbours"), *n, *found = NULL;
	size_t i, n_here = 0;

	json_array_foreach (list, i, n)
		if (strcmp(ctl_text(n, "ifname"), ifname) == 0) {
			found = n;
			n_here++;
		}
	if (n_here > 0 && n_here == json_array_size(list))
		return (struct neighbour){ctl_text(leg, "switch"), ctl_text(leg, "switch_port")};
	if (n_here != 1)
		return (struct neighbour){"", ""};
	return (struct neighbour){*ctl_text(found, "name") ? ctl_text(found, "name")
							   : ctl_text(found, "chassis"),
				  ctl_text(found, "port")};
}

static struct neighbour neighbour_find(const json_t *legs, const char *ifname)
{
	struct neighbour b = {"", ""};
	const json_t *leg;
	size_t i;

	json_array_foreach (json_object_get(legs, "net"), i, leg)
		if (!*b.name)
			b = neighbour_of(leg, ifname);
	return b;
}

/* Adds the leg that uses the device and, if it has selected it, by what. */
static void add_leg(struct ctl_table *t, const json_t *legs, const char *ifname)
{
	const json_t *leg, *found = NULL;
	size_t i;

	json_array_foreach (json_object_get(legs, "net"), i, leg)
		if (!found && strcmp(ctl_text(leg, "ifname"), ifname) == 0)
			found = leg;
	if (found && *ctl_text(found, "match"))
		ctl_table_add(t, "%s (%s)", ctl_text(found, "name"), ctl_text(found, "match"));
	else
		ctl_table_add(t, "%s", found ? ctl_text(found, "name") : "");
}

static void add_number(struct ctl_table *t, int64_t v, bool known)
{
	if (known)
		ctl_table_add(t, "%" PRId64, v);
	else
		ctl_table_add(t, "%s", "");
}

static void add_device(struct ctl_table *t, const struct inv_link *l, const struct nic_use *use,
		       const json_t *legs)
{
	const struct neighbour b = neighbour_find(legs, l->name);
	char mac[MAC_ADDR_STR_MAX];

	ctl_table_add(t, "%s", l->name);
	add_leg(t, legs, l->name);
	ctl_table_add(t, "%s", inv_link_kind_to_string(l->kind));
	ctl_table_add(t, "%s", l->driver);
	ctl_table_add(t, "%s", l->pci);
	add_number(t, l->numa_node, l->numa_node >= 0);
	ctl_table_add(t, "%s", mac_addr_format(&l->mac, mac, sizeof(mac)));
	add_number(t, l->mtu, true);
	add_number(t, l->speed_mbps, l->speed_mbps > 0);
	ctl_table_add(t, "%s", !l->up ? "down" : l->carrier ? "up" : "no carrier");
	add_number(t, l->n_vfs, l->max_vfs > 0);
	add_number(t, l->max_vfs, l->max_vfs > 0);
	ctl_table_add(t, "%s", l->rdma);
	ctl_table_add(t, "%s", l->firmware);
	ctl_table_add(t, "%s", use->shared_ip ? "yes" : "no");
	if (use->vfs)
		ctl_table_add(t, "by %u VFs", use->vfs);
	else
		ctl_table_add(t, "%s", use->dpdk ? "by the kernel's interface" : "no");
	ctl_table_add(t, "%s", use->queues);
	ctl_table_add(t, "%s", *b.name ? b.name : "unknown");
	ctl_table_add(t, "%s", *b.port ? b.port : "unknown");
	ctl_table_add(t, "%s", use->why.text);
}

int ctl_put_devices(const struct ctl_args *a, const struct inventory *inv, const json_t *legs,
		    const char *title)
{
	static const char *const headings[] = {
		"DEVICE",    "LEG",   "KIND",	"DRIVER", "PCI",	 "NUMA",  "MAC",
		"MTU",	     "SPEED", "STATE",	"VFS",	  "MAX VFS",	 "RDMA",  "FIRMWARE",
		"SHARED IP", "DPDK",  "QUEUES", "SWITCH", "SWITCH PORT", "REASON"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	struct nic_use use;

	for (size_t i = 0; i < inv->n_links; i++)
		if (nic_use_find(inv, &inv->links[i], &use))
			add_device(&t, &inv->links[i], &use, legs);
	if (title && t.n_cells == 0)
		return CTL_OK;
	if (title)
		printf("\n%s\n", title);
	return ctl_view_print(a, &t, "DEVICE,LEG,SHARED IP,DPDK,QUEUES,SWITCH,SWITCH PORT,REASON");
}

json_t *ctl_legs_if_any(const struct ctl_args *a)
{
	const struct ctl_request rq = {.resource = RESOURCE_NET};
	PLENUM_CLEANUP(ctl_reply_done) struct ctl_reply reply = {0};

	if (ctl_http(a, &rq, &reply) < 0 || reply.status != 200)
		return NULL;
	return ctl_parse_if_any(&reply);
}
