/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adds the desired state of a leg: kernel settings, link, addresses, routes and rules. All HA modes
 * whose legs have their own addresses use it.
 */
#include "netcfg/host/link_setting.h"
#include "netcfg/object/object.h"
#include "netcfg/plan/plan_feature.h"
#include <stdio.h>
#include <string.h>

enum setting_when {
	WHEN_ALWAYS,
	WHEN_IPV4,
	WHEN_IPV4_SAME_SUBNET,
	WHEN_IPV4_DPDK, /* a worker, not the kernel, answers for the addresses */
	WHEN_IPV6,
};

/* If the effective value is outside `min` to `max`, the plan sets the link's own value to `set`. */
struct wanted_setting {
	enum link_setting setting;
	enum setting_when when;
	int min, max, set;
	const char *reason;
};

static const struct wanted_setting wanted_settings[] = {
	{LINK_SETTING_ARP_ANNOUNCE, WHEN_IPV4, 2, 2, 2,
	 "ARP requests must use a source address of the leg that sends them"},
	{LINK_SETTING_ARP_FILTER, WHEN_IPV4, 1, 1, 1,
	 "only the leg that routes an address may answer ARP for it"},
	{LINK_SETTING_ARP_IGNORE, WHEN_IPV4_SAME_SUBNET, 1, 2, 1,
	 "both legs are in one subnet; each must answer ARP only for its own addresses"},
	{LINK_SETTING_LINKDOWN4, WHEN_IPV4, 1, 1, 1,
	 "the kernel must not use routes of a leg without carrier"},
	{LINK_SETTING_PROMOTE_SECONDARIES, WHEN_IPV4, 1, 1, 1,
	 "removing one data IP must not remove the others of its subnet"},
	{LINK_SETTING_FORWARDING4, WHEN_IPV4_DPDK, 0, 0, 0,
	 "the kernel must not forward copies of packets that a DPDK worker receives"},
	{LINK_SETTING_DISABLE_IPV6, WHEN_IPV6, 0, 0, 0, "the leg needs IPv6 for its data IPs"},
	{LINK_SETTING_ACCEPT_RA, WHEN_ALWAYS, 0, 0, 0,
	 "a router on the data network must not give this host addresses or a default route"},
	{LINK_SETTING_ACCEPT_DAD, WHEN_IPV6, 1, 2, 1,
	 "duplicate address detection must find hosts with the same data IP"},
	{LINK_SETTING_OPTIMISTIC_DAD, WHEN_IPV6, 1, 1, 1,
	 "data IPs must be usable while duplicate address detection runs"},
	{LINK_SETTING_USE_OPTIMISTIC, WHEN_IPV6, 1, 1, 1,
	 "data IPs must be usable while duplicate address detection runs"},
	{LINK_SETTING_LINKDOWN6, WHEN_IPV6, 1, 1, 1,
	 "the kernel must not use routes of a leg without carrier"},
};

static int want_setting(struct plan_builder *b, const struct plan_leg *leg,
			enum link_setting setting, int was, int want, const char *reason)
{
	struct plan_step *s = planner_want_add(b, &object_sysctl, leg);
	struct kernel_sysctl *c;

	if (!s)
		return -ENOMEM;
	s->change.kind = KERNEL_SYSCTL;
	c = &s->change.sysctl;
	link_setting_key(setting, leg->link->name, c->key);
	snprintf(c->was, sizeof(c->was), "%d", was);
	snprintf(c->value, sizeof(c->value), "%d", want);
	snprintf(s->reason, sizeof(s->reason), "%s", reason);
	return 0;
}

/* Strict reverse-path filtering drops packets that arrive on one leg and are answered by the other.
 * The kernel uses the larger of the link's value and the value for all links, which Plenum does not
 * change. If either value is 1, the plan sets the link's value to 2 (loose). */
static int want_rp_filter(struct plan_builder *b, const struct plan_leg *leg)
{
	int own, effective, all = 0;
	char reason[160];

	if (!link_setting_effective(b->inv, LINK_SETTING_RP_FILTER, leg->link->name, &own,
				    &effective))
		return 0;
	if (effective != 1)
		return want_setting(b, leg, LINK_SETTING_RP_FILTER, own, own, "already as needed");
	link_setting_value(b->inv, LINK_SETTING_RP_FILTER, "all", &all);
	snprintf(reason, sizeof(reason),
		 "strict reverse-path filtering (rp_filter: all has %d, %s has %d) drops packets "
		 "that arrive on one leg and are routed via another",
		 all, leg->link->name, own);
	return want_setting(b, leg, LINK_SETTING_RP_FILTER, own, 2, reason);
}

static bool setting_applies(enum setting_when when, const struct plan_leg *leg, bool dpdk)
{
	bool ipv4 = leg->network->range.first.family == AF_INET;

	switch (when) {
	case WHEN_ALWAYS:
		return true;
	case WHEN_IPV4:
		return ipv4;
	case WHEN_IPV4_SAME_SUBNET:
		return ipv4 && leg->same_subnet;
	case WHEN_IPV4_DPDK:
		return ipv4 && dpdk;
	case WHEN_IPV6:
		return !ipv4;
	}
	return false;
}

