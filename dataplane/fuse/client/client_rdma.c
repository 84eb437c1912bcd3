/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bulk data via RDMA, at the client. The client connects queue pairs with the server and checks
 * them, and offers the memory of requests to the server. It does not use offered memory for
 * anything else while the server can still write to it by a queue pair.
 */
#include "dataplane/fuse/client/fuse_client_internal.h"

#include <string.h>

#define RDMA_RETRY_NS NSEC_PER_SEC /* interval of attempts, and of checks on queue pairs */
/* After a change of a device, for example of its addresses, the client waits for this time before
 * it requests pairs again. Servers accept no shorter interval. */
#define RDMA_CHANGED_NS (250 * NSEC_PER_MSEC)
/* If a queue pair on a working path fails within this time, the network may drop RDMA packets, and
 * each new pair would delay a transfer by some seconds. So the intervals of the next attempts
 * grow. */
#define RDMA_LASTS_NS (30 * NSEC_PER_SEC)
#define RDMA_RETRY_MOST_NS (64 * NSEC_PER_SEC)
/* While some servers use InfiniBand and others Ethernet, the client asks them for their link types
 * at this interval. */
#define RDMA_MIXED_NS (8 * NSEC_PER_SEC)
#define RDMA_HEADERS 88 /* bytes of IPv6, UDP and the headers and checksum of RoCE, rounded up */

void fuse_client_set_rdma(struct fuse_client *f, struct port_rdma *rdma,
			  const struct launch_config *cfg)
{
	struct client_rdma *r = &f->rdma;
	const struct port_rdma_region data = {.base = f->pool.bulk,
					      .bytes = CLIENT_POOL_BULK_BYTES};

	r->ports = rdma;
	r->n_ports = cfg->n_ports;
	r->read_min = cfg->rdma_read_min;
	r->write_min = cfg->rdma_write_min;
	for (unsigned i = 0; i < cfg->n_ports; i++)
		r->only |= cfg->ports[i].rdma_only;
	if (port_rdma_any(rdma) && data.base && !r->pool &&
	    port_rdma_pool_new(rdma, &data, 1, true, &r->pool) == 0) {
		client_pool_pinned(&f->pool);
		if (port_rdma_peer_new(r->pool, &r->peer) < 0)
			r->pool = port_rdma_pool_free(r->pool);
	}
	client_stages_select(f);
}

static void rdma_done(struct fuse_client *f)
{
	f->rdma.peer = port_rdma_peer_free(f->rdma.peer);
	f->rdma.pool = port_rdma_pool_free(f->rdma.pool);
}

/* ------------------------------------------------------------------ queue pairs */

/* Drops all queue pairs, so that the server can no longer write to offered memory. Call it before
 * the memory is used for anything else. */
static void rdma_down(struct fuse_client *f, uint64_t now_ns)
{
	struct client_rdma *r = &f->rdma;

	(void)now_ns;
	if (!r->peer)
		return;
	port_rdma_drop_all(r->peer);
	r->serial++;
	r->asked = r->checked = 0;
	r->waits = false;
	r->retry_ns = 0;
	for (unsigned i = 0; i < PORT_RDMA_LEGS_MAX; i++)
		r->legs[i].layers = 0;
}

/* Returns the path on which to create the port's queue pair. Returns NULL if the port has a pair
 * already, or cannot have one. */
static const struct rudp_path_info *leg_path(const struct fuse_client *f,
					     const struct rudp_path_info *paths, unsigned n_paths,
					     unsigned port)
{
	const struct rudp_path_info *found = NULL;

	if (port_rdma_reason(f->rdma.ports, port) != PORT_RDMA_OK ||
	    port_rdma_ready(f->rdma.peer) & 1U << port)
		return NULL;
	for (unsigned i = 0; i < n_paths; i++)
		if (paths[i].port == port && paths[i].up && (!found || found->standby))
			found = &paths[i];
	return found;
}

/* Returns whether to try to create the leg's queue pair now. After a failure, the client waits
 * before the next try. */
