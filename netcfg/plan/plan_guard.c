/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out what the host would lose if a link went down. `config generate` uses the same functions
 * as the plan, so it never offers a device that the plan would refuse.
 */
#include "netcfg/plan/plan_guard.h"
#include "netcfg/host/kernel.h"
#include "netcfg/plan/planner.h"
#include <stdio.h>
#include <string.h>

#define STACK_DEPTH_MAX 8 /* links on top of each other; the kernel has the same limit */

static bool stands_on(const struct inventory *inv, const struct inv_link *top,
		      const struct inv_link *link, unsigned depth)
{
	if (top->ifindex == link->ifindex)
		return true;
	if (depth == STACK_DEPTH_MAX)
		return false;
	for (size_t i = 0; i < inv->n_links; i++) {
		const struct inv_link *l = &inv->links[i];

		if ((l->master == top->ifindex || l->ifindex == top->lower) &&
		    stands_on(inv, l, link, depth + 1))
			return true;
	}
	return false;
}

bool plan_link_stands_on(const struct inventory *inv, const struct inv_link *top,
			 const struct inv_link *link)
{
	return stands_on(inv, top, link, 0);
}

/* Returns true and sets *ret if the link is a VRF or a port of a VRF. The table of the VRF alone
 * routes a packet that arrives there. Workers use the main table and the tables of the legs, so
 * data IPs in a VRF cannot work. */
static bool vrf_is_refused(const struct inv_link *link, const struct inv_link *master,
			   struct reason *ret)
{
	if (link->vrf_table)
		reason_set(ret, "vrf",
			   "%s is a VRF, which carries no data IPs; write a device that belongs to "
			   "no VRF",
			   link->name);
	else if (master && master->vrf_table)
		reason_set(ret, "vrf",
			   "%s belongs to VRF %s, and workers do not receive packets of a VRF; "
			   "write a device that belongs to no VRF, or release the device (ip link "
			   "set %s nomaster)",
			   link->name, master->name, link->name);
	else
		return false;
	return true;
}

bool plan_link_refusal(const struct inventory *inv, const char *management,
		       const struct inv_link *link, struct reason *ret)
{
	const struct inv_link *mgmt = inv_link_by_name(inv, management), *master;

	if (mgmt && plan_link_stands_on(inv, mgmt, link)) {
		reason_set(ret, "management",
			   "%s %s the management interface%s%s, which is never reconfigured; "
			   "write another device",
			   link->name, mgmt == link ? "is" : "carries", mgmt == link ? "" : " ",
			   mgmt == link ? "" : mgmt->name);
		return true;
	}
	master = link->master ? inv_link_by_index(inv, link->master) : NULL;
	if (vrf_is_refused(link, master, ret))
		return true;
	/* A port of a bond of Plenum is allowed: if the bond is no longer a leg, the plan removes
	 * the ports from the bond before it removes the bond. */
	if (link->master &&
	    !(master && master->kind == INV_LINK_BOND && kernel_link_is_ours(master))) {
		reason_set(ret, "enslaved",
			   "%s is enslaved to %s; name %s as the device, or release the port first",
			   link->name, master ? master->name : "another link",
			   master ? master->name : "another device");
		return true;
	}
	if (link->kind == INV_LINK_LOOPBACK) {
		reason_set(ret, "loopback", "%s is the loopback interface; write a network device",
			   link->name);
		return true;
	}
	return false;
}

void plan_explain_carrier(const struct inv_link *link, struct reason *ret)
{
	reason_set(ret, "no-carrier", "%s has no carrier; check the cable and the peer port",
		   link->name);
}

/* Writes " in table 100", or "" for the main table. */
static const char *format_table(uint32_t table, char *buf, size_t size)
{
	buf[0] = '\0';
	if (table != INV_TABLE_MAIN)
		snprintf(buf, size, " in table %u", table);
	return buf;
}

/* Returns whether a default route of the host uses the link. Default routes in Plenum's tables
 * carry only data, so they are skipped. */
static bool default_route_depends(const struct inventory *inv, const struct inv_link *link,
				  struct reason *ret)
{
	char table[24];

	for (size_t i = 0; i < inv->n_routes; i++) {
		const struct inv_route *r = &inv->routes[i];
		const struct inv_link *top;

		if (r->dst.len != 0 || r->type != INV_ROUTE_UNICAST || r->proto == PLENUM_RTPROT)
			continue;
		top = inv_link_by_index(inv, r->oif);
		if (!top || !plan_link_stands_on(inv, top, link))
			continue;
		reason_set(ret, "default-route", "%s carries the host's default route%s%s%s",
			   link->name, format_table(r->table, table, sizeof(table)),
			   top == link ? "" : " via ", top == link ? "" : top->name);
		return true;
	}
	return false;
}

/* Returns the link that has the address, or NULL. */
static const struct inv_link *link_of_address(const struct inventory *inv,
					      const struct ip_addr *address)
{
	for (size_t i = 0; i < inv->n_addrs; i++)
		if (ip_addr_equal(&inv->addrs[i].ip.addr, address))
			return inv_link_by_index(inv, inv->addrs[i].ifindex);
	return NULL;
}

