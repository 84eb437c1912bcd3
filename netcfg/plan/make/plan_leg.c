/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns a data device of the spec into a leg with its state. A mistake in the spec is an error of
 * the plan. A problem of the host, or a device that must not be changed, only sets the state and
 * the reason of one leg, so that the other legs are still configured.
 *
 * If the host later gets a default route or an overlapping subnet on a leg that already has
 * Plenum's addresses, the leg stays in service and reports the problem.
 */
#include "netcfg/host/link_setting.h"
#include "netcfg/plan/make/plan_match.h"
#include "netcfg/plan/make/vlan_link.h"
#include "netcfg/plan/plan_feature.h"
#include "netcfg/plan/plan_guard.h"
#include "netcfg/plan/plan_pools.h"
#include "netcfg/plan/plan_shared.h"
#include "netcfg/plan/planner.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NEAR_NAMES_MAX 4

/* A path for messages, such as "net[leg-a].device". */
struct net_path {
	char text[PLENUM_NAME_MAX + 32];
};

static struct net_path net_path(const struct spec_net *net, const char *key)
{
	struct net_path p;

	snprintf(p.text, sizeof(p.text), "net[%s].%s", net->name, key);
	return p;
}

void planner_leg_set_state(struct plan_builder *b, size_t i, enum plan_leg_state state,
			   const struct reason *why)
{
	struct plan_leg_info *info = &b->plan->legs[i];

	if (info->state >= state)
		return;
	info->state = state;
	info->reason = *why;
	if (!plan_leg_is_configured(info) && b->spec->on_fallback == SPEC_FALLBACK_REFUSE)
		diag_add(b->d, DIAG_ERROR, &b->spec->nets[i].pos,
			 net_path(&b->spec->nets[i], "device").text,
			 "%s; policy.on-fallback is refuse, so nothing is applied without this leg",
			 why->text);
}

/* ---- the device ---- */

/* Returns whether other programs gave the link an address, as on a management interface. */
static bool link_is_in_use(const struct plan_builder *b, const struct inv_link *link)
{
	for (size_t i = 0; i < b->inv->n_addrs; i++) {
		const struct inv_addr *a = &b->inv->addrs[i];

		if (a->ifindex == link->ifindex && !ip_addr_is_link_local(&a->ip.addr) &&
		    !plan_addr_is_ours(b, a))
			return true;
	}
	for (size_t i = 0; i < b->spec->n_nets; i++)
		if (inv_link_find(b->inv, b->spec->nets[i].device) == link)
			return true;
	return false;
}

/* Returns whether a message may suggest this link if the configured device is missing. */
static bool link_is_candidate(const struct plan_builder *b, const struct inv_link *link)
{
	struct reason unused;

	if (link_is_in_use(b, link))
		return false;
	return !plan_link_refusal(b->inv, b->spec->management_interface, link, &unused) &&
	       !plan_link_dependent(b->inv, link, &unused);
}

/* Suggests the most similar device name; if no name is similar, lists the possible devices. */
static void explain_not_found(struct plan_builder *b, const struct spec_net *net,
			      struct reason *why)
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
		reason_set(why, "not-found", "this host has no device %.*s; did you mean %s?",
			   PLENUM_NAME_MAX, net->device, near);
	else
		reason_set(why, "not-found", "this host has no device %.*s; possible devices: %s",
			   PLENUM_NAME_MAX, net->device, shown ? others : "none");
}

/* Returns the link that serves this leg now, if the link was renamed since, or NULL. */
static const struct inv_link *link_renamed(const struct plan_builder *b, const struct spec_net *net)
{
	const struct plan *running = b->ctx->running;

	for (size_t i = 0; running && i < running->n_legs; i++) {
		const struct plan_leg_info *was = &running->legs[i];

		if (strcmp(was->name, net->name) == 0 && strcmp(was->device, net->device) == 0 &&
		    plan_leg_is_configured(was))
			return inv_link_by_index(b->inv, was->ifindex);
	}
	return NULL;
}

/* Returns the link that the spec names or selects or, if the link of a leg in service was renamed,
 * the renamed link. Otherwise sets the leg's state and returns NULL. */