static bool leg_is_due(struct client_rdma *r, unsigned port, bool is_up, uint64_t now_ns)
{
	struct client_rdma_leg *leg = &r->legs[port];

	if (leg->lost) {
		leg->lost = false;
		leg->wait_ns = !is_up || now_ns > leg->made_ns + RDMA_LASTS_NS
				       ? 0
				       : MIN_OF(MAX_OF(2 * leg->wait_ns, RDMA_RETRY_NS),
						RDMA_RETRY_MOST_NS);
		leg->due_ns = now_ns + MAX_OF(leg->wait_ns, RDMA_RETRY_NS) - RDMA_RETRY_NS;
		leg->n_changes = port_rdma_changes(r->ports);
	}
	/* A change of the device since the failure has probably removed the cause, so do not
	 * wait. */
	if (leg->n_changes != port_rdma_changes(r->ports))
		leg->wait_ns = leg->due_ns = 0;
	return now_ns >= leg->due_ns;
}

/* Returns the largest RoCE packet size that the path is known to carry, which may be less than both
 * sides support. */
static uint8_t mtu_of(const struct rudp_path_info *path, uint8_t most)
{
	while (most > 1 && (128U << most) + RDMA_HEADERS > path->mtu)
		most--;
	return most;
}

static void address_put(uint8_t to[16], const struct ip_addr *ip)
{
	memset(to, 0, 16);
	if (ip->family == AF_INET6) {
		memcpy(to, ip->bytes, 16);
		return;
	}
	to[10] = to[11] = 0xff;
	memcpy(to + 12, ip->bytes, 4);
}

/* Creates this side of a queue pair for a leg, and adds the request for the other side to the
 * message. */
static void leg_ask(struct fuse_client *f, unsigned port, const struct rudp_path_info *path)
{
	struct client_rdma *r = &f->rdma;
	struct fuse_proto_rdma_leg *leg = &r->msg.rdma.legs[r->msg.rdma.n_legs];
	struct port_rdma_half half;
	enum port_rdma_reason why = port_rdma_pair(r->peer, port, port, &half);

	/* Keep the reason of the last failure until the server has answered, so that the reported
	 * reason does not change every second. */
	if (why != PORT_RDMA_OK) {
		r->reasons[port] = why;
		r->legs[port].layers = 0;
		return;
	}
	*leg = (struct fuse_proto_rdma_leg){
		.leg = (uint8_t)port,
		.link = half.link,
		.mtu = half.link == PORT_RDMA_LINK_IB ? half.mtu : mtu_of(path, half.mtu),
		.lid = half.lid,
		.qpn = half.qpn,
		.psn = half.psn,
		.key = half.key};
	memcpy(leg->gid, half.gid, sizeof(leg->gid));
	address_put(leg->to, &path->remote.ip);
	r->legs[port].link = half.link;
	if (r->mixed) {
		leg->mtu = 0;
		leg->key = 0;
		port_rdma_drop(r->peer, port);
	}
	r->msg.rdma.n_legs++;
	r->asked |= (uint8_t)(1U << port);
	r->made[port] = ++r->serial; /* take a new serial, so that the client ignores failures of
					earlier pairs that the server reports later */
}

/* Asks in the message whether the server still has its side of the leg's queue pair. */
static void leg_check(struct client_rdma *r, unsigned port)
{
	r->msg.rdma.legs[r->msg.rdma.n_legs++] = (struct fuse_proto_rdma_leg){
		.leg = (uint8_t)port, .status = FUSE_PROTO_RDMA_CHECK, .qpn = r->legs[port].qpn};
	r->checked |= (uint8_t)(1U << port);
}

/* Returns when to send the next message about pairs. */
static uint64_t ask_at(const struct client_rdma *r)
{
	const uint64_t sooner = RDMA_RETRY_NS - RDMA_CHANGED_NS;

	if (r->n_changes == port_rdma_changes(r->ports))
		return r->retry_ns;
	return r->retry_ns > sooner ? r->retry_ns - sooner : 0;
}

