/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles suspect paths. A path becomes suspect when packets on it stay unanswered while the peer
 * answers on another path. A path becomes suspect early, because that costs little: its messages
 * are sent on another path as well, and if the path answers after all, only a few packets were sent
 * without need. rudp_path.c decides independently, and later, whether the path is down.
 *
 * The usual timeout (rudp_path_rto) does not help here if hosts are late: after a host has waited
 * long for a processor, the timeout stays long for many round trips, and on all paths. But an
 * answer on another path shows that the peer is not late. So the timeouts of this file cover only
 * the delay of the network, without that of the hosts.
 */
#include "dataplane/rudp/rudp_internal.h"

/* Time after which a probe that the port did not take is sent again. */
#define RETRY_NS RUDP_ACK_DELAY_NS

/* Returns how long an answer may take if neither host is late. */
static uint64_t answer_timeout(const struct rudp_session *s, const struct rudp_path *p)
{
	uint64_t net = rudp_rtt_net_rto(&p->rtt, RUDP_ACK_DELAY_NS, s->r->lim.min_rto_ns);

	return MIN_OF(net, rudp_path_rto(s, p));
}

/* Returns when to probe p. The probe waits so long that hosts which are usually late could have
 * answered. */
static uint64_t probe_at(const struct rudp_session *s, const struct rudp_path *p)
{
	return rudp_sent_silent_since(&p->sent) +
	       MIN_OF(rudp_path_rto(s, p), MAX_OF(answer_timeout(s, p), 2 * p->rtt.srtt));
}

/* Returns whether the peer has answered on another path since p became silent. */
static bool peer_is_alive(const struct rudp_path *p)
{
	return p->peer_alive_ns > rudp_sent_silent_since(&p->sent);
}

/* Returns when to copy the small messages of p to another path. A peer that was late sends all its
 * answers when it continues. So its answer on p may arrive up to a round trip after its answer on
 * another path. */
static uint64_t copy_at(const struct rudp_path *p)
{
	return p->peer_alive_ns + p->rtt.net_srtt + RUDP_ACK_DELAY_NS;
}

static uint64_t late_at(const struct rudp_session *s, const struct rudp_path *p)
{
	return rudp_sent_silent_since(&p->sent) + 3 * answer_timeout(s, p);
}

static uint64_t move_all_at(const struct rudp_session *s, const struct rudp_path *p)
{
	return MAX_OF(late_at(s, p), p->peer_alive_ns + answer_timeout(s, p));
}

/* Returns whether q is a better path for packets than p. */
static bool is_better(const struct rudp_path *q, const struct rudp_path *p)
{
	return q != p && q->state == PATH_UP && !q->timed_out && !q->suspect_stage &&
	       q->standby <= p->standby;
}

static bool better_exists(const struct rudp_session *s, const struct rudp_path *p)
{
	for (unsigned i = 0; i < s->n_paths; i++)
		if (is_better(&s->paths[i], p))
			return true;
	return false;
}

/* Returns whether a packet that was sent on a better path at `then` or later was answered. */
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

/* Sends PINGs on those better paths that have no packets in flight which the peer would answer. */
static void ping_elsewhere(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	for (unsigned i = 0; i < s->n_paths; i++)
		if (is_idle_better(&s->paths[i], p))
			rudp_tx_ping(s, &s->paths[i], now);
}

/* Returns whether ping_elsewhere() would send a PING: no packet is in flight on a better path,
 * because none was sent there yet or because its port did not take the packet. */
static bool can_ping_elsewhere(const struct rudp_session *s, const struct rudp_path *p)
{
	for (unsigned i = 0; i < s->n_paths; i++)
		if (is_idle_better(&s->paths[i], p))
			return true;
	return false;
}

/* Sends a PING on p itself before the packets of p move to another path. The timeout of p still
 * counts from the start of its silence, not from this PING. */
static void ping_here(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	uint64_t base = p->sent.pto_base;

	rudp_tx_ping(s, p, now);
	p->sent.pto_base = base;
}

