/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets of a session in, acknowledgements out. */
#include "dataplane/rudp/rudp_internal.h"

static int data_rx(struct rudp_session *s, struct rudp_path *p, const struct wire_common *c,
		   const uint8_t *data, size_t len, uint64_t now)
{
	struct wire_data d;
	struct wire_ack ack;
	uint64_t pn = 0;
	int fresh, res;

	if (PLENUM_UNLIKELY(wire_get_data(data, len, c, &d, &ack)))
		return -EBADMSG;
	fresh = rudp_acks_check(&p->acks, c->pn, &pn);
	if (fresh < 0)
		return fresh;
	if (c->flags & WIRE_F_ACK_BLOCK) {
		res = rudp_loss_ack(s, &ack, p, now);
		if (res || s->state != SESSION_UP)
			return res;
	}
	if (fresh == 0)
		return 0;
	p->quiet = 0;
	res = rudp_call_rx(s, c, &d);
	if (s->state != SESSION_UP)
		return 0;
	if (res == -ENOBUFS) { /* treated as not received, so that it is retransmitted */
		p->acks.arrived++;
		return 0;
	}
	if (res)
		return res;
	rudp_incast_received(s, p, pn > p->acks.top ? pn - p->acks.top : 0, len, now);
	rudp_acks_note(&p->acks, pn, len, rudp_waited(s->r, now), now);
	if (c->flags & WIRE_F_WANT_ACK)
		p->acks.now = true;
	return 0;
}

static int ack_rx(struct rudp_session *s, struct rudp_path *p, const struct wire_common *c,
		  const uint8_t *data, size_t len, uint64_t now)
{
	struct wire_ack ack;
	int res;

	if (wire_get_ack(data, len, &ack))
		return -EBADMSG;
	res = rudp_loss_ack(s, &ack, p, now);
	if (res || s->state != SESSION_UP)
		return res;
	if ((int32_t)(c->pn - s->peer_ack_serial) > 0) {
		s->peer_ack_serial = c->pn;
		if (c->flags != s->peer_down_mask)
			rudp_path_peer_mask(s, c->flags, now);
	}
	return 0;
}

static int ping_rx(struct rudp_session *s, struct rudp_path *p, const struct wire_common *c,
		   const uint8_t *data, size_t len, uint64_t now)
{
	bool reports = c->flags & WIRE_F_REPORT;
	struct wire_report report;
	uint64_t pn = 0;
	int fresh;

	/* Further bytes are padding. */
	if (len < WIRE_COMMON_BYTES || (reports && wire_get_report(data, len, &report)))
		return -EBADMSG;
	fresh = rudp_acks_check(&p->acks, c->pn, &pn);
	if (fresh < 0)
		return fresh;
	if (fresh)
		rudp_acks_note(&p->acks, pn, len, rudp_waited(s->r, now), now);
	p->acks.now = true;
	p->acks.ping = true;
	rudp_path_quiet(p);
	return reports && fresh ? rudp_report_rx(s, p, &report, now) : 0;
}

static int grant_rx(struct rudp_session *s, struct rudp_path *p, const struct wire_common *c,
		    const uint8_t *data, size_t len, uint64_t now)
{
	struct wire_grant grants[WIRE_GRANTS_MAX];
	int n = wire_get_grants(data, len, grants);
	uint64_t pn = 0;
	int fresh;

	if (n < 0 || !s->is_client)
		return -EBADMSG;
	fresh = rudp_acks_check(&p->acks, c->pn, &pn);
	if (fresh <= 0)
		return fresh;
	rudp_acks_note(&p->acks, pn, len, rudp_waited(s->r, now), now);
	for (int i = 0; i < n; i++)
		rudp_call_granted(s, &grants[i]);
	return 0;
}

static int close_rx(struct rudp_session *s, size_t len, uint64_t now)
{
	if (len != WIRE_COMMON_BYTES)
		return -EBADMSG;
	if (s->is_client)
		rudp_session_reconnect(s, RUDP_SESSION_ENDED, now);
	else
		rudp_session_end(s, RUDP_SESSION_CLOSED, -ECONNRESET);
	return 0;
}