static const struct inv_link *link_find(struct plan_builder *b, size_t i)
{
	const struct spec_net *net = &b->spec->nets[i];
	const struct plan_pick *pick = plan_match_pick(b, net);
	const struct inv_link *link = inv_link_find(b->inv, net->device);
	struct reason why;

	if (pick && pick->state != PLAN_LEG_USABLE)
		planner_leg_set_state(b, i, pick->state, &pick->why);
	if (pick)
		return inv_link_by_index(b->inv, pick->ifindex);
	if (link)
		return link;
	link = link_renamed(b, net);
	if (!link) {
		explain_not_found(b, net, &why);
		planner_leg_set_state(b, i, PLAN_LEG_ABSENT, &why);
		return NULL;
	}
	reason_set(
		&why, "renamed",
		"interface %.*s was renamed to %s; write the new name, or the MAC or PCI address",
		IFNAMSIZ, net->device, link->name);
	planner_leg_set_state(b, i, PLAN_LEG_DEGRADED, &why);
	return link;
}

/* Returns whether the PCI address has several links, because several ports share one PCI function.
 * Then only a name or MAC address identifies a port. */
static bool device_is_ambiguous(const struct plan_builder *b, const char *device,
				struct reason *why)
{
	char names[NEAR_NAMES_MAX * (IFNAMSIZ + 2) + 8] = "";
	size_t n = 0;

	for (size_t i = 0; i < b->inv->n_links; i++) {
		const struct inv_link *link = &b->inv->links[i];
		size_t len = strlen(names);

		if (!link->pci[0] || strcasecmp(link->pci, device) != 0)
			continue;
		if (n <= NEAR_NAMES_MAX)
			snprintf(names + len, sizeof(names) - len, "%s%s", n ? ", " : "",
				 n < NEAR_NAMES_MAX ? link->name : "...");
		n++;
	}
	if (n < 2)
		return false;
	reason_set(why, "ambiguous",
		   "%zu interfaces have the PCI address %.*s: %s; write the name or the MAC "
		   "address of one interface",
		   n, PLENUM_NAME_MAX, device, names);
	return true;
}

/* Returns whether the leg is in service on this link: the link has Plenum's addresses or routes, or
 * the plan in force uses it. */
static bool link_is_ours(const struct plan_builder *b, const struct inv_link *link, size_t leg)
{
	for (size_t i = 0; i < b->inv->n_addrs; i++)
		if (b->inv->addrs[i].ifindex == link->ifindex &&
		    plan_addr_is_ours(b, &b->inv->addrs[i]))
			return true;
	for (size_t i = 0; i < b->inv->n_routes; i++)
		if (b->inv->routes[i].oif == link->ifindex &&
		    b->inv->routes[i].proto == PLENUM_RTPROT)
			return true;
	for (size_t i = 0; b->ctx->running && i < b->ctx->running->n_legs; i++)
		if (b->ctx->running->legs[i].ifindex == link->ifindex &&
		    plan_leg_is_configured(&b->ctx->running->legs[i]) &&
		    strcmp(b->ctx->running->legs[i].name, b->spec->nets[leg].name) == 0)
			return true;
	return false;
}

static bool device_is_taken(const struct plan_builder *b, const struct inv_link *link,
			    struct reason *why)
{
	for (size_t i = 0; i < b->n_legs; i++) {
		if (b->legs[i].device != link && b->legs[i].link != link)
			continue;
		reason_set(why, "used-twice",
			   "leg %s already uses %s; each leg needs its own device",
			   b->legs[i].net->name, link->name);
		return true;
	}
	return false;
}

/* ---- effects on the host ---- */

/* Returns true and sets why if the link cannot have the leg's MTU. */
static bool mtu_is_impossible(const struct plan_builder *b, const struct plan_leg *leg,
			      struct reason *why)
{
	const struct inv_link *link = leg->mtu > leg->device->mtu ? leg->device : leg->link;
	const struct spec_network *network = leg->network;
	const struct inv_link *lower = vlan_link_parent(b, leg);

