/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adds ports while sessions run: a leg that was missing has become available. A client adds paths
 * from the new port to the addresses that it knows. A server sends each client the new address, and
 * repeats that until the client echoes it; the client then adds paths to the address by JOIN.
 */
#include "dataplane/rudp/session/rudp_session_internal.h"

#define REPEAT_FIRST_NS (200 * NSEC_PER_MSEC)
/* Maximum interval of repeats. Older peers do not know the message and never echo it, so the
 * interval grows to this. */
#define REPEAT_MAX_NS (60 * NSEC_PER_SEC)

bool rudp_port_valid(const struct rudp_port_info *p)
{
	return p->mtu >= RUDP_MTU_BASE && p->local.port != 0 && p->sources < RUDP_SOURCES_MAX &&
	       (p->local.ip.family == AF_INET || p->local.ip.family == AF_INET6) &&
	       p->prefix_len <= ip_addr_bits(&p->local.ip);
}

void rudp_port_put_addr(struct rudp *r, unsigned port)
{
	const struct rudp_port_info *info = &r->cfg.ports[port];
	struct wire_addr a = {.family = info->local.ip.family == AF_INET ? 4 : 6,
			      .prefix_len = info->prefix_len,
			      .port = info->local.port,
			      .label = info->label};

	memcpy(a.ip, info->local.ip.bytes, a.family == 4 ? 4 : 16);
	wire_put_addr(r->addrs + (size_t)port * WIRE_ADDR_BYTES, &a);
}

int rudp_port_add(struct rudp *r, const struct rudp_port_info *info, uint64_t now_ns)
{
	const unsigned port = r->cfg.n_ports;

	if (!rudp_port_valid(info))
		return -EINVAL;
	if (port == RUDP_PORTS_MAX)
		return -ENOSPC;
	r->now = now_ns;
	r->cfg.ports[port] = *info;
	r->cfg.ports[port].mtu = MIN_OF(info->mtu, WIRE_PACKET_BYTES_MAX);
	r->cfg.n_ports++;
	/* Only new sessions use r->mtu. Connected peers know the former value and keep it. */
	r->mtu = (uint16_t)MAX_OF(r->mtu, r->cfg.ports[port].mtu);
	rudp_port_put_addr(r, port);
	r->n_addrs = (uint8_t)r->cfg.n_ports;
	for (unsigned i = 0; i < r->n_sessions; i++) {
		struct rudp_session *s = r->sessions[i];

		if (!s || s->state == SESSION_DEAD)
			continue;
		if (s->is_client) {
			rudp_hello_port(s, now_ns);
			continue;
		}
		s->addr_ns = now_ns;
		s->addr_interval = REPEAT_FIRST_NS;
		rudp_session_touch(s);
	}
	return 0;
}

static int address_send(struct rudp_session *s, struct rudp_path *p, uint8_t flags, uint8_t index,
			const uint8_t *addr)
{
	uint64_t serial = s->ack_serial + 1;
	struct wire_common c = {.type = WIRE_LABEL,
				.path = p->index,
				.flags = WIRE_F_ADDRESS | flags,
				.session = s->peer_number,
				.pn = (uint32_t)serial};
	struct datagram pkt = {.payload = NULL};
	int res;

	pkt.hdr_len = (uint16_t)wire_put_address(pkt.hdr, &c, index, addr);
	res = rudp_session_transmit(s, p, &pkt, RUDP_SECURE_CONTROL, serial);
	if (res == 0)
		s->ack_serial = serial;
	return res;
}

/* Sends the next address that the client has not confirmed. It is sent on every path that is up,
 * because the client needs only one of these packets. */
void rudp_port_poll(struct rudp_session *s, uint64_t now)
{
	if (now < s->addr_ns)
		return;
	for (unsigned i = 0; i < s->n_paths; i++)
		if (s->paths[i].state == PATH_UP)
			(void)address_send(s, &s->paths[i], 0, s->n_addrs_confirmed,
					   s->r->addrs +
						   (size_t)s->n_addrs_confirmed * WIRE_ADDR_BYTES);
	s->addr_ns = now + s->addr_interval;
	s->addr_interval = MIN_OF(2 * s->addr_interval, REPEAT_MAX_NS);
}

int rudp_port_rx(struct rudp_session *s, struct rudp_path *p, const struct wire_common *c,
		 const uint8_t *data, size_t len, uint64_t now)
{
	bool echo = c->flags & WIRE_F_HEARD;
	struct wire_addr addr;
	uint8_t index;

	/* A server sends its address, and the client echoes it. Anything else is invalid. */
	if (wire_get_address(data, len, &index, &addr) || echo == s->is_client)
		return -EBADMSG;
	if (echo && rudp_port_addrs_pending(s) && index == s->n_addrs_confirmed) {
		s->n_addrs_confirmed++;
		s->addr_ns = now;
		s->addr_interval = REPEAT_FIRST_NS;
		rudp_session_touch(s);
	}
	if (echo)
		return 0;
	rudp_hello_address(s, index, &addr, now);
	if (index < s->handshake->n_addrs) /* the echo may be lost: the server then repeats the
					      address */
		(void)address_send(s, p, WIRE_F_HEARD, index, data + WIRE_COMMON_BYTES + 4);
	return 0;
}