static int want_settings(struct plan_builder *b, const struct plan_leg *leg, bool dpdk)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(wanted_settings) && r == 0; i++) {
		const struct wanted_setting *t = &wanted_settings[i];
		int own, effective, want;

		if (!setting_applies(t->when, leg, dpdk) ||
		    !link_setting_effective(b->inv, t->setting, leg->link->name, &own, &effective))
			continue;
		/* A value that is already good is part of the desired state too, because Plenum may
		 * have set it. If only the value for all links is too large, setting the link's own
		 * value would have no effect. */
		want = (effective >= t->min && effective <= t->max) || own == t->set ? own : t->set;
		r = want_setting(b, leg, t->setting, own, want, t->reason);
	}
	if (r == 0 && leg->network->range.first.family == AF_INET)
		r = want_rp_filter(b, leg);
	return r;
}

static int want_link(struct plan_builder *b, const struct plan_leg *leg)
{
	const struct inv_link *link = leg->link;
	/* The PF is configured before its VFs are created, because VFs inherit its MTU and link
	 * state. */
	const enum object_phase phase =
		leg->n_vfs && leg->link == leg->device ? OBJECT_PHASE_PARENT : OBJECT_PHASE_OF_KIND;
	struct plan_step *s;

	if (leg->set_mtu) {
		s = planner_want_add(b, &object_link, leg);
		if (!s)
			return -ENOMEM;
		s->change.kind = KERNEL_LINK;
		s->change.link = (struct kernel_link_value){KERNEL_LINK_MTU, leg->mtu, link->mtu};
		s->phase = phase;
		/* many drivers restart their queues when the MTU changes */
		s->disruptive = link->up;
		snprintf(s->reason, sizeof(s->reason), "network %s sets this MTU",
			 leg->network->name);
	}
	s = planner_want_add(b, &object_link, leg);
	if (!s)
		return -ENOMEM;
	s->change.kind = KERNEL_LINK;
	s->phase = phase;
	s->change.link = (struct kernel_link_value){KERNEL_LINK_UP, 1, link->up};
	snprintf(s->reason, sizeof(s->reason), "a leg must be up to carry data");
	return 0;
}

static int want_addr(struct plan_builder *b, const struct plan_leg *leg,
		     const struct plan_worker *w, const struct plan_port *port)
{
	struct plan_step *s = planner_want_add(b, &object_addr, leg);

	if (!s)
		return -ENOMEM;
	/* The kernel must not add the subnet's route to the main table: such a route would move
	 * traffic of other programs to the leg, and two legs in one subnet would both have such a
	 * route. The leg's own table has the route. */
	s->change.kind = KERNEL_ADDR;
	s->change.addr = (struct inv_addr){.ip = port->ip,
					   .proto = PLENUM_RTPROT,
					   .no_prefix_route = true,
					   .optimistic = port->ip.addr.family == AF_INET6};
	snprintf(s->reason, sizeof(s->reason), "data IP of worker %u (%s on core %u)", w->id,
		 spec_role_to_string(w->role), w->core);
	return 0;
}

static int want_rule(struct plan_builder *b, const struct plan_leg *leg,
		     const struct plan_worker *w, const struct plan_port *port)
{
	struct plan_step *s = planner_want_add(b, &object_rule, leg);

	if (!s)
		return -ENOMEM;
	s->link[0] = '\0'; /* a rule has no link */
	s->change.kind = KERNEL_RULE;
	s->change.ifindex = 0;
	s->change.rule = (struct inv_rule){.priority = PLAN_RULE_PRIORITY,
					   .table = leg->table,
					   .family = port->ip.addr.family,
					   .proto = PLENUM_RTPROT,
					   .from = {port->ip.addr, ip_addr_bits(&port->ip.addr)}};
	snprintf(s->reason, sizeof(s->reason), "packets from this IP (worker %u) must leave via %s",
		 w->id, leg->net->name);
	return 0;
}

static struct plan_step *want_route(struct plan_builder *b, const struct plan_leg *leg,
				    const struct ip_prefix *dst, const struct ip_addr *gateway)
{
	struct plan_step *s = planner_want_add(b, &object_route, leg);

	if (!s)
		return NULL;
	s->change.kind = KERNEL_ROUTE;
	s->change.route = (struct inv_route){.table = leg->table,
					     .family = leg->network->range.first.family,
					     .proto = PLENUM_RTPROT,
					     .dst = *dst,
					     .gateway = *gateway};
	kernel_route_normalize(&s->change.route);
	return s;
}

static const struct inv_link *loopback(const struct inventory *inv)
{
	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].kind == INV_LINK_LOOPBACK)
			return &inv->links[i];
	return NULL;
}

/* Adds the last route of the table, an unreachable route. If the leg has no carrier or no gateway,
 * a packet finds no other route in the leg's table. Without this route it would use the main table,
 * and leave by another leg or the management interface. */
