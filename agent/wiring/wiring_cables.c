/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out where the cables of the legs lead, by ARP and neighbour discovery alone. Two legs share
 * a layer-2 network if one receives packets of the other. To find a leg whose cable leads to
 * another leg's network, this module asks on that leg for two addresses of a peer. The cable is
 * wrong if the peer answers for its address in the other leg's network, but not for its address in
 * the leg's own network.
 */
#include "agent/wiring/wiring_internal.h"

#define SILENT_AFTER 3 /* a peer is silent after this many unanswered questions in a row */
#define SLOW_AFTER 9   /* after this many questions, the pause between two questions grows */

static bool is_answered(const struct wiring_ask *q)
{
	return q->answered && q->unanswered < SILENT_AFTER;
}

static bool is_silent(const struct wiring_ask *q)
{
	return q->sent >= SILENT_AFTER && !is_answered(q);
}

bool wiring_legs_are_apart(const struct wiring_leg *a, const struct wiring_leg *b)
{
	if (a->ifindex == b->ifindex || wiring_mac_equal(&a->mac, &b->mac))
		/* links with the same MAC address belong to one device, for example as its VLANs */
		return false;
	for (size_t i = 0; i < a->n_subnets; i++)
		for (size_t j = 0; j < b->n_subnets; j++)
			if (ip_prefix_contains(&a->subnets[i], &b->subnets[j].addr) ||
			    ip_prefix_contains(&b->subnets[j], &a->subnets[i].addr))
				return false;
	return a->n_subnets > 0 && b->n_subnets > 0;
}

/* ---- choice of questions ---- */

static void begin(const struct wiring *w, struct wiring_ask *q, uint64_t now)
{
	q->burst = WIRING_BURST;
	q->sent = q->unanswered = q->heard = 0;
	q->answered = false;
	q->due_ns = now + w->setup.random() % WIRING_BURST_NS;
}

static void forget(struct wiring_ask *q)
{
	q->burst = q->sent = q->unanswered = q->heard = 0;
	q->answered = false;
	q->due_ns = UINT64_MAX;
}

static bool any_unproven(const struct wiring *w)
{
	for (size_t i = 0; i < w->v.n_legs; i++)
		if (w->v.legs[i].carrier && !w->v.legs[i].proven)
			return true;
	return false;
}

/* Returns whether the question is needed. Peers are asked only while a leg's cable is in doubt, and
 * then through the other legs too, for comparison. */
static bool is_needed(const struct wiring *w, const struct wiring_ask *q)
{
	const struct wiring_leg *leg = wiring_leg_by_index(w, q->ifindex);

	if (!leg || !leg->carrier || leg->quiet)
		return false;
	switch (q->question) {
	case WIRING_ASK_PEER:
		return any_unproven(w);
	case WIRING_ASK_PEER_LEG:
		return !leg->proven;
	case WIRING_ASK_SELF:
		break;
	}
	return true;
}

/* Starts the questions that have become necessary, and ends those that are not needed any more. */
static void choose_questions(struct wiring *w, uint64_t now)
{
	for (size_t i = 0; i < w->v.n_asks; i++) {
		struct wiring_ask *q = &w->v.asks[i];

		if (!is_needed(w, q))
			forget(q);
		else if (q->due_ns == UINT64_MAX)
			begin(w, q, now);
	}
}

static const struct wiring_ask *find_same(const struct wiring_view *v, const struct wiring_ask *q)
{
	for (size_t i = 0; i < v->n_asks; i++)
		if (v->asks[i].question == q->question && v->asks[i].ifindex == q->ifindex &&
		    v->asks[i].other == q->other && ip_addr_equal(&v->asks[i].ip, &q->ip) &&
		    ip_addr_equal(&v->asks[i].from, &q->from))
			return &v->asks[i];
	return NULL;
}

void wiring_cables_watch(const struct wiring *w, struct wiring_view *view)
{
	for (size_t i = 0; i < view->n_legs; i++) {
		struct wiring_leg *leg = &view->legs[i];
		const struct wiring_leg *was = wiring_leg_by_index(w, leg->ifindex);

		leg->proven = was && was->proven;
		leg->crossed_to = was ? was->crossed_to : 0;
	}
	for (size_t i = 0; i < view->n_asks; i++) {
		const struct wiring_ask *was = find_same(&w->v, &view->asks[i]);

		if (was)
			view->asks[i] = *was;
		else
			forget(&view->asks[i]); /* the next run asks again */
	}
}

void wiring_cables_carrier(struct wiring *w, struct wiring_leg *leg, uint64_t now)
{
	leg->proven = false;
	for (size_t i = 0; i < w->v.n_asks; i++)
		if (w->v.asks[i].ifindex == leg->ifindex || w->v.asks[i].other == leg->ifindex)
			forget(&w->v.asks[i]);
	choose_questions(w, now);
}

