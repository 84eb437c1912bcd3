/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bulk data via RDMA at the server, which issues the operations. The server writes READ data into
 * the client's memory, on the leg with the least load; server_fetch.c reads WRITE data from the
 * client's memory. An operation that fails is retried on the next leg; if no leg works, the data is
 * sent in packets. Until the device reports the completion of an operation, it may access the
 * buffer, so the buffer must not be used.
 */
#include "dataplane/fuse/server/request/server_rdma.h"
#include "dataplane/fuse/server/request/server_reply.h"
#include "dataplane/fuse/server/request/server_request.h"
#include <string.h>

/* Smallest reply in bytes that uses RDMA: smaller replies need few packets. */
#define BULK_LEAST RUDP_SMALL_BYTES
/*
 * Creating a queue pair takes system calls on the packet core. A correct client asks for pairs once
 * a second while some are lost, and once for each leg that returns. The budgets (ASK_NS per
 * request, up to ASKS_AT_ONCE requests in succession) limit hostile clients, and many clients that
 * retry at the same time.
 */
#define ASK_NS (250 * NSEC_PER_MSEC)
#define ASKS_AT_ONCE 8
#define ASK_ALL_NS (4 * NSEC_PER_MSEC)
#define ASKS_ALL_AT_ONCE 256

void fuse_server_rdma(struct fuse_server *srv, struct port_rdma *rdma)
{
	struct port_rdma_region regions[2] = {};

	if (!port_rdma_any(rdma) || srv->rdma_pool)
		return;
	/* Register the buffers of larger replies, and the buffers into which the data of WRITEs is
	 * read. */
	buf_pool_pin(&srv->answers, 1, &regions[0].base, &regions[0].bytes);
	buf_pool_pin(&srv->requests, BUF_CLASSES - 1, &regions[1].base, &regions[1].bytes);
	if (port_rdma_pool_new(rdma, regions, 2, false, &srv->rdma_pool) == 0)
		srv->rdma = rdma;
}

void server_rdma_done(struct fuse_server *srv)
{
	srv->rdma_pool = port_rdma_pool_free(srv->rdma_pool);
	srv->rdma = NULL;
}

/* ------------------------------------------------------------------ queue pairs */