	if (lower && leg->mtu > lower->mtu)
		reason_set(why, "mtu-impossible",
			   "network %.*s needs mtu %u, but %s is a VLAN on %s with mtu %u; raise "
			   "the parent's mtu, or write mtu: %u",
			   PLENUM_NAME_MAX, network->name, leg->mtu, link->name, lower->name,
			   lower->mtu, lower->mtu);
	else if (link->mtu_max && leg->mtu > link->mtu_max)
		reason_set(why, "mtu-impossible",
			   "network %.*s needs mtu %u, but %s supports at most %u; write mtu: %u",
			   PLENUM_NAME_MAX, network->name, leg->mtu, link->name, link->mtu_max,
			   link->mtu_max);
	else if (leg->mtu < link->mtu_min)
		reason_set(why, "mtu-impossible",
			   "network %.*s sets mtu %u, but %s supports at least %u; write mtu: %u",
			   PLENUM_NAME_MAX, network->name, leg->mtu, link->name, link->mtu_min,
			   link->mtu_min);
	else if (leg->mtu < SPEC_MTU_MIN)
		reason_set(why, "mtu-impossible",
			   "workers need an mtu of at least %u, but %s has %u; write mtu: 1500 or "
			   "more",
			   SPEC_MTU_MIN, link->name, leg->mtu);
	else
		return plan_features_refuse_mtu(leg, why);
	return true;
}

/* Returns true and sets why if a new MTU would disturb the host. Most drivers restart their queues
 * when the MTU changes, which stalls every connection. So if the host depends on a link that is up,
 * the plan does not change its MTU. */
static bool mtu_change_disturbs_host(struct plan_builder *b, const struct plan_leg *leg,
				     struct reason *why)
{
	struct reason dependent;
	/* The plan never lowers the MTU of a VLAN's parent. */
	const bool below = leg->device != leg->link && leg->mtu > leg->device->mtu;
	const struct inv_link *link = below ? leg->device : leg->link;

	if (!leg->set_mtu || leg->mtu == link->mtu || !link->up ||
	    !plan_link_guarded(b, link, &dependent))
		return false;
	reason_set(why, dependent.code,
		   "%.80s: changing its mtu from %u to %u could cut the host off; write another "
		   "device, leave 'mtu' out, or use plenum apply --force %s",
		   dependent.text, link->mtu, leg->mtu, link->name);
	return true;
}

/* Returns whether the host also has a default route by another link. */
static bool has_other_default_route(const struct inventory *inv, const struct inv_link *link)
{
	for (size_t i = 0; i < inv->n_routes; i++) {
		const struct inv_route *r = &inv->routes[i];
		const struct inv_link *top = inv_link_by_index(inv, r->oif);

		if (r->dst.len == 0 && r->type == INV_ROUTE_UNICAST && r->proto != PLENUM_RTPROT &&
		    top && !plan_link_stands_on(inv, top, link))
			return true;
	}
	return false;
}

static bool has_ipv6_connections(const struct inventory *inv, const struct inv_link *link)
{
	for (size_t i = 0; i < inv->n_conns; i++)
		for (size_t j = 0; j < inv->n_addrs; j++)
			if (inv->conns[i].local.family == AF_INET6 &&
			    inv->addrs[j].ifindex == link->ifindex &&
			    ip_addr_equal(&inv->addrs[j].ip.addr, &inv->conns[i].local))
				return true;
	return false;
}

/* Returns true and sets why if the host itself relies on router advertisements on this link. A leg
 * ignores them, so the host's addresses and default route would expire. */
static bool host_needs_ra(struct plan_builder *b, const struct inv_link *link, struct reason *why)
{
	struct reason r;
	bool any = false;
	int accepts = 0;

	for (size_t i = 0; i < b->inv->n_routes && !any; i++)
		any = b->inv->routes[i].proto == INV_PROTO_RA &&
		      b->inv->routes[i].oif == link->ifindex;
	if (!any || !link_setting_value(b->inv, LINK_SETTING_ACCEPT_RA, link->name, &accepts) ||
	    accepts == 0 ||
	    (has_other_default_route(b->inv, link) && !has_ipv6_connections(b->inv, link)))
		return false;
	reason_set(&r, "default-route",
		   "%s gets its IPv6 routes from router advertisements; legs ignore these, but the "
		   "host needs the routes; write another device, or use plenum apply --force %s",
		   link->name, link->name);
	if (plan_is_forced(b, link, &r))
		return false;
	*why = r;
	return true;
}

static struct ip_prefix network_subnet(const struct spec_network *network)
{
	const struct ip_range *range = &network->range;

	return (struct ip_prefix){ip_addr_network(&range->first, range->prefix_len),
				  range->prefix_len};
}

static bool prefixes_overlap(const struct ip_prefix *a, const struct ip_prefix *b)
{
	return ip_prefix_contains(a, &b->addr) || ip_prefix_contains(b, &a->addr);
}

