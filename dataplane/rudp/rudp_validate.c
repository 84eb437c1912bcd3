/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Source ports that are proven to the peer: each end asks, by the port itself, whether it is heard,
 * and the other remembers from where that came and says so on the path's own addresses. So what
 * the peer believes is what it can open as the session's, from the path's own IP address; and we
 * use no port that does not arrive. Apart from the handshake, which is over, and from
 * rudp_src_ports, which knows no packet.
 */
#include "dataplane/rudp/rudp_internal.h"

static int source_send(struct rudp_session *s, struct rudp_path *p, uint8_t flags, unsigned by,
		       const struct wire_source *w)
{
	uint64_t serial = s->ack_serial + 1;
	struct wire_common c = {.type = WIRE_LABEL,
				.path = p->index,
				.flags = WIRE_F_SOURCE | flags,
				.session = s->peer_number,
				.pn = (uint32_t)serial};
	struct datagram pkt = {.source = (uint8_t)by};
	int res;

	pkt.hdr_len = (uint16_t)wire_put_source(pkt.hdr, &c, w);
	res = rudp_session_transmit(s, p, &pkt, RUDP_SECURE_CONTROL, serial);
	if (res == 0)
		s->ack_serial = serial;
	return res;
}

static void sources_report(struct rudp_session *s, struct rudp_path *p,
			   enum rudp_src_ports_news news)
{
	if (news == RUDP_SOURCES_CHANGED)
		rudp_session_event(s, RUDP_PATH_SOURCES, p->index,
				   __builtin_popcount(p->sources.lost));
}

void rudp_validate_poll(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	enum rudp_src_ports_news news;
	unsigned k;

	if (p->state != PATH_UP || p->suspect)
		return;
	if (p->sources.life_ns != p->since_ns)
		rudp_src_ports_begin(&p->sources, s->r->cfg.ports[p->port].sources, p->since_ns,
				     now);
	while (s->state == SESSION_UP && (k = rudp_src_ports_ask(&p->sources, now, &news))) {
		(void)source_send(s, p, 0, k, &(struct wire_source){.index = (uint8_t)k});
		sources_report(s, p, news);
	}
}

uint64_t rudp_validate_deadline(const struct rudp_path *p)
{
	if (p->state != PATH_UP || p->suspect)
		return RUDP_TIME_NEVER;
	return p->sources.life_ns != p->since_ns ? 0 : rudp_src_ports_deadline(&p->sources);
}

bool rudp_validate_is_from(const struct rudp_path *p, const struct datagram_addr *src,
			   const struct wire_common *c)
{
	if (memcmp(&p->remote.ip, &src->ip, sizeof(src->ip)) != 0)
		return false;
	if (c->type == WIRE_LABEL)
		return (c->flags & (WIRE_F_SOURCE | WIRE_F_HEARD)) == WIRE_F_SOURCE;
	return c->type == WIRE_DATA && rudp_src_ports_is_peers(&p->sources, src->port);
}

int rudp_validate_rx(struct rudp_session *s, struct rudp_path *p, const struct datagram_addr *src,
		     const struct wire_common *c, const uint8_t *data, size_t len)
{
	bool other = src->port != p->remote.port;
	struct wire_source w;

	if (wire_get_source(data, len, &w) || w.index == 0 || w.index >= RUDP_SOURCES_MAX)
		return -EBADMSG;
	if (!(c->flags & WIRE_F_HEARD)) {
		p->sources.peer[w.index] = other ? src->port : 0;
		w.port = src->port;
		(void)source_send(s, p, WIRE_F_HEARD, 0, &w); /* else it is asked again */
		return 0;
	}
	/* By our own address: the source could not be had, and gains nothing. */
	if (w.port == s->r->cfg.ports[p->port].local.port) {
		rudp_src_ports_none(&p->sources, w.index);
		return 0;
	}
	sources_report(s, p, rudp_src_ports_heard(&p->sources, w.index));
	return 0;
}
