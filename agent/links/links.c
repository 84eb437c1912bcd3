/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides which hosts each leg asks and when, and draws conclusions from the answers. */
#include "agent/links/links.h"
#include "netcfg/base/hash.h"
#include <string.h>

/* A verdict needs a run of losses so long that chance alone would produce it with less than this
 * probability. */
#define PROBABILITY 1e-6
#define LOSS_MAX 0.8 /* a leg that loses more than this looks like a silent one */
#define DUTY_AGAIN_NS (100 * NSEC_PER_MSEC)
#define HELP_AGAIN_NS (1500 * NSEC_PER_MSEC)
#define HELP_LATER_NS (10 * NSEC_PER_SEC)
#define SUSPECTS_MAX 3 /* maximum number of hosts that a leg asks again at the same time */
/* A switch is at fault if at least so many hosts, and a quarter of the known hosts, fail together.
 */
#define MANY_FAULTS 3
/* Maximum rate of questions to hosts that do not answer. It leaves the rate that regular questions
 * need. */
#define AGAIN_RATE (LINKS_QUESTIONS - LINKS_PROBES)
#define SOURCE_RATE 40
/* Answers that a leg sends a second. 1,000 hosts ask a leg about 6 times a second. */
#define ANSWER_RATE 400
#define HEADERS_IP4 28 /* IP and UDP */
#define HEADERS_IP6 48

const char *links_verdict_to_string(enum links_verdict v)
{
	static const char *const names[LINKS_VERDICT_MAX] = {"unknown", "ok", "own-leg", "peer-leg",
							     "switch-between"};

	return v < LINKS_VERDICT_MAX ? names[v] : "unknown";
}

/* ---- limits ---- */

static void fill(struct links_bucket *b, unsigned rate, unsigned burst, uint64_t now)
{
	const uint64_t max = burst * 1000ULL;

	if (b->at_ns == 0)
		b->tokens = max;
	else if (now > b->at_ns)
		b->tokens = MIN_OF(max, b->tokens + (now - b->at_ns) / NSEC_PER_MSEC * rate);
	if (b->at_ns == 0 || now >= b->at_ns + NSEC_PER_MSEC)
		b->at_ns = now;
}

static bool take(struct links_bucket *b, unsigned rate, unsigned burst, uint64_t now)
{
	fill(b, rate, burst, now);
	if (b->tokens < 1000)
		return false;
	b->tokens -= 1000;
	return true;
}

static uint64_t random_number(const struct links *l)
{
	const uint64_t high = l->setup.random(l->setup.user);

	return (high << 32 | l->setup.random(l->setup.user)) | 1; /* 0 means "free" */
}

static uint32_t below(const struct links *l, uint32_t n)
{
	return l->setup.random(l->setup.user) % n;
}

/* ---- sending ---- */

static size_t full_bytes(const struct links_leg *leg)
{
	const size_t headers = leg->ip.addr.family == AF_INET ? HEADERS_IP4 : HEADERS_IP6;

	if (leg->mtu < headers + LINKS_HEAD_BYTES)
		return 0;
	return MIN_OF((size_t)leg->mtu - headers, (size_t)LINKS_PACKET_MAX);
}

static void send_packet(const struct links *l, const struct links_leg *leg,
			const struct ip_addr *to, const struct links_packet *p, size_t len)
{
	uint8_t buf[LINKS_PACKET_MAX];

	links_wire_write(buf, len, p, &l->keys, &leg->ip.addr, to);
	l->setup.send(l->setup.user, leg->ifindex, to, buf, len);
}

static struct links_pending *free_pending(struct links_leg *leg)
{
	struct links_pending *oldest = &leg->pending[0];

	for (size_t i = 0; i < LINKS_PENDING_MAX; i++) {
		if (!leg->pending[i].number)
			return &leg->pending[i];
		if (leg->pending[i].sent_ns < oldest->sent_ns)
			oldest = &leg->pending[i];
	}
	return oldest;
}