/* Requests pairs on legs that have none, and checks the existing ones. */
static void rdma_flush(struct fuse_client *f, uint64_t now_ns)
{
	struct rudp_path_info paths[RUDP_PATHS_MAX];
	struct client_rdma *r = &f->rdma;
	unsigned n;
	size_t len;

	if (!r->peer || r->waits || now_ns < ask_at(r) || f->unmounted)
		return;
	r->asked_ns = now_ns;
	r->retry_ns = now_ns + (r->mixed ? RDMA_MIXED_NS : RDMA_RETRY_NS);
	r->n_changes = port_rdma_changes(r->ports);
	r->encrypted = rudp_session_security(f->session) == RUDP_ENCRYPT;
	if (r->encrypted)
		return;
	n = rudp_session_paths(f->session, paths, RUDP_PATHS_MAX);
	r->asked = r->checked = 0;
	r->msg = (struct client_rdma_msg){.in = {.opcode = FUSE_PROTO_RDMA},
					  .rdma = {.version = FUSE_PROTO_RDMA_VERSION}};
	for (unsigned i = 0; i < r->n_ports && i < FUSE_PROTO_RDMA_LEGS_MAX; i++) {
		const struct rudp_path_info *path = leg_path(f, paths, n, i);

		if (port_rdma_ready(r->peer) & 1U << i) {
			leg_check(r, i);
		} else if (leg_is_due(r, i, path, now_ns) && path) {
			leg_ask(f, i, path);
			r->legs[i].made_ns = now_ns;
		}
		/* Without a path and a queue pair, the link type at the server does not matter. */
		if (!path && !(port_rdma_ready(r->peer) & 1U << i))
			r->legs[i].layers = 0;
	}
	if (r->msg.rdma.n_legs == 0)
		return;
	len = offsetof(struct client_rdma_msg, rdma.legs) +
	      r->msg.rdma.n_legs * sizeof(r->msg.rdma.legs[0]);
	r->msg.in.len = (uint32_t)len;
	r->waits = rudp_call_send(f->session, &r->msg, len, CLIENT_COOKIE_RDMA) == 0;
}

static uint64_t rdma_due(struct fuse_client *f, uint64_t now_ns)
{
	const struct client_rdma *r = &f->rdma;
	uint8_t want = 0;

	(void)now_ns;
	if (!r->peer || r->waits || r->encrypted || f->link != CLIENT_READY)
		return UINT64_MAX;
	for (unsigned i = 0; i < r->n_ports; i++)
		if (port_rdma_reason(r->ports, i) == PORT_RDMA_OK)
			want |= (uint8_t)(1U << i);
	return want ? ask_at(r) : UINT64_MAX;
}

/* Returns the reason to report for the status in the server's answer. If the two sides do not fit
 * together, both report the same reason. Any unknown status means that the server has no RDMA. */
static enum port_rdma_reason reason_of_answer(uint8_t status)
{
	if (status == PORT_RDMA_KIND || status == PORT_RDMA_MTU)
		return (enum port_rdma_reason)status;
	return status < PORT_RDMA_REASON_MAX ? PORT_RDMA_PEER : PORT_RDMA_FAILED;
}

static uint8_t layer_of(uint8_t link)
{
	return link == PORT_RDMA_LINK_IB ? CLIENT_LAYER_IB : CLIENT_LAYER_ETHERNET;
}

/* Returns whether the server's link is Ethernet or InfiniBand (CLIENT_LAYER_*); 0: unknown. An
 * older server reports only that its link type differs from the client's. This does not always
 * determine the server's link type, because there are two link types for Ethernet. */
static uint8_t layer_reported(const struct client_rdma *r, const struct fuse_proto_rdma_leg *leg)
{
	const uint8_t ours = r->legs[leg->leg].link;

	if (leg->status == 0 || leg->status == PORT_RDMA_MTU ||
	    (r->mixed && leg->status == PORT_RDMA_FAILED))
		return layer_of(ours);
	if (leg->status != PORT_RDMA_KIND)
		return 0;
	if (leg->link != ours)
		return layer_of(leg->link);
	return ours == PORT_RDMA_LINK_IB ? CLIENT_LAYER_ETHERNET : 0;
}

void fuse_client_rdma_check_mixed(struct fuse_client *const *clients, unsigned n)
{
	uint8_t layers = 0;
	bool mixed;

	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; clients[i] && k < clients[i]->rdma.n_ports; k++)
			if (port_rdma_reason(clients[i]->rdma.ports, k) == PORT_RDMA_OK)
				layers |= clients[i]->rdma.legs[k].layers;
	mixed = layers == (CLIENT_LAYER_IB | CLIENT_LAYER_ETHERNET);
	for (unsigned i = 0; i < n; i++) {
		struct client_rdma *r = clients[i] ? &clients[i]->rdma : NULL;

		if (!r || r->mixed == mixed)
			continue;
		r->mixed = mixed;
		/* Limits the rate of new pairs, even if a server keeps changing its report. */
		r->retry_ns = r->asked_ns + RDMA_RETRY_NS;
		/* The client sends the requests in flight again, in packets, as after the failure
		 * of a queue pair. */
		for (unsigned k = 0; mixed && r->peer && k < r->n_ports; k++) {
			port_rdma_drop(r->peer, k);
			r->made[k] = ++r->serial;
		}
	}
}

