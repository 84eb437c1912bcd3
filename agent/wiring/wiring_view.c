/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the legs, addresses and questions that the wiring watch needs on this host. */
#include "agent/wiring/wiring_view.h"
#include <stdio.h>
#include <string.h>

/* Returns whether the NIC adds the VLAN tag of workers' VFs. If so, the PF's own link is in another
 * network. */
static bool is_tagged_by_nic(const struct spec *s, const struct plan_leg_info *info,
			     const struct inv_link *link)
{
	for (size_t i = 0; i < s->n_networks; i++)
		if (strcmp(s->networks[i].name, info->network) == 0)
			return s->networks[i].vlan && !link->vlan;
	return false;
}

/* Returns whether the leg uses the host's own address, because the leg is the management interface
 * too. */
static bool is_shared(const struct plan *p, const char *leg)
{
	for (size_t i = 0; i < p->n_workers; i++)
		for (size_t j = 0; j < p->workers[i].n_ports; j++)
			if (p->workers[i].ports[j].shared &&
			    strcmp(p->workers[i].ports[j].leg, leg) == 0)
				return true;
	return false;
}

/* Adds the legs that send Ethernet frames. The ports of a bond are not legs. */
static void add_legs(const struct wiring_host *h, struct wiring_view *v)
{
	for (size_t i = 0; i < h->plan->n_legs && v->n_legs < ARRAY_SIZE(v->legs); i++) {
		const struct plan_leg_info *info = &h->plan->legs[i];
		const struct inv_link *link = inv_link_by_index(h->inv, info->ifindex);
		struct wiring_leg *leg = &v->legs[v->n_legs];

		if (!plan_leg_is_configured(info) || info->bond[0] || !link ||
		    link->kind == INV_LINK_IPOIB || is_tagged_by_nic(h->spec, info, link))
			continue;
		*leg = (struct wiring_leg){.ifindex = link->ifindex,
					   .mac = link->mac,
					   .carrier = carriers_usable(h->carriers, link->ifindex)};
		memcpy(leg->name, info->name, sizeof(leg->name));
		memcpy(leg->ifname, link->name, sizeof(leg->ifname));
		leg->quiet = strcmp(h->spec->management_interface, link->name) == 0 ||
			     is_shared(h->plan, info->name);
		v->n_legs++;
	}
}

static bool kernel_has(const struct inventory *inv, uint32_t ifindex, const struct ip_addr *ip)
{
	for (size_t i = 0; i < inv->n_addrs; i++)
		if (inv->addrs[i].ifindex == ifindex && ip_addr_equal(&inv->addrs[i].ip.addr, ip))
			return true;
	return false;
}

static void add_address(struct wiring_view *v, uint32_t ifindex, const struct ip_addr *ip,
			enum wiring_kind kind, const struct mac_addr *by)
{
	for (size_t i = 0; i < v->n_addresses; i++)
		if (v->addresses[i].ifindex == ifindex && ip_addr_equal(&v->addresses[i].ip, ip))
			return;
	if (v->n_addresses < ARRAY_SIZE(v->addresses))
		v->addresses[v->n_addresses++] = (struct wiring_address){
			.ip = *ip, .ifindex = ifindex, .kind = kind, .by = *by};
}

static const struct wiring_leg *leg_of(const struct wiring_view *v, const char *name)
{
	for (size_t i = 0; i < v->n_legs; i++)
		if (strcmp(v->legs[i].name, name) == 0)
			return &v->legs[i];
	return NULL;
}

static void add_addresses(const struct wiring_host *h, struct wiring_view *v)
{
	static const struct mac_addr none;
	const struct plan *plan = h->plan;
	const struct plan_conflicts *c = h->conflicts;

	for (size_t i = 0; i < plan->n_workers; i++)
		for (size_t j = 0; j < plan->workers[i].n_ports; j++) {
			const struct plan_port *p = &plan->workers[i].ports[j];
			const struct wiring_leg *leg = leg_of(v, p->leg);
			bool has = leg && kernel_has(h->inv, leg->ifindex, &p->ip.addr);

			/* A standby port has the address of another leg. */
			if (leg && (has || !p->stands_by))
				add_address(v, leg->ifindex, &p->ip.addr,
					    has ? WIRING_OWN : WIRING_HELD, &none);
		}
	for (size_t i = 0; i < c->n; i++)
		for (size_t j = 0; j < v->n_legs; j++)
			if (strcmp(v->legs[j].ifname, c->entries[i].ifname) == 0)
				add_address(v, v->legs[j].ifindex, &c->entries[i].ip,
					    WIRING_REFUSED, &c->entries[i].by);
}

