/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports to clients that waiting lock requests were granted. A client with waiting requests keeps
 * one call in flight, which the server answers when any of the requests was granted. So the waiting
 * requests occupy neither buffers nor helpers. If another worker has freed the lock, this worker
 * finds the grant in the shared table.
 */
#include "dataplane/fuse/server/request/server_lock_wait.h"
#include "dataplane/fuse/server/request/server_request.h"
#include <string.h>

static void answer(struct fuse_server_client *c)
{
	struct fuse_server *srv = c->server;
	struct {
		struct fuse_out_header out;
		uint64_t unique[FUSE_PROTO_LOCK_WAIT_MAX];
	} *msg = buf_pool_get(&srv->answers, sizeof(*msg));
	int n;

	if (!msg) { /* no buffer is free: retry in the next turn */
		srv->lock_grants = UINT64_MAX;
		return;
	}
	n = lock_granted(srv->locks, &c->mount->locks, msg->unique, FUSE_PROTO_LOCK_WAIT_MAX);
	if (n <= 0) {
		if (n == -EBUSY)
			srv->lock_grants = UINT64_MAX;
		buf_pool_put(&srv->answers, msg);
		return;
	}
	msg->out = (struct fuse_out_header){
		.len = (uint32_t)(sizeof(msg->out) + (unsigned)n * sizeof(msg->unique[0])),
		.unique = c->lock_unique};
	*(struct server_req *)((uint8_t *)msg - BUF_HEADROOM_BYTES) = (struct server_req){};
	rudp_respond(c->lock_call, msg, msg->out.len, (uint8_t *)msg - BUF_HEADROOM_BYTES);
	c->lock_call = NULL;
	srv->n_lock_waits--;
}

void server_lock_wait_gone(struct fuse_server_client *c, const struct rudp_call *call)
{
	if (!c->lock_call || (call && c->lock_call != call))
		return;
	c->lock_call = NULL;
	c->server->n_lock_waits--;
}

void server_lock_wait(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len)
{
	struct fuse_server *srv = c->server;
	struct fuse_in_header in;

	memcpy(&in, buf, sizeof(in));
	if (c->gone || !c->init_done || !(c->features & FUSE_PROTO_FEATURE_LOCKS) || c->lock_call) {
		server_req_refuse(srv, call, buf, len, -EINVAL);
	} else {
		c->lock_call = call;
		c->lock_unique = in.unique;
		srv->n_lock_waits++;
		answer(c);
	}
	buf_pool_put(&srv->requests, buf);
}

void server_lock_wait_run(struct fuse_server *srv)
{
	uint64_t grants;

	if (PLENUM_LIKELY(srv->n_lock_waits == 0))
		return;
	grants = lock_grants(srv->locks);
	if (grants == srv->lock_grants)
		return;
	srv->lock_grants = grants;
	for (struct fuse_server_client *c = srv->clients; c; c = c->next)
		if (c->lock_call)
			answer(c);
}
