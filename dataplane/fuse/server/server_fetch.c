/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fetches the data of WRITEs from the client's memory via RDMA, on the leg with the least load,
 * then starts the requests. A transfer that fails is retried on the next leg; if none works, the
 * client sends the data in packets. Until the device reports the completion of a transfer, it may
 * access the buffer, so the buffer must not be used.
 */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "dataplane/fuse/server/request/server_rdma.h"
#include <string.h>

static void fetch_done(struct port_rdma_op *op, int status);

static void *fetch_data(struct server_fetch *k)
{
	return (uint8_t *)k + BUF_HEADROOM_BYTES;
}

static bool fetch_begin(struct server_fetch *k)
{
	struct fuse_server_client *c = k->client;
	int leg = k->call ? server_rdma_choose(c, k->bulk.legs, k->failed) : -1;

	if (leg < 0)
		return false;
	k->leg = (uint8_t)leg;
	k->op.done = fetch_done;
	return port_rdma_read(c->rdma, (unsigned)leg,
			      (uint8_t *)fetch_data(k) + FUSE_PROTO_WRITE_DATA, k->bulk.len,
			      k->bulk.addr, &k->op) == 0;
}

/* Ends a fetch. If the data is complete (whole), passes on the message as a request; otherwise
 * refuses it. */
static void fetch_end(struct server_fetch *k, bool whole)
{
	struct fuse_server_client *c = k->client;
	struct rudp_call *call = k->call;
	struct fuse_server *srv = c->server;
	uint8_t failed = server_rdma_legs_failed(c, k->bulk.legs);
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
		args.arrived_ns = k->arrived_ns;
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
	if (!k->call || !server_rdma_works(k->client, k->bulk.legs & (uint8_t)~k->failed)) {
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

/* Builds the message as if it had arrived in packets: the header, space for the data, then the
 * handles. Returns its length. */
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

/* Begins the transfer into another buffer, which also gets a copy of the message. Returns 0,
 * -EAGAIN if the transfer must wait, or -EREMOTEIO if no leg works. */
static int fetch_start(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len,
		       const struct fuse_server_args *args)
{
	struct fuse_server *srv = c->server;
	struct server_fetch *k;
	uint8_t *data;

	if (!server_rdma_works(c, args->bulk.legs))
		return -EREMOTEIO;
	data = buf_pool_get_largest(&srv->requests, c->peer);
	if (!data)
		return -EAGAIN;
	k = (struct server_fetch *)(data - BUF_HEADROOM_BYTES);
	*k = (struct server_fetch){.client = c,
				   .call = call,
				   .bulk = args->bulk,
				   .next = srv->fetches,
				   .arrived_ns = args->arrived_ns};
	if (!fetch_begin(k)) {
		buf_pool_put(&srv->requests, data);
		return server_rdma_works(c, args->bulk.legs) ? -EAGAIN : -EREMOTEIO;
	}
	k->len = assemble(data, buf, len, args); /* the data will be written into the gap that
						    assemble() leaves */
	if (k->next)
		k->next->prev = k;
	srv->fetches = k;
	srv->n_fetches++;
	c->n_reqs++;
	return 0;
}

/* A client drops its queue pairs when the server reports that it could not fetch data. So the
 * server reports this only if the queue pairs do not work. If they are busy, the request waits. */
void server_fetch(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len,
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
	*w = (struct server_wait){
		.client = c, .call = call, .len = len, .arrived_ns = args->arrived_ns};
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

void server_fetch_run(struct fuse_server *srv)
{
	struct server_wait **p = &srv->fetch_head;
	struct server_fetch *next;

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

		(void)fuse_server_check(buf, w.len, &args); /* cannot fail, because the request
							       passed the same check when it
							       arrived */
		args.arrived_ns = w.arrived_ns;
		r = fetch_start(w.client, w.call, buf, w.len, &args);
		if (r == -EAGAIN) { /* leave this WRITE waiting and try the next one: the pairs of
				       its client may be less busy */
			p = &(*p)->next;
			continue;
		}
		fetch_wait_remove(srv, p);
		if (r < 0)
			server_req_refuse(srv, w.call, buf, w.len, r);
		buf_pool_put(&srv->requests, buf);
		p = &srv->fetch_head; /* start again at the head, because the refusal may have ended
					 the client and thus changed the list */
	}
}

void server_fetch_call_gone(struct fuse_server *srv, const struct rudp_call *call)
{
	for (struct server_fetch *k = srv->fetches; k; k = k->next)
		if (k->call == call)
			k->call = NULL;
	fetch_wait_drop(srv, NULL, call);
}

void server_fetch_client_gone(struct fuse_server_client *c)
{
	struct server_fetch *next;

	fetch_wait_drop(c->server, c, NULL);
	for (struct server_fetch *k = c->server->fetches; k; k = next) {
		next = k->next;
		if (k->client != c)
			continue;
		k->call = NULL;
		if (k->waits)
			fetch_retry(k); /* fetch_retry() ends the fetch, because k->call is NULL */
	}
}
