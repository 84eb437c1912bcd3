/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The health of a path. UP: the path carries load unless it is suspect (rudp_suspect.c) or timed
 * out. A path that is up counts as timed out when it has been silent for two timeouts while other
 * paths have not. Its packets are then sent on other paths, and a late answer makes the path usable
 * again without a loss. DOWN: the link on one side is down, or the path stayed silent while the
 * peer answered on another path. A path that is down is probed, and used again after it has
 * answered for a while. If the peer is silent on all paths, the cause is the peer and not a path:
 * the session handles that case.
 */
#include "dataplane/rudp/rudp_internal.h"

#define HOLD_FLAPS 2U	/* factor by which the hold time of an unstable path is longer */
#define STEADY_HOLDS 8U /* a path is stable again after it was up for this many hold times */

/*
 * Sets the size of chunks, the unit of acknowledgement and retransmission of a message. A packet
 * carries as many chunks as fit. A chunk is so small that it fits into a packet of the base size,
 * which all paths carry. So a message can continue on any path, even if a path's packet size
 * becomes smaller. Of the possible sizes, this function chooses one that fills the packets of the
 * path with the smallest packet size.
 */
void rudp_path_set_chunk_bytes(struct rudp_session *s)
{
	uint32_t room = 0, base = 0, n;

	for (unsigned i = 0; i < s->n_paths; i++) {
		const struct rudp_path *p = &s->paths[i];
		uint32_t r = rudp_path_payload_max(s, p, p->mtu.cur),
			 b = rudp_path_payload_max(s, p, RUDP_MTU_BASE);

		if (p->remote.ip.family == 0)
			continue;
		base = base ? MIN_OF(base, b) : b;
		if (p->state == PATH_UP)
			room = room ? MIN_OF(room, r) : r;
	}
	if (base == 0)
		return; /* no path can send yet */
	room = MAX_OF(room, base);
	n = (room + base - 1) / base;
	/* Use chunks of the base size if they fill at least seven eighths of a packet: a little
	 * unused space is better than many small chunks. */
	s->chunk_bytes = (uint16_t)((n - 1) * base * 8 >= room * 7 ? base : room / n);
}

/* Returns the largest IP packet that the links of both hosts allow. */
static uint16_t mtu_most(const struct rudp_session *s, const struct rudp_path *p)
{
	uint32_t own = s->r->cfg.ports[p->port].mtu;

	return (uint16_t)(s->peer_mtu ? MIN_OF(own, s->peer_mtu) : own);
}

void rudp_path_init(struct rudp_session *s, unsigned index, unsigned port,
		    const struct datagram_addr *remote, bool standby, uint64_t now)
{
	struct rudp_path *p = &s->paths[index];

	memset(p, 0, sizeof(*p));
	s->pausing &=
		(uint8_t) ~(1U << index); /* ends a pause of the former path with this index */
	p->index = (uint8_t)index;
	p->port = (uint8_t)port;
	p->remote = *remote;
	p->standby = standby;
	p->local_down = !s->r->cfg.ports[port].up;
	rudp_sent_init(&p->sent, s->rings + (size_t)index * RUDP_RING_MAX, now);
	rudp_mtu_init(&p->mtu, mtu_most(s, p), now);
	rudp_cc_init(&p->cc, p->mtu.cur, p->sent.next_pn);
	p->last_rx_ns = p->probe_ns = p->since_ns = now;
	p->hold_ns = s->r->lim.hold_ns;
	s->n_paths = MAX_OF(s->n_paths, index + 1);
	rudp_path_set_chunk_bytes(s);
}

void rudp_path_mtu_result(struct rudp_session *s, struct rudp_path *p, unsigned news, uint64_t now)
{
	rudp_path_set_chunk_bytes(s);
	if (news & RUDP_MTU_FELL) {
		rudp_loss_move_above(s, p, RUDP_MTU_BASE - rudp_path_packet(s, p, 0));
		rudp_session_touch(s);
	}
	if (news & RUDP_MTU_FOUND)
		rudp_session_event(s, RUDP_PATH_MTU, p->index, p->mtu.found);
}

void rudp_path_too_big(struct rudp_session *s, struct rudp_path *p, uint32_t bytes, uint64_t now)
{
	uint32_t packet = bytes + rudp_path_ip_headers(p);

	rudp_path_mtu_result(s, p, rudp_mtu_refused(&p->mtu, packet, now), now);
	rudp_session_touch(s);
}

bool rudp_path_is_only(const struct rudp_session *s, const struct rudp_path *p)
{
	for (unsigned i = 0; i < s->n_paths; i++)
		if (&s->paths[i] != p && s->paths[i].state == PATH_UP)
			return false;
	return true;
}

