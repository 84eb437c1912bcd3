/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Doubt about a path: what is asked by it is not answered, while the peer answers by another. It is
 * no verdict, which rudp_path.c passes later and by itself: what is in doubt travels by the other
 * path as well, and nothing is lost but a few packets if it arrives after all.
 *
 * A timeout alone says little where hosts are late: one long wait for a processor makes it long for
 * many round trips, and then it strikes on all paths alike. What the peer answered on another path
 * since says that it is not late; so here the patience is the network's, without the hosts' share.
 */
#include "dataplane/rudp/rudp_internal.h"

/* A port that did not take a question is given another so much later. */
#define ASK_AGAIN_NS RUDP_ACK_DELAY_NS

/* How long an answer takes where neither host is late. */
static uint64_t patience(const struct rudp_session *s, const struct rudp_path *p)
{
	uint64_t net = rudp_rtt_net_rto(&p->rtt, RUDP_ACK_DELAY_NS, s->r->lim.min_rto_ns);

	return MIN_OF(net, rudp_path_rto(s, p));
}

/* Hosts that are late as a rule are not asked sooner than they can answer. */
static uint64_t ask_at(const struct rudp_session *s, const struct rudp_path *p)
{
	return rudp_sent_silent_since(&p->sent) +
	       MIN_OF(rudp_path_rto(s, p), MAX_OF(patience(s, p), 2 * p->rtt.srtt));
}

/* Another path has shown that the peer is not late any more. */
static bool is_proven(const struct rudp_path *p)
{
	return p->proven_ns > rudp_sent_silent_since(&p->sent);
}

/* A peer that was late answers everything when it wakes: what it says by this path may come a round
 * trip after what it said by another. */
static uint64_t copy_at(const struct rudp_path *p)
{
	return p->proven_ns + p->rtt.net_srtt + RUDP_ACK_DELAY_NS;
}

static uint64_t late_at(const struct rudp_session *s, const struct rudp_path *p)
{
	return rudp_sent_silent_since(&p->sent) + 3 * patience(s, p);
}

static uint64_t leave_at(const struct rudp_session *s, const struct rudp_path *p)
{
	return MAX_OF(late_at(s, p), p->proven_ns + patience(s, p));
}

/* Packets are better off on q than on p. */
static bool is_better(const struct rudp_path *q, const struct rudp_path *p)
{
	return q != p && q->state == PATH_UP && !q->suspect && !q->doubt &&
	       q->standby <= p->standby;
}

static bool better_exists(const struct rudp_session *s, const struct rudp_path *p)
{
	for (unsigned i = 0; i < s->n_paths; i++)
		if (is_better(&s->paths[i], p))
			return true;
	return false;
}

/* What left by a better path then, or later, is answered. */
static bool answered_elsewhere(const struct rudp_session *s, const struct rudp_path *p,
			       uint64_t then)
{
	for (unsigned i = 0; i < s->n_paths; i++)
		if (is_better(&s->paths[i], p) && s->paths[i].sent.answered_ns >= then)
			return true;
	return false;
}

static bool is_idle_better(const struct rudp_path *q, const struct rudp_path *p)
{
	return is_better(q, p) && q->sent.in_flight == 0;
}

/* Where nothing is under way that could tell. */
static void ask_elsewhere(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	for (unsigned i = 0; i < s->n_paths; i++)
		if (is_idle_better(&s->paths[i], p))
			rudp_tx_ping(s, &s->paths[i], now);
}

/* Whether there is one that ask_elsewhere() would ask: its port did not take it, or that was not
 * tried yet. */
static bool asks_elsewhere(const struct rudp_session *s, const struct rudp_path *p)
{
	for (unsigned i = 0; i < s->n_paths; i++)
		if (is_idle_better(&s->paths[i], p))
			return true;
	return false;
}

/* It has something to answer to before the rest is taken off it; its silence counts from when it
 * began. */
static void ask_here(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	uint64_t base = p->sent.pto_base;

	rudp_tx_ping(s, p, now);
	p->sent.pto_base = base;
}

static void doubt_begin(struct rudp_session *s, struct rudp_path *p, enum path_doubt doubt,
			uint64_t now)
{
	p->doubt = (uint8_t)doubt;
	p->pause_ns = 0;
	ask_here(s, p, now);
}

/* Everything goes by another path. */
static void leave(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	if (!answered_elsewhere(s, p, late_at(s, p))) {
		ask_elsewhere(s, p, now);
		return;
	}
	p->doubt = SUSPECT_LEFT;
	rudp_loss_move_all(s, p);
	ask_here(s, p, now);
}

/* The port did not take what was to be answered. */
static void ask_here_again(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	if (better_exists(s, p))
		ask_here(s, p, now);
	else
		p->doubt = SUSPECT_NONE;
}

void rudp_suspect_poll(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	if (PLENUM_LIKELY(!p->doubt &&
			  (!p->sent.in_flight ||
			   now < rudp_sent_silent_since(&p->sent) + s->r->lim.min_rto_ns)) ||
	    p->suspect)
		return;
	if (PLENUM_UNLIKELY(!p->sent.in_flight)) {
		ask_here_again(s, p, now);
		return;
	}
	if (p->doubt == SUSPECT_LEFT || !better_exists(s, p))
		return;
	if (!is_proven(p) &&
	    answered_elsewhere(s, p, rudp_sent_silent_since(&p->sent) + patience(s, p)))
		p->proven_ns = now;
	if (p->doubt < SUSPECT_PROVEN && is_proven(p) && now >= copy_at(p)) {
		if (!p->doubt)
			doubt_begin(s, p, SUSPECT_PROVEN, now);
		p->doubt = SUSPECT_PROVEN;
		(void)rudp_loss_copy_small(s, p, false);
	} else if (!p->doubt && now >= ask_at(s, p)) {
		doubt_begin(s, p, SUSPECT_ASKED, now);
		if (!rudp_loss_copy_small(s, p, true))
			ask_elsewhere(s, p, now);
	} else if (p->doubt == SUSPECT_ASKED && !is_proven(p)) {
		/* What was under way there left too early to tell, or was not taken. */
		ask_elsewhere(s, p, now);
	}
	if (p->doubt == SUSPECT_PROVEN && now >= leave_at(s, p))
		leave(s, p, now);
}

void rudp_suspect_over(struct rudp_session *s, struct rudp_path *p)
{
	p->doubt = SUSPECT_NONE;
	p->pause_ns = 0;
	s->pausing &= (uint8_t) ~(1U << p->index);
}

/* When the next of what is done about p is due; 0: as soon as another path has answered. */
static uint64_t next_at(const struct rudp_session *s, const struct rudp_path *p)
{
	switch (p->doubt) {
	case SUSPECT_NONE:
		return is_proven(p) ? MIN_OF(ask_at(s, p), copy_at(p)) : ask_at(s, p);
	case SUSPECT_ASKED:
		return is_proven(p) ? copy_at(p) : 0;
	case SUSPECT_PROVEN:
		return leave_at(s, p);
	default:
		return RUDP_TIME_NEVER;
	}
}

uint64_t rudp_suspect_deadline(const struct rudp_session *s, const struct rudp_path *p)
{
	uint64_t now = s->r->now, at;

	if ((!p->sent.in_flight && !p->doubt) || p->suspect || !better_exists(s, p))
		return RUDP_TIME_NEVER;
	if (!p->sent.in_flight)
		return now + ASK_AGAIN_NS;
	at = next_at(s, p);
	if (at > now)
		return at;
	return asks_elsewhere(s, p) ? now + ASK_AGAIN_NS : RUDP_TIME_NEVER;
}
