/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves addresses and routes of other programs from ports to their bond. plan_bond.c itself changes
 * only objects of Plenum. */
#include "netcfg/feature/bond_takeover.h"
#include "netcfg/host/kernel.h"
#include "netcfg/object/object.h"
#include "netcfg/plan/plan_guard.h"
#include <stdio.h>
#include <string.h>

/* Returns whether the address is an IPv6 link-local address. Such addresses are not moved, because
 * the kernel gives every link such an address. */
static bool is_link_local6(const struct ip_addr *a)
{
	return a->family == AF_INET6 && ip_addr_is_link_local(a);
}

static bool addr_moves(const struct plan_builder *b, const struct inv_addr *a,
		       const struct inv_link *l)
{
	return a->ifindex == l->ifindex && !is_link_local6(&a->ip.addr) && !plan_addr_is_ours(b, a);
}

/* Returns whether the route must be moved. The kernel's own routes are not moved, because the
 * kernel adds and removes them with their addresses. */
static bool route_moves(const struct inv_route *r, const struct inv_link *l)
{
	return r->oif == l->ifindex && r->proto != PLENUM_RTPROT && r->proto != INV_PROTO_KERNEL;
}

/* If the link is a port of a bond that another program created, returns that bond; otherwise
 * NULL. */
static const struct inv_link *bond_of_others(const struct plan_builder *b, const struct inv_link *l)
{
	const struct inv_link *master = l->master ? inv_link_by_index(b->inv, l->master) : NULL;

	return master && master->kind == INV_LINK_BOND && !kernel_link_is_ours(master) ? master
										       : NULL;
}

/* ---- refusals ---- */

static bool has_address(const struct plan_builder *b, const struct inv_link *l, struct reason *why)
{
	char text[IP_ADDR_STR_MAX];

	for (size_t i = 0; i < b->inv->n_addrs; i++) {
		if (!addr_moves(b, &b->inv->addrs[i], l))
			continue;
		ip_prefix_format(&b->inv->addrs[i].ip, text, sizeof(text));
		reason_set(why, "has-address",
			   "%s has the address %s, which a port cannot use; write another device, "
			   "or move the address to the bond with plenum apply --force %s",
			   l->name, text, l->name);
		return true;
	}
	return false;
}

static bool is_immovable(const struct plan_builder *b, const struct inv_link *l, struct reason *why)
{
	char text[IP_ADDR_STR_MAX];

	for (size_t i = 0; i < b->inv->n_addrs; i++) {
		const struct inv_addr *a = &b->inv->addrs[i];

		if (!addr_moves(b, a, l) || !a->more)
			continue;
		reason_set(why, "address-leased",
			   "%s has the address %s, which Plenum cannot move because another "
			   "program manages the address (DHCP, router advertisements); stop that "
			   "program first",
			   l->name, ip_prefix_format(&a->ip, text, sizeof(text)));
		return true;
	}
	for (size_t i = 0; i < b->inv->n_routes; i++) {
		const struct inv_route *r = &b->inv->routes[i];

		if (!route_moves(r, l) || !r->more)
			continue;
		reason_set(why, "route-special",
			   "the route to %s on %s has attributes that Plenum cannot move (metrics, "
			   "several next hops, an expiry time); remove this route first",
			   r->dst.len ? ip_prefix_format(&r->dst, text, sizeof(text))
				      : "everywhere",
			   l->name);
		return true;
	}
	return false;
}

/* Returns true and sets why if the bond, which loses its ports, carries other links. */
static bool carries_more(const struct plan_builder *b, const struct inv_link *bond,
			 struct reason *why)
{
	for (size_t i = 0; i < b->inv->n_links; i++) {
		const struct inv_link *top = &b->inv->links[i];

		if (top->lower != bond->ifindex && bond->master != top->ifindex)
			continue;
		reason_set(why, "has-link",
			   "%s carries the link %s; remove this link, or write another device",
			   bond->name, top->name);
		return true;
	}
	return false;
}

bool bond_takeover_is_refused(struct plan_builder *b, const struct inv_link *l, struct reason *why)
{
	const struct inv_link *bond = bond_of_others(b, l);
	struct reason r;

	if (plan_link_guarded(b, l, &r)) {
		reason_set(why, r.code,
			   "%.110s, but a bond port cannot do this; write another device, or move "
			   "addresses and routes to the bond with plenum apply --force %s",
			   r.text, l->name);
		return true;
	}
	if (has_address(b, l, &r) && !plan_is_forced(b, l, &r)) {
		*why = r;
		return true;
	}
	return is_immovable(b, l, why) ||
	       (bond && (carries_more(b, bond, why) || is_immovable(b, bond, why)));
}

