/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides which chunk to send next, at what time and on which path. */
#include "dataplane/rudp/rudp_internal.h"

/* Returns the rank of a path; the highest rank is preferred, 0 is unusable. Active paths rank
 * before standby paths. Within both groups, paths that are not suspect rank first, then paths that
 * lose few packets. Paths that have timed out rank last. */
static unsigned path_rank(const struct rudp_path *p)
{
	if (p->state != PATH_UP)
		return 0;
	if (p->timed_out)
		return p->standby ? 1 : 2;
	if (PLENUM_UNLIKELY(p->quality.avoided))
		return p->standby ? 3 : 4;
	return (p->standby ? 6 : 8) - (p->suspect_stage ? 1 : 0);
}

static uint32_t window_left(const struct rudp_path *p, bool small)
{
	uint32_t cwnd =
		rudp_rtt_drains(&p->rtt) ? MIN_OF(p->cc.cwnd, RUDP_DRAIN_BYTES) : p->cc.cwnd;
	uint32_t limit = cwnd + (small ? MIN_OF(cwnd / 2, RUDP_SMALL_OVERSHOOT) : 0);

	if (p->sent.next_pn - p->sent.tail_pn >= RUDP_SPAN_MAX)
		return 0;
	return p->sent.in_flight < limit ? limit - p->sent.in_flight : 0;
}

/*
 * Estimates when a packet sent on p now would arrive: after the round trip, and the time for the
 * packets in flight before it. The path's minimum round trip is used if the latest sample is old.
 * It is also used for all bulk data, because the rest of the round trip comes from this sender's
 * own queue, which is included as bytes in flight.
 */
static uint64_t path_eta(const struct rudp_path *p, bool small, uint64_t now)
{
	uint64_t rtt = p->rtt.base;
	uint64_t queue =
		(uint64_t)p->sent.in_flight * 4 / 5; /* time in ns to send these bytes at 10 Gb/s */

	if (small && p->rtt.sampled_ns + 100 * NSEC_PER_MSEC > now)
		rtt = p->rtt.srtt;
	return rtt + MAX_OF(queue, p->sent.in_flight * p->rtt.srtt / p->cc.cwnd);
}

/* Returns how many bytes of the window must be free before bulk data is sent. This applies only if
 * at least half of the window is in use. */
static uint32_t window_least(const struct rudp_path *p)
{
	return MIN_OF(RUDP_GSO_BYTES, MAX_OF(p->cc.cwnd / 4, p->mtu.cur));
}

/* Returns how much of the window must be free before something is sent. Waiting for a larger burst
 * pays off, because ports spend much less time per packet on a burst than on single packets. */
static uint32_t burst_least(const struct rudp_path *p, const struct tx_msg *m, bool small)
{
	uint32_t left = (uint32_t)(m->allowed_chunks - m->next_chunk + m->n_lost) * m->chunk_bytes;

	if (small || m->n_lost || p->sent.in_flight < p->cc.cwnd / 2)
		return p->mtu.cur;
	return MIN_OF(left, window_least(p));
}

/* Estimates when a packet of m would arrive on p, for the comparison with other paths. */
static uint64_t path_cost(const struct rudp_session *s, const struct rudp_path *p,
			  const struct tx_msg *m, bool small, uint64_t now)
{
	uint64_t eta = path_eta(p, small, now);

	/* Prefer the path of the request for a response: the client chose that path, and knows the
	 * state of the paths at least as well as this server. */
	return small && !s->is_client && m->prefer == p->index ? eta / 2 : eta;
}

