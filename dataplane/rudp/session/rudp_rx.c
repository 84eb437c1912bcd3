/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives the packets of a session. */
#include "dataplane/rudp/session/rudp_session_internal.h"

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
	if (res == -ENOBUFS) { /* no memory is free: treat the packet as not received, so that
				  the peer retransmits it */
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

	/* Bytes behind the report are padding. */
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

/* Returns the counter that numbers the packet; *ret: the packet's full number in this counter. */
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

/* Ends the handshake: the client has the session, and will not need ACCEPT again. */
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
	if (PLENUM_UNLIKELY(p->state == PATH_DOWN))
		rudp_path_heard(s, p, now);
	rudp_standing_heard(s->r, port, now);
	p->last_rx_ns = now;
	s->last_rx_ns = now;
	p->rx_packets++;
	p->rx_bytes += len;
	rudp_session_touch(s);
	return 0;
}