void wiring_prove(struct wiring *w, uint32_t ifindex, bool proven, uint64_t now)
{
	for (size_t i = 0; i < w->v.n_legs; i++) {
		struct wiring_leg *leg = &w->v.legs[i];

		if (leg->ifindex != ifindex || leg->proven == proven)
			continue;
		leg->proven = proven;
		choose_questions(w, now);
	}
}

/* ---- questions and answers ---- */

static uint64_t gap(const struct wiring *w, const struct wiring_ask *q)
{
	/* Asks again soon if a station that has answered so far did not answer the last
	 * question. */
	if (q->burst || (q->answered && q->unanswered > 0))
		return WIRING_BURST_NS;
	if (q->question == WIRING_ASK_SELF)
		return wiring_jittered(w, q->answered ? WIRING_CONFLICT_NS : WIRING_LOOK_NS);
	return wiring_jittered(w, q->sent < SLOW_AFTER ? WIRING_ASK_NS : WIRING_ASK_SLOW_NS);
}

static void ask(struct wiring *w, struct wiring_ask *q, uint64_t now)
{
	const struct wiring_packet p = {.leg = wiring_leg_by_index(w, q->ifindex),
					.ip = &q->ip,
					.from = q->from.family ? &q->from : NULL};

	if (q->answered && q->unanswered >= SILENT_AFTER)
		q->answered = false;
	if (q->unanswered)
		q->heard = 0;
	q->sent += q->sent < UINT16_MAX;
	q->unanswered += q->unanswered < UINT16_MAX;
	q->burst -= q->burst > 0;
	q->due_ns = now + gap(w, q);
	w->setup.send(w->setup.user, &p);
}

uint64_t wiring_cables_run(struct wiring *w, uint64_t now)
{
	uint64_t next = UINT64_MAX;

	choose_questions(w, now);
	for (size_t i = 0; i < w->v.n_asks; i++) {
		struct wiring_ask *q = &w->v.asks[i];

		if (q->due_ns <= now)
			ask(w, q, now);
		next = MIN_OF(next, q->due_ns);
	}
	return next;
}

/* Returns whether the packet answers the question. Any packet of the other leg that arrives on this
 * leg answers WIRING_ASK_SELF. */
static bool is_answer(const struct wiring *w, const struct wiring_ask *q,
		      const struct address_claim *c)
{
	const struct wiring_leg *other = wiring_leg_by_index(w, q->other);

	if (q->question == WIRING_ASK_SELF)
		return other && wiring_mac_equal(&c->by, &other->mac);
	return c->sender.family && ip_addr_equal(&c->sender, &q->ip);
}

void wiring_cables_hear(struct wiring *w, const struct wiring_leg *leg,
			const struct address_claim *c, uint64_t now)
{
	for (size_t i = 0; i < w->v.n_asks; i++) {
		struct wiring_ask *q = &w->v.asks[i];
		const bool was_asked = q->unanswered > 0;

		/* A packet that arrives before the first question may be older than the carrier's
		 * change. */
		if (q->ifindex != leg->ifindex || q->sent == 0 || !is_answer(w, q, c))
			continue;
		q->answered = true;
		q->heard += was_asked && q->heard < UINT16_MAX;
		q->unanswered = 0;
		q->by = c->by;
		if (was_asked && q->due_ns != UINT64_MAX)
			q->due_ns = now + gap(w, q);
		else
			q->due_ns = MIN_OF(q->due_ns, now + wiring_jittered(w, WIRING_ASK_NS));
	}
}

/* ---- conclusions: legs that receive each other's packets ---- */

static bool hear_each_other(const struct wiring *w, uint32_t a, uint32_t b)
{
	for (size_t i = 0; i < w->v.n_asks; i++) {
		const struct wiring_ask *q = &w->v.asks[i];

		if (q->question == WIRING_ASK_SELF && is_answered(q) &&
		    ((q->ifindex == a && q->other == b) || (q->ifindex == b && q->other == a)))
			return true;
	}
	return false;
}

static bool was_apart(const struct wiring *w, uint32_t a, uint32_t b)
{
	for (size_t i = 0; i < w->n_apart; i++)
		if ((w->apart[i].a == a && w->apart[i].b == b) ||
		    (w->apart[i].a == b && w->apart[i].b == a))
			return true;
	return false;
}

/* Returns whether all questions between the two legs were asked often enough and none was
 * answered. */
