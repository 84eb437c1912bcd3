/* SPDX-License-Identifier: BSD-3-Clause */
/* The address watch: decides when to probe, which packets are a conflict, and when a conflict has
 * ended. */
#include "agent/wiring/wiring_internal.h"
#include <stdlib.h>

/* Delay of the probe that confirms a conflict. A single packet may be forged, or may be the last
 * packet of a NIC that was replaced. */
#define CONFIRM_NS (200 * NSEC_PER_MSEC)
#define CONFIRM_LIMIT_NS (3 * NSEC_PER_SEC)
/* Another host that probes for an address of this host must give the address up. After this time,
 * this host checks whether it did. */
#define CHECK_NS NSEC_PER_SEC
/* Shortest time between two probes for one address that packets of other hosts trigger. */
#define CAUSED_NS (2 * NSEC_PER_SEC)

void wiring_init(struct wiring *w, const struct wiring_setup *setup)
{
	*w = (struct wiring){.setup = *setup};
}

void wiring_done(struct wiring *w)
{
	free(ptr_take(w->v.own));
	w->v.n_own = w->v.n_legs = w->v.n_addresses = 0;
}

/* ---- tables ---- */

static bool is_own(const struct wiring *w, const struct mac_addr *m)
{
	for (size_t i = 0; i < w->v.n_own; i++)
		if (wiring_mac_equal(m, &w->v.own[i]))
			return true;
	return false;
}

/* ---- times ---- */

static void begin_burst(const struct wiring *w, struct wiring_address *a, uint64_t now)
{
	a->burst = WIRING_BURST;
	a->due_ns = now + w->setup.random() % WIRING_BURST_NS;
}

static uint64_t gap(const struct wiring *w, const struct wiring_address *a)
{
	if (a->taken || a->kind == WIRING_REFUSED)
		return wiring_jittered(w, a->unanswered > 1 ? WIRING_GONE_NS : WIRING_CONFLICT_NS);
	return a->burst ? WIRING_BURST_NS : wiring_jittered(w, WIRING_LOOK_NS);
}

/* Schedules a probe because of a packet from another host. */
static void probe_soon(struct wiring_address *a, uint64_t in_ns, uint64_t now)
{
	uint64_t due = now + in_ns;

	if (a->sent_ns && due < a->sent_ns + CAUSED_NS)
		due = a->sent_ns + CAUSED_NS;
	a->due_ns = MIN_OF(a->due_ns, due);
}

/* ---- watched addresses ---- */

static const struct wiring_address *find_address(const struct wiring_view *v, uint32_t ifindex,
						 const struct ip_addr *ip)
{
	for (size_t i = 0; i < v->n_addresses; i++)
		if (v->addresses[i].ifindex == ifindex && ip_addr_equal(&v->addresses[i].ip, ip))
			return &v->addresses[i];
	return NULL;
}

static void keep_state(const struct wiring *w, struct wiring_address *a, uint64_t now)
{
	const struct wiring_address *was = find_address(&w->v, a->ifindex, &a->ip);
	const enum wiring_kind kind = a->kind;

	if (was && (was->kind == WIRING_REFUSED) == (kind == WIRING_REFUSED)) {
		*a = *was;
		a->kind = kind;
		return;
	}
	*a = (struct wiring_address){.ip = a->ip, .ifindex = a->ifindex, .kind = kind, .by = a->by};
	/* A refused address is not probed at once, because another host was using it a moment
	 * ago. */
	if (kind == WIRING_REFUSED)
		a->due_ns = now + wiring_jittered(w, WIRING_CONFLICT_NS);
	else
		begin_burst(w, a, now);
}