/* Returns whether a connection uses the link. SSH is reported first, because the operator may be
 * making this change over it. */
static bool connection_depends(const struct inventory *inv, const struct inv_link *link,
			       struct reason *ret)
{
	char local[IP_ADDR_STR_MAX];
	bool any = false;

	for (size_t i = 0; i < inv->n_conns; i++) {
		const struct inv_conns *c = &inv->conns[i];
		const struct inv_link *top = link_of_address(inv, &c->local);

		if (!top || !plan_link_stands_on(inv, top, link) || (any && !c->n_ssh))
			continue;
		ip_addr_format(&c->local, local, sizeof(local));
		reason_set(ret, c->n_ssh ? "ssh" : "connections",
			   "%s carries %u %s connection%s of %s", link->name,
			   c->n_ssh ? c->n_ssh : c->n, c->n_ssh ? "ssh" : "established",
			   (c->n_ssh ? c->n_ssh : c->n) == 1 ? "" : "s", local);
		if (c->n_ssh)
			return true;
		any = true;
	}
	return any;
}

/* Returns the link of the host's route to the address: the longest matching prefix in the main
 * table. */
static const struct inv_link *link_towards(const struct inventory *inv, const struct ip_addr *to)
{
	const struct inv_route *best = NULL;

	for (size_t i = 0; i < inv->n_routes; i++) {
		const struct inv_route *r = &inv->routes[i];

		if (r->table != INV_TABLE_MAIN || r->type != INV_ROUTE_UNICAST ||
		    r->family != to->family || !ip_prefix_contains(&r->dst, to))
			continue;
		if (!best || r->dst.len > best->dst.len ||
		    (r->dst.len == best->dst.len && r->metric < best->metric))
			best = r;
	}
	return best ? inv_link_by_index(inv, best->oif) : NULL;
}

static bool mount_depends(const struct inventory *inv, const struct inv_link *link,
			  struct reason *ret)
{
	char server[IP_ADDR_STR_MAX];

	for (size_t i = 0; i < inv->n_mounts; i++) {
		const struct inv_mount *m = &inv->mounts[i];
		const struct inv_link *top =
			m->server.family ? link_towards(inv, &m->server) : NULL;

		if (!top || !plan_link_stands_on(inv, top, link))
			continue;
		reason_set(ret, "network-mount", "%s carries the %s file system %.60s from %s",
			   link->name, m->type, m->path,
			   ip_addr_format(&m->server, server, sizeof(server)));
		return true;
	}
	return false;
}

/* Possible dependencies; the most critical is first. */
static bool (*const dependencies[])(const struct inventory *inv, const struct inv_link *link,
				    struct reason *ret) = {
	default_route_depends,
	mount_depends,
	connection_depends,
};

bool plan_link_dependent(const struct inventory *inv, const struct inv_link *link,
			 struct reason *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(dependencies); i++)
		if (dependencies[i](inv, link, ret))
			return true;
	return false;
}

/* ---- --force ---- */

bool plan_is_forced(struct plan_builder *b, const struct inv_link *link, const struct reason *why)
{
	for (size_t i = 0; i < MIN_OF(b->ctx->n_forced, PLAN_FORCED_MAX); i++)
		if (strcmp(b->ctx->forced[i], link->name) == 0 ||
		    strcmp(b->ctx->forced[i], why->code) == 0) {
			b->forced_used |= 1U << i;
			return true;
		}
	return false;
}

bool plan_link_guarded(struct plan_builder *b, const struct inv_link *link, struct reason *ret)
{
	bool guarded = false;

	/* The loop does not end at the first dependency, so that all matching names given to
	 * --force are marked as used. */
	for (size_t i = 0; i < ARRAY_SIZE(dependencies); i++) {
		struct reason why;

		if (!dependencies[i](b->inv, link, &why) || plan_is_forced(b, link, &why))
			continue;
		if (!guarded)
			*ret = why;
		guarded = true;
	}
	return guarded;
}

/* Finds a leg that the plan refuses although --force has this name. */
static const struct plan_leg_info *refused_leg(const struct plan_builder *b, const char *name)
{
	for (size_t i = 0; i < b->plan->n_legs; i++) {
		const struct plan_leg_info *leg = &b->plan->legs[i];

		if (leg->state == PLAN_LEG_REFUSED &&
		    (strcmp(leg->ifname, name) == 0 || strcmp(leg->reason.code, name) == 0))
			return leg;
	}
	return NULL;
}

void plan_forced_check(struct plan_builder *b)
{
	for (size_t i = 0; i < MIN_OF(b->ctx->n_forced, PLAN_FORCED_MAX); i++) {
		const char *name = b->ctx->forced[i];
		const struct plan_leg_info *leg = refused_leg(b, name);

		if (leg)
			diag_add(b->d, DIAG_WARNING, NULL, NULL,
				 "--force %s has no effect here: %s", name, leg->reason.text);
		else if (!(b->forced_used & 1U << i) && strcmp(name, PLAN_FORCE_PROBES) != 0 &&
			 strcmp(name, PLAN_FORCE_MOUNTS) != 0)
			diag_add(b->d, DIAG_WARNING, NULL, NULL,
				 "--force %s was not needed: no check of that name blocks the plan",
				 name);
	}
}
