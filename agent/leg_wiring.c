/* SPDX-License-Identifier: BSD-3-Clause */
/* Watches the wiring for the agent: inputs from the plan and the host, sockets, reports. */
#include "agent/leg_wiring.h"
#include "agent/agent.h"
#include "agent/base/stats_page.h"
#include "agent/lldp/lldp.h"
#include "agent/status.h"
#include "agent/wiring/wiring_socket.h"
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* A fault per address; more would hide the other reasons. */
#define FAULTS_MAX 8
/* Peers that are asked where a cable leads: those of `peers` first, then those with sessions. */
#define PEERS_MAX 3

/* What a link's sockets were opened for. */
struct leg_sockets {
	uint32_t ifindex;
	struct ip_addr watched[WIRING_ADDRESSES_MAX];
	size_t n;
};

struct peer {
	char name[PLENUM_NAME_MAX];
	struct ip_addr ips[PLENUM_LEGS_MAX];
	size_t n;
};

struct leg_wiring {
	struct wiring w;
	struct peer learned[PEERS_MAX]; /* from sessions */
	size_t n_learned;
	struct loop_source *timer;
	int sender; /* -1: not open */
	struct leg_sockets open[PLENUM_LEGS_MAX];
	size_t n_open;
};

const struct wiring *leg_wiring_get(const struct agent *a)
{
	return a->wiring ? &a->wiring->w : NULL;
}

static uint32_t random_number(void)
{
	uint32_t x = 0;

	if (getrandom(&x, sizeof(x), GRND_NONBLOCK) != sizeof(x))
		x = (uint32_t)clock_now_ns();
	return x;
}

/* ---- reporting ---- */

static void update_problems(struct agent *a)
{
	const struct wiring *w = &a->wiring->w;
	json_t *list = json_array();
	char text[REASON_FORMAT_MAX + 3 * PLENUM_NAME_MAX], why[REASON_FORMAT_MAX];
	struct reason reason;

	for (size_t i = 0; list && i < w->v.n_legs; i++)
		for (size_t n = 0;
		     n < FAULTS_MAX && wiring_leg_reason(w, w->v.legs[i].name, n, &reason); n++) {
			snprintf(text, sizeof(text), "leg %s (%s) is degraded: %s",
				 w->v.legs[i].name, w->v.legs[i].ifname,
				 reason_format(&reason, why, sizeof(why)));
			json_array_append_new(list, json_string(text));
		}
	if (problems_set(&a->problems, PROBLEMS_WIRING, NULL, list)) {
		agent_check_health(a); /* its reasons follow from this one */
		agent_update_state(a);
		status_publish(a);
	}
	json_decref(list);
}

/* Whether LLDP names the leg's switch; for both legs, it tells whether they share one. */
static bool lldp_knows(const struct agent *a, const struct wiring_leg *leg)
{
	const struct label *l = labels_find(&a->labels, leg->name);
	enum neighbours_verdict verdict;

	for (size_t i = 0; l && i < l->n_cables; i++) {
		const struct neighbours_link *link =
			neighbours_find(lldp_neighbours(a->lldp), l->cables[i]);

		if (link && neighbours_judge(link, &verdict))
			return true;
	}
	return false;
}

static void update_notes(struct agent *a)
{
	const struct wiring_leg *x, *y;
	json_t *list = json_array();
	char text[REASON_FORMAT_MAX];
	struct reason reason;

	for (size_t n = 0; list && wiring_pair_reason(&a->wiring->w, n, &x, &y, &reason); n++)
		if (!lldp_knows(a, x) || !lldp_knows(a, y))
			json_array_append_new(
				list, json_string(reason_format(&reason, text, sizeof(text))));
	if (problems_set(&a->problems, PROBLEMS_CABLES, NULL, list))
		status_publish(a);
	json_decref(list);
}

/* No worker uses a refused address until a new plan, which this requests, includes it. */
static void retry_refused(struct agent *a, const struct wiring_leg *leg, const struct ip_addr *ip)
{
	struct plan_conflicts *c = &a->reconcile.inputs.conflicts;
	char text[IP_ADDR_STR_MAX];
	size_t kept = 0;

	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->entries[i].ifname, leg->ifname) != 0 ||
		    !ip_addr_equal(&c->entries[i].ip, ip))
			c->entries[kept++] = c->entries[i];
	if (kept == c->n)
		return;
	c->n = kept;
	events_add(&a->events, LOG_LEVEL_NOTICE, leg->name,
		   "no other host uses %s any more; trying it again",
		   ip_addr_format(ip, text, sizeof(text)));
	reconcile_arm(a, 0);
}

