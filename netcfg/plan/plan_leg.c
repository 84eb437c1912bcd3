/* SPDX-License-Identifier: BSD-3-Clause */
/* From a data device of the spec to a leg: which link it is, and whether it may be touched. */
#include "netcfg/plan/planner.h"
#include <stdio.h>
#include <string.h>

/* rtnetlink(7) */
#define TABLE_MAIN 254
#define ROUTE_UNICAST 1

#define STACK_DEPTH_MAX 8 /* links stacked on links; the kernel's own limit is 8 */
#define NEAR_NAMES_MAX 4

/* "net[2].device" */
struct net_path {
	char text[48];
};

static struct net_path net_path(size_t i, const char *key)
{
	struct net_path p;

	snprintf(p.text, sizeof(p.text), "net[%zu].%s", i, key);
	return p;
}

static const struct spec_network *network_find(const struct spec *spec, const char *name)
{
	for (size_t i = 0; i < spec->n_networks; i++)
		if (strcmp(spec->networks[i].name, name) == 0)
			return &spec->networks[i];
	return NULL;
}

/* Whether traffic of `top` passes `link`: it is the link itself, or is stacked on it (VLAN, bridge,
 * bond). */
static bool link_stands_on(const struct inventory *inv, const struct inv_link *top,
			   const struct inv_link *link, unsigned depth)
{
	if (top->ifindex == link->ifindex)
		return true;
	if (depth == STACK_DEPTH_MAX)
		return false;
	for (size_t i = 0; i < inv->n_links; i++) {
		const struct inv_link *l = &inv->links[i];

		if ((l->master == top->ifindex || l->ifindex == top->lower) &&
		    link_stands_on(inv, l, link, depth + 1))
			return true;
	}
	return false;
}

/* The link by which the host's own default route leaves and that stands on `link`, or NULL. Routes
 * in other tables (our own legs') do not carry the host. */
static const struct inv_link *default_route_link(const struct inventory *inv,
						 const struct inv_link *link)
{
	for (size_t i = 0; i < inv->n_routes; i++) {
		const struct inv_route *r = &inv->routes[i];
		const struct inv_link *top;

		if (r->dst.len != 0 || r->table != TABLE_MAIN || r->type != ROUTE_UNICAST)
			continue;
		top = inv_link_by_index(inv, r->oif);
		if (top && link_stands_on(inv, top, link, 0))
			return top;
	}
	return NULL;
}

/* One error for the first thing that depends on the link; true where nothing does. */
static bool link_may_change(struct plan_builder *b, const struct inv_link *link,
			    const struct spec_net *net, const char *path)
{
	const struct inv_link *mgmt, *top;

	mgmt = inv_link_by_name(b->inv, b->spec->management_interface);
	if (mgmt && link_stands_on(b->inv, mgmt, link, 0)) {
		diag_add(b->d, DIAG_ERROR, &net->pos, path,
			 "%s %s the management interface%s%s, which is never reconfigured; "
			 "write another device",
			 link->name, mgmt == link ? "is" : "carries", mgmt == link ? "" : " ",
			 mgmt == link ? "" : mgmt->name);
		return false;
	}
	top = default_route_link(b->inv, link);
	if (top) {
		diag_add(b->d, DIAG_ERROR, &net->pos, path,
			 "%s carries the host's default route%s%s: changing it could cut the host "
			 "off; write another device",
			 link->name, top == link ? "" : " through ", top == link ? "" : top->name);
		return false;
	}
	if (link->master) {
		const struct inv_link *master = inv_link_by_index(b->inv, link->master);

		diag_add(b->d, DIAG_ERROR, &net->pos, path,
			 "%s is enslaved to %s; write %s, or release it first", link->name,
			 master ? master->name : "another link",
			 master ? master->name : "another device");
		return false;
	}
	if (link->kind == INV_LINK_LOOPBACK) {
		diag_add(b->d, DIAG_ERROR, &net->pos, path,
			 "%s is the loopback interface; write a network device", link->name);
		return false;
	}
	return true;
}

/* Whether to offer this link to a user whose device is not there. */
static bool link_is_candidate(const struct plan_builder *b, const struct inv_link *link)
{
	return link->kind != INV_LINK_LOOPBACK && !link->master &&
	       strcmp(link->name, b->spec->management_interface) != 0 &&
	       !default_route_link(b->inv, link);
}

/* Names the device most alike, or else what there is. */
static void refuse_absent(struct plan_builder *b, const struct spec_net *net, const char *path)
{
	const struct inventory *inv = b->inv;
	autofree const char **names = calloc(2 * inv->n_links + 1, sizeof(*names));
	char others[NEAR_NAMES_MAX * (IFNAMSIZ + 2) + 8] = "";
	const char *near;
	size_t n = 0, shown = 0;

	for (size_t i = 0; names && i < inv->n_links; i++) {
		const struct inv_link *link = &inv->links[i];
		size_t len = strlen(others);

		if (!link_is_candidate(b, link))
			continue;
		names[n++] = link->name;
		if (link->pci[0])
			names[n++] = link->pci;
		if (shown <= NEAR_NAMES_MAX)
			snprintf(others + len, sizeof(others) - len, "%s%s", shown ? ", " : "",
				 shown < NEAR_NAMES_MAX ? link->name : "...");
		shown++;
	}
	near = names ? diag_suggest(net->device, names, n) : NULL;
	if (near)
		diag_add(b->d, DIAG_ERROR, &net->pos, path,
			 "this host has no device %s; did you mean %s?", net->device, near);
	else
		diag_add(b->d, DIAG_ERROR, &net->pos, path,
			 "this host has no device %s; write a PCI address, a MAC or a name of: %s",
			 net->device, shown ? others : "(no device here can be a leg)");
}