/* Asks a host directly. */
static void ask(struct links *l, struct links_leg *leg, uint32_t peer, bool regular, bool full,
		uint64_t now)
{
	struct links_pending *q = free_pending(leg);
	const struct links_packet p = {.type = LINKS_PING, .number = random_number(l)};
	const size_t bytes = full ? full_bytes(leg) : 0;

	*q = (struct links_pending){.number = p.number,
				    .sent_ns = now,
				    .peer = peer,
				    .via = peer,
				    .regular = regular,
				    .full = bytes > 0};
	leg->peers[peer].asked_ns = now;
	send_packet(l, leg, &leg->peers[peer].ip, &p, bytes ? bytes : LINKS_HEAD_BYTES);
}

/* Asks another host to ask the peer. */
static void ask_through(struct links *l, struct links_leg *leg, uint32_t peer, uint32_t via,
			uint64_t now)
{
	struct links_pending *q = free_pending(leg);
	const struct links_packet p = {
		.type = LINKS_ASK, .number = random_number(l), .target = leg->peers[peer].ip};

	*q = (struct links_pending){.number = p.number, .sent_ns = now, .peer = peer, .via = via};
	send_packet(l, leg, &leg->peers[via].ip, &p, LINKS_HEAD_BYTES);
}

/* ---- verdicts ---- */

unsigned links_loss_percent(const struct links_leg *leg, bool full)
{
	const uint64_t bits = full ? leg->full : leg->history;
	const unsigned n = full ? leg->n_full : leg->n_history;

	return n ? (unsigned)__builtin_popcountll(bits) * 100 / n : 0;
}

/* Returns how many questions in a row must be lost for a verdict: at least 4, more on a leg that
 * loses packets anyway. */
static unsigned needed(const struct links_leg *leg)
{
	const double lost = __builtin_popcountll(leg->doubt);
	double loss = (lost + 3) / (leg->n_doubt + 8), p = 1;
	unsigned n = 0;

	loss = MIN_OF(loss, LOSS_MAX);
	while (p > PROBABILITY) {
		p *= loss;
		n++;
	}
	return MAX_OF(n, 4U);
}

static void set_verdict(struct links_peer *p, enum links_verdict v, uint64_t now)
{
	if (p->verdict != v || !p->since_ns)
		p->since_ns = now;
	p->verdict = v;
}

bool links_is_faulty(const struct links_peer *p)
{
	return !p->suspect && p->misses > 0;
}

enum links_verdict links_fault(const struct links_leg *leg, const struct links_peer *p)
{
	unsigned n = 0;

	if (!links_is_faulty(p))
		return LINKS_OK;
	for (uint32_t i = 0; i < leg->n_peers; i++)
		n += links_is_faulty(&leg->peers[i]);
	return leg->verdict == LINKS_OK && n >= MANY_FAULTS && n >= leg->n_peers / 4 ? LINKS_SWITCH
										     : p->verdict;
}

static void forget_doubt(struct links_peer *p)
{
	p->suspect = false;
	p->misses = p->told_up = p->told_down = 0;
	p->helped_ns = 0;
}

static void peer_answers(struct links_leg *leg, struct links_peer *p, uint64_t now)
{
	leg->answered = true;
	forget_doubt(p);
	set_verdict(p, LINKS_OK, now);
}

void links_count(const struct links_leg *leg, unsigned *ret_asked, unsigned *ret_answering)
{
	*ret_asked = *ret_answering = 0;
	for (uint32_t i = 0; i < leg->n_peers; i++) {
		*ret_asked += leg->peers[i].asked_ns != 0;
		*ret_answering += leg->peers[i].verdict == LINKS_OK;
	}
}

/* Returns how many hosts were asked and have not answered since this leg last received an
 * answer. */
static unsigned silent_peers(const struct links_leg *leg)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < leg->n_peers; i++)
		n += leg->peers[i].asked_ns > leg->heard_ns && leg->peers[i].misses > 0;
	return n;
}

/* Returns whether another leg still received answers while this leg received none. If all legs of
 * the host fall silent at the same time, or the host has only one leg, the other hosts may have
 * stopped. */
static bool others_were_heard(const struct links *l, const struct links_leg *leg)
{
	for (size_t i = 0; i < l->n_legs; i++) {
		const struct links_leg *other = &l->legs[i];

		if (other == leg || !other->open || other->n_peers == 0)
			continue;
		if (other->heard_ns > MAX_OF(leg->heard_ns, leg->begun_ns) + LINKS_SILENCE_NS)
			return true;
	}
	return false;
}

/* Decides whether this host's leg is at fault. If only one other host is silent, either leg may be
 * at fault. */
