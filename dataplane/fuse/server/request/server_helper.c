/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls to the I/O helpers: makes a call for a request, submits it and continues the request with
 * the result. This file also queues requests while no call is free, keeps descriptors open during a
 * call, and submits the journal record with the call, so that the operations need not.
 */
#include "dataplane/fuse/server/request/server_helper.h"
#include "dataplane/fuse/server/objects/server_background.h"
#include "dataplane/fuse/server/objects/server_node.h"
#include "dataplane/fuse/server/objects/server_pin.h"
#include "dataplane/fuse/server/request/server_fair.h"
#include "dataplane/fuse/server/request/server_reply.h"
#include "dataplane/fuse/server/request/server_request.h"
#include "dataplane/fuse/server/request/server_steps.h"
#include <poll.h>
#include <string.h>

/* How long the server waits, at its start, for the helpers to report the handles of the exports'
 * roots. */
#define ROOT_WAIT_MS 10000

/* ------------------------------------------------------------------ a request's call */

/* Describes the request's i-th object for the helper, which opens the object by its handle. For an
 * object without a file handle, passes the descriptor of its node, which stays open during the
 * call. */
static int ref_fill(struct server_req *q, struct helper_ref *ref, unsigned i)
{
	const uint8_t *handle = q->args.handles[i].bytes;
	struct server_node *n;

	if (handle[0] == FUSE_HANDLE_FILE) {
		ref->len = q->args.handles[i].len;
		memcpy(ref->handle, handle, ref->len);
		return 0;
	}
	n = server_req_node(q, i);
	if (!n)
		return -ESTALE;
	server_node_ref(n);
	q->pins[i] = n;
	ref->fd = n->fd;
	return 0;
}

static void call_release(struct server_req *q)
{
	for (unsigned i = 0; i < ARRAY_SIZE(q->pins); i++) {
		if (q->pins[i])
			server_node_put(q->pins[i]);
		q->pins[i] = NULL;
	}
}

void server_helper_drop(struct server_req *q, struct helper_call *call)
{
	call_release(q);
	q->client->from->n_calls[server_export_index(q->mount->export)]--;
	fs_helper_call_free(q->client->server->helpers, call);
}

struct helper_call *server_helper_call(struct server_req *q, enum helper_op op, unsigned i)
{
	struct server_export *e = q->mount->export;
	const struct fuse_rights *rights = &q->client->rights;
	struct helper_call *call = server_fair_call(q);
	int r;

	if (!call) {
		server_fair_wait(q);
		return NULL;
	}
	r = ref_fill(q, &call->a, i);
	if (r < 0) {
		server_helper_drop(q, call);
		server_reply_err(q, -r);
		return NULL;
	}
	call->op = op;
	call->flags = q->helper_flags;
	call->uid = q->in->uid;
	call->gid = q->in->gid;
	call->first_gids = (uint32_t)(rights->gids - e->server->cfg->ids);
	call->n_gids = rights->n_gids;
	return call;
}

bool server_helper_add_object(struct server_req *q, struct helper_call *call, unsigned i)
{
	int r = ref_fill(q, &call->b, i);

	if (r < 0) {
		server_helper_drop(q, call);
		server_reply_err(q, -r);
	}
	return r == 0;
}

void server_helper_use_file(struct server_req *q, struct helper_ref *ref, struct server_file *f)
{
	*ref = (struct helper_ref){.fd = f->fd};
	f->busy++;
	*(q->file ? &q->file2 : &q->file) = f;
}

void server_helper_submit_raw(struct server_req *q, struct helper_call *call,
			      enum helpers_queue queue, bool once,
			      void (*then)(struct server_req *q, const struct helper_result *r,
					   int fd))
{
	if (once && q->record) {
		call->record = q->record;
		call->ticket = q->ticket;
		q->submitted = true;
	}
	call->user = q;
	q->helper_call = call;
	q->then = then;
	server_fair_submit(q, queue);
}

void server_helper_submit(struct server_req *q, struct helper_call *call, enum helpers_queue queue,
			  bool once,
			  void (*then)(struct server_req *q, const struct helper_result *r, int fd))
{
	q->errors_end = true;
	server_helper_submit_raw(q, call, queue, once, then);
}

/* Handles the error that no descriptor is free: the worker and its helpers share one table of
 * descriptors. Closes cached descriptors, and returns whether to retry the request. Each request is
 * retried only once. */
static bool frees_descriptors(struct server_req *q, int error)
{
	if ((error != -EMFILE && error != -ENFILE) || q->freed_descriptors || q->file)
		return false;
	q->freed_descriptors = true;
	server_nodes_shrink(q->client->server);
	return true;
}

