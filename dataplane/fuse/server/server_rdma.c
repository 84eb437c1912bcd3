/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bulk data via RDMA at the server, which issues the operations: it writes READ data into the
 * client's memory and fetches WRITE data from it, on the leg with the least load. An operation that
 * fails is retried on the next leg, and via packets at last. A buffer belongs to the device until
 * the device reports completion.
 */
#include "dataplane/fuse/server/server_rdma.h"
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "dataplane/fuse/server/server_reply.h"
#include <string.h>

/* Smaller replies fit into one or two packets. */
#define BULK_LEAST RUDP_SMALL_BYTES
/*
 * Queue pairs are made by system calls on the packet core. A correct client asks once a second
 * while pairs are lost, and once for each leg that returns. These budgets limit a hostile client,
 * and many clients that retry at the same time.
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
	/* Replies of the larger classes, and requests that are assembled here. */
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

/* Compares with the IPv4-mapped form for IPv4. */
static bool is_gid_of(const struct ip_addr *ip, const uint8_t gid[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (ip->family == AF_INET6)
		return memcmp(ip->bytes, gid, 16) == 0;
	return memcmp(gid, mapped, 12) == 0 && memcmp(ip->bytes, gid + 12, 4) == 0;
}

/* The port with the address that the client addresses. */
static int port_of(const struct fuse_server *srv, const uint8_t to[16])
{
	for (uint32_t i = 0; i < srv->cfg->n_ports; i++)
		if (is_gid_of(&srv->cfg->ports[i].ip.addr, to))
			return (int)i;
	return -ENOENT;
}

/* The server sends only to addresses that the session has validated for its client. The GID of
 * an InfiniBand port never appears as an IPoIB address; there, the subnet's partitions limit who
 * can reach whom. */
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

/* Creates the server's queue pair and connects it with the client's; the reply contains its number.
 */
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
	leg->key = 0; /* clients cannot access our memory */
	memcpy(leg->gid, half.gid, sizeof(leg->gid));
}

/* Whether the pair that the client refers to exists and works. */
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

/* Takes the cost of a request from the budgets. False: over the budget. A refused request costs
 * nothing, so that one client cannot exhaust the budget of all. */
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

/* Whether the request only checks pairs and creates none. */
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

/* The least loaded working leg in `legs` without those in `not`; -1: none. */
static int leg_choose(struct fuse_server_client *c, uint8_t legs, uint8_t not )
{
	return c->rdma && !c->gone ? port_rdma_choose(c->rdma, legs & (uint8_t) ~not ) : -1;
}

/* Whether one of the legs works, even if it is too busy now. */
static bool some_work(const struct fuse_server_client *c, uint8_t legs)
{
	return c->rdma && !c->gone && legs & port_rdma_ready(c->rdma);
}

static uint8_t legs_failed(const struct fuse_server_client *c, uint8_t legs)
{
	return legs & (uint8_t)~port_rdma_ready(c->rdma);
}

uint8_t server_rdma_failed(const struct server_req *q)
{
	return q->args.flags & FUSE_PROTO_REQ_BULK ? legs_failed(q->client, q->args.bulk.legs) : 0;
}

void fuse_server_path_down(struct fuse_server_client *c, unsigned port)
{
	if (c->rdma)
		port_rdma_drop_port(c->rdma, port);
}

static void replies_run(struct fuse_server *srv, const struct fuse_server_client *gone);
static void fetch_retry(struct server_fetch *k);
static void fetch_wait_drop(struct fuse_server *srv, const struct fuse_server_client *c,
			    const struct rudp_call *call);

/* Operations in flight complete with an error. */
void server_rdma_client_gone(struct fuse_server_client *c)
{
	struct server_fetch *next;

	replies_run(c->server, c);
	fetch_wait_drop(c->server, c, NULL);
	for (struct server_fetch *k = c->server->fetches; k; k = next) {
		next = k->next;
		if (k->client != c)
			continue;
		k->call = NULL;
		if (k->waits)
			fetch_retry(k); /* ends, because k->call is NULL */
	}
	if (c->rdma)
		port_rdma_drop_all(c->rdma);
}

/* ------------------------------------------------------------------ READ */

static void reply_done(struct port_rdma_op *op, int status);

static void reply_by_packets(struct server_req *q)
{
	if (q->bulk_stale) /* the client's memory is no longer valid */
		server_reply_data(q, q->got);
	else if (q->args.flags & FUSE_PROTO_REQ_ONLY && q->got >= BULK_LEAST)
		server_reply_retry(q, server_rdma_failed(q));
	else
		server_reply_bulk(q, q->got, 0, server_rdma_failed(q));
}