/* Returns the link that would carry the addresses of the spec's i-th data device, or NULL. */
static const struct inv_link *link_of_net(const struct plan_builder *b, size_t i,
					  const struct spec_network *network)
{
	const struct inv_link *named = inv_link_find(b->inv, b->spec->nets[i].device);
	struct reason unused;

	return named ? vlan_link_choose(b, network, vlan_link_device(b, network, named), &unused)
		     : NULL;
}

/* Returns whether the link is itself a data device of the spec whose subnet overlaps `subnet`,
 * which is allowed. */
static bool link_shares_subnet(const struct plan_builder *b, const struct inv_link *link,
			       const struct ip_prefix *subnet)
{
	for (size_t i = 0; i < b->spec->n_nets; i++) {
		const struct spec_network *network =
			planner_network_find(b->spec, b->spec->nets[i].network);
		struct ip_prefix other;

		if (!network || link_of_net(b, i, network) != link)
			continue;
		other = network_subnet(network);
		if (prefixes_overlap(&other, subnet))
			return true;
	}
	return false;
}

static bool link_is_in_vrf(const struct inventory *inv, const struct inv_link *link)
{
	const struct inv_link *master = link->master ? inv_link_by_index(inv, link->master) : NULL;

	return link->vrf_table || (master && master->vrf_table);
}

/* Returns whether another link's prefix overlaps the leg's subnet. Links in a VRF never count. */
static bool prefix_collides(const struct plan_builder *b, const struct plan_leg *leg,
			    const struct ip_prefix *have, uint32_t ifindex, struct reason *why)
{
	const struct ip_prefix subnet = network_subnet(leg->network);
	const struct inv_link *on = inv_link_by_index(b->inv, ifindex);
	const struct ip_prefix other = {ip_addr_network(&have->addr, have->len), have->len};
	const struct ip_prefix *both = other.len > subnet.len ? &other : &subnet;
	const struct ip_addr last = ip_prefix_last(both);
	char mine[IP_ADDR_STR_MAX], theirs[IP_ADDR_STR_MAX], from[IP_ADDR_STR_MAX],
		to[IP_ADDR_STR_MAX];

	if (!on || on == leg->link || have->len == ip_addr_bits(&have->addr) ||
	    link_is_in_vrf(b->inv, on) || !prefixes_overlap(&subnet, &other) ||
	    link_shares_subnet(b, on, &subnet))
		return false;
	if (ip_range_contains(&leg->network->range, &have->addr)) {
		reason_set(why, "address-taken",
			   "another program added %s, an address of network %.*s, to %s; remove "
			   "the address there, or write another range",
			   ip_prefix_format(have, theirs, sizeof(theirs)), PLENUM_NAME_MAX,
			   leg->network->name, on->name);
		return true;
	}
	reason_set(why, "overlap",
		   "network %.*s (%s) overlaps %s (%s) from %s to %s; write another range",
		   PLENUM_NAME_MAX, leg->network->name,
		   ip_prefix_format(&subnet, mine, sizeof(mine)), on->name,
		   ip_prefix_format(&other, theirs, sizeof(theirs)),
		   ip_addr_format(&both->addr, from, sizeof(from)),
		   ip_addr_format(&last, to, sizeof(to)));
	return true;
}

/* Returns whether the host already uses the data subnet elsewhere: another link has an address in
 * it, or the main table has a route to it without a gateway. Routes that the kernel added are
 * skipped, because they only follow from addresses, and Plenum's addresses have such routes too. */
static bool subnet_is_taken(const struct plan_builder *b, const struct plan_leg *leg,
			    struct reason *why)
{
	for (size_t i = 0; i < b->inv->n_addrs; i++) {
		const struct inv_addr *a = &b->inv->addrs[i];

		if (!plan_addr_is_ours(b, a) && prefix_collides(b, leg, &a->ip, a->ifindex, why))
			return true;
	}
	for (size_t i = 0; i < b->inv->n_routes; i++) {
		const struct inv_route *r = &b->inv->routes[i];

		if (r->table == INV_TABLE_MAIN && r->type == INV_ROUTE_UNICAST && r->dst.len &&
		    !r->gateway.family && r->proto != INV_PROTO_KERNEL &&
		    r->proto != PLENUM_RTPROT && prefix_collides(b, leg, &r->dst, r->oif, why))
			return true;
	}
	return false;
}

/* Returns whether a router on the data network advertises itself as the default gateway. */
static bool router_advertises(const struct plan_builder *b, const struct plan_leg *leg,
			      struct reason *why)
{
	char gateway[IP_ADDR_STR_MAX];