static int want_unreachable(struct plan_builder *b, const struct plan_leg *leg)
{
	struct plan_step *s = planner_want_add(b, &object_route, leg);
	uint8_t family = leg->network->range.first.family;
	/* The kernel puts unreachable IPv6 routes on the loopback link; unreachable IPv4 routes
	 * have no link. */
	const struct inv_link *link = family == AF_INET6 ? loopback(b->inv) : NULL;

	if (!s)
		return -ENOMEM;
	s->change.kind = KERNEL_ROUTE;
	s->change.ifindex = link ? link->ifindex : 0;
	snprintf(s->link, sizeof(s->link), "%s", link ? link->name : "");
	s->change.route = (struct inv_route){.table = leg->table,
					     .family = family,
					     .proto = PLENUM_RTPROT,
					     .metric = PLAN_UNREACHABLE_METRIC,
					     .type = INV_ROUTE_UNREACHABLE};
	kernel_route_normalize(&s->change.route);
	snprintf(s->reason, sizeof(s->reason), "traffic of %s must not leave via another interface",
		 leg->net->name);
	return 0;
}

/* Adds the routes of the leg's own table: the route to its subnet, the route via its gateway, and
 * the unreachable route. */
static int want_routes(struct plan_builder *b, const struct plan_leg *leg)
{
	const struct ip_range *range = &leg->network->range;
	const struct ip_prefix subnet = {ip_addr_network(&range->first, range->prefix_len),
					 range->prefix_len};
	const struct ip_prefix all = {{.family = range->first.family}, 0};
	const struct ip_addr none = {0};
	struct plan_step *s = want_route(b, leg, &subnet, &none);

	if (!s)
		return -ENOMEM;
	snprintf(s->reason, sizeof(s->reason),
		 "table %u belongs to %s alone; this route reaches its subnet", leg->table,
		 leg->net->name);
	if (leg->network->gateway.family) {
		s = want_route(b, leg, &all, &leg->network->gateway);
		if (!s)
			return -ENOMEM;
		snprintf(s->reason, sizeof(s->reason),
			 "the gateway of network %s reaches other subnets", leg->network->name);
	}
	return want_unreachable(b, leg);
}

static const struct plan_port *worker_port(const struct plan_worker *w, const struct plan_leg *leg)
{
	for (size_t i = 0; i < w->n_ports; i++)
		if (strcmp(w->ports[i].leg, leg->net->name) == 0)
			return &w->ports[i];
	return NULL;
}

/* If the leg's device is a port of a bond of Plenum, makes it leave the bond and keep its present
 * state and MTU. */
static int want_no_master(struct plan_builder *b, const struct plan_leg *leg)
{
	const struct inv_link *device = leg->device;
	const struct inv_link *master =
		device->master ? inv_link_by_index(b->inv, device->master) : NULL;
	struct plan_step *s = planner_want_add(b, &object_master, leg);
	struct kernel_master *v;

	if (!s)
		return -ENOMEM;
	planner_step_on(s, device);
	s->phase = OBJECT_PHASE_RELEASE;
	s->change.kind = KERNEL_MASTER;
	v = &s->change.master;
	v->up = v->was_up = device->up;
	v->mtu = v->was_mtu = device->mtu;
	if (master)
		memcpy(v->was, master->name, sizeof(v->was));
	s->disruptive = true;
	snprintf(s->reason, sizeof(s->reason), "an independent leg must not be a bond port");
	return 0;
}

int planner_want_leg(struct plan_builder *b, const struct plan_leg *leg)
{
	bool udp = false, dpdk = false;
	int r = plan_features_want(b, leg, PLAN_STAGE_DEVICE);

	if (leg->shared)
		return r;
	for (size_t i = 0; i < b->plan->n_workers && r == 0; i++) {
		const struct plan_worker *w = &b->plan->workers[i];
		const struct plan_port *port = worker_port(w, leg);

		if (!port)
			continue;
		if (w->effective != SPEC_TRANSPORT_UDP) {
			dpdk = true; /* the worker, not the kernel, answers for the worker's IP */
			continue;
		}
		udp = true;
		r = want_addr(b, leg, w, port);
		if (r == 0)
			r = want_rule(b, leg, w, port);
	}
	if (r == 0)
		r = want_no_master(b, leg);
	if (r == 0)
		r = want_settings(b, leg, dpdk);
	if (r == 0)
		r = plan_features_want(b, leg, PLAN_STAGE_BEFORE_LINK);
	if (r == 0)
		r = want_link(b, leg);
	if (r == 0)
		r = plan_features_want(b, leg, PLAN_STAGE_AFTER_LINK);
	if (r == 0 && udp)
		r = want_routes(b, leg);
	return r;
}

int planner_want_legs(struct plan_builder *b)
{
	int r = 0;

	for (size_t i = 0; i < b->n_legs && r == 0; i++)
		r = planner_want_leg(b, &b->legs[i]);
	return r;
}