static void judge_leg(const struct links *l, struct links_leg *leg, uint64_t now)
{
	const uint64_t since = MAX_OF(leg->heard_ns, leg->begun_ns);
	unsigned asked, answering;

	/* A leg stays at fault until it receives an answer. Hosts that have just been added to the
	 * list were not asked often enough yet to change the verdict. */
	if (leg->verdict == LINKS_OWN_LEG && leg->n_peers && leg->unanswered)
		return;
	links_count(leg, &asked, &answering);
	if (leg->heard_ns && leg->unanswered < needed(leg)) {
		leg->alone = false;
		if (answering > 0)
			leg->verdict = LINKS_OK;
		else if (leg->verdict == LINKS_OWN_LEG)
			leg->verdict = LINKS_UNKNOWN;
		return;
	}
	if (now < since + LINKS_SILENCE_NS || leg->unanswered < needed(leg))
		return;
	/* A verdict about a leg stays in force if the host's other legs fail later. */
	leg->alone = leg->verdict != LINKS_OWN_LEG && !others_were_heard(l, leg);
	leg->verdict = silent_peers(leg) >= 2 && !leg->alone ? LINKS_OWN_LEG : LINKS_UNKNOWN;
}

/* Decides whether the leg of a host that does not answer is at fault. */
static void judge_peer(const struct links_leg *leg, struct links_peer *p, uint64_t now)
{
	if (p->misses < needed(leg))
		return;
	/* While this leg receives no answer from any host, there are verdicts only about this leg,
	 * not about other hosts. */
	if (leg->unanswered >= p->misses && leg->n_peers > 1 && silent_peers(leg) > 1 &&
	    now >= leg->heard_ns + LINKS_SILENCE_NS)
		return;
	if (p->told_up > 0)
		set_verdict(p, LINKS_SWITCH, now);
	else if (p->told_down > 0)
		set_verdict(p, LINKS_PEER_LEG, now);
	else if (p->suspect && leg->n_peers > 1 && now < p->helped_ns + HELP_AGAIN_NS)
		return; /* another host may still report whether the peer answers it */
	else if (p->verdict != LINKS_PEER_LEG && p->verdict != LINKS_SWITCH)
		set_verdict(p, LINKS_UNKNOWN, now);
	p->suspect = false;
}

/* ---- questions ---- */

static void remember(struct links_leg *leg, const struct links_pending *q, bool lost)
{
	if (!q->regular || links_is_faulty(&leg->peers[q->peer]))
		return;
	if (q->full) {
		leg->full = leg->full << 1 | lost;
		leg->n_full = MIN_OF(leg->n_full + 1, 64U);
	} else {
		leg->history = leg->history << 1 | lost;
		leg->n_history = MIN_OF(leg->n_history + 1, 64U);
		leg->doubt = leg->doubt << 1 | lost;
		leg->n_doubt = MIN_OF(leg->n_doubt + 1, 64U);
	}
}

/* The answer of a host that was in doubt proves that earlier questions to it were lost on the
 * way. */
static void remember_doubt(struct links_leg *leg, const struct links_peer *p)
{
	for (unsigned i = 1; p->suspect && i < MIN_OF(p->misses, 8U); i++) {
		leg->doubt = leg->doubt << 1 | 1;
		leg->n_doubt = MIN_OF(leg->n_doubt + 1, 64U);
	}
}

static void expire(struct links_leg *leg, uint64_t now)
{
	for (size_t i = 0; i < LINKS_PENDING_MAX; i++) {
		struct links_pending *q = &leg->pending[i];
		struct links_peer *p = &leg->peers[q->peer];
		/* The host that was asked to help needs time for its own questions to the peer. */
		const uint64_t wait = q->via == q->peer ? LINKS_WAIT_NS : 3 * LINKS_WAIT_NS;

		if (!q->number || now < q->sent_ns + wait)
			continue;
		q->number = 0;
		leg->unanswered += q->sent_ns >= leg->heard_ns;
		if (q->via != q->peer)
			continue;
		remember(leg, q, true);
		/* A lost full packet may only mean that the path carries no packets of this size.
		 * So a small packet follows. */
		if (p->misses == 0 && !p->suspect)
			p->suspect = true;
		p->misses += !q->full;
	}
}

/* Returns a random host other than `peer` and `other`, preferably one that answers, or UINT32_MAX.
 */