	for (size_t i = 0; i < b->inv->n_routes; i++) {
		const struct inv_route *r = &b->inv->routes[i];

		if (r->proto != INV_PROTO_RA || r->dst.len || r->oif != leg->link->ifindex)
			continue;
		reason_set(why, "router-advertisement",
			   "%s received a default route by router advertisement (via %s), so host "
			   "traffic may leave via the data network; stop the advertisements there",
			   leg->link->name, ip_addr_format(&r->gateway, gateway, sizeof(gateway)));
		return true;
	}
	return false;
}

/* Checks the leg and sets its state in the plan. Returns false if the leg must not be
 * configured. */
static bool leg_check(struct plan_builder *b, size_t i, struct plan_leg *leg)
{
	bool ours = link_is_ours(b, leg->link, i);
	enum plan_leg_state kept = ours ? PLAN_LEG_DEGRADED : PLAN_LEG_REFUSED;
	struct reason why;

	if (mtu_is_impossible(b, leg, &why)) {
		planner_leg_set_state(b, i, PLAN_LEG_REFUSED, &why);
	} else if (vlan_link_waits(b, leg, &why)) {
		planner_leg_set_state(b, i, PLAN_LEG_ABSENT, &why);
	} else if (subnet_is_taken(b, leg, &why)) {
		planner_leg_set_state(b, i, kept, &why);
	} else if (mtu_change_disturbs_host(b, leg, &why)) {
		planner_leg_set_state(b, i, kept, &why);
		leg->set_mtu = false;
		leg->mtu = MIN_OF(leg->link->mtu, leg->device->mtu);
	} else if (!ours && host_needs_ra(b, leg->link, &why)) {
		planner_leg_set_state(b, i, PLAN_LEG_REFUSED, &why);
	} else if (leg->link->up && !leg->link->carrier) {
		plan_explain_carrier(leg->link, &why);
		planner_leg_set_state(b, i, PLAN_LEG_DEGRADED, &why);
	} else if (router_advertises(b, leg, &why)) {
		planner_leg_set_state(b, i, PLAN_LEG_DEGRADED, &why);
	}
	return plan_leg_is_configured(&b->plan->legs[i]);
}

/* ---- the leg ---- */

/* Returns whether another program uses the table and Plenum does not. */
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

/* Chooses the routing table of a leg by the device's position in the spec, so that a leg keeps its
 * table when other legs are absent. */
static uint32_t table_choose(const struct inventory *inv, size_t i)
{
	uint32_t table = PLAN_TABLE_FIRST + (uint32_t)i;

	while (table_is_foreign(inv, table))
		table += PLAN_TABLE_STRIDE;
	return table;
}

/* Marks two legs that share a subnet. */
static void leg_relate(struct plan_leg *a, struct plan_leg *b)
{
	const struct ip_prefix pa = network_subnet(a->network), pb = network_subnet(b->network);

	if (prefixes_overlap(&pa, &pb))
		a->same_subnet = b->same_subnet = true;
}

/* Returns whether the leg must not use this link, which is its device or a VLAN on it. */
static bool link_is_refused(const struct plan_builder *b, const struct spec_network *network,
			    const struct inv_link *link, const struct inv_link *device,
			    struct reason *why)
{
	return plan_link_refusal(b->inv, b->spec->management_interface, link, why) ||
	       (device != link && vlan_link_parent_refusal(b, network, device, why)) ||
	       device_is_taken(b, device, why);
}

/* Returns the link for a leg on that device. If the device has no such link, sets the leg's state
 * and returns NULL. */
static const struct inv_link *link_choose(struct plan_builder *b, size_t i,
					  const struct spec_network *network,
					  const struct inv_link *device)
{
	struct plan_leg_info *info = &b->plan->legs[i];
	enum plan_leg_state state = PLAN_LEG_REFUSED;
	const struct inv_link *link;
	struct reason why;

	memcpy(info->ifname, device->name, sizeof(info->ifname));
	info->ifindex = device->ifindex;
	link = vlan_link_choose(b, network, device, &why);
	if (link) {
		memcpy(info->ifname, link->name, sizeof(info->ifname));
		info->ifindex = link->ifindex;
	}
	if (link && !link_is_refused(b, network, link, device, &why)) {
		if (device->initialized || link_is_ours(b, link, i))
			return link;
		reason_set(&why, "not-ready",
			   "udev is still initializing %s; the leg starts when udev is done",
			   device->name);
		state = PLAN_LEG_ABSENT;
	}
	planner_leg_set_state(b, i, state, &why);
	return NULL;
}