static void on_change(void *user, const struct wiring_leg *leg, const struct wiring_address *addr)
{
	struct agent *a = user;
	char ip[IP_ADDR_STR_MAX], mac[MAC_ADDR_STR_MAX];

	ip_addr_format(&addr->ip, ip, sizeof(ip));
	mac_addr_format(&addr->by, mac, sizeof(mac));
	if (addr->kind == WIRING_REFUSED)
		retry_refused(a, leg, &addr->ip);
	else if (addr->taken)
		events_add(&a->events, LOG_LEVEL_WARNING, leg->name,
			   "address-conflict: another host, MAC address %s, also uses %s (%s)", mac,
			   ip, leg->ifname);
	else
		events_add(&a->events, LOG_LEVEL_NOTICE, leg->name,
			   addr->dropped ? "address-conflict ended: this host no longer uses %s, "
					   "the other host has MAC address %s"
					 : "address-conflict ended: %s is used by no other host "
					   "any more; the other one had MAC address %s",
			   ip, mac);
}

static void on_cable(void *user, enum wiring_fault f, bool begins, const struct wiring_leg *leg,
		     const struct wiring_leg *other)
{
	struct agent *a = user;
	const enum log_level level = begins ? LOG_LEVEL_WARNING : LOG_LEVEL_NOTICE;

	if (f == WIRING_CROSSED && begins)
		events_add(&a->events, level, leg->name,
			   "crossed-cables: the cable of %s (%s) leads to the network of %s",
			   leg->name, leg->ifname, other->name);
	else if (f == WIRING_CROSSED)
		events_add(&a->events, level, leg->name,
			   "crossed-cables ended: the cable of %s (%s) no longer leads to the "
			   "network of %s",
			   leg->name, leg->ifname, other->name);
	else
		events_add(&a->events, level, leg->name,
			   begins ? "one-network: %s and %s are in one layer-2 network"
				  : "one-network ended: %s and %s are in separate networks",
			   leg->name, other->name);
}

/* ---- packets ---- */

static void send_packet(void *user, const struct wiring_packet *p)
{
	struct agent *a = user;
	int r = wiring_socket_send(a->wiring->sender, p);

	/* The link may go down at any moment; the next probe follows. */
	if (r < 0)
		log_debug("%s: cannot send ARP or neighbour discovery: %s", p->leg->ifname,
			  strerror(-r));
}

/* Sends what is due, and reports what has changed. */
static void run(struct agent *a)
{
	uint64_t in_ns = wiring_run(&a->wiring->w, clock_now_ns());

	if (in_ns == UINT64_MAX)
		loop_timer_disarm(a->wiring->timer);
	else
		loop_timer_arm(a->wiring->timer, in_ns + NSEC_PER_MSEC);
	update_notes(a);
	update_problems(a);
}

static int on_timer(void *user)
{
	run(user);
	return 0;
}

void leg_wiring_hear(struct agent *a, uint32_t ifindex, const struct address_claim *c)
{
	if (!a->wiring)
		return;
	wiring_hear(&a->wiring->w, ifindex, c, clock_now_ns());
	run(a);
}

void leg_wiring_carrier(struct agent *a, uint32_t ifindex, bool carrier)
{
	if (!a->wiring)
		return;
	wiring_carrier(&a->wiring->w, ifindex, carrier, clock_now_ns());
	run(a);
}

/* ---- what is watched ---- */

/* Whether the NIC adds the VLAN tag for workers' VFs: the link itself is in another network then.
 */
static bool is_tagged_by_nic(const struct spec *s, const struct plan_leg_info *info,
			     const struct inv_link *link)
{
	for (size_t i = 0; i < s->n_networks; i++)
		if (strcmp(s->networks[i].name, info->network) == 0)
			return s->networks[i].vlan && !link->vlan;
	return false;
}

/* Whether the host's own address is the leg's: it is the management interface too. */
static bool is_shared(const struct plan *p, const char *leg)
{
	for (size_t i = 0; i < p->n_workers; i++)
		for (size_t j = 0; j < p->workers[i].n_ports; j++)
			if (p->workers[i].ports[j].shared &&
			    strcmp(p->workers[i].ports[j].leg, leg) == 0)
				return true;
	return false;
}

