/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes of switch labels while sessions run. The client decides, by the labels, which paths are
 * standby. So a server sends the client the new label of the server's side of each path, and
 * repeats it until the client echoes it.
 */
#include "dataplane/rudp/session/rudp_session_internal.h"

#define REPEAT_FIRST_NS (200 * NSEC_PER_MSEC)
/* Maximum interval of repeats. Older peers do not know the message and never echo it, so the
 * interval grows to this. */
#define REPEAT_MAX_NS (60 * NSEC_PER_SEC)

static int label_send(struct rudp_session *s, struct rudp_path *p, uint8_t flags, uint32_t label)
{
	uint64_t serial = s->ack_serial + 1;
	struct wire_common c = {.type = WIRE_LABEL,
				.path = p->index,
				.flags = flags,
				.session = s->peer_number,
				.pn = (uint32_t)serial};
	struct datagram pkt = {.payload = NULL};
	int res;

	pkt.hdr_len = (uint16_t)wire_put_label(pkt.hdr, &c, label);
	res = rudp_session_transmit(s, p, &pkt, RUDP_SECURE_CONTROL, serial);
	if (res == 0)
		s->ack_serial = serial;
	return res;
}

static void label_queue(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	p->label_pending = true;
	p->label_ns = now;
	p->label_interval = REPEAT_FIRST_NS;
	rudp_session_touch(s);
}

void rudp_label_path_made(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	if (s->labels != s->r->labels)
		label_queue(s, p, now);
}

void rudp_label_poll(struct rudp_session *s, struct rudp_path *p, uint64_t now)
{
	if (p->state != PATH_UP || now < p->label_ns ||
	    label_send(s, p, 0, s->r->cfg.ports[p->port].label) == -EAGAIN)
		return;
	p->label_ns = now + p->label_interval;
	p->label_interval = MIN_OF(2 * p->label_interval, REPEAT_MAX_NS);
}

int rudp_label_rx(struct rudp_session *s, struct rudp_path *p, const struct wire_common *c,
		  const uint8_t *data, size_t len, uint64_t now)
{
	bool echo = c->flags & WIRE_F_HEARD;
	uint32_t label;

	if (c->flags & WIRE_F_ADDRESS)
		return rudp_port_rx(s, p, c, data, len, now);

	/* A server sends its label, and the client echoes it. Anything else is invalid. */
	if (wire_get_label(data, len, &label) || echo == s->is_client)
		return -EBADMSG;
	if (echo) {
		if (label == s->r->cfg.ports[p->port].label)
			p->label_pending = false;
		return 0;
	}
	if ((int32_t)(c->pn - p->label_pn) <= 0) /* a later LABEL arrived before this one */
		return 0;
	p->label_pn = c->pn;
	p->peer_label = label;
	rudp_hello_classify(s, p, now);
	/* The echo may be lost: the server then repeats the label. */
	(void)label_send(s, p, WIRE_F_HEARD, label);
	return 0;
}

void rudp_port_set_label(struct rudp *r, unsigned port, uint32_t label, uint64_t now_ns)
{
	if (port >= r->cfg.n_ports || r->cfg.ports[port].label == label)
		return;
	r->now = now_ns;
	r->cfg.ports[port].label = label;
	r->labels++;
	rudp_port_put_addr(r, port);
	for (unsigned i = 0; i < r->n_sessions; i++) {
		struct rudp_session *s = r->sessions[i];

		for (unsigned j = 0; s && s->state != SESSION_DEAD && j < s->n_paths; j++) {
			struct rudp_path *p = &s->paths[j];

			if (p->state == PATH_NONE || p->port != port)
				continue;
			if (s->is_client)
				rudp_hello_classify(s, p, now_ns);
			else
				label_queue(s, p, now_ns);
		}
	}
}