void rudp_path_set_up(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	if (p->failovers)
		p->recovered_ns = now;
	p->state = PATH_UP;
	p->since_ns = now;
	p->timed_out = false;
	p->suspect_stage = SUSPECT_NONE;
	p->sent.pto_count = 0;
	p->answered_since = 0;
	p->unanswered = p->missed = 0;
	p->tx_error_ns = 0;
	p->last_rx_ns = p->sent.progress_ns = p->sent.pto_base = now;
	p->probe_due = p->rtt.srtt == 0; /* measure the round trip before it is needed */
	rudp_report_restart(p);		 /* the losses of an outage must not make the path count as
					    lossy */
	rudp_latency_restart(&p->latency, now);
	rudp_mtu_restart(&p->mtu, mtu_most(s, p), now); /* search the MTU again, because the route
							   may have changed */
	rudp_cc_init(&p->cc, p->mtu.cur, p->sent.next_pn);
	rudp_path_set_chunk_bytes(s);
	p->pace_ns = 0;
	rudp_session_touch(s);
	rudp_session_event(s, RUDP_PATH_UP, p->index, 0);
}

/*
 * Sets the hold time: how long a path must answer before it is used again. Each failure of a path
 * causes a pause, in which its packets move. So a path that fails soon after its recovery must
 * answer for longer the next time; if it fails more often than that, it is not used at all. The
 * hold time is at most doubled: a pause lasts only milliseconds, but each second of hold time costs
 * the bandwidth of a leg. A repaired leg must wait as well, because the worker cannot detect a
 * repair.
 */
static void hold_time_update(const struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	bool flaps = p->recovered_ns && now < p->recovered_ns + STEADY_HOLDS * p->hold_ns;

	p->hold_ns = (flaps ? HOLD_FLAPS : 1) * s->r->lim.hold_ns;
}

void rudp_path_set_down(struct rudp_session *s, struct rudp_path *p, int code, uint64_t now)
{
	p->answered_since = 0;
	if (p->state != PATH_UP)
		return;
	p->state = PATH_DOWN;
	p->since_ns = p->probe_sent_ns = now;
	p->failovers++;
	rudp_report_restart(p);
	hold_time_update(s, p, now);
	p->probe_ns = now;
	p->unanswered = p->missed = 0;
	if (p->pause_ns) /* set only if moved packets have arrived on another path */
		p->last_pause_ns = p->pause_ns;
	rudp_path_set_chunk_bytes(s);
	rudp_loss_move_all(s, p);
	p->timed_out = false;
	p->suspect_stage = SUSPECT_NONE;
	p->sent.pto_count = 0;
	rudp_session_touch(s);
	rudp_session_event(s, RUDP_PATH_DOWN, p->index, code);
}

void rudp_path_tx_error(struct rudp_session *s, struct rudp_path *p, int code, uint64_t now)
{
	p->tx_blocked = true;
	p->tx_error_code = code;
	if (p->tx_error_ns == 0)
		p->tx_error_ns = now;
	if (p->state == PATH_UP && !p->timed_out) {
		p->timed_out = true;
		p->timed_out_ns = now;
		p->alive_elsewhere_ns = 0;
	}
	p->sent.pto_base = now;
}

void rudp_path_answered(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	p->unanswered = p->missed = 0;
	/* While the link of the path is known to be down, a late answer does not show that the path
	 * works. */
	if (p->state != PATH_DOWN || p->local_down || p->peer_down)
		return;
	p->probes_answered++;
	if (p->answered_since)
		return;
	p->answered_since = now;
	p->probes_sent = p->probes_answered = 0;
}

void rudp_path_peer_mask(struct rudp_session *s, uint8_t mask, uint64_t now)
{
	s->peer_down_mask = mask;
	for (unsigned i = 0; i < s->n_paths; i++) {
		struct rudp_path *p = &s->paths[i];

		p->peer_down = mask >> i & 1;
		if (p->peer_down && p->state != PATH_NONE)
			rudp_path_set_down(s, p, -ENOLINK, now);
		if (s->state != SESSION_UP)
			return;
	}
}

uint64_t rudp_path_rto(const struct rudp_session *s, const struct rudp_path *p)
{
	return rudp_rtt_rto(&p->rtt, RUDP_ACK_DELAY_NS, s->r->lim.min_rto_ns);
}

uint64_t rudp_path_pto(const struct rudp_session *s, const struct rudp_path *p)
{
	return p->sent.pto_base +
	       MIN_OF(rudp_path_rto(s, p) << MIN_OF(p->sent.pto_count, 6U), RUDP_RTO_MAX_NS);
}