static uint32_t choose_helper(const struct links *l, const struct links_leg *leg, uint32_t peer,
			      uint32_t other)
{
	uint32_t found = UINT32_MAX;
	const uint32_t first = below(l, leg->n_peers);

	for (uint32_t k = 0; k < leg->n_peers; k++) {
		const uint32_t i = (first + k) % leg->n_peers;

		if (i == peer || i == other)
			continue;
		if (leg->peers[i].verdict == LINKS_OK && leg->peers[i].misses == 0)
			return i;
		if (found == UINT32_MAX)
			found = i;
	}
	return found;
}

static void ask_helpers(struct links *l, struct links_leg *leg, uint32_t peer, uint64_t now)
{
	struct links_peer *p = &leg->peers[peer];
	uint32_t via = UINT32_MAX;

	p->helped_ns = now;
	if (p->suspect || p->verdict != LINKS_OK)
		p->told_up = p->told_down = 0;
	for (int n = 0; n < 2; n++) {
		via = choose_helper(l, leg, peer, via);
		if (via == UINT32_MAX || !take(&leg->questions, AGAIN_RATE, LINKS_BURST, now))
			return;
		ask_through(l, leg, peer, via, now);
	}
}

/* Returns the pause before the next question to a host that does not answer. The pause grows with
 * the number of such hosts, so that all of them together get about two questions a second, and at
 * most three. */
static uint64_t pause_of(const struct links_leg *leg, const struct links_peer *p)
{
	unsigned n = 0;

	if (p->suspect)
		return LINKS_AGAIN_NS;
	for (uint32_t i = 0; i < leg->n_peers; i++)
		n += links_is_faulty(&leg->peers[i]);
	return LINKS_FAULTY_NS * MAX_OF(n / 2, 1U);
}

static bool needs_help(const struct links_peer *p, uint64_t now)
{
	const bool is_open = p->suspect || p->verdict == LINKS_UNKNOWN;

	return p->misses &&
	       (!p->helped_ns || now >= p->helped_ns + (is_open ? HELP_AGAIN_NS : HELP_LATER_NS));
}

/* Asks a host again if that is due. Returns the time of the next question to it. */
static uint64_t ask_one_again(struct links *l, struct links_leg *leg, uint32_t peer, uint64_t now)
{
	const struct links_peer *p = &leg->peers[peer];
	const uint64_t due = p->asked_ns + pause_of(leg, p);

	if (now < due)
		return due;
	if (needs_help(p, now))
		ask_helpers(l, leg, peer, now);
	if (take(&leg->questions, AGAIN_RATE, LINKS_BURST, now))
		ask(l, leg, peer, false, false, now);
	return now + LINKS_AGAIN_NS;
}

/* Asks the hosts that do not answer again: often until there is a verdict, rarely afterwards. */
static uint64_t ask_again(struct links *l, struct links_leg *leg, uint64_t now)
{
	uint64_t next = UINT64_MAX;
	unsigned n_suspects = 0;

	for (uint32_t i = 0; i < leg->n_peers; i++)
		if (leg->peers[i].suspect || links_is_faulty(&leg->peers[i]))
			judge_peer(leg, &leg->peers[i], now);
	for (uint32_t i = 0; i < leg->n_peers; i++)
		if (leg->peers[i].suspect && ++n_suspects <= SUSPECTS_MAX)
			next = MIN_OF(next, ask_one_again(l, leg, i, now));
	for (uint32_t i = 0; i < leg->n_peers; i++)
		if (links_is_faulty(&leg->peers[i]))
			next = MIN_OF(next, ask_one_again(l, leg, i, now));
	return next;
}

/* Asks the host whose last question is oldest; the first order is random, as in SWIM. So the time
 * until a dead leg is found has a limit. Skips hosts in doubt, because ask_again() asks these. */
static void ask_next(struct links *l, struct links_leg *leg, uint64_t now)
{
	const uint32_t first = leg->n_peers ? below(l, leg->n_peers) : 0;
	struct links_peer *next = NULL;

	leg->next_ns = MAX_OF(leg->next_ns, now - NSEC_PER_SEC / LINKS_PROBES) +
		       NSEC_PER_SEC / LINKS_PROBES;
	for (uint32_t k = 0; k < leg->n_peers; k++) {
		struct links_peer *p = &leg->peers[(first + k) % leg->n_peers];

		if (!p->suspect && !links_is_faulty(p) && (!next || p->asked_ns < next->asked_ns))
			next = p;
	}
	if (!next)
		return;
	ask(l, leg, (uint32_t)(next - leg->peers), true, next->full_next, now);
	next->full_next = !next->full_next;
}