/* Returns the leg's first address of that family, or NULL if the leg has none. */
static const struct ip_addr *address_of(const struct wiring_view *v, const struct wiring_leg *leg,
					uint8_t family)
{
	for (size_t i = 0; i < v->n_addresses; i++)
		if (v->addresses[i].ifindex == leg->ifindex && v->addresses[i].kind == WIRING_OWN &&
		    v->addresses[i].ip.family == family)
			return &v->addresses[i].ip;
	return NULL;
}

static void add_subnets(const struct wiring_host *h, struct wiring_view *v)
{
	for (size_t i = 0; i < h->plan->n_workers; i++)
		for (size_t j = 0; j < h->plan->workers[i].n_ports; j++) {
			const struct plan_port *p = &h->plan->workers[i].ports[j];

			for (size_t k = 0; k < v->n_legs; k++) {
				struct wiring_leg *leg = &v->legs[k];
				bool has = strcmp(leg->name, p->leg) != 0;

				for (size_t n = 0; n < leg->n_subnets; n++)
					has |= ip_prefix_contains(&leg->subnets[n], &p->ip.addr);
				if (!has && leg->n_subnets < WIRING_SUBNETS_MAX)
					leg->subnets[leg->n_subnets++] = p->ip;
			}
		}
}

static void add_ask(struct wiring_view *v, enum wiring_question question,
		    const struct wiring_leg *leg, const struct wiring_leg *other,
		    const struct ip_addr *ip, const struct ip_addr *from, const char *peer)
{
	struct wiring_ask *q = &v->asks[v->n_asks];

	if (v->n_asks == ARRAY_SIZE(v->asks))
		return;
	*q = (struct wiring_ask){
		.question = question, .ifindex = leg->ifindex, .other = other->ifindex, .ip = *ip};
	if (from)
		q->from = *from;
	snprintf(q->peer, sizeof(q->peer), "%s", peer);
	v->n_asks++;
}

/* Returns the peer's first address in the leg's network, or NULL if the peer has none. */
static const struct ip_addr *peer_in(const struct wiring_leg *leg, const struct ip_addr *ips,
				     size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < leg->n_subnets; j++)
			if (ip_prefix_contains(&leg->subnets[j], &ips[i]))
				return &ips[i];
	return NULL;
}

/* Adds the questions for a peer. several: only if the peer has addresses in the networks of several
 * legs, because the answers then show where cables lead. Otherwise only if the peer has an address
 * in the network of exactly one leg. Returns whether questions were added. */
static bool add_peer(struct wiring_view *v, const char *name, const struct ip_addr *ips, size_t n,
		     bool several)
{
	size_t n_legs = 0;

	for (size_t i = 0; i < v->n_legs; i++)
		n_legs += peer_in(&v->legs[i], ips, n) != NULL;
	if (several ? n_legs < 2 : n_legs != 1)
		return false;
	for (size_t i = 0; i < v->n_legs; i++) {
		const struct wiring_leg *leg = &v->legs[i];
		const struct ip_addr *here = peer_in(leg, ips, n);
		const struct ip_addr *from = here ? address_of(v, leg, here->family) : NULL;

		if (!from)
			continue;
		add_ask(v, WIRING_ASK_PEER, leg, leg, here, from, name);
		for (size_t j = 0; several && j < v->n_legs; j++) {
			const struct ip_addr *there = peer_in(&v->legs[j], ips, n);

			if (there && wiring_legs_are_apart(leg, &v->legs[j]))
				add_ask(v, WIRING_ASK_PEER_LEG, leg, &v->legs[j], there, NULL,
					name);
		}
	}
	return true;
}