/* Returns the device that the spec names. If the host does not have it, sets the leg's state and
 * returns NULL. */
static const struct inv_link *device_choose(struct plan_builder *b, size_t i,
					    const struct spec_network *network)
{
	const struct inv_link *named = link_find(b, i);
	struct reason why;

	if (!named)
		return NULL;
	if (!device_is_ambiguous(b, b->spec->nets[i].device, &why))
		return vlan_link_device(b, network, named);
	planner_leg_set_state(b, i, PLAN_LEG_REFUSED, &why);
	return NULL;
}

void planner_leg_show(struct plan_builder *b, size_t i)
{
	const struct spec_net *net = &b->spec->nets[i];
	struct plan_leg_info *info = &b->plan->legs[i];

	b->plan->n_legs = i + 1;
	memcpy(info->name, net->name, sizeof(info->name));
	plan_match_show(b, net, info);
	memcpy(info->network, net->network, sizeof(info->network));
	memcpy(info->label, net->label[0] ? net->label : net->name, sizeof(info->label));
}

/* Sets the state of a leg that the spec disables. This is never an error, whatever
 * policy.on-fallback is. */
static void leg_disable(struct plan_leg_info *info)
{
	info->state = PLAN_LEG_DISABLED;
	reason_set(&info->reason, "disabled",
		   "the configuration disables this leg; 'plenum net enable %s' enables it",
		   info->name);
}

/* Refuses the configuration if this host owns too few addresses of the network's pool for the
 * workers that have addresses on the leg now. */
static bool pool_takes_away(struct plan_builder *b, size_t i, const struct spec_network *network)
{
	const struct plan *running = b->ctx->needs_pools ? b->ctx->running : NULL;
	const size_t have = plan_pool_count(network->taken, network->n_taken);
	const struct spec_net *net = &b->spec->nets[i];
	struct reason why;
	size_t n = 0;

	for (size_t k = 0; running && k < running->n_workers; k++)
		for (size_t p = 0; p < running->workers[k].n_ports; p++)
			n += strcmp(running->workers[k].ports[p].leg, net->name) == 0;
	n = MIN_OF(n, plan_pool_need(b->spec, network));
	if (have >= n)
		return false;
	plan_pool_reason(b, network, &why);
	diag_add(
		b->d, DIAG_ERROR, &net->pos, net_path(net, "network").text,
		"leg %s has addresses for %zu workers now, and this host has %zu of the pool '%s'; "
		"apply again when it has enough (%.200s)",
		net->name, n, have, network->pool, why.text);
	return true;
}

/* Finds an address of the pool that this host's configuration already uses for another purpose. */
static bool pool_clashes(const struct plan_builder *b, const struct spec_network *w,
			 struct reason *why)
{
	const struct spec *s = b->spec;

	if (ip_range_contains(&w->range, &w->gateway)) {
		reason_set(why, "pool-clash",
			   "the gateway of network %s is in the range of its pool '%s', so a host "
			   "may get it; correct 'gateway', or leave it out of the range",
			   w->name, w->pool);
		return true;
	}
	for (size_t i = 0; i < s->n_networks; i++) {
		const struct spec_network *o = &s->networks[i];

		if (o == w || !o->range.first.family || !ip_range_overlaps(&o->range, &w->range))
			continue;
		reason_set(why, "pool-clash",
			   "the range of the pool '%s' overlaps that of network %s; give each its "
			   "own addresses",
			   w->pool, o->name);
		return true;
	}
	for (size_t i = 0; i < s->n_peers; i++)
		for (size_t k = 0; k < s->peers[i].n_ips; k++)
			for (size_t t = 0; t < w->n_taken; t++) {
				if (!ip_addr_equal(&w->taken[t], &s->peers[i].ips[k]))
					continue;
				reason_set(
					why, "pool-clash",
					"this host owns an address of the pool '%s' that 'peers' "
					"lists for %s; correct the entry of the peer",
					w->pool, s->peers[i].name);
				return true;
			}
	return false;
}

/* Returns whether the leg can use the addresses of its network, if that has a pool. If it cannot,
 * sets the leg's state. */