/* ---- questions of other hosts ---- */

static void tell(const struct links *l, const struct links_leg *leg, struct links_duty *d,
		 bool answered)
{
	const struct links_packet p = {
		.type = LINKS_TOLD, .answered = answered, .number = d->asked, .target = d->target};

	send_packet(l, leg, &d->asker, &p, LINKS_HEAD_BYTES);
	d->asker.family = 0;
}

static uint64_t do_duties(const struct links *l, struct links_leg *leg, uint64_t now)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < LINKS_DUTIES_MAX; i++) {
		struct links_duty *d = &leg->duties[i];
		uint64_t due = d->first_ns + d->sent * DUTY_AGAIN_NS;

		if (!d->asker.family)
			continue;
		if (d->sent == ARRAY_SIZE(d->numbers))
			due += LINKS_WAIT_NS - DUTY_AGAIN_NS;
		if (now >= due && d->sent == ARRAY_SIZE(d->numbers)) {
			/* A leg that receives no answers cannot tell whether another host's leg
			 * works. */
			if (leg->verdict != LINKS_OWN_LEG && !leg->alone)
				tell(l, leg, d, false);
			d->asker.family = 0;
			continue;
		}
		if (now >= due) {
			const struct links_packet p = {.type = LINKS_PING,
						       .number = random_number(l)};

			d->numbers[d->sent++] = p.number;
			send_packet(l, leg, &d->target, &p, LINKS_HEAD_BYTES);
			due = now + DUTY_AGAIN_NS;
		}
		next = MIN_OF(next, due);
	}
	return next;
}

static struct links_peer *peer_by_ip(struct links_leg *leg, const struct ip_addr *ip)
{
	for (uint32_t i = 0; i < leg->n_peers; i++)
		if (ip_addr_equal(&leg->peers[i].ip, ip))
			return &leg->peers[i];
	return NULL;
}

/* Begins to ask the target for another host. Without a key, any host can ask, so the target must be
 * in the leg's subnet or known. */
static void take_duty(struct links *l, struct links_leg *leg, const struct ip_addr *from,
		      const struct links_packet *p, uint64_t now)
{
	struct links_duty *free = NULL;

	if (p->target.family != leg->ip.addr.family || ip_addr_equal(&p->target, &leg->ip.addr) ||
	    !(l->keys.secret || ip_prefix_contains(&leg->ip, &p->target) ||
	      peer_by_ip(leg, &p->target)) ||
	    !take(&leg->helps, LINKS_QUESTIONS, LINKS_BURST, now))
		return;
	for (size_t i = 0; i < LINKS_DUTIES_MAX; i++) {
		struct links_duty *d = &leg->duties[i];

		if (!d->asker.family)
			free = d;
		else if (d->asked == p->number && ip_addr_equal(&d->asker, from))
			return; /* a repeated packet */
	}
	if (free)
		*free = (struct links_duty){
			.asker = *from, .target = p->target, .asked = p->number, .first_ns = now};
	l->next_ns = 0;
}

/* ---- received packets ---- */

static bool may_answer(struct links_leg *leg, const struct ip_addr *from, uint64_t now)
{
	static const uint64_t key[2] = {0, 0};
	const uint64_t hash = hash_keyed(key, from->bytes, sizeof(from->bytes));

	return take(&leg->sources[hash % LINKS_SOURCES], SOURCE_RATE, SOURCE_RATE, now) &&
	       take(&leg->answers, ANSWER_RATE, ANSWER_RATE, now);
}

static void answer(const struct links *l, struct links_leg *leg, const struct ip_addr *from,
		   const struct links_packet *p, size_t len, uint64_t now)
{
	const struct links_packet pong = {.type = LINKS_PONG, .number = p->number};

	if (may_answer(leg, from, now))
		send_packet(l, leg, from, &pong, len);
}

