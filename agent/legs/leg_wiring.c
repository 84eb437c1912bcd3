/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the wiring watch for the agent: passes it the plan in force, and reports its findings. */
#include "agent/legs/leg_wiring.h"
#include "agent/agent.h"
#include "agent/base/stats_page.h"
#include "agent/lldp/lldp.h"
#include "agent/wiring/wiring_socket.h"
#include "agent/wiring/wiring_sockets.h"
#include "agent/wiring/wiring_view.h"
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* Maximum number of faults reported per leg, one per address; more would hide other problems. */
#define FAULTS_MAX 8

struct leg_wiring {
	struct wiring w;
	struct wiring_peers peers;
	struct loop_source *timer;
	int sender; /* socket for sending; -1: not open */
	struct wiring_sockets sockets;
};

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
	const struct wiring *w = &a->leg_wiring->w;
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
		agent_check_health(a); /* health reasons depend on this fault */
		agent_update_state(a);
		agent_publish(a);
	}
	json_decref(list);
}

/* Returns whether LLDP names the switch of the leg. If it does so for two legs, LLDP already shows
 * whether the legs share a switch. */
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

	for (size_t n = 0; list && wiring_pair_reason(&a->leg_wiring->w, n, &x, &y, &reason); n++)
		if (!lldp_knows(a, x) || !lldp_knows(a, y))
			json_array_append_new(
				list, json_string(reason_format(&reason, text, sizeof(text))));
	if (problems_set(&a->problems, PROBLEMS_CABLES, NULL, list))
		agent_publish(a);
	json_decref(list);
}

/* Requests another plan when a refused address has become free, because the worker gets the address
 * back only with a new plan. */
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
		   "no other host uses %s any more; this host uses the address again",
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
			   addr->dropped ? "address-conflict ended: this host no longer uses %s; "
					   "the other host has MAC address %s"
					 : "address-conflict ended: %s is used by no other host "
					   "any more; the other host had MAC address %s",
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
	int r = wiring_socket_send(a->leg_wiring->sender, p);

	/* The link may have gone down just now. A failed packet does no harm, because further
	 * probes follow. */
	if (r < 0)
		log_debug("%s: cannot send ARP or neighbour discovery: %s", p->leg->ifname,
			  strerror(-r));
}

/* Sends the packets that are due, and reports changed findings. */
static void run(struct agent *a)
{
	uint64_t in_ns = wiring_run(&a->leg_wiring->w, clock_now_ns());

	if (in_ns == UINT64_MAX)
		loop_timer_disarm(a->leg_wiring->timer);
	else
		loop_timer_arm(a->leg_wiring->timer, in_ns + NSEC_PER_MSEC);
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
	if (!a->leg_wiring)
		return;
	wiring_hear(&a->leg_wiring->w, ifindex, c, clock_now_ns());
	run(a);
}

void leg_wiring_carrier(struct agent *a, uint32_t ifindex, bool carrier)
{
	if (!a->leg_wiring)
		return;
	wiring_carrier(&a->leg_wiring->w, ifindex, carrier, clock_now_ns());
	run(a);
}

/* ---- the plan's legs and addresses ---- */

void leg_wiring_open(struct agent *a)
{
	if (a->leg_wiring)
		wiring_sockets_reopen(&a->leg_wiring->sockets, a->lldp);
}

void leg_wiring_take_plan(struct agent *a)
{
	struct leg_wiring *lw = a->leg_wiring;
	struct wiring_view v;

	if (!lw || !a->running.plan)
		return;
	if (wiring_view_make(&(struct wiring_host){.spec = a->running.spec,
						   .plan = a->running.plan,
						   .inv = a->running.inv,
						   .conflicts = &a->reconcile.inputs.conflicts,
						   .carriers = &a->carriers,
						   .peers = &lw->peers},
			     &v) < 0) {
		log_warning("out of memory: the legs' addresses are not watched");
		return;
	}
	wiring_watch(&lw->w, &v, clock_now_ns());
	wiring_sockets_update(&lw->sockets, &lw->w, a->lldp);
	run(a);
}

static bool look_at_worker(struct leg_wiring *lw, const struct sup_worker *worker,
			   bool proven[PLENUM_LEGS_MAX])
{
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];

	return wiring_peers_learn(&lw->peers, &lw->w, paths, stats_page_paths(worker->stats, paths),
				  proven);
}

void leg_wiring_look(struct agent *a)
{
	bool proven[PLENUM_LEGS_MAX] = {false}, news = false;
	struct leg_wiring *lw = a->leg_wiring;

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
	a->leg_wiring = lw;
	a->wiring = &lw->w;
	return 0;
}

void leg_wiring_done(struct agent *a)
{
	struct leg_wiring *lw = ptr_take(a->leg_wiring);

	a->wiring = NULL;
	if (!lw)
		return;
	loop_source_free(lw->timer);
	cleanup_close(&lw->sender);
	wiring_done(&lw->w);
	free(lw);
}