static struct rudp_path *path_choose(struct rudp_session *s, const struct tx_msg *m, bool small,
				     uint64_t now)
{
	struct rudp_path *best = NULL;
	unsigned rank = 1;
	uint64_t best_eta = 0;

	for (unsigned i = 0; i < s->n_paths; i++)
		rank = MAX_OF(rank, path_rank(&s->paths[i]));
	for (unsigned i = 0; i < s->n_paths; i++) {
		struct rudp_path *p = &s->paths[i];
		uint64_t eta;

		if (path_rank(p) != rank || p->tx_blocked)
			continue;
		if (window_left(p, small) < burst_least(p, m, small) && p->sent.in_flight) {
			p->cc.limited = true;
			continue;
		}
		if (now < p->pace_ns && (!small || p->cc.cwnd < RUDP_PACE_SMALL * p->mtu.cur)) {
			p->cc.limited = true;
			continue;
		}
		/* The incast share delays this message, not the window. So do not set cc.limited,
		 * which would let the window grow. */
		if (PLENUM_UNLIKELY(small && now < p->small_pace_ns))
			continue;
		if (!best) { /* compute the cost only if there is a second path to compare with */
			best = p;
			continue;
		}
		if (best_eta == 0)
			best_eta = path_cost(s, best, m, small, now);
		eta = path_cost(s, p, m, small, now);
		if (eta < best_eta) {
			best = p;
			best_eta = eta;
		}
	}
	return best;
}

static inline void header_init(const struct rudp_session *s, const struct rudp_path *p,
			       const struct tx_msg *m, struct datagram *pkt)
{
	const struct slot *slot = list_entry(m, const struct slot, tx);
	struct wire_common c = {.type = WIRE_DATA, .path = p->index, .session = s->peer_number};
	struct wire_data d = {.gen = slot->gen,
			      .slot = slot->index,
			      .msg_len = m->len,
			      .chunk_bytes = m->chunk_bytes,
			      .credit = rudp_grant_free_bytes(s)};

	pkt->source = 0;
	wire_put_data(pkt->hdr, &c, &d);
}

static unsigned first_lost(const struct tx_msg *m)
{
	for (unsigned w = 0;; w++)
		if (m->chunks[w].lost)
			return w * 64 + (unsigned)__builtin_ctzll(m->chunks[w].lost);
}

/* Returns how many consecutive chunks from `index` on are lost; at most `most`. */
static unsigned lost_run(const struct tx_msg *m, unsigned index, unsigned most)
{
	unsigned n = 1;

	while (n < most && index + n < m->n_chunks &&
	       m->chunks[(index + n) >> 6].lost >> ((index + n) & 63) & 1)
		n++;
	return n;
}

/* Returns how many chunks of m a packet on p carries. */
static unsigned chunks_per_packet(const struct rudp_session *s, const struct rudp_path *p,
				  const struct tx_msg *m)
{
	if (m->n_chunks == 1) /* a message of one chunk needs no division */
		return 1;
	return MAX_OF(rudp_path_payload_max(s, p, p->mtu.cur) / m->chunk_bytes, 1U);
}

/* Returns the maximum number of packets in a burst of m. */
static unsigned burst_packets_max(const struct tx_msg *m, uint32_t mtu)
{
	return m->n_chunks == 1 ? 1 : MIN_OF(RUDP_GSO_BYTES / mtu, RUDP_GSO_PACKETS);
}

/* Sends n chunks in one packet. header_init() must have made pkt->hdr. Returns the same values as
 * ops->tx. */