/* Legs whose frames are Ethernet's; the ports of a bond are not legs. */
static void add_legs(const struct agent *a, struct wiring_view *v)
{
	for (size_t i = 0; i < a->running.plan->n_legs && v->n_legs < ARRAY_SIZE(v->legs); i++) {
		const struct plan_leg_info *info = &a->running.plan->legs[i];
		const struct inv_link *link = inv_link_by_index(a->running.inv, info->ifindex);
		struct wiring_leg *leg = &v->legs[v->n_legs];

		if (!plan_leg_is_configured(info) || info->bond[0] || !link ||
		    link->kind == INV_LINK_IPOIB || is_tagged_by_nic(a->running.spec, info, link))
			continue;
		*leg = (struct wiring_leg){.ifindex = link->ifindex,
					   .mac = link->mac,
					   .carrier = carriers_usable(&a->carriers, link->ifindex)};
		memcpy(leg->name, info->name, sizeof(leg->name));
		memcpy(leg->ifname, link->name, sizeof(leg->ifname));
		leg->quiet = strcmp(a->running.spec->management_interface, link->name) == 0 ||
			     is_shared(a->running.plan, info->name);
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

static void add_addresses(const struct agent *a, struct wiring_view *v)
{
	static const struct mac_addr none;
	const struct plan *plan = a->running.plan;
	const struct plan_conflicts *c = &a->reconcile.inputs.conflicts;

	for (size_t i = 0; i < plan->n_workers; i++)
		for (size_t j = 0; j < plan->workers[i].n_ports; j++) {
			const struct plan_port *p = &plan->workers[i].ports[j];
			const struct wiring_leg *leg = leg_of(v, p->leg);
			bool has = leg && kernel_has(a->running.inv, leg->ifindex, &p->ip.addr);

			/* A port that stands by has the address of another leg. */
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

/* The first address of the leg. NULL: it has none of that family. */
static const struct ip_addr *address_of(const struct wiring_view *v, const struct wiring_leg *leg,
					uint8_t family)
{
	for (size_t i = 0; i < v->n_addresses; i++)
		if (v->addresses[i].ifindex == leg->ifindex && v->addresses[i].kind == WIRING_OWN &&
		    v->addresses[i].ip.family == family)
			return &v->addresses[i].ip;
	return NULL;
}

static void add_subnets(const struct agent *a, struct wiring_view *v)
{
	for (size_t i = 0; i < a->running.plan->n_workers; i++)
		for (size_t j = 0; j < a->running.plan->workers[i].n_ports; j++) {
			const struct plan_port *p = &a->running.plan->workers[i].ports[j];

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

/* The peer's first address in the leg's network. */
static const struct ip_addr *peer_in(const struct wiring_leg *leg, const struct ip_addr *ips,
				     size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < leg->n_subnets; j++)
			if (ip_prefix_contains(&leg->subnets[j], &ips[i]))
				return &ips[i];
	return NULL;
}

/* Only a peer with addresses in the networks of two legs helps. Returns whether it does. */
static bool add_peer(struct wiring_view *v, const char *name, const struct ip_addr *ips, size_t n)
{
	size_t n_legs = 0;

	for (size_t i = 0; i < v->n_legs; i++)
		n_legs += peer_in(&v->legs[i], ips, n) != NULL;
	for (size_t i = 0; n_legs > 1 && i < v->n_legs; i++) {
		const struct wiring_leg *leg = &v->legs[i];
		const struct ip_addr *here = peer_in(leg, ips, n);
		const struct ip_addr *from = here ? address_of(v, leg, here->family) : NULL;

		if (!from)
			continue;
		add_ask(v, WIRING_ASK_PEER, leg, leg, here, from, name);
		for (size_t j = 0; j < v->n_legs; j++) {
			const struct ip_addr *there = peer_in(&v->legs[j], ips, n);

			if (there && wiring_legs_are_apart(leg, &v->legs[j]))
				add_ask(v, WIRING_ASK_PEER_LEG, leg, &v->legs[j], there, NULL,
					name);
		}
	}
	return n_legs > 1;
}

static void add_asks(const struct agent *a, struct wiring_view *v)
{
	const struct leg_wiring *lw = a->wiring;
	const struct spec *s = a->running.spec;
	size_t n = 0;

	for (size_t i = 0; i < v->n_legs; i++)
		for (size_t j = 0; j < v->n_legs; j++) {
			const struct ip_addr *ip = address_of(v, &v->legs[j], AF_INET);

			ip = ip ? ip : address_of(v, &v->legs[j], AF_INET6);
			if (ip && wiring_legs_are_apart(&v->legs[i], &v->legs[j]))
				add_ask(v, WIRING_ASK_SELF, &v->legs[i], &v->legs[j], ip, NULL, "");
		}
	for (size_t i = 0; i < s->n_peers && n < PEERS_MAX; i++)
		n += add_peer(v, s->peers[i].name, s->peers[i].ips, s->peers[i].n_ips);
	for (size_t i = 0; i < lw->n_learned && n < PEERS_MAX; i++)
		n += add_peer(v, lw->learned[i].name, lw->learned[i].ips, lw->learned[i].n);
}

/* The MAC addresses of links, VFs and workers' ports. 0; -ENOMEM. */
static int add_own(const struct agent *a, struct wiring_view *v)
{
	const struct inventory *inv = a->running.inv;
	const struct plan *plan = a->running.plan;
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

/* ---- sockets ---- */

static void find_watched(const struct wiring *w, uint32_t ifindex, struct leg_sockets *ret)
{
	*ret = (struct leg_sockets){.ifindex = ifindex};
	for (size_t i = 0; i < w->v.n_addresses; i++)
		if (w->v.addresses[i].ifindex == ifindex)
			ret->watched[ret->n++] = w->v.addresses[i].ip;
	for (size_t i = 0; i < w->v.n_asks && ret->n < ARRAY_SIZE(ret->watched); i++)
		if (w->v.asks[i].ifindex == ifindex)
			ret->watched[ret->n++] = w->v.asks[i].ip;
}

static void open_one(struct agent *a, const struct leg_sockets *s, uint8_t family)
{
	const enum privsep_frames frames =
		family == AF_INET ? PRIVSEP_FRAMES_ARP : PRIVSEP_FRAMES_ND;
	struct ip_addr watched[WIRING_ADDRESSES_MAX];
	struct wiring_filter f = {.watched = watched};
	autoclose int fd = -1;
	int r = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->watched[i].family == family)
			watched[f.n_watched++] = s->watched[i];
	if (f.n_watched == 0) {
		lldp_unwatch(a->lldp, s->ifindex, frames);
		return;
	}
	fd = wiring_socket_open(s->ifindex, family, &f);
	r = fd < 0 ? fd : lldp_watch(a->lldp, s->ifindex, frames, fd);
	if (r < 0 && r != -ENOTCONN)
		log_warning("cannot watch addresses on link %u: %s", s->ifindex, strerror(-r));
}

void leg_wiring_open(struct agent *a)
{
	for (size_t i = 0; a->wiring && i < a->wiring->n_open; i++) {
		open_one(a, &a->wiring->open[i], AF_INET);
		open_one(a, &a->wiring->open[i], AF_INET6);
	}
}

static bool is_same(const struct leg_sockets *a, const struct leg_sockets *b)
{
	return a->ifindex == b->ifindex && a->n == b->n &&
	       memcmp(a->watched, b->watched, a->n * sizeof(a->watched[0])) == 0;
}

static void close_others(struct agent *a)
{
	struct leg_wiring *lw = a->wiring;
	size_t kept = 0;

	for (size_t i = 0; i < lw->n_open; i++) {
		bool is_leg = false;

		for (size_t j = 0; j < lw->w.v.n_legs; j++)
			is_leg |= lw->w.v.legs[j].ifindex == lw->open[i].ifindex;
		if (is_leg) {
			lw->open[kept++] = lw->open[i];
			continue;
		}
		lldp_unwatch(a->lldp, lw->open[i].ifindex, PRIVSEP_FRAMES_ARP);
		lldp_unwatch(a->lldp, lw->open[i].ifindex, PRIVSEP_FRAMES_ND);
	}
	lw->n_open = kept;
}

/* Opens a leg's sockets again only if its addresses change, since that can lose packets. */
static void open_sockets(struct agent *a)
{
	struct leg_wiring *lw = a->wiring;

	close_others(a);
	for (size_t i = 0; i < lw->w.v.n_legs; i++) {
		struct leg_sockets want, *have = NULL;

		find_watched(&lw->w, lw->w.v.legs[i].ifindex, &want);
		for (size_t j = 0; j < lw->n_open; j++)
			if (lw->open[j].ifindex == want.ifindex)
				have = &lw->open[j];
		if (have && is_same(have, &want))
			continue;
		if (!have)
			have = &lw->open[lw->n_open++];
		*have = want;
		open_one(a, have, AF_INET);
		open_one(a, have, AF_INET6);
	}
}

void leg_wiring_take_plan(struct agent *a)
{
	struct wiring_view v = {.n_legs = 0};

	if (!a->wiring || !a->running.plan)
		return;
	add_legs(a, &v);
	add_addresses(a, &v);
	add_subnets(a, &v);
	add_asks(a, &v);
	if (add_own(a, &v) < 0) {
		log_warning("out of memory: the legs' addresses are not watched");
		return;
	}
	wiring_watch(&a->wiring->w, &v, clock_now_ns());
	open_sockets(a);
	run(a);
}

/* ---- paths ---- */

static bool is_of_other_leg(const struct wiring *w, const struct wiring_leg *leg,
			    const struct ip_addr *ip)
{
	for (size_t i = 0; i < w->v.n_legs; i++)
		if (w->v.legs[i].ifindex != leg->ifindex && peer_in(&w->v.legs[i], ip, 1))
			return true;
	return false;
}

/* Whether the peer's address is new. */
static bool learn(struct leg_wiring *lw, const char *name, const struct ip_addr *ip)
{
	struct peer *p = NULL;

	for (size_t i = 0; i < lw->n_learned; i++)
		if (strcmp(lw->learned[i].name, name) == 0)
			p = &lw->learned[i];
	if (!p && lw->n_learned < PEERS_MAX) {
		p = &lw->learned[lw->n_learned++];
		*p = (struct peer){.n = 0};
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

/* Marks the legs that the worker's paths prove. Returns whether a peer's address is new. */
static bool look_at_worker(struct leg_wiring *lw, const struct sup_worker *worker,
			   bool proven[PLENUM_LEGS_MAX])
{
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];
	size_t n = stats_page_paths(worker->stats, paths);
	bool news = false;

	for (size_t i = 0; i < n; i++) {
		struct ip_addr ip;

		if (!paths[i].up || ip_addr_parse(paths[i].remote, &ip) < 0)
			continue;
		for (size_t j = 0; j < lw->w.v.n_legs; j++)
			if (strcmp(lw->w.v.legs[j].name, paths[i].leg) == 0 &&
			    !is_of_other_leg(&lw->w, &lw->w.v.legs[j], &ip)) {
				proven[j] = true;
				news |= learn(lw, paths[i].peer, &ip);
			}
	}
	return news;
}

void leg_wiring_look(struct agent *a)
{
	bool proven[PLENUM_LEGS_MAX] = {false}, news = false;
	struct leg_wiring *lw = a->wiring;

	if (!lw)
		return;
	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		if (w->state == SUP_UP && w->stats)
			news |= look_at_worker(lw, w, proven);
	for (size_t i = 0; i < lw->w.v.n_legs; i++)
		wiring_prove(&lw->w, lw->w.v.legs[i].ifindex, proven[i], clock_now_ns());
	if (news)
		leg_wiring_take_plan(a);
	else
		run(a);
}

/* ---- lifetime ---- */

int leg_wiring_init(struct agent *a)
{
	const struct wiring_setup setup = {.send = send_packet,
					   .on_change = on_change,
					   .on_cable = on_cable,
					   .random = random_number,
					   .user = a};
	struct leg_wiring *lw = calloc(1, sizeof(*lw));
	int r;

	if (!lw)
		return -ENOMEM;
	wiring_init(&lw->w, &setup);
	lw->sender = wiring_socket_sender();
	r = loop_add_timer(a->loop, 10 * NSEC_PER_MSEC, on_timer, a, &lw->timer);
	if (r < 0) {
		cleanup_close(&lw->sender);
		free(lw);
		return r;
	}
	if (lw->sender < 0)
		log_warning("cannot probe for hosts that use this host's addresses: %s",
			    strerror(-lw->sender));
	a->wiring = lw;
	return 0;
}

void leg_wiring_done(struct agent *a)
{
	struct leg_wiring *lw = ptr_take(a->wiring);

	if (!lw)
		return;
	loop_source_free(lw->timer);
	cleanup_close(&lw->sender);
	wiring_done(&lw->w);
	free(lw);
}