/* Compares a GID with an address; IPv4 is mapped into IPv6. */
static bool is_gid_of(const struct ip_addr *ip, const uint8_t gid[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (ip->family == AF_INET6)
		return memcmp(ip->bytes, gid, 16) == 0;
	return memcmp(gid, mapped, 12) == 0 && memcmp(ip->bytes, gid + 12, 4) == 0;
}

/* Returns the port that has the address to which the client wants to connect its queue pair; -1 if
 * no port has it. */
static int port_of(const struct fuse_server *srv, const uint8_t to[16])
{
	for (uint32_t i = 0; i < srv->cfg->n_ports; i++)
		if (is_gid_of(&srv->cfg->ports[i].ip.addr, to))
			return (int)i;
	return -ENOENT;
}

/* Returns whether the client's GID belongs to its session, because the server must send only to
 * addresses that the session has validated. This cannot be checked on InfiniBand, where GIDs are
 * not IP addresses; there, partitions limit which hosts can reach each other. */
static bool is_of_session(const struct fuse_server_client *c, unsigned port,
			  const struct fuse_proto_rdma_leg *leg)
{
	struct rudp_path_info paths[RUDP_PATHS_MAX];
	unsigned n = rudp_session_paths(c->session, paths, RUDP_PATHS_MAX);

	for (unsigned i = 0; i < n; i++)
		if (paths[i].port == port && paths[i].up &&
		    (leg->link == PORT_RDMA_LINK_IB || is_gid_of(&paths[i].remote.ip, leg->gid)))
			return true;
	return false;
}

/* Creates the server's side of a queue pair, connects it with the client's side, and writes the
 * parameters of the server's side to the reply. */
static void leg_connect(struct fuse_server_client *c, struct fuse_proto_rdma_leg *leg)
{
	struct port_rdma_half half, theirs = {.link = leg->link,
					      .mtu = leg->mtu,
					      .lid = leg->lid,
					      .qpn = leg->qpn,
					      .psn = leg->psn,
					      .key = leg->key};
	enum port_rdma_reason why = PORT_RDMA_NO_DEVICE;
	int port = port_of(c->server, leg->to);

	memcpy(theirs.gid, leg->gid, sizeof(theirs.gid));
	if (leg->leg < PORT_RDMA_LEGS_MAX && port >= 0 && is_of_session(c, (unsigned)port, leg))
		why = port_rdma_pair(c->rdma, leg->leg, (unsigned)port, &half);
	if (why == PORT_RDMA_OK)
		why = port_rdma_join(c->rdma, leg->leg, &theirs, true);
	leg->status = (uint8_t)why;
	if (why == PORT_RDMA_KIND)
		leg->link = half.link;
	if (why != PORT_RDMA_OK)
		return;
	leg->link = half.link;
	leg->mtu = MIN_OF(half.mtu, theirs.mtu);
	leg->lid = half.lid;
	leg->qpn = half.qpn;
	leg->psn = half.psn;
	leg->key = 0; /* 0, because clients never access the server's memory */
	memcpy(leg->gid, half.gid, sizeof(leg->gid));
}

/* Writes to the reply whether the pair that the client names exists and works. */
static void leg_check(struct fuse_server_client *c, struct fuse_proto_rdma_leg *leg)
{
	leg->status = port_rdma_has(c->rdma, leg->leg, leg->qpn) ? 0 : PORT_RDMA_FAILED;
	memset(leg->gid, 0, sizeof(leg->gid));
	if (leg->status == 0)
		server_ping_order_get(c, leg->leg, leg->gid);
}

static bool is_over_budget(uint64_t spent_ns, uint64_t each_ns, unsigned at_once, uint64_t now_ns)
{
	return spent_ns > now_ns + (at_once - 1) * each_ns;
}

/* Subtracts the cost of a request from the client's budget and from the budget of all clients.
 * Returns false if one of them is exhausted. A refused request costs nothing, so that one client
 * cannot exhaust the budget of all. */
static bool budget_take(struct fuse_server_client *c, uint64_t now_ns)
{
	struct fuse_server *srv = c->server;

	if (is_over_budget(c->rdma_spent_ns, ASK_NS, ASKS_AT_ONCE, now_ns) ||
	    is_over_budget(srv->rdma_spent_ns, ASK_ALL_NS, ASKS_ALL_AT_ONCE, now_ns))
		return false;
	c->rdma_spent_ns = MAX_OF(c->rdma_spent_ns, now_ns) + ASK_NS;
	srv->rdma_spent_ns = MAX_OF(srv->rdma_spent_ns, now_ns) + ASK_ALL_NS;
	return true;
}

/* Returns whether the request only checks pairs and creates none. */
static bool only_checks(const struct fuse_proto_rdma *p)
{
	for (uint32_t i = 0; i < p->n_legs; i++)
		if (p->legs[i].status != FUSE_PROTO_RDMA_CHECK)
			return false;
	return p->n_legs > 0;
}

static int ask_check(struct fuse_server_client *c, const void *buf, size_t len,
		     struct fuse_proto_rdma *ret)
{
	const size_t head = sizeof(struct fuse_in_header) + offsetof(struct fuse_proto_rdma, legs);
	struct fuse_in_header in;

	memcpy(&in, buf, sizeof(in));
	if (in.len != len || len < head || len > sizeof(in) + sizeof(*ret))
		return -EIO;
	memcpy(ret, (const uint8_t *)buf + sizeof(in), len - sizeof(in));
	/* Clients of version 1 never ask for pairs. */
	if (ret->version == 0 || ret->version > FUSE_PROTO_RDMA_VERSION ||
	    ret->n_legs > FUSE_PROTO_RDMA_LEGS_MAX ||
	    len != head + ret->n_legs * sizeof(ret->legs[0]))
		return -EIO;
	if (!c->server->rdma || !c->session || !c->init_done ||
	    rudp_session_security(c->session) == RUDP_ENCRYPT)
		return -ENOSYS;
	if (!only_checks(ret) && !budget_take(c, clock_now_ns()))
		return -EBUSY;
	return c->rdma ? 0 : port_rdma_peer_new(c->server->rdma_pool, &c->rdma);
}

void server_rdma_ask(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len)
{
	struct fuse_proto_rdma rdma = {.version = 0};
	struct fuse_server *srv = c->server;
	struct fuse_out_header *out;
	struct fuse_in_header in;
	size_t bytes;
	int r = ask_check(c, buf, len, &rdma);

	bytes = offsetof(struct fuse_proto_rdma, legs) + rdma.n_legs * sizeof(rdma.legs[0]);
	out = r == 0 ? buf_pool_get(&srv->answers, sizeof(*out) + sizeof(rdma)) : NULL;
	if (!out) {
		server_req_refuse(srv, call, buf, len, r < 0 ? r : -ENOMEM);
		buf_pool_put(&srv->requests, buf);
		return;
	}
	memcpy(&in, buf, sizeof(in));
	for (uint32_t i = 0; i < rdma.n_legs; i++)
		(rdma.legs[i].status == FUSE_PROTO_RDMA_CHECK ? leg_check
							      : leg_connect)(c, &rdma.legs[i]);
	*out = (struct fuse_out_header){.len = (uint32_t)(sizeof(*out) + bytes),
					.unique = in.unique};
	memcpy(out + 1, &rdma, bytes);
	*(struct server_req *)((uint8_t *)out - BUF_HEADROOM_BYTES) = (struct server_req){};
	rudp_respond(call, out, out->len, (uint8_t *)out - BUF_HEADROOM_BYTES);
	buf_pool_put(&srv->requests, buf);
}

int server_rdma_choose(struct fuse_server_client *c, uint8_t legs, uint8_t not )
{
	return c->rdma && !c->gone ? port_rdma_choose(c->rdma, legs & (uint8_t) ~not ) : -1;
}

bool server_rdma_works(const struct fuse_server_client *c, uint8_t legs)
{
	return c->rdma && !c->gone && legs & port_rdma_ready(c->rdma);
}

uint8_t server_rdma_legs_failed(const struct fuse_server_client *c, uint8_t legs)
{
	return legs & (uint8_t)~port_rdma_ready(c->rdma);
}

uint8_t server_rdma_failed(const struct server_req *q)
{
	return q->args.flags & FUSE_PROTO_REQ_BULK
		       ? server_rdma_legs_failed(q->client, q->args.bulk.legs)
		       : 0;
}

void fuse_server_path_down(struct fuse_server_client *c, unsigned port)
{
	if (c->rdma)
		port_rdma_drop_port(c->rdma, port);
}

/* ------------------------------------------------------------------ READ */

static void reply_done(struct port_rdma_op *op, int status);

static void reply_by_packets(struct server_req *q)
{
	if (q->bulk_stale) /* the client has repeated the request in another session, so the server
			      must not write to its memory any more */
		server_reply_data(q, q->got);
	else if (q->args.flags & FUSE_PROTO_REQ_ONLY && q->got >= BULK_LEAST)
		server_reply_retry(q, server_rdma_failed(q));
	else
		server_reply_bulk(q, q->got, 0, server_rdma_failed(q));
}

/* Begins to send the reply's data via RDMA. Returns false if the data must be sent in packets. */
static bool reply_begin(struct server_req *q)
{
	struct fuse_server_client *c = q->client;
	int leg = q->bulk_stale || !q->call
			  ? -1
			  : server_rdma_choose(c, q->args.bulk.legs, q->args.failed);

	if (leg < 0)
		return false;
	q->bulk_leg = (uint8_t)leg;
	q->bulk.done = reply_done;
	return port_rdma_write(c->rdma, (unsigned)leg, server_req_data(q), q->got,
			       q->args.bulk.addr, &q->bulk) == 0;
}

/* Returns whether the reply must wait because all working queue pairs are busy. The server does not
 * tell the client to retry instead: the client would retry at once, and the server would have to
 * read the data again. */
static bool reply_waits(const struct server_req *q)
{
	return q->call && !q->bulk_stale && q->args.flags & FUSE_PROTO_REQ_ONLY &&
	       q->got >= BULK_LEAST &&
	       server_rdma_works(q->client, q->args.bulk.legs & (uint8_t)~q->args.failed);
}

static void reply_send(struct server_req *q)
{
	struct fuse_server *srv = q->client->server;

	if (reply_begin(q))
		return;
	if (!reply_waits(q)) {
		reply_by_packets(q);
		return;
	}
	q->retry = NULL;
	*srv->reply_tail = q;
	srv->reply_tail = &q->retry;
}

static void reply_done(struct port_rdma_op *op, int status)
{
	struct server_req *q =
		(struct server_req *)((uint8_t *)op - offsetof(struct server_req, bulk));
	struct fuse_server_client *c = q->client;

	if (status == 0 && !q->bulk_stale) {
		launch_stat_add(&c->server->stats->rdma[op->port].read_bytes, q->got);
		c->by_rdma[op->port].read_bytes += q->got;
		server_reply_bulk(q, q->got, q->got, server_rdma_failed(q));
		return;
	}
	if (status < 0) {
		q->args.failed |= (uint8_t)(1U << q->bulk_leg);
		launch_stat_add(&c->server->stats->rdma[op->port].failures, 1);
	}
	reply_send(q);
}

/* Tries again to send the waiting replies, in order. gone: a client whose session has ended. Its
 * replies are dropped, except replies to requests that its next session has sent again. */
static void replies_run(struct fuse_server *srv, const struct fuse_server_client *gone)
{
	struct server_req *q = srv->reply_head, *next;

	srv->reply_head = NULL;
	srv->reply_tail = &srv->reply_head;
	for (; q; q = next) {
		next = q->retry;
		if (q->client == gone && !q->bulk_stale)
			q->call = NULL;
		reply_send(q);
	}
}

void server_rdma_run(struct fuse_server *srv)
{
	replies_run(srv, NULL);
}

/* Drops the client's pairs. Its operations in flight then complete with an error. */
void server_rdma_client_gone(struct fuse_server_client *c)
{
	replies_run(c->server, c);
	if (c->rdma)
		port_rdma_drop_all(c->rdma);
}

void server_rdma_reply(struct server_req *q, size_t len)
{
	if (!(q->args.flags & FUSE_PROTO_REQ_BULK)) {
		server_reply_data(q, len);
		return;
	}
	q->got = (uint32_t)len;
	if (len < BULK_LEAST || len > q->args.bulk.len)
		reply_by_packets(q);
	else
		reply_send(q);
}

void fuse_server_rdma_bytes(const struct fuse_server_client *c, unsigned port, uint64_t *ret_read,
			    uint64_t *ret_write)
{
	*ret_read = c->by_rdma[port].read_bytes;
	*ret_write = c->by_rdma[port].write_bytes;
}
