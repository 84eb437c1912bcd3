/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps = what is wanted, less what is there, plus the removal of what is ours and no longer
 * wanted. What is exactly as wanted counts as there, whoever made it; what others made is never
 * removed.
 *
 * The order: settings and links first; stale rules, then stale routes; addresses are added before
 * stale ones go, since the kernel flushes an interface's IPv4 routes with its last address; routes,
 * then the rules that lead to them. Undone last first, this is as safe backwards.
 */
#include "netcfg/plan/planner.h"
#include <stdio.h>
#include <string.h>

static int emit(struct plan_builder *b, size_t *cap, const struct plan_step *step)
{
	struct plan_step *s = plan_step_append(&b->plan->steps, &b->plan->n_steps, cap);

	if (!s)
		return -ENOMEM;
	*s = *step;
	return 0;
}

static bool addr_is(const struct inv_addr *have, const struct inv_addr *want)
{
	return have->ifindex == want->ifindex && have->ip.len == want->ip.len &&
	       ip_addr_equal(&have->ip.addr, &want->ip.addr);
}

/* Equal but for who made it. */
static bool route_is(const struct inv_route *have, const struct inv_route *want)
{
	struct inv_route h = *have;

	h.proto = want->proto;
	return kernel_route_equal(&h, want);
}

static bool rule_is(const struct inv_rule *have, const struct inv_rule *want)
{
	struct inv_rule h = *have;

	h.proto = want->proto;
	return kernel_rule_equal(&h, want);
}

/* Whether the host already is as this wanted step would make it. */
static bool is_there(const struct inventory *inv, const struct plan_step *w)
{
	switch (w->op) {
	case PLAN_LINK_SET:
		return (!w->link.want.set_mtu || w->link.want.mtu == w->link.was.mtu) &&
		       (!w->link.want.set_up || w->link.want.up == w->link.was.up);
	case PLAN_SYSCTL_SET:
		return strcmp(w->sysctl.want, w->sysctl.was) == 0;
	case PLAN_ADDR_ADD:
		for (size_t i = 0; i < inv->n_addrs; i++)
			if (addr_is(&inv->addrs[i], &w->addr))
				return true;
		return false;
	case PLAN_ROUTE_ADD:
		for (size_t i = 0; i < inv->n_routes; i++)
			if (route_is(&inv->routes[i], &w->route))
				return true;
		return false;
	case PLAN_RULE_ADD:
		for (size_t i = 0; i < inv->n_rules; i++)
			if (rule_is(&inv->rules[i], &w->rule))
				return true;
		return false;
	default:
		return false;
	}
}