static int chunks_send(struct rudp_session *s, struct rudp_path *p, const struct tx_msg *m,
		       unsigned index, unsigned n, bool want_ack, struct datagram *pkt,
		       uint64_t now)
{
	const struct slot *slot = list_entry(m, const struct slot, tx);
	uint32_t offset = index * m->chunk_bytes;
	bool last = index + n == m->n_chunks;
	struct rudp_path *acked = NULL;
	struct wire_ack ack;
	uint8_t flags = s->is_client ? 0 : WIRE_F_RESPONSE;
	int res;

	pkt->alone = rudp_gso_is_off(&p->gso, now);
	pkt->hdr_len = WIRE_DATA_BYTES;
	pkt->payload_len = (uint16_t)(last ? m->len - offset : n * m->chunk_bytes);
	pkt->payload = pkt->payload_len ? m->data + offset : NULL;
	/* Let the last packet of a message carry an acknowledgement, because it often has space. */
	if (last && rudp_ack_out_waits(s) &&
	    pkt->payload_len + 0U + WIRE_DATA_ACK_BYTES - WIRE_DATA_BYTES <=
		    rudp_path_payload_max(s, p, p->mtu.cur))
		acked = rudp_ack_out_piggyback(s, p, &ack, now);
	if (acked) {
		pkt->hdr_len = (uint16_t)(WIRE_DATA_BYTES +
					  wire_put_ack_block(pkt->hdr + WIRE_DATA_BYTES, &ack));
		flags |= WIRE_F_ACK_BLOCK;
	}
	if (want_ack)
		flags |= WIRE_F_WANT_ACK;
	pkt->hdr[WIRE_OFF_FLAGS] = flags;
	wire_put32(pkt->hdr + WIRE_OFF_PN, (uint32_t)p->sent.next_pn);
	wire_put16(pkt->hdr + WIRE_OFF_CHUNK_INDEX, (uint16_t)index);
	wire_put16(pkt->hdr + WIRE_OFF_CARRIED, (uint16_t)n);
	res = rudp_session_transmit(s, p, pkt, p->index, p->sent.next_pn);
	if (PLENUM_UNLIKELY(res)) {
		p->tx_blocked = true;
		if (res == -EMSGSIZE)
			rudp_path_too_big(s, p,
					  (uint32_t)pkt->hdr_len + pkt->payload_len +
						  (s->secure ? RUDP_SECURE_BYTES : 0),
					  now);
		else if (res != -EAGAIN)
			rudp_path_tx_error(s, p, res, now);
		return res;
	}
	if (acked)
		rudp_acks_sent(&acked->acks);
	rudp_loss_sent(p, slot->index, slot->gen, (uint16_t)index, n,
		       (uint32_t)pkt->hdr_len + pkt->payload_len, now);
	if (PLENUM_UNLIKELY(pkt->source))
		rudp_sent_at(&p->sent, p->sent.next_pn - 1)->source = pkt->source & 0xf;
	return 0;
}

/* Ends a burst on p whose first packet is first_pn. Records a large burst, so that rudp_tx_stamp()
 * can correct the send time of its packets at the flush. Flushes the ports if enough bytes or
 * bursts are waiting. */
static void burst_end(struct rudp *r, struct rudp_path *p, uint64_t first_pn, uint32_t bytes)
{
	if (bytes >= RUDP_GSO_LONG)
		r->bursts[r->n_bursts++] = (struct gso_burst){
			.path = p,
			.first_pn = first_pn,
			.n = (unsigned)(p->sent.next_pn - first_pn),
		};
	if (r->unflushed >= RUDP_FLUSH_BYTES || r->n_bursts == RUDP_GSO_BURSTS_MAX)
		rudp_flush(r);
}

/*
 * Returns whether the n chunks of m from `index` on must request an ACK. They must if p sends
 * nothing more before an acknowledgement arrives, because the window is full or the turn ends.
 * Otherwise the peer would wait for more data while this side waits for the acknowledgement.
 */
static bool burst_wants_ack(const struct rudp_path *p, const struct tx_msg *m, bool small,
			    unsigned index, unsigned n, uint32_t room, unsigned turns)
{
	bool all_lost = n == m->n_lost && m->next_chunk >= m->allowed_chunks;
	bool last = turns == 1 || (m->n_lost ? all_lost : index + n >= m->allowed_chunks);

	return room < p->mtu.cur + (last && !small ? window_least(p) : p->mtu.cur);
}

