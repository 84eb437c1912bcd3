/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA tests (`plenum rdma ping`), at the server, which issues the RDMA operations. Only one client
 * at a time runs a test. It uses buffers that count for the client, and the same queue pairs as the
 * client's file data. A test that takes long ends early, and a pause follows each test. An operator
 * at the server can also order a test. The server then asks the client to request the test, because
 * the test uses the client's memory.
 */
#include "dataplane/fuse/proto/fuse_ping.h"
#include "dataplane/fuse/server/request/server_rdma.h"
#include "dataplane/fuse/server/request/server_request.h"

#include <string.h>

#define PING_HEAD offsetof(struct fuse_proto_ping, each_ns)
/* Time limit of a test: afterwards it begins no further operation. */
#define PING_WORK_NS (100 * NSEC_PER_MSEC)
#define PING_PAUSE_FACTOR 3U /* pause, as a multiple of the test's duration */

/* Checks a request for a test. Returns 0, or a negative errno if the message is malformed or RDMA
 * is unavailable. */
static int ask_check(const struct fuse_server_client *c, const void *buf, size_t len,
		     struct fuse_proto_ping *ret)
{
	struct fuse_in_header in;
	struct fuse_proto_ping p = {.version = 0};

	memcpy(&in, buf, sizeof(in));
	if (in.len != len || len != sizeof(in) + PING_HEAD)
		return -EIO;
	memcpy(&p, (const uint8_t *)buf + sizeof(in), PING_HEAD);
	if (p.version != FUSE_PROTO_PING_VERSION || p.leg >= PORT_RDMA_LEGS_MAX || p.what == 0 ||
	    p.what >= FUSE_PROTO_PING_WHAT_MAX || p.depth == 0 ||
	    p.depth > FUSE_PROTO_PING_DEPTH_MAX || p.count == 0 ||
	    p.count > FUSE_PROTO_PING_COUNT_MAX || p.len == 0 || p.len > FUSE_PROTO_MAX_WRITE ||
	    p.addr + p.len < p.addr)
		return -EIO;
	if (!c->server->rdma || c->gone || !c->init_done || !c->rdma ||
	    rudp_session_security(c->session) == RUDP_ENCRYPT)
		return -ENOSYS;
	*ret = p;
	return 0;
}

static void answer(struct fuse_server *srv, struct rudp_call *call, uint64_t unique,
		   const struct fuse_proto_ping *p)
{
	const size_t bytes = PING_HEAD + p->count * sizeof(p->each_ns[0]);
	struct fuse_out_header *out = buf_pool_get(&srv->answers, sizeof(*out) + sizeof(*p));
	struct fuse_in_header in = {.unique = unique};

	if (!out) {
		server_req_refuse(srv, call, &in, sizeof(in), -ENOMEM);
		return;
	}
	*out = (struct fuse_out_header){.len = (uint32_t)(sizeof(*out) + bytes), .unique = unique};
	memcpy(out + 1, p, bytes);
	*(struct server_req *)((uint8_t *)out - BUF_HEADROOM_BYTES) = (struct server_req){};
	rudp_respond(call, out, out->len, (uint8_t *)out - BUF_HEADROOM_BYTES);
}

/* ------------------------------------------------------------------ tests that this worker runs */

_Static_assert(FUSE_PROTO_PING_ORDER_COUNT_MAX == LAUNCH_PING_COUNT_MAX,
	       "a test of any length can be ordered");

static uint8_t op_of(const struct launch_ping *p)
{
	return p->what == LAUNCH_PING_OUT ? FUSE_PROTO_PING_WRITE : FUSE_PROTO_PING_READ;
}

int fuse_server_ping(struct fuse_server_client *c, const struct launch_ping *ask, uint64_t now_ns,
		     enum port_rdma_reason *ret_why)
{
	struct fuse_server *srv = c->server;
	struct server_ping_order *w = &srv->order;
	int leg = c->rdma && !c->gone ? port_rdma_leg(c->rdma, ask->port) : -1;

	if (leg < 0) {
		*ret_why = port_rdma_reason(srv->rdma, ask->port);
		if (*ret_why == PORT_RDMA_OK)
			*ret_why = c->session && rudp_session_security(c->session) == RUDP_ENCRYPT
					   ? PORT_RDMA_ENCRYPTED
					   : PORT_RDMA_PEER;
		return -ENOTSUP;
	}
	if (w->run.id)
		return -EBUSY;
	fuse_ping_begin(&w->run, ask);
	w->client = c;
	w->leg = (unsigned)leg;
	w->over = false;
	w->until_ns = now_ns + LAUNCH_PING_S_MAX * NSEC_PER_SEC;
	return 0;
}

