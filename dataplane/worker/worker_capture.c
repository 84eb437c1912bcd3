/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures the packets that a worker sends and receives (`plenum capture`). A capture replaces the
 * operations of the ports, so that a worker without a capture executes no additional instruction.
 * Ports that handle frames write these to the ring themselves. For other ports, this file writes
 * the datagrams to the ring, with headers that it makes from their addresses.
 */
#include "dataplane/worker/worker.h"
#include "netcfg/base/log.h"
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define IP4_BYTES 20
#define IP6_BYTES 40
#define UDP_BYTES 8
#define HOPS 64

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/* Computes the checksum of RFC 791. */
static uint16_t ip4_checksum(const uint8_t *p)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < IP4_BYTES; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~(sum + (sum >> 16));
}

/* Writes the headers of a datagram and returns their length. The UDP checksum is 0, as if a device
 * were to compute it. */
static uint32_t make_headers(uint8_t p[IP6_BYTES + UDP_BYTES], const struct datagram_addr *src,
			     const struct datagram_addr *dst, uint32_t bytes)
{
	uint32_t n = src->ip.family == AF_INET6 ? IP6_BYTES : IP4_BYTES;

	memset(p, 0, IP6_BYTES + UDP_BYTES);
	if (n == IP6_BYTES) {
		p[0] = 0x60;
		put16(p + 4, UDP_BYTES + bytes);
		p[6] = IPPROTO_UDP;
		p[7] = HOPS;
		memcpy(p + 8, src->ip.bytes, 16);
		memcpy(p + 24, dst->ip.bytes, 16);
	} else {
		p[0] = 0x45;
		put16(p + 2, n + UDP_BYTES + bytes);
		p[6] = 0x40; /* don't fragment */
		p[8] = HOPS;
		p[9] = IPPROTO_UDP;
		memcpy(p + 12, src->ip.bytes, 4);
		memcpy(p + 16, dst->ip.bytes, 4);
		put16(p + 10, ip4_checksum(p));
	}
	put16(p + n, src->port);
	put16(p + n + 2, dst->port);
	put16(p + n + 4, UDP_BYTES + bytes);
	return n + UDP_BYTES;
}

/* Finds the worker to which a port belongs. A port has its index, and all ports are in one array of
 * the worker. */
static struct worker *worker_of(struct port *p)
{
	return (struct worker *)((char *)(p - p->index) - offsetof(struct worker, ports));
}

static void put_datagram(struct worker *w, unsigned port, enum packet_direction direction,
			 const struct datagram_addr *other, unsigned source,
			 struct packet_part parts[3])
{
	const struct launch_port *lp = &w->cfg->ports[port];
	const struct port *p = &w->ports[port];
	const struct datagram_addr own = {
		.ip = lp->ip.addr,
		.port = source && p->ops->source ? p->ops->source(p, source) : lp->udp_port};
	bool out = direction == PACKET_OUT;
	uint32_t bytes = parts[1].len + parts[2].len;
	uint8_t headers[IP6_BYTES + UDP_BYTES];
	struct packet_record r = {
		.time_ns = clock_now_ns(), .port = (uint8_t)port, .direction = (uint8_t)direction};

	parts[0] = (struct packet_part){
		headers, make_headers(headers, out ? &own : other, out ? other : &own, bytes)};
	r.wire_bytes = parts[0].len + bytes;
	packet_writer_put(&w->capture.to, &r, parts, 3);
}

/* ---- keys of encrypted sessions ---- */

/* Captures the session's current key of one direction, if it was not captured yet. If the ring has
 * no space for the key, a later call tries again. */
static void put_key(struct worker *w, const struct rudp_session *s, bool in)
{
	struct worker_capture *c = &w->capture;
	unsigned index = rudp_session_index(s);
	struct rudp_session_key k;
	struct packet_key key;
	const struct packet_part part = {&key, sizeof(key)};
	struct packet_record r = {.wire_bytes = sizeof(key),
				  .port = (uint8_t)__builtin_ctz(c->ports),
				  .direction = PACKET_KEY};

	if (index >= c->n_sent || !rudp_session_key(s, in, &k))
		return;
	if (c->sent[index][in].number != k.number || c->sent[index][in].phase != k.phase) {
		key = (struct packet_key){
			.session = k.number, .phase = k.phase, .cipher = k.cipher};
		memcpy(key.key, k.key, sizeof(key.key));
		r.time_ns = clock_now_ns();
		if (packet_writer_put(&c->to, &r, &part, 1))
			c->sent[index][in] =
				(struct worker_sent_key){.number = k.number, .phase = k.phase};
		explicit_bzero(&key, sizeof(key));
	}
	explicit_bzero(&k, sizeof(k));
}