/* Sends a burst of chunks of m on p. Returns the number of bytes; 0 if the port took none. */
static uint32_t burst_send(struct rudp_session *s, struct rudp_path *p, struct tx_msg *m,
			   bool small, uint64_t now)
{
	const struct slot *slot = list_entry(m, const struct slot, tx);
	uint32_t mtu = p->mtu.cur, room = MAX_OF(window_left(p, small), mtu);
	unsigned most = chunks_per_packet(s, p, m);
	uint64_t first_pn = p->sent.next_pn;
	bool shared = small && now < p->share_until;
	/* Retransmissions use source port 0, which is the most reliable. */
	unsigned by = small ? 0 : rudp_src_ports_choose(&p->src_ports, m->turn);
	uint32_t sent = 0;
	struct datagram pkt;

	if (PLENUM_UNLIKELY(shared))
		room = MIN_OF(room, MAX_OF(p->share_bytes, mtu));
	header_init(s, p, m, &pkt);
	for (unsigned k = burst_packets_max(m, mtu); k > 0; k--) {
		bool again = m->n_lost;
		unsigned index, n;

		if (!again && m->next_chunk >= m->allowed_chunks)
			break;
		if (sent + mtu > room || p->sent.next_pn - p->sent.tail_pn >= RUDP_SPAN_MAX)
			break;
		index = again ? first_lost(m) : m->next_chunk;
		n = again ? lost_run(m, index, most) : MIN_OF(most, m->allowed_chunks - index);
		pkt.source = again ? 0 : (uint8_t)by;
		if (chunks_send(s, p, m, index, n,
				burst_wants_ack(p, m, small, index, n, room - sent, k), &pkt, now))
			break;
		if (again) {
			for (unsigned i = index; i < index + n; i++)
				m->chunks[i >> 6].lost &= ~(1ULL << (i & 63));
			m->n_lost = (uint16_t)(m->n_lost - n);
			p->retransmits++;
		} else {
			m->next_chunk = (uint16_t)(m->next_chunk + n);
		}
		sent += (uint32_t)pkt.hdr_len + pkt.payload_len;
	}
	if (sent)
		p->pace_ns = now + rudp_cc_pace(&p->cc, mtu, p->rtt.srtt, sent);
	if (PLENUM_UNLIKELY(shared))
		rudp_incast_sent(p, sent, now);
	/* Only watch bursts from source port 0, because with another source port, the port itself
	 * may be the cause of losses. */
	if (by == 0)
		rudp_gso_sent(&p->gso, first_pn, (unsigned)(p->sent.next_pn - first_pn),
			      rudp_sent_at(&p->sent, first_pn)->bytes,
			      (uint64_t)slot->gen << 16 | slot->index, now);
	burst_end(s->r, p, first_pn, sent);
	return sent;
}

/* Sends the announcement of a request. Returns false if the port did not take it. */
static bool announce_send(struct rudp_session *s, struct rudp_path *p, struct tx_msg *m,
			  uint64_t now)
{
	const struct slot *slot = list_entry(m, const struct slot, tx);
	struct datagram pkt;
	int res;

	header_init(s, p, m, &pkt);
	pkt.alone = rudp_gso_is_off(&p->gso, now);
	pkt.hdr_len = WIRE_DATA_BYTES;
	pkt.payload_len = 0;
	pkt.payload = NULL;
	pkt.hdr[WIRE_OFF_FLAGS] = WIRE_F_NEED;
	wire_put32(pkt.hdr + WIRE_OFF_PN, (uint32_t)p->sent.next_pn);
	res = rudp_session_transmit(s, p, &pkt, p->index, p->sent.next_pn);
	if (res) {
		p->tx_blocked = true;
		if (res != -EAGAIN)
			rudp_path_tx_error(s, p, res, now);
		return false;
	}
	m->announce = false;
	rudp_loss_sent(p, slot->index, slot->gen, PKT_ANNOUNCE, 1, WIRE_DATA_BYTES, now);
	return true;
}

static struct tx_msg *queue_head(struct rudp_session *s, enum tx_queue q)
{
	return list_empty(&s->tx[q]) ? NULL : list_entry(s->tx[q].next, struct tx_msg, node);
}

/* Returns the next message to send. Small messages come first, up to a limit. */
static struct tx_msg *msg_pick(struct rudp_session *s, bool bulk)
{
	struct tx_msg *small = queue_head(s, TX_SMALL);
	struct tx_msg *big = queue_head(s, TX_URGENT);