static bool are_seen_apart(const struct wiring *w, uint32_t a, uint32_t b)
{
	bool asked = false;

	for (size_t i = 0; i < w->v.n_asks; i++) {
		const struct wiring_ask *q = &w->v.asks[i];

		if (q->question != WIRING_ASK_SELF ||
		    !((q->ifindex == a && q->other == b) || (q->ifindex == b && q->other == a)))
			continue;
		if (!is_silent(q))
			return false;
		asked = true;
	}
	return asked;
}

/* Returns whether a peer has answered on the leg. A switch port without a network is silent too, so
 * silence alone proves nothing. */
static bool has_network(const struct wiring *w, const struct wiring_leg *leg)
{
	for (size_t i = 0; i < w->v.n_asks && !leg->proven; i++) {
		const struct wiring_ask *q = &w->v.asks[i];

		if (q->question != WIRING_ASK_SELF && q->ifindex == leg->ifindex && is_answered(q))
			return true;
	}
	return leg->proven;
}

/*
 * Like hear_each_other(), but only after a longer time than an operator needs to exchange two
 * cables. During the exchange both legs are at one switch for a moment, which does not mean that
 * their networks are linked.
 */
static bool are_linked(const struct wiring *w, uint32_t a, uint32_t b)
{
	for (size_t i = 0; i < w->v.n_asks; i++) {
		const struct wiring_ask *q = &w->v.asks[i];

		if (q->question == WIRING_ASK_SELF && q->heard > WIRING_BURST &&
		    ((q->ifindex == a && q->other == b) || (q->ifindex == b && q->other == a)))
			return true;
	}
	return false;
}

/*
 * Adds the two legs to w->apart, the pairs with separate networks, or removes them. A pair is added
 * even if a cable is in doubt, because exchanged cables do not link networks. It is removed only
 * while both cables are proven right.
 */
static void remember(struct wiring *w, const struct wiring_leg *a, const struct wiring_leg *b)
{
	if (a->proven && b->proven && are_linked(w, a->ifindex, b->ifindex)) {
		for (size_t i = 0; i < w->n_apart; i++)
			if (w->apart[i].a == a->ifindex && w->apart[i].b == b->ifindex)
				w->apart[i] = w->apart[--w->n_apart];
	} else if (are_seen_apart(w, a->ifindex, b->ifindex) && has_network(w, a) &&
		   has_network(w, b) && !was_apart(w, a->ifindex, b->ifindex) &&
		   w->n_apart < ARRAY_SIZE(w->apart)) {
		w->apart[w->n_apart].a = a->ifindex;
		w->apart[w->n_apart++].b = b->ifindex;
	}
}

/* ---- conclusions: crossed cables ---- */

static const struct wiring_ask *find_ask(const struct wiring *w, enum wiring_question question,
					 uint32_t ifindex, uint32_t other, const char *peer)
{
	for (size_t i = 0; i < w->v.n_asks; i++)
		if (w->v.asks[i].question == question && w->v.asks[i].ifindex == ifindex &&
		    w->v.asks[i].other == other && strcmp(w->v.asks[i].peer, peer) == 0)
			return &w->v.asks[i];
	return NULL;
}

/*
 * Returns whether the answer to `q` shows that the leg's cable leads to the other leg's network.
 * Linux answers a request for any of its addresses on any link, so the answer alone proves nothing.
 * Three further conditions must be true. The address that the peer has on this leg must be silent.
 * The same station must answer on the other leg, or the other leg's cable must lead here. The two
 * networks must be known to be separate, at present or from the time before the cables were
 * changed: in linked networks each leg reaches both.
 */
static bool leads_elsewhere(const struct wiring *w, const struct wiring_ask *q, bool *ret_back)
{
	const struct wiring_ask *here, *there, *back;

	if (q->question != WIRING_ASK_PEER_LEG || !is_answered(q))
		return false;
	here = find_ask(w, WIRING_ASK_PEER, q->ifindex, q->ifindex, q->peer);
	there = find_ask(w, WIRING_ASK_PEER, q->other, q->other, q->peer);
	back = find_ask(w, WIRING_ASK_PEER_LEG, q->other, q->ifindex, q->peer);
	if (!here || !there || !is_silent(here) ||
	    (!are_seen_apart(w, q->ifindex, q->other) && !was_apart(w, q->ifindex, q->other)))
		return false;
	*ret_back = is_silent(there) && back && is_answered(back);
	return *ret_back || (is_answered(there) && wiring_mac_equal(&there->by, &q->by));
}

static const struct wiring_ask *find_proof(const struct wiring *w, const struct wiring_leg *leg,
					   bool *ret_back)
{
	for (size_t i = 0; i < w->v.n_asks && leg->carrier && !leg->proven; i++)
		if (w->v.asks[i].ifindex == leg->ifindex &&
		    leads_elsewhere(w, &w->v.asks[i], ret_back))
			return &w->v.asks[i];
	return NULL;
}