void server_ping_order_get(const struct fuse_server_client *c, unsigned leg, uint8_t ret[16])
{
	const struct server_ping_order *w = &c->server->order;
	const struct fuse_proto_ping_order order = {.what = op_of(&w->run),
						    .depth = (uint8_t)w->run.depth,
						    .count = w->run.count - w->run.done,
						    .len = w->run.bytes};

	if (w->run.id && !w->over && w->client == c && w->leg == leg)
		memcpy(ret, &order, sizeof(order));
}

static void order_end(struct server_ping_order *w, int status, const char *reason)
{
	w->over = true;
	w->client = NULL;
	fuse_ping_end(&w->run, w->each_ns, status, reason);
}

/* Returns whether the client makes this request for the test that an operator at this server has
 * ordered, and not for a test of an operator at the client. */
static bool is_ordered(const struct server_ping_order *w, const struct fuse_server_client *c,
		       const struct fuse_proto_ping *ask)
{
	return w->run.id && !w->over && w->client == c && w->leg == ask->leg &&
	       op_of(&w->run) == ask->what && w->run.bytes == ask->len &&
	       w->run.depth == ask->depth && ask->count <= w->run.count - w->run.done;
}

static void order_add(struct fuse_server *srv, const struct fuse_server_client *c)
{
	const struct server_ping *g = &srv->ping;
	struct server_ping_order *w = &srv->order;

	if (!g->ordered || !is_ordered(w, c, &g->ask))
		return;
	memcpy(&w->each_ns[w->run.done], g->answer.each_ns,
	       g->answer.count * sizeof(g->answer.each_ns[0]));
	w->run.done += g->answer.count;
	w->run.took_ns += g->answer.count ? g->answer.took_ns : 0;
	if (g->failed)
		order_end(w, -EIO, port_rdma_reason_code(PORT_RDMA_FAILED));
	else if (w->run.done == w->run.count)
		order_end(w, 0, "");
}

bool fuse_server_ping_take(struct fuse_server *srv, uint64_t now_ns, struct launch_ping *ret,
			   uint64_t *ret_due_ns)
{
	struct server_ping_order *w = &srv->order;
	enum port_rdma_reason why = port_rdma_reason(srv->rdma, w->run.port);

	*ret_due_ns = UINT64_MAX;
	if (!w->run.id)
		return false;
	if (!w->over && !(port_rdma_ready(w->client->rdma) >> w->leg & 1))
		order_end(w, -EIO,
			  port_rdma_reason_code(why != PORT_RDMA_OK ? why : PORT_RDMA_PEER));
	/* The client has not requested the test in time. It may be an older client, which does not
	 * know orders. */
	else if (!w->over && now_ns >= w->until_ns)
		order_end(w, -ETIMEDOUT, "");
	if (!w->over) {
		*ret_due_ns = w->until_ns;
		return false;
	}
	*ret = w->run;
	w->run.id = 0;
	return true;
}

/* ------------------------------------------------------------------ requests of clients */

static void ping_end(struct fuse_server *srv)
{
	struct server_ping *g = &srv->ping;
	struct fuse_server_client *c = g->client;
	uint64_t now_ns = clock_now_ns();

	g->answer.took_ns = now_ns - g->begun_ns;
	g->answer.status = g->failed		  ? FUSE_PROTO_PING_FAILED
			   : g->answer.count == 0 ? FUSE_PROTO_PING_BUSY
						  : FUSE_PROTO_PING_DONE;
	g->pause_until_ns = now_ns + PING_PAUSE_FACTOR * g->answer.took_ns;
	g->client = NULL;
	order_add(srv, c);
	if (g->call)
		answer(srv, g->call, g->unique, &g->answer);
	buf_pool_put(&srv->requests, g->data);
	if (--c->n_reqs == 0 && c->gone) {
		c->next_dying = srv->dying;
		srv->dying = c;
	}
}

static void ping_done(struct port_rdma_op *op, int status);