	if (!big)
		big = queue_head(s, TX_BIG);
	if (small && (!big || s->small_run < RUDP_GSO_BYTES))
		return small;
	return bulk ? big : NULL;
}

/* Big messages take turns, burst by burst. */
static void msg_rotate(struct rudp_session *s, struct tx_msg *m)
{
	rudp_tx_queue(s, m);
	if (m->queue == TX_NONE || m->queue == TX_SMALL)
		return;
	list_del(&m->node);
	list_add_tail(&s->tx[m->queue], &m->node);
}

static void sent_count(struct rudp *r, const struct rudp_path *p, bool small, uint32_t sent,
		       uint64_t now)
{
	if (small)
		rudp_bulk_note_small(r, p, now);
	else
		rudp_bulk_sent(r, p, sent, now);
}

void rudp_tx_run(struct rudp_session *s, bool bulk, uint64_t now)
{
	struct tx_msg *m;

	while ((m = msg_pick(s, bulk))) {
		struct rudp_path *p;
		bool small = rudp_tx_is_small(m);
		uint32_t sent;

		if (s->r->sent_in_poll >= RUDP_POLL_PACKETS) {
			s->r->again = true;
			return;
		}
		p = path_choose(s, m, small, now);
		if (p && !small && !s->is_client &&
		    PLENUM_UNLIKELY(!rudp_bulk_may_send(s->r, p, now))) {
			rudp_session_touch(s); /* the next poll sends the rest */
			p = NULL;
		}
		if (!p) {
			/* A big message did not fit into the window, but a small one may. */
			if (small || list_empty(&s->tx[TX_SMALL]))
				return;
			s->small_run = 0;
			continue;
		}
		if (m->announce) {
			announce_send(s, p, m, now);
			msg_rotate(s, m);
			continue;
		}
		sent = burst_send(s, p, m, small, now);
		if (!s->is_client)
			sent_count(s->r, p, small, sent, now);
		s->small_run = small ? s->small_run + sent : 0;
		msg_rotate(s, m);
	}
}

/* Returns the best path that is up, for packets that belong to no message. */
static struct rudp_path *path_best(struct rudp_session *s)
{
	struct rudp_path *best = NULL;

	for (unsigned i = 0; i < s->n_paths; i++) {
		struct rudp_path *p = &s->paths[i];

		if (path_rank(p) && !p->tx_blocked &&
		    p->sent.next_pn - p->sent.tail_pn < RUDP_SPAN_MAX &&
		    (!best || path_rank(p) > path_rank(best)))
			best = p;
	}
	return best;
}

void rudp_tx_grants(struct rudp_session *s, uint64_t now)
{
	while (!list_empty(&s->grants.to_send)) {
		struct rudp_path *p = path_best(s);
		struct wire_common c = {.type = WIRE_GRANT, .session = s->peer_number};
		struct wire_grant g[WIRE_GRANTS_MAX];
		struct datagram pkt = {.payload = NULL};
		struct list *l = s->grants.to_send.next;
		unsigned n = 0;
		int res;

		if (!p)
			return;
		c.path = p->index;
		c.pn = (uint32_t)p->sent.next_pn;
		for (; n < WIRE_GRANTS_MAX && l != &s->grants.to_send; l = l->next) {
			const struct slot *slot = list_entry(l, struct slot, in.grant_node);

			g[n++] = (struct wire_grant){.slot = slot->index,
						     .again = slot->state == SLOT_DISCARDED,
						     .gen = slot->gen};
		}
		pkt.hdr_len = (uint16_t)wire_put_grants(pkt.hdr, &c, g, n);
		res = rudp_session_transmit(s, p, &pkt, p->index, p->sent.next_pn);
		if (res) {
			p->tx_blocked = true;
			if (res != -EAGAIN)
				rudp_path_tx_error(s, p, res, now);
			rudp_session_touch(s);
			return;
		}
		rudp_loss_sent(p, PKT_NO_SLOT, 0, PKT_GRANT, 0, pkt.hdr_len, now);
		while (n--)
			list_del(s->grants.to_send.next);
	}
}