static void add_asks(const struct wiring_host *h, struct wiring_view *v)
{
	const struct spec *s = h->spec;
	size_t n = 0;

	for (size_t i = 0; i < v->n_legs; i++)
		for (size_t j = 0; j < v->n_legs; j++) {
			const struct ip_addr *ip = address_of(v, &v->legs[j], AF_INET);

			ip = ip ? ip : address_of(v, &v->legs[j], AF_INET6);
			if (ip && wiring_legs_are_apart(&v->legs[i], &v->legs[j]))
				add_ask(v, WIRING_ASK_SELF, &v->legs[i], &v->legs[j], ip, NULL, "");
		}
	for (int several = 1; several >= 0; several--) {
		for (size_t i = 0; i < s->n_peers && n < WIRING_PEERS_MAX; i++)
			n += add_peer(v, s->peers[i].name, s->peers[i].ips, s->peers[i].n_ips,
				      several);
		for (size_t i = 0; i < h->peers->n && n < WIRING_PEERS_MAX; i++)
			n += add_peer(v, h->peers->all[i].name, h->peers->all[i].ips,
				      h->peers->all[i].n, several);
	}
}

/* Collects the MAC addresses of links, VFs and workers' ports. Returns 0 or -ENOMEM. */
static int add_own(const struct wiring_host *h, struct wiring_view *v)
{
	const struct inventory *inv = h->inv;
	const struct plan *plan = h->plan;
	size_t n = inv->n_links + inv->n_vfs;

	for (size_t i = 0; i < plan->n_workers; i++)
		n += plan->workers[i].n_ports;
	v->own = calloc(n + 1, sizeof(*v->own));
	if (!v->own)
		return -ENOMEM;
	for (size_t i = 0; i < inv->n_links; i++)
		v->own[v->n_own++] = inv->links[i].mac;
	for (size_t i = 0; i < inv->n_vfs; i++)
		v->own[v->n_own++] = inv->vfs[i].mac;
	for (size_t i = 0; i < plan->n_workers; i++)
		for (size_t j = 0; j < plan->workers[i].n_ports; j++)
			v->own[v->n_own++] = plan->workers[i].ports[j].mac;
	return 0;
}

int wiring_view_make(const struct wiring_host *h, struct wiring_view *ret)
{
	*ret = (struct wiring_view){.n_legs = 0};
	add_legs(h, ret);
	add_addresses(h, ret);
	add_subnets(h, ret);
	add_asks(h, ret);
	return add_own(h, ret);
}

/* ---- peers learned from paths ---- */

static bool is_of_other_leg(const struct wiring *w, const struct wiring_leg *leg,
			    const struct ip_addr *ip)
{
	for (size_t i = 0; i < w->v.n_legs; i++)
		if (w->v.legs[i].ifindex != leg->ifindex && peer_in(&w->v.legs[i], ip, 1))
			return true;
	return false;
}

/* Stores the peer's address. Returns whether it is new. */
static bool learn(struct wiring_peers *peers, const char *name, const struct ip_addr *ip)
{
	struct wiring_peer *p = NULL;

	for (size_t i = 0; i < peers->n; i++)
		if (strcmp(peers->all[i].name, name) == 0)
			p = &peers->all[i];
	if (!p && peers->n < WIRING_PEERS_MAX) {
		p = &peers->all[peers->n++];
		*p = (struct wiring_peer){.n = 0};
		snprintf(p->name, sizeof(p->name), "%s", name);
	}
	for (size_t i = 0; p && i < p->n; i++)
		if (ip_addr_equal(&p->ips[i], ip))
			return false;
	if (!p || p->n == ARRAY_SIZE(p->ips))
		return false;
	p->ips[p->n++] = *ip;
	return true;
}

bool wiring_peers_learn(struct wiring_peers *peers, const struct wiring *w,
			const struct launch_path_stats *paths, size_t n,
			bool proven[PLENUM_LEGS_MAX])
{
	bool news = false;

	for (size_t i = 0; i < n; i++) {
		struct ip_addr ip;

		if (!paths[i].up || ip_addr_parse(paths[i].remote, &ip) < 0)
			continue;
		for (size_t j = 0; j < w->v.n_legs; j++)
			if (strcmp(w->v.legs[j].name, paths[i].leg) == 0 &&
			    !is_of_other_leg(w, &w->v.legs[j], &ip)) {
				proven[j] = true;
				news |= learn(peers, paths[i].peer, &ip);
			}
	}
	return news;
}
