/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Validates additional UDP source ports. Each side sends a probe from each of its source ports. The
 * peer records the UDP port from which the probe came, and answers with an echo on the path's own
 * addresses. A packet from another source port is accepted only if its IP address is the path's own
 * and if it can be opened with the session's key. Each side uses only source ports whose probes
 * have reached the peer. rudp_src_ports decides when to probe.
 */
#include "dataplane/rudp/rudp_internal.h"

static int src_port_send(struct rudp_session *s, struct rudp_path *p, uint8_t flags, unsigned by,
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

static void src_ports_report(struct rudp_session *s, struct rudp_path *p,
			     enum rudp_src_ports_news news)
{
	if (news == RUDP_SOURCES_CHANGED)
		rudp_session_event(s, RUDP_PATH_SRC_PORTS, p->index,
				   __builtin_popcount(p->src_ports.lost));
}

void rudp_validate_poll(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	enum rudp_src_ports_news news;
	unsigned k;

	if (p->state != PATH_UP || p->timed_out)
		return;
	if (p->src_ports.life_ns != p->since_ns)
		rudp_src_ports_begin(&p->src_ports, s->r->cfg.ports[p->port].sources, p->since_ns,
				     now);
	while (s->state == SESSION_UP && (k = rudp_src_ports_probe(&p->src_ports, now, &news))) {
		(void)src_port_send(s, p, 0, k, &(struct wire_source){.index = (uint8_t)k});
		src_ports_report(s, p, news);
	}
}

uint64_t rudp_validate_deadline(const struct rudp_path *p)
{
	if (p->state != PATH_UP || p->timed_out)
		return RUDP_TIME_NEVER;
	return p->src_ports.life_ns != p->since_ns ? 0 : rudp_src_ports_deadline(&p->src_ports);
}

bool rudp_validate_is_from(const struct rudp_path *p, const struct datagram_addr *src,
			   const struct wire_common *c)
{
	if (memcmp(&p->remote.ip, &src->ip, sizeof(src->ip)) != 0)
		return false;
	if (c->type == WIRE_LABEL)
		return (c->flags & (WIRE_F_SOURCE | WIRE_F_HEARD)) == WIRE_F_SOURCE;
	return c->type == WIRE_DATA && rudp_src_ports_of_peer(&p->src_ports, src->port);
}

int rudp_validate_rx(struct rudp_session *s, struct rudp_path *p, const struct datagram_addr *src,
		     const struct wire_common *c, const uint8_t *data, size_t len)
{
	bool other = src->port != p->remote.port;
	struct wire_source w;

	if (wire_get_source(data, len, &w) || w.index == 0 || w.index >= RUDP_SOURCES_MAX)
		return -EBADMSG;
	if (!(c->flags & WIRE_F_HEARD)) {
		p->src_ports.peer[w.index] = other ? src->port : 0;
		w.port = src->port;
		/* The echo may be lost: the peer then probes again. */
		(void)src_port_send(s, p, WIRE_F_HEARD, 0, &w);
		return 0;
	}
	/* The probe came from the port's main UDP port, because this host could not open the
	 * additional source port. So the echo says nothing about the source port. */
	if (w.port == s->r->cfg.ports[p->port].local.port) {
		rudp_src_ports_unusable(&p->src_ports, w.index);
		return 0;
	}
	src_ports_report(s, p, rudp_src_ports_confirmed(&p->src_ports, w.index));
	return 0;
}