/* Starts sending the reply's data via RDMA. False: send them via packets. */
static bool reply_begin(struct server_req *q)
{
	struct fuse_server_client *c = q->client;
	int leg = q->bulk_stale || !q->call ? -1 : leg_choose(c, q->args.bulk.legs, q->args.failed);

	if (leg < 0)
		return false;
	q->bulk_leg = (uint8_t)leg;
	q->bulk.done = reply_done;
	return port_rdma_write(c->rdma, (unsigned)leg, server_req_data(q), q->got,
			       q->args.bulk.addr, &q->bulk) == 0;
}

/* Whether the reply waits, because the legs work but are busy: a client that accepts its data only
 * via RDMA would retry at once and make the server read the data again. */
static bool reply_waits(const struct server_req *q)
{
	return q->call && !q->bulk_stale && q->args.flags & FUSE_PROTO_REQ_ONLY &&
	       q->got >= BULK_LEAST &&
	       some_work(q->client, q->args.bulk.legs & (uint8_t)~q->args.failed);
}

static void reply_go(struct server_req *q)
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
	reply_go(q);
}

/* Retries the waiting replies in order. gone: a client whose session has ended; requests that
 * its next session has sent again belong to that session. */
static void replies_run(struct fuse_server *srv, const struct fuse_server_client *gone)
{
	struct server_req *q = srv->reply_head, *next;

	srv->reply_head = NULL;
	srv->reply_tail = &srv->reply_head;
	for (; q; q = next) {
		next = q->retry;
		if (q->client == gone && !q->bulk_stale)
			q->call = NULL;
		reply_go(q);
	}
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
		reply_go(q);
}

/* ------------------------------------------------------------------ WRITE */

static void fetch_done(struct port_rdma_op *op, int status);

static void *fetch_data(struct server_fetch *k)
{
	return (uint8_t *)k + BUF_HEADROOM_BYTES;
}

static bool fetch_begin(struct server_fetch *k)
{
	struct fuse_server_client *c = k->client;
	int leg = k->call ? leg_choose(c, k->bulk.legs, k->failed) : -1;

	if (leg < 0)
		return false;
	k->leg = (uint8_t)leg;
	k->op.done = fetch_done;
	return port_rdma_read(c->rdma, (unsigned)leg,
			      (uint8_t *)fetch_data(k) + FUSE_PROTO_WRITE_DATA, k->bulk.len,
			      k->bulk.addr, &k->op) == 0;
}

/* Passes the completed message on as a request, or refuses it. */
static void fetch_end(struct server_fetch *k, bool whole)
{
	struct fuse_server_client *c = k->client;
	struct rudp_call *call = k->call;
	struct fuse_server *srv = c->server;
	uint8_t failed = legs_failed(c, k->bulk.legs);
	void *data = fetch_data(k);
	struct fuse_server_args args;
	size_t len = k->len;
	bool gone = c->gone;

	*(k->prev ? &k->prev->next : &srv->fetches) = k->next;
	if (k->next)
		k->next->prev = k->prev;
	srv->n_fetches--;
	if (--c->n_reqs == 0 && gone) {
		c->next_dying = srv->dying;
		srv->dying = c;
	}
	if (call && whole && fuse_server_check(data, len, &args) == 0 && !c->mount->gone) {
		args.failed = failed;
		server_req_take(c, call, data, len, &args);
		return;
	}
	if (call)
		server_req_refuse(srv, call, data, len, -EREMOTEIO);
	buf_pool_put(&srv->requests, data);
}

static void fetch_retry(struct server_fetch *k)
{
	struct fuse_server *srv = k->client->server;

	srv->n_fetches_waiting -= k->waits;
	k->waits = false;
	if (fetch_begin(k))
		return;
	if (!k->call || !some_work(k->client, k->bulk.legs & (uint8_t)~k->failed)) {
		fetch_end(k, false);
		return;
	}
	k->waits = true;
	srv->n_fetches_waiting++;
}

static void fetch_done(struct port_rdma_op *op, int status)
{
	struct server_fetch *k = (struct server_fetch *)op;
	struct fuse_server_client *c = k->client;

	if (status == 0) {
		launch_stat_add(&c->server->stats->rdma[op->port].write_bytes, k->bulk.len);
		c->by_rdma[op->port].write_bytes += k->bulk.len;
		fetch_end(k, true);
		return;
	}
	k->failed |= (uint8_t)(1U << k->leg);
	launch_stat_add(&c->server->stats->rdma[op->port].failures, 1);
	fetch_retry(k);
}

/* Builds the message as it would have arrived via packets: header, room for the data, handles. */
static size_t assemble(uint8_t *to, const struct fuse_in_header *in, size_t len,
		       const struct fuse_server_args *args)
{
	const size_t tail_len = len - in->len - sizeof(args->bulk);
	const struct fuse_proto_req_tail *tail = (const void *)((const uint8_t *)in + in->len);
	uint8_t *at = to + FUSE_PROTO_WRITE_DATA + args->bulk.len;
	uint32_t whole = (uint32_t)FUSE_PROTO_WRITE_DATA + args->bulk.len;
	uint16_t flags;

	memcpy(to, in, FUSE_PROTO_WRITE_DATA);
	memcpy(to + offsetof(struct fuse_in_header, len), &whole, sizeof(whole));
	memcpy(at, tail, tail_len);
	flags = args->flags & (uint16_t) ~(FUSE_PROTO_REQ_BULK | FUSE_PROTO_REQ_ONLY);
	memcpy(at + offsetof(struct fuse_proto_req_tail, flags), &flags, sizeof(flags));
	return whole + tail_len;
}

