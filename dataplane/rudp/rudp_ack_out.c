/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends acknowledgements, alone or with data. */
#include "dataplane/rudp/rudp_internal.h"

static uint8_t down_mask(const struct rudp_session *s)
{
	uint8_t mask = 0;

	for (unsigned i = 0; i < s->n_paths; i++)
		if (s->paths[i].state != PATH_NONE && s->paths[i].local_down)
			mask |= (uint8_t)(1U << i);
	return mask;
}

static void ack_fill(const struct rudp_session *s, const struct rudp_path *p, uint64_t top,
		     unsigned max_words, struct wire_ack *ret, uint64_t now)
{
	rudp_acks_fill(&p->acks, top, max_words, ret, now);
	ret->path = p->index;
	ret->credit = rudp_grant_free_bytes(s);
}

struct rudp_path *rudp_ack_out_piggyback(struct rudp_session *s, struct rudp_path *on,
					 struct wire_ack *ret, uint64_t now)
{
	struct rudp_path *p = on;

	for (unsigned i = 0; i < s->n_paths && p->acks.pending == 0; i++)
		p = &s->paths[i];
	if (p->state == PATH_NONE || p->acks.pending == 0 || (p->acks.ping && p != on) ||
	    p->acks.dirty_word + 1 < p->acks.top >> 6)
		return NULL;
	ack_fill(s, p, p->acks.top, WIRE_ACK_WORDS_DATA, ret, now);
	if (ret->n_words < WIRE_ACK_WORDS_DATA)
		ret->words[ret->n_words++] = 0;
	return p;
}

static bool path_healthy(const struct rudp_path *p)
{
	return p->state == PATH_UP && !p->timed_out && !p->suspect_stage;
}

/* Chooses the path for an acknowledgement of packets that arrived on p. Usually that is p itself,
 * because this shows the peer that both directions work. If p is suspect, another path is used. A
 * PING is always answered on its own path. */
static struct rudp_path *ack_route(struct rudp_session *s, struct rudp_path *p)
{
	if (path_healthy(p) || (p->acks.ping && !p->local_down))
		return p;
	for (unsigned i = 0; i < s->n_paths; i++)
		if (path_healthy(&s->paths[i]))
			return &s->paths[i];
	return p;
}

static int ack_send(struct rudp_session *s, const struct rudp_path *of, uint64_t top,
		    struct rudp_path *on, uint64_t now)
{
	struct wire_common c = {.type = WIRE_ACK,
				.path = on->index,
				.flags = down_mask(s),
				.session = s->peer_number,
				.pn = (uint32_t)(s->ack_serial + 1)};
	struct datagram pkt = {.payload = NULL};
	struct wire_ack ack;
	int res;

	ack_fill(s, of, top, WIRE_ACK_WORDS_MAX, &ack, now);
	wire_put_common(pkt.hdr, &c);
	pkt.hdr_len = (uint16_t)(WIRE_COMMON_BYTES +
				 wire_put_ack_block(pkt.hdr + WIRE_COMMON_BYTES, &ack));
	res = rudp_session_transmit(s, on, &pkt, RUDP_SECURE_CONTROL, s->ack_serial + 1);
	if (res == 0) {
		s->ack_serial++;
		on->tx_packets++;
		on->tx_bytes += pkt.hdr_len;
	}
	return res;
}

/* Sends as many ACKs as needed to cover everything received since the last ACKs. */
static void acks_send(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	struct rudp_path *on = ack_route(s, p);
	uint64_t top = p->acks.top;

	while (top) {
		uint64_t word = top >> 6;

		if (ack_send(s, p, top, on, now) == -EAGAIN)
			return;
		if (p->acks.pending == 0 || word < WIRE_ACK_WORDS_MAX + p->acks.dirty_word)
			break;
		top = ((word - WIRE_ACK_WORDS_MAX) << 6) + 63;
	}
	rudp_acks_sent(&p->acks);
}

/* Sends the state of this side's paths on every path that may work, including suspect paths: when
 * the link of another path goes down, a suspect path may be the only one left. */
static void state_send(struct rudp_session *s, uint64_t now)
{
	s->state_due = false;
	for (unsigned i = 0; i < s->n_paths; i++)
		if (s->paths[i].state == PATH_UP && !s->paths[i].timed_out)
			ack_send(s, &s->paths[i], s->paths[i].acks.top, &s->paths[i], now);
}

/* Returns whether an acknowledgement may wait, because the response that this server will soon send
 * can carry the acknowledgement. */
static bool ack_may_wait(const struct rudp_session *s)
{
	return !s->r->rests || !s->is_client || s->n_active > 0;
}

void rudp_ack_out_send(struct rudp_session *s, uint64_t now)
{
	for (unsigned i = 0; i < s->n_paths; i++) {
		struct rudp_path *p = &s->paths[i];

		if (p->state == PATH_NONE)
			continue;
		if (PLENUM_UNLIKELY(s->r->incasts[p->port].limit_bytes))
			rudp_incast_share_send(s, p, now);
		if (rudp_acks_due(&p->acks, now) || (p->acks.pending && !ack_may_wait(s)))
			acks_send(s, p, now);
	}
	if (PLENUM_UNLIKELY(s->state_due))
		state_send(s, now);
}