/* ---- steps ---- */

static bool is_taken_over(const struct plan_builder *b, const struct inv_link *l)
{
	for (size_t i = 0; i < b->bond.n_members; i++)
		if (b->bond.members[i].ifindex == l->ifindex && b->bond.members[i].taken_over)
			return true;
	return false;
}

/* Returns whether addresses and routes move away from the link. A bond of another program that
 * keeps at least one port also keeps its addresses. */
static bool is_source(const struct plan_builder *b, const struct inv_link *l)
{
	bool any = false;

	if (is_taken_over(b, l))
		return true;
	for (size_t i = 0; i < b->inv->n_links; i++) {
		if (b->inv->links[i].master != l->ifindex)
			continue;
		if (!is_taken_over(b, &b->inv->links[i]))
			return false;
		any = true;
	}
	return any;
}

static struct plan_step *want_moved(struct plan_builder *b, const struct plan_leg *leg,
				    const struct object_kind *kind, const struct inv_link *from,
				    enum plan_verb verb)
{
	struct plan_step *s = planner_want_add(b, kind, leg);

	if (!s)
		return NULL;
	planner_step_on(s, verb == PLAN_DEL ? from : leg->device);
	if (verb == PLAN_DEL)
		s->leg[0] = '\0';
	s->verb = verb;
	s->disruptive = true;
	s->change.foreign = true;
	snprintf(s->reason, sizeof(s->reason), "--force moves this object from %s to %s",
		 from->name, b->bond.name);
	return s;
}

/* Adds the steps for the routes with, or without, a gateway. Both kinds of routes are handled
 * separately because routes with a gateway depend on those without. */
static int want_routes(struct plan_builder *b, const struct plan_leg *leg,
		       const struct inv_link *from, enum plan_verb verb, bool with_gateway)
{
	for (size_t i = 0; i < b->inv->n_routes; i++) {
		const struct inv_route *r = &b->inv->routes[i];
		struct plan_step *s;

		if (!route_moves(r, from) || (r->gateway.family != 0) != with_gateway)
			continue;
		s = want_moved(b, leg, &object_route, from, verb);
		if (!s)
			return -ENOMEM;
		s->change.kind = KERNEL_ROUTE;
		s->change.route = *r;
		s->change.route.linkdown = false;
	}
	return 0;
}

static int want_addr(struct plan_builder *b, const struct plan_leg *leg,
		     const struct inv_link *from, enum plan_verb verb, const struct inv_addr *a)
{
	struct plan_step *s = want_moved(b, leg, &object_addr, from, verb);

	if (!s)
		return -ENOMEM;
	s->change.kind = KERNEL_ADDR;
	s->change.addr = *a;
	s->change.addr.tentative = s->change.addr.dad_failed = false;
	s->change.addr.optimistic = s->change.addr.secondary = false;
	return 0;
}

/* Adds the steps for the primary, or the secondary, addresses. Primary and secondary addresses are
 * handled separately, because the kernel removes secondary addresses with their primary address. So
 * secondary addresses are added after the primary address and removed before it. */
static int want_addrs(struct plan_builder *b, const struct plan_leg *leg,
		      const struct inv_link *from, enum plan_verb verb, bool secondary)
{
	for (size_t i = 0; i < b->inv->n_addrs; i++) {
		const struct inv_addr *a = &b->inv->addrs[i];

		if (addr_moves(b, a, from) && a->secondary == secondary &&
		    want_addr(b, leg, from, verb, a) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int want_all(struct plan_builder *b, const struct plan_leg *leg, const struct inv_link *from,
		    enum plan_verb verb)
{
	const bool goes = verb == PLAN_DEL;
	int r = want_addrs(b, leg, from, verb, goes);

	if (r == 0)
		r = want_addrs(b, leg, from, verb, !goes);
	if (r == 0)
		r = want_routes(b, leg, from, verb, goes);
	return r == 0 ? want_routes(b, leg, from, verb, !goes) : r;
}

int bond_takeover_want(struct plan_builder *b, const struct plan_leg *leg)
{
	int r = 0;

	for (size_t i = 0; i < b->inv->n_links && r == 0; i++) {
		const struct inv_link *from = &b->inv->links[i];

		if (!is_source(b, from))
			continue;
		r = want_all(b, leg, from, PLAN_DEL);
		if (r == 0)
			r = want_all(b, leg, from, PLAN_ADD);
	}
	return r;
}