/* Begins one more operation of the test. Returns false if that is not possible now. */
static bool ping_begin(struct fuse_server *srv, uint64_t now_ns)
{
	struct server_ping *g = &srv->ping;
	struct port_rdma_peer *peer = g->client->rdma;
	struct server_ping_op *o = g->ops;
	int r;

	while (o->op.pair)
		o++;
	o->begun_ns = now_ns;
	o->op.done = ping_done;
	if (g->ask.what == FUSE_PROTO_PING_WRITE)
		r = port_rdma_write(peer, g->ask.leg, g->data, g->ask.len, g->ask.addr, &o->op);
	else
		r = port_rdma_read(peer, g->ask.leg, g->data, g->ask.len, g->ask.addr, &o->op);
	if (r < 0)
		return false;
	g->n_begun++;
	g->n_under_way++;
	return true;
}

static void ping_continue(struct fuse_server *srv)
{
	struct server_ping *g = &srv->ping;
	uint64_t now_ns = clock_now_ns();

	while (g->call && !g->failed && g->n_under_way < g->ask.depth &&
	       g->n_begun < g->ask.count && now_ns - g->begun_ns < PING_WORK_NS &&
	       ping_begin(srv, now_ns))
		;
	if (g->n_under_way > 0)
		return;
	g->failed |= !(port_rdma_ready(g->client->rdma) >> g->ask.leg & 1);
	ping_end(srv);
}

static void ping_done(struct port_rdma_op *op, int status)
{
	struct server_ping_op *o = (struct server_ping_op *)op;
	struct fuse_server *srv = o->server;
	struct server_ping *g = &srv->ping;
	uint64_t took_ns = clock_now_ns() - o->begun_ns;

	g->n_under_way--;
	if (status < 0)
		g->failed = true;
	else
		g->answer.each_ns[g->answer.count++] = (uint32_t)MIN_OF(took_ns, UINT32_MAX);
	ping_continue(srv);
}

static void ping_start(struct fuse_server_client *c, struct rudp_call *call, uint64_t unique,
		       const struct fuse_proto_ping *ask, void *data)
{
	struct fuse_server *srv = c->server;
	struct server_ping *g = &srv->ping;

	*g = (struct server_ping){.client = c,
				  .call = call,
				  .unique = unique,
				  .ask = *ask,
				  .answer = *ask,
				  .data = data,
				  .begun_ns = clock_now_ns()};
	g->answer.count = 0;
	g->ordered = is_ordered(&srv->order, c, ask);
	for (unsigned i = 0; i < FUSE_PROTO_PING_DEPTH_MAX; i++)
		g->ops[i].server = srv;
	/* Clear the buffer, because it may contain data of other clients, which this client must
	 * not get. */
	if (ask->what == FUSE_PROTO_PING_WRITE)
		memset(data, 0, ask->len);
	c->n_reqs++;
	ping_continue(srv);
}

void server_ping_ask(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len)
{
	struct fuse_server *srv = c->server;
	struct fuse_proto_ping ask = {.version = 0};
	struct fuse_in_header in;
	void *data = NULL;
	int r = ask_check(c, buf, len, &ask);

	if (r < 0) {
		server_req_refuse(srv, call, buf, len, r);
		buf_pool_put(&srv->requests, buf);
		return;
	}
	memcpy(&in, buf, sizeof(in));
	buf_pool_put(&srv->requests, buf);
	if (!srv->ping.client && clock_now_ns() >= srv->ping.pause_until_ns)
		data = buf_pool_get_largest(&srv->requests, c->peer);
	if (data) {
		ping_start(c, call, in.unique, &ask, data);
		return;
	}
	ask.status = FUSE_PROTO_PING_BUSY;
	ask.count = 0;
	answer(srv, call, in.unique, &ask);
}

bool server_ping_spins(const struct fuse_server *srv, uint64_t now_ns)
{
	return srv->ping.client && now_ns < srv->ping.begun_ns + PING_WORK_NS;
}

void server_ping_call_gone(struct fuse_server *srv, const struct rudp_call *call)
{
	if (srv->ping.client && srv->ping.call == call)
		srv->ping.call = NULL;
}

void server_ping_client_gone(struct fuse_server_client *c)
{
	if (c->server->ping.client == c)
		c->server->ping.call = NULL;
	if (c->server->order.client == c)
		order_end(&c->server->order, -ENOTCONN, "");
}