/* An answer proves that the leg sends and receives. */
static void heard(struct links *l, struct links_leg *leg, uint64_t now)
{
	leg->heard_ns = now;
	leg->unanswered = 0;
	leg->alone = false;
	l->next_ns = 0;
}

/* Returns the entry of the host on whose behalf the answered question was sent. */
static struct links_duty *duty_of(struct links_leg *leg, const struct ip_addr *from,
				  uint64_t number)
{
	for (size_t i = 0; i < LINKS_DUTIES_MAX; i++) {
		struct links_duty *d = &leg->duties[i];

		for (unsigned k = 0; d->asker.family && k < d->sent; k++)
			if (d->numbers[k] == number && ip_addr_equal(&d->target, from))
				return d;
	}
	return NULL;
}

static bool take_pong(struct links *l, struct links_leg *leg, const struct ip_addr *from,
		      const struct links_packet *p, uint64_t now)
{
	struct links_duty *d = duty_of(leg, from, p->number);

	if (d) {
		tell(l, leg, d, true);
		heard(l, leg, now);
		return true;
	}
	for (size_t i = 0; i < LINKS_PENDING_MAX; i++) {
		struct links_pending *q = &leg->pending[i];
		const uint64_t rtt = now - q->sent_ns;

		if (!q->number || q->number != p->number || q->via != q->peer ||
		    !ip_addr_equal(&leg->peers[q->peer].ip, from))
			continue;
		remember(leg, q, false);
		remember_doubt(leg, &leg->peers[q->peer]);
		peer_answers(leg, &leg->peers[q->peer], now);
		leg->rtt_ns = leg->rtt_ns ? (leg->rtt_ns * 7 + rtt) / 8 : MAX_OF(rtt, 1U);
		q->number = 0;
		heard(l, leg, now);
		return true;
	}
	return false; /* the answer is late, repeated or forged */
}

static bool take_told(struct links *l, struct links_leg *leg, const struct ip_addr *from,
		      const struct links_packet *p, uint64_t now)
{
	for (size_t i = 0; i < LINKS_PENDING_MAX; i++) {
		struct links_pending *q = &leg->pending[i];
		struct links_peer *peer = &leg->peers[q->peer];

		if (!q->number || q->number != p->number || q->via == q->peer ||
		    !ip_addr_equal(&leg->peers[q->via].ip, from) ||
		    !ip_addr_equal(&peer->ip, &p->target))
			continue;
		q->number = 0;
		peer->told_up += p->answered;
		peer->told_down += !p->answered;
		heard(l, leg, now);
		return true;
	}
	return false;
}

struct links_leg *links_find(struct links *l, uint32_t ifindex)
{
	for (size_t i = 0; i < l->n_legs; i++)
		if (l->legs[i].ifindex == ifindex)
			return &l->legs[i];
	return NULL;
}

bool links_hear(struct links *l, uint32_t ifindex, const struct ip_addr *from, const uint8_t *buf,
		size_t len, uint64_t now)
{
	struct links_leg *leg = links_find(l, ifindex);
	struct links_packet p;
	bool good = true;

	if (!leg || ip_addr_is_unusable(from) ||
	    links_wire_parse(buf, len, &l->keys, from, &leg->ip.addr, &p) < 0)
		return false;
	switch (p.type) {
	case LINKS_PING:
		/* A question of another host does not prove that packets of this leg reach any
		 * host. So this does not call heard(). */
		answer(l, leg, from, &p, len, now);
		break;
	case LINKS_PONG:
		good = take_pong(l, leg, from, &p, now);
		break;
	case LINKS_ASK:
		if (may_answer(leg, from, now))
			take_duty(l, leg, from, &p, now);
		break;
	case LINKS_TOLD:
		good = take_told(l, leg, from, &p, now);
		break;
	case LINKS_TYPE_MAX:
		break;
	}
	if (good)
		judge_leg(l, leg, now);
	return good;
}

void links_refused(struct links *l, uint32_t ifindex, const struct ip_addr *from, uint64_t now)
{
	struct links_leg *leg = links_find(l, ifindex);
	struct links_peer *p = leg ? peer_by_ip(leg, from) : NULL;

	if (!p)
		return;
	for (size_t i = 0; i < LINKS_PENDING_MAX; i++)
		if (leg->pending[i].number && leg->pending[i].via == leg->pending[i].peer &&
		    &leg->peers[leg->pending[i].peer] == p) {
			leg->pending[i].number = 0;
			peer_answers(leg, p, now);
			heard(l, leg, now);
		}
	judge_leg(l, leg, now);
}