static void check_mtu(struct plan_builder *b, const struct plan_leg *leg)
{
	const struct inv_link *link = leg->link;
	const struct spec_network *network = leg->network;

	if (link->mtu_max && leg->mtu > link->mtu_max)
		diag_add(b->d, DIAG_ERROR, &network->pos, NULL,
			 "network %s asks for mtu %u, but %s takes %u at most; write mtu: %u",
			 network->name, leg->mtu, link->name, link->mtu_max, link->mtu_max);
	if (leg->mtu < link->mtu_min)
		diag_add(b->d, DIAG_ERROR, &network->pos, NULL,
			 "network %s asks for mtu %u, but %s takes %u at least; write mtu: %u",
			 network->name, leg->mtu, link->name, link->mtu_min, link->mtu_min);
	if (network->range.first.family == AF_INET6 && leg->mtu < 1280)
		diag_add(b->d, DIAG_ERROR, &network->pos, NULL,
			 "IPv6 needs mtu 1280 or more, %s has %u; write mtu: 1500 or more",
			 link->name, leg->mtu);
}

/* A table that others use, and we do not, is theirs. */
static bool table_is_foreign(const struct inventory *inv, uint32_t table)
{
	bool theirs = false;

	for (size_t i = 0; i < inv->n_routes; i++) {
		if (inv->routes[i].table != table)
			continue;
		if (inv->routes[i].proto == PLENUM_RTPROT)
			return false;
		theirs = true;
	}
	for (size_t i = 0; i < inv->n_rules; i++) {
		if (inv->rules[i].table != table)
			continue;
		if (inv->rules[i].proto == PLENUM_RTPROT)
			return false;
		theirs = true;
	}
	return theirs;
}

static uint32_t table_choose(const struct inventory *inv, size_t leg)
{
	uint32_t table = PLAN_TABLE_FIRST + (uint32_t)leg;

	while (table_is_foreign(inv, table))
		table += PLAN_TABLE_STRIDE;
	return table;
}

/* Legs that share a subnet know of it. */
static void leg_relate(struct plan_leg *a, struct plan_leg *b)
{
	const struct ip_prefix pa = {a->network->range.first, a->network->range.prefix_len};
	const struct ip_prefix pb = {b->network->range.first, b->network->range.prefix_len};

	if (ip_prefix_contains(&pa, &pb.addr) || ip_prefix_contains(&pb, &pa.addr))
		a->same_subnet = b->same_subnet = true;
}

static bool device_is_taken(struct plan_builder *b, const struct spec_net *net,
			    const struct inv_link *link, const char *path)
{
	for (size_t k = 0; k < b->n_legs; k++) {
		if (b->legs[k].link != link)
			continue;
		diag_add(b->d, DIAG_ERROR, &net->pos, path,
			 "%s is %s already; a leg needs a device of its own", link->name,
			 b->legs[k].net->name);
		return true;
	}
	return false;
}

int planner_leg_add(struct plan_builder *b, size_t i)
{
	const struct spec_net *net = &b->spec->nets[i];
	const struct spec_network *network = network_find(b->spec, net->network);
	const struct net_path device = net_path(i, "device");
	const struct inv_link *link = inv_link_find(b->inv, net->device);
	struct plan_leg *leg;

	if (!network) {
		diag_add(b->d, DIAG_ERROR, &net->pos, net_path(i, "network").text,
			 "there is no network %s; write the name of one under networks",
			 net->network);
		return 0;
	}
	if (!link) {
		refuse_absent(b, net, device.text);
		return 0;
	}
	if (b->n_legs == ARRAY_SIZE(b->legs)) {
		diag_add(b->d, DIAG_ERROR, &net->pos, device.text,
			 "a host has %zu legs at most; remove one", ARRAY_SIZE(b->legs));
		return 0;
	}
	if (!link_may_change(b, link, net, device.text) ||
	    device_is_taken(b, net, link, device.text))
		return 0;
	leg = &b->legs[b->n_legs++];
	*leg = (struct plan_leg){.net = net,
				 .network = network,
				 .link = link,
				 .table = table_choose(b->inv, i),
				 .mtu = network->mtu ? network->mtu : link->mtu};
	memcpy(leg->label, net->label[0] ? net->label : net->name, sizeof(leg->label));
	check_mtu(b, leg);
	for (size_t k = 0; k + 1 < b->n_legs; k++)
		leg_relate(&b->legs[k], leg);
	return 0;
}