static void report_fill(const struct rudp_path *p, struct wire_report *ret)
{
	uint64_t srtt_us = p->rtt.srtt / NSEC_PER_USEC;

	*ret = (struct wire_report){.top = (uint32_t)p->acks.top,
				    .arrived = (uint32_t)p->acks.arrived,
				    .probes_lost = (uint32_t)p->probes_lost,
				    .srtt_us = (uint32_t)MIN_OF(srtt_us, UINT32_MAX)};
}

void rudp_tx_ping(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	struct wire_common c = {.type = WIRE_PING,
				.path = p->index,
				.flags = WIRE_F_REPORT,
				.session = s->peer_number,
				.pn = (uint32_t)p->sent.next_pn};
	struct datagram pkt = {.payload = NULL};
	struct wire_report report;
	int res;

	if (p->sent.next_pn - p->sent.tail_pn >= RUDP_SPAN_MAX)
		return;
	report_fill(p, &report);
	pkt.hdr_len = (uint16_t)wire_put_report(pkt.hdr, &c, &report);
	res = rudp_session_transmit(s, p, &pkt, p->index, p->sent.next_pn);
	if (res == 0)
		rudp_loss_sent(p, PKT_NO_SLOT, 0, PKT_PING, 0, WIRE_COMMON_BYTES, now);
	else if (res != -EAGAIN)
		rudp_path_tx_error(s, p, res, now);
}

int rudp_tx_ping_padded(struct rudp_session *s, struct rudp_path *p, uint16_t mtu, uint64_t now)
{
	static const uint8_t padding[WIRE_PACKET_BYTES_MAX];
	struct wire_common c = {.type = WIRE_PING,
				.path = p->index,
				.session = s->peer_number,
				.pn = (uint32_t)p->sent.next_pn};
	struct datagram pkt = {.payload = padding};
	int res;

	if (p->sent.next_pn - p->sent.tail_pn >= RUDP_SPAN_MAX)
		return -EAGAIN;
	pkt.hdr_len = (uint16_t)wire_put_common(pkt.hdr, &c);
	pkt.payload_len =
		(uint16_t)(rudp_path_payload_max(s, p, mtu) + WIRE_DATA_BYTES - pkt.hdr_len);
	res = rudp_session_transmit(s, p, &pkt, p->index, p->sent.next_pn);
	/* The padding does not count as in flight, because its loss must have no effect. */
	if (res == 0)
		rudp_loss_sent(p, PKT_NO_SLOT, 0, PKT_PROBE, 0, WIRE_COMMON_BYTES, now);
	return res;
}

void rudp_tx_probe(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	/* A peer without memory drops chunks and does not acknowledge them, but it answers a PING.
	 * The answer shows which chunks it has dropped. */
	for (uint64_t pn = p->sent.pto_count > 1 ? p->sent.next_pn : p->sent.tail_pn;
	     pn < p->sent.next_pn; pn++) {
		const struct pkt_rec *rec = &p->sent.ring[pn & p->sent.ring_mask];
		struct tx_msg *m;
		struct datagram pkt;

		if (rec->state != PKT_IN_FLIGHT || rec->slot == PKT_NO_SLOT)
			continue;
		m = &s->slots[rec->slot].tx;
		if (rec->chunk == PKT_ANNOUNCE)
			break; /* do not resend the chunk: the answer to this PING shows whether it
				  arrived */
		if (s->slots[rec->slot].gen != rec->gen || !m->active ||
		    m->chunks[rec->chunk >> 6].acked & 1ULL << (rec->chunk & 63) ||
		    p->sent.next_pn - p->sent.tail_pn >= RUDP_SPAN_MAX)
			continue;
		header_init(s, p, m, &pkt);
		/* Send a single chunk, because it arrives even if packets of full size do not. */
		if (chunks_send(s, p, m, rec->chunk, 1, true, &pkt, now) == 0)
			p->retransmits++;
		return;
	}
	rudp_tx_ping(s, p, now);
}