static void suspect_begin(struct rudp_session *s, struct rudp_path *p, enum suspect_stage stage,
			  uint64_t now)
{
	p->suspect_stage = (uint8_t)stage;
	p->pause_ns = 0;
	ping_here(s, p, now);
}

/* Moves all packets of p to other paths. */
static void move_all(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	if (!answered_elsewhere(s, p, late_at(s, p))) {
		ping_elsewhere(s, p, now);
		return;
	}
	p->suspect_stage = SUSPECT_MOVED;
	rudp_loss_move_all(s, p);
	ping_here(s, p, now);
}

/* Sends the PING on p again, because the port did not take it. */
static void ping_here_again(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	if (better_exists(s, p))
		ping_here(s, p, now);
	else
		p->suspect_stage = SUSPECT_NONE;
}

void rudp_suspect_poll(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	if (PLENUM_LIKELY(!p->suspect_stage &&
			  (!p->sent.in_flight ||
			   now < rudp_sent_silent_since(&p->sent) + s->r->lim.min_rto_ns)) ||
	    p->timed_out)
		return;
	if (PLENUM_UNLIKELY(!p->sent.in_flight)) {
		ping_here_again(s, p, now);
		return;
	}
	if (p->suspect_stage == SUSPECT_MOVED || !better_exists(s, p))
		return;
	if (!peer_is_alive(p) &&
	    answered_elsewhere(s, p, rudp_sent_silent_since(&p->sent) + answer_timeout(s, p)))
		p->peer_alive_ns = now;
	if (p->suspect_stage < SUSPECT_CONFIRMED && peer_is_alive(p) && now >= copy_at(p)) {
		if (!p->suspect_stage)
			suspect_begin(s, p, SUSPECT_CONFIRMED, now);
		p->suspect_stage = SUSPECT_CONFIRMED;
		(void)rudp_loss_copy_small(s, p, false);
	} else if (!p->suspect_stage && now >= probe_at(s, p)) {
		suspect_begin(s, p, SUSPECT_PROBED, now);
		if (!rudp_loss_copy_small(s, p, true))
			ping_elsewhere(s, p, now);
	} else if (p->suspect_stage == SUSPECT_PROBED && !peer_is_alive(p)) {
		/* Send PINGs: no better path has answered a packet that was sent late enough to
		 * prove anything, or the ports of these paths have not taken the PINGs. */
		ping_elsewhere(s, p, now);
	}
	if (p->suspect_stage == SUSPECT_CONFIRMED && now >= move_all_at(s, p))
		move_all(s, p, now);
}

void rudp_suspect_clear(struct rudp_session *s, struct rudp_path *p)
{
	p->suspect_stage = SUSPECT_NONE;
	p->pause_ns = 0;
	s->pausing &= (uint8_t) ~(1U << p->index);
}

/* Returns when the next step for p must be made; 0: as soon as another path answers. */
static uint64_t next_at(const struct rudp_session *s, const struct rudp_path *p)
{
	switch (p->suspect_stage) {
	case SUSPECT_NONE:
		return peer_is_alive(p) ? MIN_OF(probe_at(s, p), copy_at(p)) : probe_at(s, p);
	case SUSPECT_PROBED:
		return peer_is_alive(p) ? copy_at(p) : 0;
	case SUSPECT_CONFIRMED:
		return move_all_at(s, p);
	default:
		return RUDP_TIME_NEVER;
	}
}

uint64_t rudp_suspect_deadline(const struct rudp_session *s, const struct rudp_path *p)
{
	uint64_t now = s->r->now, at;

	if ((!p->sent.in_flight && !p->suspect_stage) || p->timed_out || !better_exists(s, p))
		return RUDP_TIME_NEVER;
	if (!p->sent.in_flight)
		return now + RETRY_NS;
	at = next_at(s, p);
	if (at > now)
		return at;
	return can_ping_elsewhere(s, p) ? now + RETRY_NS : RUDP_TIME_NEVER;
}