/* Reports the conflicts that end because this host no longer has the address or the leg. */
static void report_dropped(const struct wiring *w, const struct wiring_view *view)
{
	for (size_t i = 0; i < w->v.n_addresses; i++) {
		struct wiring_address a = w->v.addresses[i];
		const struct wiring_leg *leg = wiring_leg_by_index(w, a.ifindex);

		if (!a.taken || !leg || find_address(view, a.ifindex, &a.ip))
			continue;
		a.taken = false;
		a.dropped = true;
		w->setup.on_change(w->setup.user, leg, &a);
	}
}

void wiring_watch(struct wiring *w, struct wiring_view *view, uint64_t now)
{
	report_dropped(w, view);
	for (size_t i = 0; i < view->n_addresses; i++)
		keep_state(w, &view->addresses[i], now);
	wiring_cables_watch(w, view);
	free(w->v.own);
	w->v = *view;
	view->own = NULL;
	view->n_own = 0;
	wiring_cables_judge(w);
}

void wiring_carrier(struct wiring *w, uint32_t ifindex, bool carrier, uint64_t now)
{
	for (size_t i = 0; i < w->v.n_legs; i++) {
		struct wiring_leg *leg = &w->v.legs[i];

		if (leg->ifindex != ifindex || leg->carrier == carrier)
			continue;
		leg->carrier = carrier;
		wiring_cables_carrier(w, leg, now);
		for (size_t j = 0; carrier && j < w->v.n_addresses; j++)
			if (w->v.addresses[j].ifindex == ifindex)
				begin_burst(w, &w->v.addresses[j], now);
	}
}

/* ---- sending ---- */

static void send_packet(const struct wiring *w, const struct wiring_leg *leg,
			const struct wiring_address *a, bool announce)
{
	const struct wiring_packet p = {.leg = leg, .ip = &a->ip, .announce = announce};

	w->setup.send(w->setup.user, &p);
}

/* Announces the address at most once per WIRING_DEFEND_NS. Otherwise two hosts that both keep the
 * address would flood the network. If a worker holds the address, the worker defends it. */
static void defend(const struct wiring *w, const struct wiring_leg *leg, struct wiring_address *a,
		   uint64_t now)
{
	if (a->kind != WIRING_OWN || leg->quiet || !leg->carrier ||
	    (a->defended_ns && now < a->defended_ns + WIRING_DEFEND_NS))
		return;
	a->defended_ns = now;
	send_packet(w, leg, a, true);
}

static void end_conflict(struct wiring *w, const struct wiring_leg *leg, struct wiring_address *a,
			 uint64_t now)
{
	a->taken = false;
	a->first_ns = 0;
	a->defended_ns = 0;
	/* corrects the neighbours, which still send packets to the other host */
	defend(w, leg, a, now);
	w->setup.on_change(w->setup.user, leg, a);
}

static void run_address(struct wiring *w, const struct wiring_leg *leg, struct wiring_address *a,
			uint64_t now)
{
	if ((a->taken || a->kind == WIRING_REFUSED) && a->unanswered >= WIRING_GONE) {
		a->unanswered = 0;
		a->burst = 0;
		end_conflict(w, leg, a, now);
	} else {
		a->unanswered++;
		a->sent_ns = now;
		send_packet(w, leg, a, false);
	}
	a->burst -= a->burst > 0;
	a->due_ns = now + gap(w, a);
}

/* Ends a conflict on a leg on which no probe may be sent, after WIRING_QUIET_NS without a packet of
 * the other host. Returns the time of that end, or UINT64_MAX if no conflict is known. */
static uint64_t run_quiet(struct wiring *w, const struct wiring_leg *leg, struct wiring_address *a,
			  uint64_t now)
{
	if (!a->taken)
		return UINT64_MAX;
	if (now < a->heard_ns + WIRING_QUIET_NS)
		return a->heard_ns + WIRING_QUIET_NS;
	end_conflict(w, leg, a, now);
	return UINT64_MAX;
}