static void req_back(struct server_req *q, const struct helper_result *r, int fd)
{
	bool errors_end = q->errors_end;

	q->helper_call = NULL;
	q->errors_end = false;
	call_release(q);
	if (frees_descriptors(q, r->error)) {
		/* The helper has made no change and has given back the journal record, so retry. */
		q->submitted = false;
		server_req_requeue(q);
	} else if (r->error == -ECANCELED) {
		/* Another process owns the journal record now, and executes the request or has
		 * executed it. */
		q->resent = true;
		q->record = NULL;
		q->submitted = false;
		server_req_requeue(q);
	} else if (r->error < 0 && errors_end) {
		if (fd >= 0)
			server_helper_close(q->mount->export, fd);
		server_reply_err(q, -r->error);
	} else {
		q->then(q, r, fd);
	}
}

/* ------------------------------------------------------------------ calls without a request */

static void own_back(struct fuse_server *srv, const struct helper_call *call)
{
	struct server_export *e = &srv->exports[call->export_index];

	if (call->op == HELPER_OPEN_PATH && call->fd >= 0) {
		if (server_pin_is_unclaimed(e, call->a.handle, call->a.len))
			e->pins_bytes += call->result.attr.blocks * 512;
		server_pin_again(e, call->a.handle, call->a.len, call->fd);
		close(call->fd);
	} else if (call->op == HELPER_GETATTR) {
		srv->root_error = server_root_init(e, &call->result);
	}
}

/* Continues the request with the result of its call. */
static void call_end(struct fuse_server *srv, struct server_req *q, struct helper_call *call)
{
	struct helper_result r = call->result;
	int fd = call->fd;

	srv->n_helper_calls--;
	fs_helper_call_free(srv->helpers, call);
	q->client->from->n_calls[server_export_index(q->mount->export)]--;
	req_back(q, &r, fd);
}

static bool is_listing(const struct server_req *q)
{
	return q->in->opcode == FUSE_READDIRPLUS || q->in->opcode == FUSE_READDIR;
}

static void listing_begin(struct server_req *q)
{
	call_end(q->client->server, q, q->helper_call);
}

static void call_back(void *user, struct helper_call *call)
{
	struct fuse_server *srv = user;
	struct server_req *q = call->user;

	if (!q) {
		srv->n_helper_calls--;
		own_back(srv, call);
		fs_helper_call_free(srv->helpers, call);
		return;
	}
	server_fair_returned(q);
	/* Make the reply to a listing in steps, because that takes long. */
	if (is_listing(q))
		server_steps_add(q, listing_begin);
	else
		call_end(srv, q, call);
}

void server_helper_interrupt(struct server_req *q)
{
	const struct helper_result interrupted = {.error = -EINTR};
	struct helper_call *call = q->helper_call;

	if (!server_fair_take(q)) {
		fs_helper_interrupt(q->client->server->helpers, call);
		return;
	}
	/* No helper has started the call, so server_req_finish() must free the request's journal
	 * record. */
	q->submitted = false;
	server_helper_drop(q, call);
	req_back(q, &interrupted, -1);
}

int server_helpers_poll(struct fuse_server *srv, bool may_sleep)
{
	int n = srv->n_helper_calls > 0 || may_sleep
			? fs_helper_poll(srv->helpers, may_sleep, call_back, srv)
			: 0;

	for (unsigned i = 0; i < srv->n_exports; i++)
		server_helper_repin(&srv->exports[i]);
	srv->helpers_ended |= n < 0;
	return n < 0 ? n : n;
}

int server_helpers_init(struct fuse_server *srv)
{
	struct pollfd p = {.fd = fs_helper_fd(srv->helpers), .events = POLLIN};
	uint64_t until_ns = clock_now_ns() + ROOT_WAIT_MS * NSEC_PER_MSEC;

	for (unsigned i = 0; i < srv->n_exports; i++) {
		struct helper_call *call = fs_helper_call_new(srv->helpers, i);

		srv->exports[i].repin_next = STATE_PINS_MAX;
		call->op = HELPER_GETATTR;
		call->a.fd = srv->exports[i].root_fd;
		srv->n_helper_calls++;
		fs_helper_submit(srv->helpers, call, HELPERS_QUICK);
	}
	while (srv->n_helper_calls > 0 && srv->root_error == 0) {
		if (server_helpers_poll(srv, true) < 0)
			return -EPIPE;
		if (clock_now_ns() > until_ns)
			return -ETIMEDOUT;
		if (srv->n_helper_calls > 0)
			poll(&p, 1, 100);
	}
	/* Call this even without results, because it also clears fs_helper.worker_sleeps. A worker
	 * that always polls would otherwise never clear it. */
	if (fs_helper_poll(srv->helpers, false, call_back, srv) < 0)
		return -EPIPE;
	return srv->root_error;
}