/* Handles a server's request for an RDMA test. The server puts this request into its answer when
 * the client checks the queue pair of that port. The limits are the same as for a test by an
 * operator of this host. */
static void ping_requested(struct fuse_client *f, unsigned port, const uint8_t said[16])
{
	struct fuse_proto_ping_order order;
	struct launch_ping p;

	memcpy(&order, said, sizeof(order));
	p = (struct launch_ping){.id = 1,
				 .port = port,
				 .what = order.what == FUSE_PROTO_PING_WRITE  ? LAUNCH_PING_IN
					 : order.what == FUSE_PROTO_PING_READ ? LAUNCH_PING_OUT
									      : 0,
				 .bytes = order.len,
				 .count = order.count,
				 .depth = order.depth};
	if (launch_ping_is_valid(&p))
		f->ping.order = p;
}

static void leg_answered(struct fuse_client *f, const struct fuse_proto_rdma_leg *leg)
{
	struct client_rdma *r = &f->rdma;
	struct port_rdma_half half = {.link = leg->link,
				      .mtu = leg->mtu,
				      .lid = leg->lid,
				      .qpn = leg->qpn,
				      .psn = leg->psn};

	if (leg->leg < r->n_ports && r->checked & 1U << leg->leg && leg->status == 0) {
		r->checked &= (uint8_t) ~(1U << leg->leg);
		ping_requested(f, leg->leg, leg->gid);
	}
	if (leg->leg >= r->n_ports || !(r->asked & 1U << leg->leg))
		return;
	r->asked &= (uint8_t) ~(1U << leg->leg);
	r->legs[leg->leg].layers = layer_reported(r, leg);
	memcpy(half.gid, leg->gid, sizeof(half.gid));
	if (leg->status != 0 || r->mixed) {
		port_rdma_drop(r->peer, leg->leg);
		r->reasons[leg->leg] = reason_of_answer(leg->status);
		return;
	}
	r->reasons[leg->leg] = port_rdma_join(r->peer, leg->leg, &half, false);
	r->made[leg->leg] = ++r->serial;
	r->legs[leg->leg].qpn = half.qpn;
	f->flush_wanted |= r->has_waiting;
	r->has_waiting = false;
}

/* Call when the server has lost its side of the leg's queue pair: makes the client request a new
 * pair at once. */
static void leg_lost(struct client_rdma *r, unsigned port)
{
	if (!(port_rdma_ready(r->peer) & 1U << port))
		return;
	port_rdma_drop(r->peer, port);
	r->reasons[port] = PORT_RDMA_OK; /* a new pair is being requested */
	r->retry_ns = 0;
}

/* Connects the queue pairs that the server's answer contains. A requested leg that is not in the
 * answer is refused. A checked leg that is not in the answer has lost its pair, unless the server
 * is busy. */
static void rdma_answer(struct fuse_client *f, const void *msg, size_t len, uint64_t now_ns)
{
	struct client_rdma *r = &f->rdma;
	struct fuse_proto_rdma rdma = {.version = 0};
	struct fuse_out_header out = {.error = -EBUSY}; /* a malformed answer counts as "busy" */
	size_t at = sizeof(out);
	bool busy;

	(void)now_ns;
	r->waits = false;
	if (len >= at)
		memcpy(&out, msg, at);
	if (len >= at + offsetof(struct fuse_proto_rdma, legs)) {
		memcpy(&rdma, (const uint8_t *)msg + at, MIN_OF(len - at, sizeof(rdma)));
		if (out.error != 0 || out.len != len || rdma.version != FUSE_PROTO_RDMA_VERSION ||
		    rdma.n_legs > FUSE_PROTO_RDMA_LEGS_MAX ||
		    len != at + offsetof(struct fuse_proto_rdma, legs) +
				    rdma.n_legs * sizeof(rdma.legs[0]))
			rdma.n_legs = 0;
	}
	for (unsigned i = 0; i < rdma.n_legs; i++)
		leg_answered(f, &rdma.legs[i]);
	busy = out.error == -EBUSY || out.error == -ENOMEM;
	for (unsigned i = 0; i < r->n_ports; i++) {
		if (r->checked & 1U << i && !busy)
			leg_lost(r, i);
		if (!(r->asked & 1U << i))
			continue;
		port_rdma_drop(r->peer, i);
		r->reasons[i] = PORT_RDMA_PEER;
		if (!busy) /* a busy server gives no information about the leg, so keep what it
			      reported last */
			r->legs[i].layers = 0;
	}
	r->asked = r->checked = 0;
}