uint64_t wiring_run(struct wiring *w, uint64_t now)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < w->v.n_addresses; i++) {
		struct wiring_address *a = &w->v.addresses[i];
		const struct wiring_leg *leg = wiring_leg_by_index(w, a->ifindex);

		if (!leg || !leg->carrier)
			continue;
		if (leg->quiet) {
			next = MIN_OF(next, run_quiet(w, leg, a, now));
			continue;
		}
		if (a->due_ns <= now)
			run_address(w, leg, a, now);
		next = MIN_OF(next, a->due_ns);
	}
	next = MIN_OF(next, wiring_cables_run(w, now));
	wiring_cables_judge(w);
	return next == UINT64_MAX ? next : next - MIN_OF(next, now);
}

/* ---- received packets ---- */

/* Handles a packet which shows that another host uses the address. */
static void claimed(struct wiring *w, const struct wiring_leg *leg, struct wiring_address *a,
		    const struct mac_addr *by, uint64_t now)
{
	a->by = *by;
	a->heard_ns = now;
	a->unanswered = 0;
	defend(w, leg, a, now);
	if (a->taken || a->kind == WIRING_REFUSED)
		return;
	if (!a->first_ns || now > a->first_ns + (leg->quiet ? WIRING_QUIET_NS : CONFIRM_LIMIT_NS)) {
		a->first_ns = now;
		a->sent_ns = 0;
		probe_soon(a, CONFIRM_NS, now);
	} else if (now >= a->first_ns + CONFIRM_NS) {
		a->taken = true;
		a->due_ns = MIN_OF(a->due_ns, now + wiring_jittered(w, WIRING_CONFLICT_NS));
		w->setup.on_change(w->setup.user, leg, a);
	}
}

void wiring_hear(struct wiring *w, uint32_t ifindex, const struct address_claim *c, uint64_t now)
{
	const struct wiring_leg *leg = wiring_leg_by_index(w, ifindex);

	if (!leg)
		return;
	wiring_cables_hear(w, leg, c, now);
	wiring_cables_judge(w);
	if (is_own(w, &c->by) || is_own(w, &c->from))
		return;
	for (size_t i = 0; i < w->v.n_addresses; i++) {
		struct wiring_address *a = &w->v.addresses[i];

		if (a->ifindex != ifindex)
			continue;
		if (c->sender.family && ip_addr_equal(&c->sender, &a->ip))
			claimed(w, leg, a, &c->by, now);
		else if (!c->sender.family && ip_addr_equal(&c->target, &a->ip))
			probe_soon(a, CHECK_NS, now);
	}
}

/* ---- faults ---- */

static void explain(const struct wiring_address *a, struct reason *ret)
{
	char ip[IP_ADDR_STR_MAX], mac[MAC_ADDR_STR_MAX];

	reason_set(ret, "address-conflict",
		   "another host, MAC address %s, also uses %s: remove the address there, or give "
		   "one of the two hosts another range",
		   mac_addr_format(&a->by, mac, sizeof(mac)),
		   ip_addr_format(&a->ip, ip, sizeof(ip)));
}

bool wiring_explains(const struct wiring *w, const char *leg, const struct ip_addr *ip,
		     struct reason *ret)
{
	const struct wiring_leg *l = wiring_leg_find(w, leg);
	const struct wiring_address *a = l ? find_address(&w->v, l->ifindex, ip) : NULL;

	if (l && wiring_cables_explain(w, l, ret))
		return true;
	if (!a || !a->taken)
		return false;
	explain(a, ret);
	return true;
}

bool wiring_leg_reason(const struct wiring *w, const char *leg, size_t n, struct reason *ret)
{
	const struct wiring_leg *l = wiring_leg_find(w, leg);

	if (l && wiring_cables_explain(w, l, ret) && n-- == 0)
		return true;
	for (size_t i = 0; l && i < w->v.n_addresses; i++) {
		const struct wiring_address *a = &w->v.addresses[i];

		if (a->ifindex != l->ifindex || !a->taken || n-- > 0)
			continue;
		explain(a, ret);
		return true;
	}
	return false;
}