/* The counter that numbered the packet; *ret: its full number. */
static unsigned counter_of(const struct rudp_session *s, const struct wire_common *c, uint64_t *ret)
{
	const struct rudp_path *p = &s->paths[c->path];

	if (c->type == WIRE_DATA || c->type == WIRE_PING || c->type == WIRE_GRANT) {
		*ret = rudp_pn_expand(c->pn, p->acks.top + 1);
		return c->path;
	}
	*ret = rudp_pn_expand(c->pn, s->secure->seen_top + 1);
	return RUDP_SECURE_CONTROL;
}

int rudp_rx_unseal(struct rudp_session *s, const struct wire_common *c, const uint8_t **data,
		   size_t *len)
{
	uint64_t number;
	unsigned counter;

	counter = counter_of(s, c, &number);
	if (*len > sizeof(s->r->scratch) ||
	    (counter != RUDP_SECURE_CONTROL && rudp_acks_seen(&s->paths[c->path].acks, number)))
		return -EBADMSG;
	return rudp_secure_open(s->secure, counter, number, *data, *len, s->r->scratch, data, len);
}

/* The client has the session and will not ask for ACCEPT again. */
static void handshake_over(struct rudp_session *s)
{
	if (PLENUM_UNLIKELY(s->handshake && !s->is_client))
		rudp_handshake_free(s);
}

int rudp_rx_join(struct rudp_session *s, unsigned port, const struct datagram_addr *src,
		 const struct wire_common *c, const uint8_t *data, size_t len, uint64_t now)
{
	if (rudp_rx_open(s, c, &data, &len))
		return -EBADMSG;
	handshake_over(s);
	return rudp_accept_join(s, port, src, c, data, len, now);
}

int rudp_rx_packet(struct rudp_session *s, unsigned port, const struct datagram_addr *src,
		   const struct wire_common *c, const uint8_t *data, size_t len, uint64_t now)
{
	struct rudp_path *p = &s->paths[c->path];
	int res;

	if (PLENUM_UNLIKELY(p->state == PATH_NONE || p->port != port ||
			    (PLENUM_UNLIKELY(!rudp_addr_equal(&p->remote, src)) &&
			     !rudp_validate_is_from(p, src, c)) ||
			    rudp_rx_open(s, c, &data, &len)))
		return -EBADMSG;
	handshake_over(s);
	switch (c->type) {
	case WIRE_DATA:
		res = data_rx(s, p, c, data, len, now);
		break;
	case WIRE_ACK:
		res = ack_rx(s, p, c, data, len, now);
		break;
	case WIRE_PING:
		res = ping_rx(s, p, c, data, len, now);
		break;
	case WIRE_GRANT:
		res = grant_rx(s, p, c, data, len, now);
		break;
	case WIRE_JOINED:
		return rudp_hello_joined(s, p, c, data, len, now);
	case WIRE_LABEL:
		res = c->flags & WIRE_F_SOURCE ? rudp_validate_rx(s, p, src, c, data, len)
					       : rudp_label_rx(s, p, c, data, len, now);
		break;
	case WIRE_SHARE:
		res = rudp_incast_rx(p, c, data, len, now);
		break;
	default:
		return close_rx(s, len, now);
	}
	if (PLENUM_UNLIKELY(res || s->state != SESSION_UP))
		return res;
	p->last_rx_ns = now;
	s->last_rx_ns = now;
	p->rx_packets++;
	p->rx_bytes += len;
	rudp_session_touch(s);
	return 0;
}

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

struct rudp_path *rudp_rx_piggyback(struct rudp_session *s, struct rudp_path *on,
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

/* Acknowledgements go back on the path of their packets, so that the peer sees both directions
 * work; from a suspect path they go on another. A PING is answered on its own path. */
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

/* Sends as many ACKs as needed to cover everything received since the last ones. */
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

/* Sends the state of our paths on every path that may work. A suspect path is included: it is the
 * last one left if the other one's link goes down. */
static void state_send(struct rudp_session *s, uint64_t now)
{
	s->state_due = false;
	for (unsigned i = 0; i < s->n_paths; i++)
		if (s->paths[i].state == PATH_UP && !s->paths[i].timed_out)
			ack_send(s, &s->paths[i], s->paths[i].acks.top, &s->paths[i], now);
}

/* Whether an acknowledgement may wait, because a server's response carries it anyway. */
static bool ack_may_wait(const struct rudp_session *s)
{
	return !s->r->rests || !s->is_client || s->n_active > 0;
}

void rudp_rx_send_acks(struct rudp_session *s, uint64_t now)
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