/* ------------------------------------------------------------------ requests */

/* Returns how many bytes of memory to offer for the request via RDMA; 0: its data cannot use
 * RDMA. */
static uint32_t bulk_bytes(const struct fuse_client *f, const struct client_slot *s)
{
	const struct client_rdma *r = &f->rdma;
	struct fuse_write_in write;
	struct fuse_read_in read;

	if (s->kind != CLIENT_SLOT_KERNEL)
		return 0;
	if (s->opcode == FUSE_READ && s->resp_max > CLIENT_SMALL_BYTES) {
		memcpy(&read, s->req + sizeof(struct fuse_in_header), sizeof(read));
		return read.size < r->read_min || read.size > FUSE_PROTO_MAX_WRITE ? 0 : read.size;
	}
	if (s->opcode == FUSE_WRITE && s->req != s->small) {
		memcpy(&write, s->req + sizeof(struct fuse_in_header), sizeof(write));
		return write.size < r->write_min || write.size > FUSE_PROTO_MAX_WRITE ||
				       s->req_len != FUSE_PROTO_WRITE_DATA + write.size
			       ? 0
			       : write.size;
	}
	return 0;
}

/* Makes requests with bulk data wait while no queue pair works, if their data must not be sent in
 * packets. */
static int rdma_holds(struct fuse_client *f, struct client_slot *s)
{
	struct client_rdma *r = &f->rdma;

	if (!r->only || port_rdma_ready(r->peer) || bulk_bytes(f, s) == 0)
		return 0;
	r->has_waiting = true;
	return -ENOMEM;
}

bool client_rdma_offer(struct fuse_client *f, struct client_slot *s, struct fuse_proto_bulk *ret)
{
	struct client_rdma *r = &f->rdma;
	const uint8_t *data;
	uint32_t bytes;
	uint8_t legs;

	s->bulk_legs = 0;
	if (!r->peer || s->bulk_failed)
		return false;
	legs = port_rdma_ready(r->peer);
	bytes = legs ? bulk_bytes(f, s) : 0;
	if (bytes == 0)
		return false;
	data = s->opcode == FUSE_READ ? s->resp + FUSE_PROTO_READ_DATA
				      : s->req + FUSE_PROTO_WRITE_DATA;
	*ret = (struct fuse_proto_bulk){
		.addr = client_pool_bulk_addr(&f->pool, data), .len = bytes, .legs = legs};
	s->bulk_legs = legs;
	s->bulk_len = bytes;
	s->bulk_serial = r->serial;
	return true;
}

/* serial: value of client_rdma.serial when the request was sent. The client ignores the report if
 * it has created the leg's queue pair since then. */
void client_rdma_pair_failed(struct fuse_client *f, unsigned leg, uint32_t serial)
{
	struct client_rdma *r = &f->rdma;

	if ((int32_t)(r->made[leg] - serial) > 0)
		return;
	port_rdma_drop(r->peer, leg);
	r->legs[leg].lost = true;
	r->reasons[leg] = PORT_RDMA_FAILED;
	launch_stat_add(&f->stats->rdma[leg].failures, 1);
}

static void legs_failed(struct fuse_client *f, const struct client_slot *s, uint8_t failed)
{
	for (unsigned i = 0; i < f->rdma.n_ports; i++)
		if (failed & s->bulk_legs & 1U << i)
			client_rdma_pair_failed(f, i, s->bulk_serial);
}

/* The server does not report which leg carried the data, so count an equal part of the bytes for
 * each leg.
 */
