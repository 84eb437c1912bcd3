/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that the files of an endpoint share: random numbers, packets to the ports, events to
 * the application. */
#include "dataplane/rudp/rudp_internal.h"
#include "netcfg/base/hash.h"

/* SipHash-2-4 (Aumasson and Bernstein, 2012), for cookies and session numbers. */
uint64_t rudp_hash(const struct rudp *r, const void *data, size_t len)
{
	return hash_keyed(r->key, data, len);
}

uint64_t rudp_random(struct rudp *r)
{
	uint64_t n = r->counter++;

	return rudp_hash(r, &n, sizeof(n));
}

struct raw_pkt *rudp_raw_add(struct rudp *r, unsigned port, const struct datagram_addr *dst)
{
	struct raw_pkt *raw;

	if (r->raw_n == RUDP_RAW_MAX)
		return NULL;
	raw = &r->raw[r->raw_n++];
	raw->port = port;
	raw->dst = *dst;
	raw->sent = false;
	return raw;
}

int rudp_transmit(struct rudp *r, unsigned port, const struct datagram_addr *dst,
		  const struct datagram *pkt)
{
	int res;

	if (r->blocked_ports & 1U << port)
		return -EAGAIN;
	res = r->ops->tx(r->user, port, dst, pkt);
	if (res == -EAGAIN) {
		r->blocked_ports |= 1U << port;
		r->again = true;
	} else if (res == 0) {
		r->sent_in_poll++;
		r->unflushed += pkt->payload_len;
	}
	return res;
}

void rudp_flush(struct rudp *r)
{
	r->ops->tx_flush(r->user);
	r->unflushed = 0;
	r->n_bursts = 0;
	r->seal_used = 0;
}

int rudp_token_make(const struct rudp *r, unsigned key, uint64_t number,
		    uint8_t ret[WIRE_TOKEN_BYTES])
{
	uint8_t in[28] = "plenum reset", mac[RUDP_NOISE_HASH_BYTES];
	int res;

	wire_put64(in + 12, r->cfg.identity);
	wire_put64(in + 20, number);
	res = rudp_noise_mac(r->cfg.keys[key], in, sizeof(in), mac);
	memcpy(ret, mac, WIRE_TOKEN_BYTES);
	return res;
}

/* Returns the number by which the application knows the path: its position in the list of
 * rudp_session_paths(). */
static unsigned path_ordinal(const struct rudp_session *s, unsigned index)
{
	unsigned n = 0;

	for (unsigned i = 0; i < index; i++)
		n += s->paths[i].state != PATH_NONE;
	return n;
}

void rudp_session_event(struct rudp_session *s, enum rudp_event e, unsigned path, int code)
{
	path = path_ordinal(s, path);
	if (s->r->ops->event)
		s->r->ops->event(s->r->user, s, e, path, code);
}

int rudp_session_seal(struct rudp_session *s, const struct rudp_path *p, const struct datagram *pkt,
		      unsigned counter, uint64_t number)
{
	struct rudp *r = s->r;
	uint32_t bytes = pkt->hdr_len + RUDP_SECURE_BYTES + (uint32_t)pkt->payload_len;
	struct datagram sealed;
	int res;

	if (r->blocked_ports & 1U << p->port)
		return -EAGAIN;
	if (PLENUM_UNLIKELY(r->seal_used + bytes > RUDP_SEAL_BUF_BYTES)) {
		r->again = true;
		return -EAGAIN;
	}
	/* If each packet of a burst is sealed in one piece, the packets follow one another in
	 * memory, so that the port need not gather pieces. */
	res = rudp_secure_seal(s->secure, counter, number, pkt, r->seal_buf + r->seal_used,
			       &sealed);
	res = res ? res : rudp_transmit(r, p->port, &p->remote, &sealed);
	if (res)
		return res;
	rudp_secure_sent(s->secure, counter, number);
	if (rudp_secure_joins(s->secure, pkt))
		r->seal_used += bytes;
	return 0;
}

int rudp_session_raw(struct rudp_session *s, unsigned port, const struct datagram_addr *dst,
		     const struct datagram *pkt, uint64_t number)
{
	struct raw_pkt *raw = rudp_raw_add(s->r, port, dst);
	struct datagram sealed = *pkt;
	int res = 0;

	if (!raw)
		return -EAGAIN;
	if (s->secure)
		res = rudp_secure_seal(s->secure, RUDP_SECURE_CONTROL, number, pkt, NULL, &sealed);
	if (res) {
		s->r->raw_n--;
		return res;
	}
	if (s->secure)
		rudp_secure_sent(s->secure, RUDP_SECURE_CONTROL, number);
	memcpy(raw->bytes, sealed.hdr, sealed.hdr_len);
	raw->len = (uint8_t)sealed.hdr_len;
	return 0;
}

void rudp_session_send_close(struct rudp_session *s)
{
	struct wire_common c = {.type = WIRE_CLOSE, .session = s->peer_number};
	struct datagram pkt = {.payload = NULL};

	if (s->state != SESSION_UP)
		return;
	for (unsigned i = 0; i < s->n_paths; i++) {
		struct rudp_path *p = &s->paths[i];

		if (p->state != PATH_UP)
			continue;
		c.path = p->index;
		c.pn = (uint32_t)++s->ack_serial;
		pkt.hdr_len = (uint16_t)wire_put_common(pkt.hdr, &c);
		(void)rudp_session_raw(s, p->port, &p->remote, &pkt, s->ack_serial);
	}
}