static int emit_missing(struct plan_builder *b, size_t *cap, enum plan_op op)
{
	for (size_t i = 0; i < b->want.n; i++) {
		const struct plan_step *w = &b->want.steps[i];

		if (w->op == op && !is_there(b->inv, w) && emit(b, cap, w) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* A step that removes something of ours on the link ifindex (0: none). */
static struct plan_step removal(const struct plan_builder *b, enum plan_op op, uint32_t ifindex)
{
	struct plan_step s = {.op = op, .disruptive = true};
	const struct inv_link *link = ifindex ? inv_link_by_index(b->inv, ifindex) : NULL;

	if (link)
		memcpy(s.ifname, link->name, sizeof(s.ifname));
	for (size_t i = 0; link && i < b->n_legs; i++)
		if (b->legs[i].link == link)
			memcpy(s.leg, b->legs[i].net->name, sizeof(s.leg));
	snprintf(s.reason, sizeof(s.reason), "ours, and no longer asked for");
	return s;
}

static int emit_stale_rules(struct plan_builder *b, size_t *cap)
{
	for (size_t i = 0; i < b->inv->n_rules; i++) {
		const struct inv_rule *have = &b->inv->rules[i];
		bool wanted = have->proto != PLENUM_RTPROT || have->more;
		struct plan_step s;

		for (size_t k = 0; k < b->want.n && !wanted; k++)
			wanted = b->want.steps[k].op == PLAN_RULE_ADD &&
				 rule_is(have, &b->want.steps[k].rule);
		if (wanted)
			continue;
		s = removal(b, PLAN_RULE_DEL, 0);
		s.rule = *have;
		if (emit(b, cap, &s) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int emit_stale_routes(struct plan_builder *b, size_t *cap)
{
	for (size_t i = 0; i < b->inv->n_routes; i++) {
		const struct inv_route *have = &b->inv->routes[i];
		bool wanted = have->proto != PLENUM_RTPROT;
		struct plan_step s;

		for (size_t k = 0; k < b->want.n && !wanted; k++)
			wanted = b->want.steps[k].op == PLAN_ROUTE_ADD &&
				 route_is(have, &b->want.steps[k].route);
		if (wanted)
			continue;
		s = removal(b, PLAN_ROUTE_DEL, have->oif);
		s.route = *have;
		if (emit(b, cap, &s) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The worker that holds this address itself, or NULL. */
static const struct plan_worker *worker_of(const struct plan *p, const struct ip_addr *ip)
{
	for (size_t i = 0; i < p->n_workers; i++)
		for (size_t k = 0; k < p->workers[i].n_ports; k++)
			if (ip_addr_equal(&p->workers[i].ports[k].ip.addr, ip))
				return &p->workers[i];
	return NULL;
}

/* Whether the kernel would refuse a wanted address while this one is there: IPv6 holds one address
 * once per link, whatever its prefix. */
static bool addr_is_in_the_way(const struct plan_builder *b, const struct inv_addr *have)
{
	if (have->ip.addr.family != AF_INET6)
		return false;
	for (size_t i = 0; i < b->want.n; i++) {
		const struct plan_step *w = &b->want.steps[i];

		if (w->op == PLAN_ADDR_ADD && w->addr.ifindex == have->ifindex &&
		    ip_addr_equal(&w->addr.ip.addr, &have->ip.addr))
			return true;
	}
	return false;
}

/* Two passes: before the wanted ones are added (those in their way), and after. */
static int emit_stale_addrs(struct plan_builder *b, size_t *cap, bool in_the_way)
{
	for (size_t i = 0; i < b->inv->n_addrs; i++) {
		const struct inv_addr *have = &b->inv->addrs[i];
		bool wanted = have->proto != PLENUM_RTPROT;
		const struct plan_worker *w;
		struct plan_step s;

		for (size_t k = 0; k < b->want.n && !wanted; k++)
			wanted = b->want.steps[k].op == PLAN_ADDR_ADD &&
				 addr_is(have, &b->want.steps[k].addr);
		if (wanted || addr_is_in_the_way(b, have) != in_the_way)
			continue;
		s = removal(b, PLAN_ADDR_DEL, have->ifindex);
		s.addr = *have;
		w = worker_of(b->plan, &have->ip.addr);
		if (w && w->effective != SPEC_TRANSPORT_UDP)
			snprintf(s.reason, sizeof(s.reason),
				 "ours, but worker %u answers for this IP itself (%s)", w->id,
				 spec_transport_to_string(w->effective));
		if (emit(b, cap, &s) < 0)
			return -ENOMEM;
	}
	return 0;
}

int plan_diff_build(struct plan_builder *b)
{
	size_t cap = 0;

	if (emit_missing(b, &cap, PLAN_SYSCTL_SET) < 0 ||
	    emit_missing(b, &cap, PLAN_LINK_SET) < 0 || emit_stale_rules(b, &cap) < 0 ||
	    emit_stale_routes(b, &cap) < 0 || emit_stale_addrs(b, &cap, true) < 0 ||
	    emit_missing(b, &cap, PLAN_ADDR_ADD) < 0 || emit_stale_addrs(b, &cap, false) < 0 ||
	    emit_missing(b, &cap, PLAN_ROUTE_ADD) < 0 || emit_missing(b, &cap, PLAN_RULE_ADD) < 0)
		return -ENOMEM;
	return 0;
}