/* ---- running ---- */

static uint64_t run_leg(struct links *l, struct links_leg *leg, uint64_t now)
{
	uint64_t next;

	if (!leg->open)
		return UINT64_MAX;
	expire(leg, now);
	judge_leg(l, leg, now);
	next = MIN_OF(do_duties(l, leg, now), ask_again(l, leg, now));
	if (now >= leg->next_ns)
		ask_next(l, leg, now);
	if (leg->n_peers)
		next = MIN_OF(next, leg->next_ns);
	for (size_t i = 0; i < LINKS_PENDING_MAX; i++)
		if (leg->pending[i].number)
			next = MIN_OF(next, MAX_OF(now + 10 * NSEC_PER_MSEC,
						   leg->pending[i].sent_ns + LINKS_WAIT_NS));
	return next;
}

uint64_t links_run(struct links *l, uint64_t now)
{
	if (now < l->next_ns)
		return l->next_ns == UINT64_MAX ? UINT64_MAX : l->next_ns - now;
	l->next_ns = UINT64_MAX;
	for (size_t i = 0; i < l->n_legs; i++) {
		const uint64_t next = run_leg(l, &l->legs[i], now);

		l->next_ns = MIN_OF(l->next_ns, next);
	}
	return l->next_ns == UINT64_MAX ? UINT64_MAX : l->next_ns - MIN_OF(now, l->next_ns);
}

/* ---- legs and hosts ---- */

void links_init(struct links *l, const struct links_setup *setup)
{
	*l = (struct links){.setup = *setup};
}

void links_set_legs(struct links *l, const struct links_leg *legs, size_t n, uint64_t now)
{
	struct links_leg kept[PLENUM_LEGS_MAX];

	n = MIN_OF(n, (size_t)PLENUM_LEGS_MAX);
	for (size_t i = 0; i < n; i++) {
		const struct links_leg *was = links_find(l, legs[i].ifindex);

		if (was && ip_addr_equal(&was->ip.addr, &legs[i].ip.addr)) {
			kept[i] = *was;
			memcpy(kept[i].name, legs[i].name, sizeof(kept[i].name));
			kept[i].ip = legs[i].ip;
			kept[i].mtu = legs[i].mtu;
			kept[i].open = legs[i].open;
			continue;
		}
		kept[i] = (struct links_leg){.ifindex = legs[i].ifindex,
					     .ip = legs[i].ip,
					     .mtu = legs[i].mtu,
					     .open = legs[i].open,
					     .begun_ns = now};
		memcpy(kept[i].name, legs[i].name, sizeof(kept[i].name));
		kept[i].next_ns = now + below(l, (uint32_t)(NSEC_PER_SEC / LINKS_PROBES));
	}
	memcpy(l->legs, kept, n * sizeof(kept[0]));
	l->n_legs = n;
	l->next_ns = 0;
}

void links_set_peers(struct links *l, uint32_t ifindex, const struct links_peer *peers, size_t n,
		     uint64_t now)
{
	struct links_leg *leg = links_find(l, ifindex);
	struct links_peer kept[LINKS_PEERS_MAX];

	if (!leg)
		return;
	n = MIN_OF(n, (size_t)LINKS_PEERS_MAX);
	for (size_t i = 0; i < n; i++) {
		const struct links_peer *was = peer_by_ip(leg, &peers[i].ip);

		kept[i] = (struct links_peer){.ip = peers[i].ip};
		if (was && strcmp(was->host, peers[i].host) == 0)
			kept[i] = *was;
		memcpy(kept[i].host, peers[i].host, sizeof(kept[i].host));
		memcpy(kept[i].leg, peers[i].leg, sizeof(kept[i].leg));
	}
	if (leg->n_peers == 0)
		leg->begun_ns = now;
	/* The questions in flight have indexes of the former list. */
	memset(leg->pending, 0, sizeof(leg->pending));
	memcpy(leg->peers, kept, n * sizeof(kept[0]));
	leg->n_peers = (uint32_t)n;
	if (n == 0) {
		leg->verdict = LINKS_UNKNOWN;
		leg->alone = false;
	}
	l->next_ns = 0;
}