const struct wiring_ask *wiring_peer_heard(const struct wiring *w, const char *leg, size_t n)
{
	const struct wiring_leg *of = w ? wiring_leg_find(w, leg) : NULL;

	for (size_t i = 0; of && i < w->v.n_asks; i++) {
		const struct wiring_ask *q = &w->v.asks[i];

		if (q->question == WIRING_ASK_PEER && q->ifindex == of->ifindex && is_answered(q) &&
		    n-- == 0)
			return q;
	}
	return NULL;
}

static void judge_leg(struct wiring *w, struct wiring_leg *leg)
{
	bool back = false;
	const struct wiring_ask *proof = find_proof(w, leg, &back);
	const struct wiring_leg *was = wiring_leg_by_index(w, leg->crossed_to);
	const uint32_t to = proof ? proof->other : 0;

	if (leg->crossed_to == to)
		return;
	leg->crossed_to = to;
	if (was)
		w->setup.on_cable(w->setup.user, WIRING_CROSSED, false, leg, was);
	if (proof)
		w->setup.on_cable(w->setup.user, WIRING_CROSSED, true, leg,
				  wiring_leg_by_index(w, to));
}

bool wiring_cables_explain(const struct wiring *w, const struct wiring_leg *leg, struct reason *ret)
{
	const struct wiring_leg *to =
		leg->crossed_to ? wiring_leg_by_index(w, leg->crossed_to) : NULL;
	bool back = false;
	const struct wiring_ask *proof = find_proof(w, leg, &back);
	char ip[IP_ADDR_STR_MAX], mac[MAC_ADDR_STR_MAX];

	if (!to || !proof)
		return false;
	reason_set(ret, "crossed-cables",
		   "the cable of %.40s leads to the network of %.40s, where %s of %.40s answers "
		   "(MAC address %s): %s %.15s%s%.40s, or the cables of %.40s are wrong",
		   leg->name, to->name, ip_addr_format(&proof->ip, ip, sizeof(ip)), proof->peer,
		   mac_addr_format(&proof->by, mac, sizeof(mac)),
		   back ? "swap the cables of" : "connect", leg->ifname,
		   back ? " and " : " to the network of ", back ? to->ifname : leg->name,
		   proof->peer);
	return true;
}

/* ---- conclusions: legs in one network ---- */

static bool is_pair(const struct wiring *w, uint32_t a, uint32_t b)
{
	for (size_t i = 0; i < w->n_pairs; i++)
		if (w->pairs[i].a == a && w->pairs[i].b == b)
			return true;
	return false;
}

/* Ends the pairs of legs that no longer receive each other's packets. */
static void judge_pairs(struct wiring *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->n_pairs; i++) {
		const struct wiring_leg *a = wiring_leg_by_index(w, w->pairs[i].a);
		const struct wiring_leg *b = wiring_leg_by_index(w, w->pairs[i].b);

		if (a && b && hear_each_other(w, a->ifindex, b->ifindex))
			w->pairs[kept++] = w->pairs[i];
		else if (a && b)
			w->setup.on_cable(w->setup.user, WIRING_ONE_NETWORK, false, a, b);
	}
	w->n_pairs = kept;
}

void wiring_cables_judge(struct wiring *w)
{
	judge_pairs(w);
	for (size_t i = 0; i < w->v.n_legs; i++) {
		struct wiring_leg *a = &w->v.legs[i];

		judge_leg(w, a);
		for (size_t j = i + 1; j < w->v.n_legs; j++) {
			const struct wiring_leg *b = &w->v.legs[j];

			remember(w, a, b);
			if (!hear_each_other(w, a->ifindex, b->ifindex) ||
			    is_pair(w, a->ifindex, b->ifindex) ||
			    w->n_pairs == ARRAY_SIZE(w->pairs))
				continue;
			w->pairs[w->n_pairs].a = a->ifindex;
			w->pairs[w->n_pairs++].b = b->ifindex;
			w->setup.on_cable(w->setup.user, WIRING_ONE_NETWORK, true, a, b);
		}
	}
}

bool wiring_pair_reason(const struct wiring *w, size_t n, const struct wiring_leg **ret_a,
			const struct wiring_leg **ret_b, struct reason *ret)
{
	if (!w || n >= w->n_pairs)
		return false;
	*ret_a = wiring_leg_by_index(w, w->pairs[n].a);
	*ret_b = wiring_leg_by_index(w, w->pairs[n].b);
	if (!*ret_a || !*ret_b)
		return false;
	reason_set(ret, "one-network",
		   "legs %.40s and %.40s are in one layer-2 network, so one failure can stop both: "
		   "connect %.15s to a separate switch or VLAN",
		   (*ret_a)->name, (*ret_b)->name, (*ret_b)->ifname);
	return true;
}