static void bytes_count(struct fuse_client *f, const struct client_slot *s, uint8_t failed,
			uint64_t bytes)
{
	unsigned n = 0, k = 0;

	for (unsigned i = 0; i < PORT_RDMA_LEGS_MAX; i++)
		n += (s->bulk_legs & ~failed) >> i & 1;
	for (unsigned i = 0; i < LAUNCH_PORTS_MAX && n > 0; i++) {
		uint64_t part = bytes / n + (k == 0 ? bytes % n : 0);

		if (!((s->bulk_legs & ~failed) >> i & 1))
			continue;
		launch_stat_add(s->opcode == FUSE_READ ? &f->stats->rdma[i].read_bytes
						       : &f->stats->rdma[i].write_bytes,
				part);
		*(s->opcode == FUSE_READ ? &f->rdma.legs[i].read_bytes
					 : &f->rdma.legs[i].write_bytes) += part;
		k++;
	}
}

void fuse_client_rdma_bytes(const struct fuse_client *f, unsigned port, uint64_t *ret_read,
			    uint64_t *ret_write)
{
	*ret_read = f->rdma.legs[port].read_bytes;
	*ret_write = f->rdma.legs[port].write_bytes;
}

bool client_rdma_retry(struct fuse_client *f, struct client_slot *s, const struct client_answer *a)
{
	bool write = s->opcode == FUSE_WRITE && a->out.error == -EREMOTEIO;

	if (s->bulk_legs == 0 || (!write && !(a->has_bulk && a->bulk.again)))
		return false;
	if (write)
		legs_failed(f, s, s->bulk_legs);
	s->bulk_failed = !f->rdma.only;
	if (s->answered) /* the client has replied to the kernel already, and the server has not
			    begun the request */
		client_slot_free(f, s);
	else
		client_slot_queue(f, s);
	return true;
}

int client_rdma_take(struct fuse_client *f, struct client_slot *s, struct client_answer *a,
		     void **msg)
{
	struct fuse_out_header *out = (void *)s->resp;

	if (!a->has_bulk)
		return s->bulk_legs && s->opcode == FUSE_WRITE && a->out.error == 0
			       ? (bytes_count(f, s, 0, s->bulk_len), 0)
			       : 0;
	if (s->bulk_legs == 0 || a->bulk.len > s->bulk_len)
		return -EIO;
	legs_failed(f, s, a->bulk.failed);
	if (s->opcode == FUSE_WRITE) {
		bytes_count(f, s, a->bulk.failed, s->bulk_len);
		return a->bulk.len == 0 ? 0 : -EIO;
	}
	if (a->bulk.len == 0)
		return a->bulk.again && !f->rdma.only ? -EIO : 0;
	if (a->body_len != 0)
		return -EIO;
	bytes_count(f, s, a->bulk.failed, a->bulk.len);
	a->out.len = (uint32_t)sizeof(*out) + a->bulk.len;
	*out = a->out;
	a->body = s->resp + FUSE_PROTO_READ_DATA;
	a->body_len = a->bulk.len;
	*msg = s->resp;
	return 0;
}

bool client_rdma_is_asking(const struct fuse_client *f, unsigned port)
{
	const struct client_rdma *r = &f->rdma;

	return r->waits && !r->mixed && !r->encrypted && r->asked >> port & 1;
}

enum port_rdma_reason fuse_client_rdma_reason(const struct fuse_client *f, unsigned port)
{
	const struct client_rdma *r = &f->rdma;
	enum port_rdma_reason why = port_rdma_reason(r->ports, port);

	if (why != PORT_RDMA_OK)
		return why;
	if (!r->peer)
		return PORT_RDMA_MEMLOCK;
	if (r->encrypted)
		return PORT_RDMA_ENCRYPTED;
	if (r->mixed)
		return PORT_RDMA_MIXED;
	return port_rdma_ready(r->peer) & 1U << port ? PORT_RDMA_OK : r->reasons[port];
}

static bool rdma_is_on(const struct fuse_client *f)
{
	return f->rdma.peer || f->rdma.only;
}

const struct client_stage client_rdma_stage = {
	.is_on = rdma_is_on,
	.done = rdma_done,
	.holds = rdma_holds,
	.flush = rdma_flush,
	.cookie = CLIENT_COOKIE_RDMA,
	.resp_at = offsetof(struct fuse_client, rdma.resp),
	.resp_bytes = sizeof(((struct fuse_client *)0)->rdma.resp),
	.is_background = true, /* the client sends this message every second, even if the mount is
				  idle */
	.answer = rdma_answer,
	.due = rdma_due,
	.down = rdma_down,
};