static bool pool_is_ready(struct plan_builder *b, size_t i, const struct spec_network *network)
{
	struct reason why;

	if (!network->pool[0])
		return true;
	if (!network->n_taken) {
		/* No error with policy.on-fallback: refuse either, because the agent takes the
		 * addresses of a configuration only when it is in force. */
		b->plan->legs[i].state = PLAN_LEG_ABSENT;
		plan_pool_reason(b, network, &b->plan->legs[i].reason);
		return false;
	}
	if (!pool_clashes(b, network, &why))
		return true;
	planner_leg_set_state(b, i, PLAN_LEG_REFUSED, &why);
	return false;
}

static void leg_append(struct plan_builder *b, struct plan_leg *leg)
{
	memcpy(leg->label, b->plan->legs[leg->index].label, sizeof(leg->label));
	b->legs[b->n_legs++] = *leg;
	for (size_t j = 0; j + 1 < b->n_legs; j++)
		leg_relate(&b->legs[j], &b->legs[b->n_legs - 1]);
}

/* Adds a leg on the host's own address. The plan changes nothing there, so the host's dependencies
 * are not checked. */
static void shared_leg_add(struct plan_builder *b, size_t i)
{
	struct plan_leg leg = {
		.index = i, .net = &b->spec->nets[i], .network = &b->shared[i], .shared = true};
	struct plan_leg_info *info = &b->plan->legs[i];
	enum plan_leg_state state = PLAN_LEG_REFUSED;
	struct reason why;

	leg.link = leg.device = device_choose(b, i, leg.network);
	if (!leg.link)
		return;
	memcpy(info->ifname, leg.link->name, sizeof(info->ifname));
	info->ifindex = leg.link->ifindex;
	leg.mtu = leg.link->mtu;
	if (!plan_link_refusal(b->inv, "", leg.link, &why) && !device_is_taken(b, leg.link, &why) &&
	    !mtu_is_impossible(b, &leg, &why)) {
		if (plan_shared_find(b, leg.net, leg.link, &b->shared[i], &why)) {
			if (!leg.link->carrier) {
				plan_explain_carrier(leg.link, &why);
				planner_leg_set_state(b, i, PLAN_LEG_DEGRADED, &why);
			}
			plan_features_check_leg(b, i, &leg);
			leg_append(b, &leg);
			return;
		}
		state = PLAN_LEG_ABSENT; /* the leg is only absent, because the address may
					    still appear */
	}
	planner_leg_set_state(b, i, state, &why);
}

int planner_leg_add(struct plan_builder *b, size_t i)
{
	const struct spec_net *net = &b->spec->nets[i];
	const struct spec_network *network = planner_network_find(b->spec, net->network);
	const struct inv_link *device, *link;
	struct plan_leg leg;

	if (i >= ARRAY_SIZE(b->plan->legs)) {
		diag_add(b->d, DIAG_ERROR, &net->pos, net_path(net, "device").text,
			 "a host supports at most %zu legs; remove a leg",
			 ARRAY_SIZE(b->plan->legs));
		return 0;
	}
	if (!network && !net->shared_ip) {
		diag_add(b->d, DIAG_ERROR, &net->pos, net_path(net, "network").text,
			 "network %s is not defined; write the name of an entry of 'networks'",
			 net->network);
		return 0;
	}
	planner_leg_show(b, i);
	if (!net->enabled) {
		leg_disable(&b->plan->legs[i]);
		return 0;
	}
	if (net->shared_ip) {
		shared_leg_add(b, i);
		return 0;
	}
	if (network->pool[0] && pool_takes_away(b, i, network))
		return 0;
	/* The device comes first: without it, addresses of a pool would be of no use. */
	device = device_choose(b, i, network);
	if (device && !pool_is_ready(b, i, network))
		return 0;
	link = device ? link_choose(b, i, network, device) : NULL;
	if (!link)
		return 0;
	leg = (struct plan_leg){.index = i,
				.net = net,
				.network = network,
				.link = link,
				.device = device,
				.table = table_choose(b->inv, i),
				.set_mtu = network->mtu != 0,
				.mtu = network->mtu ? network->mtu : link->mtu};
	if (!leg_check(b, i, &leg))
		return 0;
	plan_features_check_leg(b, i, &leg);
	leg_append(b, &leg);
	return 0;
}

int planner_legs_add(struct plan_builder *b)
{
	int r = 0;

	for (size_t i = 0; i < b->spec->n_nets && r == 0; i++)
		r = planner_leg_add(b, i);
	return r;
}
