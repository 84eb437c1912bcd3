/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the host address that a leg shares, and the UDP ports of the workers on it. */
#include "netcfg/plan/plan_shared.h"
#include "netcfg/base/links_port.h"
#include "netcfg/plan/nic.h"
#include <stdio.h>
#include <string.h>

/* Returns whether data can use the address: the host owns it and other hosts can reach it. */
static bool is_usable(const struct plan_builder *b, const struct inv_addr *a,
		      const struct inv_link *link)
{
	return a->ifindex == link->ifindex && !a->dad_failed && (!a->tentative || a->optimistic) &&
	       !ip_addr_is_link_local(&a->ip.addr) && !plan_addr_is_ours(b, a);
}

/* Chooses the address of the link: the address that the configuration names or, if it names no
 * address, preferably a primary IPv4 address. */
static const struct inv_addr *choose(const struct plan_builder *b, const struct spec_net *net,
				     const struct inv_link *link)
{
	const struct inv_addr *best = NULL;

	for (size_t i = 0; i < b->inv->n_addrs; i++) {
		const struct inv_addr *a = &b->inv->addrs[i];

		if (!is_usable(b, a, link))
			continue;
		if (net->n_ips) {
			if (ip_addr_equal(&net->ips[0].first, &a->ip.addr))
				return a;
		} else if (!best || (a->ip.addr.family == AF_INET && !a->secondary &&
				     (best->ip.addr.family != AF_INET || best->secondary))) {
			best = a;
		}
	}
	return best;
}

/* Returns the gateway to other subnets, from the host's default route on this link. */
static struct ip_addr gateway_of(const struct plan_builder *b, const struct inv_link *link,
				 uint8_t family)
{
	for (size_t i = 0; i < b->inv->n_routes; i++) {
		const struct inv_route *r = &b->inv->routes[i];

		if (r->table == INV_TABLE_MAIN && r->dst.len == 0 && r->family == family &&
		    r->type == INV_ROUTE_UNICAST && r->oif == link->ifindex)
			return r->gateway;
	}
	return (struct ip_addr){0};
}

bool plan_shared_find(const struct plan_builder *b, const struct spec_net *net,
		      const struct inv_link *link, struct spec_network *ret, struct reason *why)
{
	const struct inv_addr *a = choose(b, net, link);
	char ip[IP_ADDR_STR_MAX];

	if (!link->up) {
		reason_set(why, "not-ready",
			   "%s is down, and a leg on the host's own address never brings a device "
			   "up; bring the device up",
			   link->name);
		return false;
	}
	if (!a && net->n_ips) {
		reason_set(why, "no-address",
			   "%s does not have the address %s; write an address that it has, or "
			   "remove 'ips'",
			   link->name, ip_addr_format(&net->ips[0].first, ip, sizeof(ip)));
		return false;
	}
	if (!a) {
		reason_set(
			why, "no-address",
			"%s has no host address yet; the leg starts when the device has an address",
			link->name);
		return false;
	}
	*ret = (struct spec_network){.range = {a->ip.addr, a->ip.addr, a->ip.len},
				     .gateway = gateway_of(b, link, a->ip.addr.family),
				     .pos = net->pos};
	memcpy(ret->name, link->name, sizeof(link->name));
	return true;
}

const struct spec_net *plan_shared_net(const struct spec *spec)
{
	for (size_t i = 0; i < spec->n_nets; i++)
		if (spec->nets[i].shared_ip && spec->nets[i].enabled)
			return &spec->nets[i];
	return NULL;
}

bool plan_shared_by_rules(const struct plan_leg *leg)
{
	return leg->shared && leg->link->ifindex == leg->device->ifindex &&
	       leg->device->kind == INV_LINK_PHYSICAL && leg->device->pci[0] &&
	       !leg->device->ipoib_mode[0] &&
	       nic_family_find(leg->device->driver)->reach == NIC_BY_FLOW_RULES;
}

uint16_t plan_shared_port(struct plan_builder *b, uint32_t id)
{
	const struct spec_net *net = plan_shared_net(b->spec);
	const uint32_t port = b->spec->port + (net ? id - 1 : 0);

	if (port > UINT16_MAX)
		diag_add(b->d, DIAG_ERROR, &net->pos, "port",
			 "worker %u would use UDP port %u (%u + %u), but the highest is %u; write "
			 "a smaller port",
			 id, port, b->spec->port, id - 1, UINT16_MAX);
	else if (net && b->spec->cluster.probe_legs && port == PLENUM_LINKS_PORT)
		diag_add(b->d, DIAG_ERROR, &net->pos, "port",
			 "worker %u would use UDP port %u (%u + %u), which the probes of "
			 "cluster.probe-legs use; write another port, or remove 'probe-legs'",
			 id, port, b->spec->port, id - 1);
	return (uint16_t)port;
}
