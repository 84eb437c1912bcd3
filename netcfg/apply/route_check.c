/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Looks up a route from each data IP, as 'ip route get DEST from DATA-IP' does. If it leads to
 * another link, names the rule that causes this. The apply does not fail then, because all of its
 * steps were done.
 */
#include "netcfg/apply/route_check.h"
#include "netcfg/plan/plan_guard.h"
#include <stdio.h>
#include <string.h>

#define NEIGHBOURS_TRIED 64

static bool address_is_there(const struct inventory *inv, const struct plan_port *port)
{
	for (size_t i = 0; i < inv->n_addrs; i++)
		if (inv->addrs[i].ifindex == port->ifindex && !inv->addrs[i].tentative &&
		    ip_addr_equal(&inv->addrs[i].ip.addr, &port->ip.addr))
			return true;
	return false;
}

static bool is_own_address(const struct inventory *inv, const struct ip_addr *a)
{
	for (size_t i = 0; i < inv->n_addrs; i++)
		if (ip_addr_equal(&inv->addrs[i].ip.addr, a))
			return true;
	return false;
}

/* Chooses a destination: the gateway, or an address of the subnet that this host does not have. */
static bool neighbour_choose(const struct inventory *inv, const struct plan_port *port,
			     struct ip_addr *ret)
{
	const struct ip_addr network = ip_addr_network(&port->ip.addr, port->ip.len);
	const struct ip_prefix subnet = {network, port->ip.len};

	if (port->gateway.family && !ip_addr_is_link_local(&port->gateway)) {
		*ret = port->gateway;
		return true;
	}
	for (uint64_t i = 1; i <= NEIGHBOURS_TRIED; i++)
		if (ip_addr_add(&network, i, ret) && ip_prefix_contains(&subnet, ret) &&
		    !is_own_address(inv, ret))
			return true;
	return false;
}

/* Returns the first rule of another program before Plenum's rules that may apply to the packet;
 * `marked` selects rules with a firewall mark or without one. If `table` is not 0, the rule must
 * use that table. */
static const struct inv_rule *rule_before_ours(const struct inventory *inv,
					       const struct ip_addr *from, uint32_t table,
					       bool marked)
{
	const struct inv_rule *best = NULL;

	for (size_t i = 0; i < inv->n_rules; i++) {
		const struct inv_rule *r = &inv->rules[i];

		if (r->family != from->family || r->priority >= PLAN_RULE_PRIORITY ||
		    r->proto == PLENUM_RTPROT || r->table == INV_TABLE_LOCAL ||
		    marked != (r->mark != 0) || (table && r->table && r->table != table) ||
		    (r->from.addr.family && !ip_prefix_contains(&r->from, from)))
			continue;
		if (!best || r->priority < best->priority)
			best = r;
	}
	return best;
}

static void explain(const struct inventory *inv, const struct plan_port *port, int error,
		    const struct inv_route *way, struct reason *why)
{
	const struct inv_link *link = error ? NULL : inv_link_by_index(inv, way->oif);
	const struct inv_rule *rule =
		rule_before_ours(inv, &port->ip.addr, error ? 0 : way->table, false);
	char ip[IP_ADDR_STR_MAX], named[96] = "";

	if (rule)
		snprintf(named, sizeof(named),
			 "; routing rule %u precedes Plenum's rules: remove this rule, or move it "
			 "behind rule %u",
			 rule->priority, PLAN_RULE_PRIORITY);
	reason_set(why, "diverted", "packets from %s go %s%s instead of via %s%s",
		   ip_addr_format(&port->ip.addr, ip, sizeof(ip)), error ? "nowhere" : "via ",
		   error  ? ""
		   : link ? link->name
			  : "another interface",
		   port->ifname, named);
}

/* Returns true and sets why if packets of the port leave by another link, or have no route. */
static bool port_is_diverted(struct kernel *k, const struct inventory *inv,
			     const struct plan_port *port, uint16_t udp_port, struct reason *why)
{
	struct inv_route way = {0};
	struct ip_addr to;
	int r;

	if (!address_is_there(inv, port) || !neighbour_choose(inv, port, &to))
		return false;
	r = k->ops->route_lookup(k, &port->ip.addr, &to, 0, udp_port, &way, NULL);
	if (r == 0 && way.oif == port->ifindex)
		return false;
	if (r < 0 && r != -ENETUNREACH && r != -EHOSTUNREACH && r != -EACCES && r != -EINVAL)
		return false; /* the kernel gave no answer about the route */
	explain(inv, port, r, &way, why);
	return true;
}

/* Reads the host again. Returns true and sets why if the link has no carrier now: the inventory is
 * older than the route lookup, and a link without a carrier has no routes. */
static bool carrier_is_lost(struct kernel *k, uint32_t ifindex, struct reason *why)
{
	struct diag d = DIAG_INIT;
	struct inventory *inv = NULL;
	const struct inv_link *link;
	bool lost;

	(void)inv_collect(k, &d, &inv);
	diag_done(&d);
	link = inv ? inv_link_by_index(inv, ifindex) : NULL;
	lost = link && link->up && !link->carrier;
	if (lost)
		plan_explain_carrier(link, why);
	inv_free(inv);
	return lost;
}

static void check_leg(struct kernel *k, const struct inventory *inv, struct plan *p,
		      struct plan_leg_info *leg)
{
	const struct inv_link *link = inv_link_by_index(inv, leg->ifindex);

	if (leg->state != PLAN_LEG_USABLE || !link || !link->up)
		return;
	if (!link->carrier) {
		leg->state = PLAN_LEG_DEGRADED;
		plan_explain_carrier(link, &leg->reason);
		return;
	}
	for (size_t i = 0; i < p->n_workers; i++) {
		const struct plan_worker *w = &p->workers[i];

		for (size_t j = 0; j < w->n_ports && w->effective == SPEC_TRANSPORT_UDP; j++) {
			if (strcmp(w->ports[j].leg, leg->name) != 0 ||
			    !port_is_diverted(k, inv, &w->ports[j], w->udp_port, &leg->reason))
				continue;
			leg->state = PLAN_LEG_DEGRADED;
			(void)carrier_is_lost(k, leg->ifindex, &leg->reason);
			return;
		}
	}
}

/* Adds rules for packets with a firewall mark to the leg's entry of the plan. The leg stays usable:
 * the kernel's route lookup is for packets without a mark, and Plenum does not read the
 * firewall. */
static void note_marks(const struct inventory *inv, const struct plan *p, struct plan_leg_info *leg)
{
	leg->mark = leg->mark_rule = 0;
	for (size_t i = 0; i < p->n_workers; i++)
		for (size_t j = 0; j < p->workers[i].n_ports; j++) {
			const struct plan_port *port = &p->workers[i].ports[j];
			const struct inv_rule *rule =
				rule_before_ours(inv, &port->ip.addr, 0, true);

			if (!rule || strcmp(port->leg, leg->name) != 0 ||
			    p->workers[i].effective != SPEC_TRANSPORT_UDP)
				continue;
			leg->mark = rule->mark;
			leg->mark_rule = rule->priority;
		}
}

void plan_check_routes(struct kernel *k, const struct inventory *inv, struct plan *p)
{
	for (size_t i = 0; i < p->n_legs; i++) {
		check_leg(k, inv, p, &p->legs[i]);
		note_marks(inv, p, &p->legs[i]);
	}
}