void worker_capture_keys(struct worker *w)
{
	struct rudp_session *s = NULL;

	while (w->capture.sent && w->rudp && (s = rudp_session_next(w->rudp, s))) {
		put_key(w, s, false);
		put_key(w, s, true);
	}
}

/* ---- replacements of the port's operations ---- */

static int capture_rx(struct port *p, struct port_rx *pkts, unsigned max)
{
	struct worker *w = worker_of(p);
	int n = w->capture.below->rx(p, pkts, max);

	for (int i = 0; (w->capture.ports >> p->index & 1) && i < n; i++) {
		struct packet_part parts[3] = {{0}, {pkts[i].data, pkts[i].len}, {0}};

		put_datagram(w, p->index, PACKET_IN, &pkts[i].src, 0, parts);
	}
	return n;
}

static int capture_tx(struct port *p, const struct datagram_addr *dst, const struct datagram *pkt)
{
	struct worker *w = worker_of(p);
	int r = w->capture.below->tx(p, dst, pkt);
	struct packet_part parts[3] = {
		{0}, {pkt->hdr, pkt->hdr_len}, {pkt->payload, pkt->payload_len}};

	if (r >= 0 && (w->capture.ports >> p->index & 1))
		put_datagram(w, p->index, PACKET_OUT, dst, pkt->source, parts);
	return r;
}

/* ---- begin and end ---- */

static void set_port_rings(struct worker *w, struct packet_writer *to)
{
	for (unsigned i = 0; i < w->cfg->n_ports; i++)
		if (w->port_open[i] && w->ports[i].ops->capture)
			w->ports[i].ops->capture(&w->ports[i],
						 w->capture.ports >> i & 1 ? to : NULL);
}

/* Replaces the operations of the open ports and of ports that are opened later by those of the
 * capture. */
static void ops_replace(struct worker *w, const struct port_ops *ops)
{
	for (unsigned i = 0; i < LAUNCH_PORTS_MAX; i++)
		if (w->ports[i].ops == w->ops)
			w->ports[i].ops = ops;
	w->ops = ops;
}

void worker_capture_end(struct worker *w)
{
	struct worker_capture *c = &w->capture;

	if (!c->to.ring)
		return;
	set_port_rings(w, NULL);
	ops_replace(w, c->below);
	worker_capture_keys(w); /* write the last keys before the capture ends */
	free(c->sent);
	packet_writer_done(&c->to);
	munmap(c->to.ring, packet_ring_size(c->to.bytes));
	*c = (struct worker_capture){0};
	log_info("packet capture has ended");
}

static bool is_sound(const struct launch_capture *lc)
{
	return lc->ring_bytes >= PACKET_RING_BYTES_MIN && lc->ring_bytes <= PACKET_RING_BYTES_MAX &&
	       (lc->ring_bytes & (lc->ring_bytes - 1)) == 0;
}

/* Allocates all pages of the ring before the first packet, because a page fault would delay a
 * packet. */
void worker_capture_begin(struct worker *w, const struct launch_capture *lc, int fd)
{
	struct worker_capture *c = &w->capture;
	void *memory;

	worker_capture_end(w);
	if (fd < 0 || !is_sound(lc))
		return;
	memory = mmap(NULL, packet_ring_size(lc->ring_bytes), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_POPULATE, fd, 0);
	if (memory == MAP_FAILED) {
		log_err("cannot map the ring for captured packets: %s", strerror(errno));
		return;
	}
	packet_writer_init(&c->to, memory, lc->ring_bytes, lc->snap_bytes);
	c->ports = lc->ports;
	c->below = w->ops;
	if (c->below->capture) { /* The ports write their frames to the ring themselves: all ports
				    of a worker can do that, or none can. */
		set_port_rings(w, &c->to);
	} else {
		c->ops = *c->below;
		c->ops.rx = capture_rx;
		c->ops.tx = capture_tx;
		ops_replace(w, &c->ops);
	}
	if (lc->keys && lc->ports) {
		c->n_sent = launch_sessions(w->cfg) + 1;
		c->sent = calloc(c->n_sent, sizeof(c->sent[0]));
		worker_capture_keys(w);
	}
	log_notice("capturing packets, %u bytes of each%s", c->to.snap_bytes,
		   c->sent ? ", with the sessions' keys" : "");
}