/* 0: the transfer has started, into a buffer that also has a copy of the message; -EAGAIN: not
 * possible now; -EREMOTEIO: no leg works. */
static int fetch_start(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len,
		       const struct fuse_server_args *args)
{
	struct fuse_server *srv = c->server;
	struct server_fetch *k;
	uint8_t *data;

	if (!some_work(c, args->bulk.legs))
		return -EREMOTEIO;
	data = buf_pool_get_largest(&srv->requests, c->peer);
	if (!data)
		return -EAGAIN;
	k = (struct server_fetch *)(data - BUF_HEADROOM_BYTES);
	*k = (struct server_fetch){
		.client = c, .call = call, .bulk = args->bulk, .next = srv->fetches};
	if (!fetch_begin(k)) {
		buf_pool_put(&srv->requests, data);
		return some_work(c, args->bulk.legs) ? -EAGAIN : -EREMOTEIO;
	}
	k->len = assemble(data, buf, len, args); /* around the incoming data */
	if (k->next)
		k->next->prev = k;
	srv->fetches = k;
	srv->n_fetches++;
	c->n_reqs++;
	return 0;
}

/* A client drops its pairs when the server reports that it could not fetch data, so the server
 * reports that only for pairs that do not work, not for busy ones. */
void server_rdma_fetch(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len,
		       const struct fuse_server_args *args)
{
	struct fuse_server *srv = c->server;
	struct server_wait *w;
	int r = fetch_start(c, call, buf, len, args);

	if (r != -EAGAIN) {
		if (r < 0)
			server_req_refuse(srv, call, buf, len, r);
		buf_pool_put(&srv->requests, buf);
		return;
	}
	w = (struct server_wait *)((uint8_t *)buf - BUF_HEADROOM_BYTES);
	*w = (struct server_wait){.client = c, .call = call, .len = len};
	*srv->fetch_tail = w;
	srv->fetch_tail = &w->next;
	srv->n_fetch_wait++;
}

static void fetch_wait_remove(struct fuse_server *srv, struct server_wait **p)
{
	struct server_wait *w = *p;

	*p = w->next;
	if (srv->fetch_tail == &w->next)
		srv->fetch_tail = p;
	srv->n_fetch_wait--;
}

static void fetch_wait_drop(struct fuse_server *srv, const struct fuse_server_client *c,
			    const struct rudp_call *call)
{
	struct server_wait **p = &srv->fetch_head;

	while (*p) {
		struct server_wait *w = *p;

		if ((c && w->client != c) || (call && w->call != call)) {
			p = &w->next;
			continue;
		}
		fetch_wait_remove(srv, p);
		buf_pool_put(&srv->requests, (uint8_t *)w + BUF_HEADROOM_BYTES);
	}
}

void server_rdma_run(struct fuse_server *srv)
{
	struct server_wait **p = &srv->fetch_head;
	struct server_fetch *next;

	replies_run(srv, NULL);
	for (struct server_fetch *k = srv->fetches; k; k = next) {
		next = k->next;
		if (k->waits)
			fetch_retry(k);
	}
	while (*p) {
		const struct server_wait w = **p;
		void *buf = (uint8_t *)*p + BUF_HEADROOM_BYTES;
		struct fuse_server_args args;
		int r;

		(void)fuse_server_check(buf, w.len,
					&args); /* it passed the same check on arrival */
		r = fetch_start(w.client, w.call, buf, w.len, &args);
		if (r == -EAGAIN) { /* other pairs may be less busy */
			p = &(*p)->next;
			continue;
		}
		fetch_wait_remove(srv, p);
		if (r < 0)
			server_req_refuse(srv, w.call, buf, w.len, r);
		buf_pool_put(&srv->requests, buf);
		p = &srv->fetch_head; /* refusing it may have ended its client */
	}
}

void server_rdma_call_gone(struct fuse_server *srv, const struct rudp_call *call)
{
	for (struct server_fetch *k = srv->fetches; k; k = k->next)
		if (k->call == call)
			k->call = NULL;
	fetch_wait_drop(srv, NULL, call);
}

void fuse_server_rdma_bytes(const struct fuse_server_client *c, unsigned port, uint64_t *ret_read,
			    uint64_t *ret_write)
{
	*ret_read = c->by_rdma[port].read_bytes;
	*ret_write = c->by_rdma[port].write_bytes;
}
