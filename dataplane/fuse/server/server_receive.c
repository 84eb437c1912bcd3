/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives the messages of clients. Checks file system requests, and handles the messages of
 * Plenum's own protocol. */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "dataplane/fuse/server/request/server_helper.h"
#include "dataplane/fuse/server/request/server_lock_wait.h"
#include "dataplane/fuse/server/request/server_rdma.h"

/* Handles INTERRUPT: cancels the named request, unless a helper has started that request. A lock
 * request that is retried ends at its next try. */
static void req_interrupt(struct fuse_server_client *c, const struct fuse_in_header *in)
{
	const struct fuse_interrupt_in *arg = (const void *)(in + 1);
	struct fuse_server *srv = c->server;
	struct server_wait w;
	bool found = false;
	void *buf;

	for (struct server_req *q = srv->active; q; q = q->next)
		if (q->mount == c->mount && q->unique == arg->unique && q->helper_call) {
			server_helper_interrupt(q);
			return;
		} else if (q->mount == c->mount && q->unique == arg->unique) {
			/* Check the client too, because a request of an ended session may have the
			 * same number. */
			q->interrupted = true;
			found = true;
		}
	if (found)
		return;
	buf = server_wait_take(c->mount, arg->unique, &w);
	if (!buf)
		return;
	server_req_refuse(srv, w.call, buf, w.len, -EINTR);
	buf_pool_put(&srv->requests, buf);
}

void fuse_server_request(struct fuse_server_client *c, struct rudp_call *call, void *buf,
			 size_t len, uint64_t now_ns)
{
	struct fuse_server *srv = c->server;
	struct fuse_in_header *in = buf;
	struct fuse_server_args args;
	int r;

	launch_stat_add(&srv->stats->requests, 1);
	rudp_call_set_user(call, NULL);
	/* The client of the mount has a newer session, and has sent its unanswered requests there.
	 * So a request of the older session must not be executed: it could be executed twice. */
	if (PLENUM_UNLIKELY(c->number < c->mount->served_by)) {
		server_call_end(call);
		buf_pool_put(&srv->requests, buf);
		return;
	}
	if (len >= sizeof(*in) && in->opcode == FUSE_PROTO_RDMA) {
		server_rdma_ask(c, call, buf, len);
		return;
	}
	if (len >= sizeof(*in) && in->opcode == FUSE_PROTO_RDMA_PING) {
		server_ping_ask(c, call, buf, len);
		return;
	}
	if (len >= sizeof(*in) && in->opcode == FUSE_PROTO_LOCK_WAIT) {
		server_lock_wait(c, call, buf, len);
		return;
	}
	r = fuse_server_check(buf, len, &args);
	if (r == 0 && c->mount->gone)
		r = -EIO;
	if (r < 0) {
		if (r == -EBADMSG)
			launch_stat_add(&srv->stats->request_errors, 1);
		server_req_refuse(srv, call, buf, len, r == -EBADMSG ? -EIO : r);
		buf_pool_put(&srv->requests, buf);
		return;
	}
	if (in->opcode == FUSE_INTERRUPT) {
		req_interrupt(c, in);
		server_call_end(call);
		buf_pool_put(&srv->requests, buf);
		return;
	}
	args.arrived_ns = now_ns;
	if (args.flags & FUSE_PROTO_REQ_BULK && in->opcode == FUSE_WRITE)
		server_fetch(c, call, buf, len, &args);
	else
		server_req_take(c, call, buf, len, &args);
}

void fuse_server_call_cancelled(struct fuse_server_client *c, struct rudp_call *call)
{
	struct server_req *q = rudp_call_user(call);

	if (q) {
		q->call = NULL;
		return;
	}
	server_lock_wait_gone(c, call);
	server_wait_drop(c->server, c, call);
	server_fetch_call_gone(c->server, call);
	server_ping_call_gone(c->server, call);
}
