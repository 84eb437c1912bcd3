/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulates route lookups in an inventory: it tries the rules in the order of their priorities. In
 * a table it uses the route with the longest prefix, and of equal prefixes the route with the
 * lowest metric (kernel document networking/policy-routing).
 */
#include "tests/lib/kernel/fake_lookup.h"
#include <stdio.h>
#include <string.h>

/* The default rules (ip-rule(8)), for recorded hosts without rules. The rule for the local table is
 * not here: the lookup first checks the host's addresses instead. */
static const struct inv_rule default_rules[] = {
	{.priority = 32766, .table = INV_TABLE_MAIN},
	{.priority = 32767, .table = INV_TABLE_DEFAULT},
};

struct question {
	const struct inventory *inv;
	const struct ip_addr *from, *to; /* from may be NULL */
	uint32_t oif;
};

static bool has_address(const struct inventory *inv, const struct ip_addr *a, uint32_t *ret_oif)
{
	for (size_t i = 0; i < inv->n_addrs; i++) {
		if (!ip_addr_equal(&inv->addrs[i].ip.addr, a))
			continue;
		*ret_oif = inv->addrs[i].ifindex;
		return true;
	}
	return false;
}

/* Returns whether the kernel ignores the routes of this link while it has no carrier. */
static bool linkdown_ignored(const struct question *q, const struct inv_link *l)
{
	const char *family = q->to->family == AF_INET ? "ipv4" : "ipv6";
	const char *const conf[] = {"all", l->name};

	for (size_t i = 0; i < ARRAY_SIZE(conf); i++) {
		char key[96];
		const char *value;

		snprintf(key, sizeof(key), "net/%s/conf/%s/ignore_routes_with_linkdown", family,
			 conf[i]);
		value = inv_sysctl_value(q->inv, key);
		if (value && strcmp(value, "0") != 0)
			return true;
	}
	return false;
}

static bool route_fits(const struct question *q, const struct inv_route *r, uint32_t table)
{
	const struct inv_link *l = r->oif ? inv_link_by_index(q->inv, r->oif) : NULL;

	if (r->table != table || r->family != q->to->family || !ip_prefix_contains(&r->dst, q->to))
		return false;
	if (r->type != INV_ROUTE_UNICAST)
		return true;
	if (q->oif && r->oif != q->oif)
		return false;
	return l && l->up && (l->carrier || !linkdown_ignored(q, l));
}

static const struct inv_route *table_lookup(const struct question *q, uint32_t table)
{
	const struct inv_route *best = NULL;

	for (size_t i = 0; i < q->inv->n_routes; i++) {
		const struct inv_route *r = &q->inv->routes[i];

		if (!route_fits(q, r, table))
			continue;
		if (!best || r->dst.len > best->dst.len ||
		    (r->dst.len == best->dst.len && r->metric < best->metric))
			best = r;
	}
	return best && best->type == INV_ROUTE_THROW ? NULL : best;
}

static bool rule_fits(const struct question *q, const struct inv_rule *rule)
{
	if (rule->family != q->to->family || rule->more || rule->mark ||
	    rule->table == INV_TABLE_LOCAL)
		return false;
	return rule->from.len == 0 || (q->from && ip_prefix_contains(&rule->from, q->from));
}

/* Returns the matching rule that follows `last` in the order of priorities, or the first one if
 * `last` is NULL. Rules of the same priority keep their order in the inventory. */
static const struct inv_rule *rule_next(const struct question *q, const struct inv_rule *last)
{
	const struct inv_rule *best = NULL;

	for (size_t i = 0; i < q->inv->n_rules; i++) {
		const struct inv_rule *r = &q->inv->rules[i];

		if (!rule_fits(q, r) || (last && (r->priority < last->priority ||
						  (r->priority == last->priority && r <= last))))
			continue;
		if (!best || r->priority < best->priority)
			best = r;
	}
	return best;
}

static const struct inv_route *find(const struct question *q)
{
	const struct inv_route *found = NULL;
	bool any = false;

	for (size_t i = 0; i < q->inv->n_rules; i++)
		any |= q->inv->rules[i].family == q->to->family;
	if (!any) {
		for (size_t i = 0; i < ARRAY_SIZE(default_rules) && !found; i++)
			found = table_lookup(q, default_rules[i].table);
		return found;
	}
	for (const struct inv_rule *r = rule_next(q, NULL); r && !found; r = rule_next(q, r))
		found = table_lookup(q, r->table);
	return found;
}

static int answer(const struct question *q, const struct inv_route *r, struct inv_route *ret)
{
	switch (r->type) {
	case INV_ROUTE_UNREACHABLE:
		return -EHOSTUNREACH;
	case INV_ROUTE_PROHIBIT:
		return -EACCES;
	case INV_ROUTE_BLACKHOLE:
		return -EINVAL;
	default:
		break;
	}
	*ret = *r;
	ret->dst = (struct ip_prefix){*q->to, (uint8_t)ip_addr_bits(q->to)};
	if (q->from)
		ret->src = *q->from;
	for (size_t i = 0; i < q->inv->n_addrs && !ret->src.family; i++)
		if (q->inv->addrs[i].ifindex == r->oif &&
		    q->inv->addrs[i].ip.addr.family == q->to->family)
			ret->src = q->inv->addrs[i].ip.addr;
	return 0;
}

int fake_lookup(const struct inventory *inv, const struct ip_addr *from, const struct ip_addr *to,
		uint32_t oif, struct inv_route *ret)
{
	struct question q = {inv, from && from->family ? from : NULL, to, oif};
	const struct inv_route *r;
	uint32_t link;

	if (!to->family || (q.from && q.from->family != to->family))
		return -EAFNOSUPPORT;
	if (q.from && to->family == AF_INET && !has_address(inv, q.from, &link))
		return -ENETUNREACH; /* before Linux 6.15: -EINVAL */
	if (has_address(inv, to, &link)) {
		const struct inv_route local = {.table = INV_TABLE_LOCAL,
						.family = to->family,
						.type = INV_ROUTE_LOCAL,
						.oif = link};

		return answer(&q, &local, ret);
	}
	r = find(&q);
	return r ? answer(&q, r, ret) : -ENETUNREACH;
}
