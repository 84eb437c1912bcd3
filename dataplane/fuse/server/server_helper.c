/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What hands do for requests: a request's call is made up, given away, and comes back with the
 * answer. Apart from the operations, which know nothing of calls that are scarce, of descriptors
 * that must stay open meanwhile, or of the journal.
 */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include <poll.h>
#include <string.h>

#define ROOT_WAIT_MS 10000 /* for the handle of an export's root, at the start */

static unsigned index_of(const struct server_export *e)
{
	return (unsigned)(e - e->back->exports);
}

/* ------------------------------------------------------------------ a request's call */

/* A handle is opened by the hand; what has none is here, and stays for the call. */
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

static void call_drop(struct server_req *q, struct helper_call *call)
{
	call_release(q);
	fs_helper_call_free(q->client->back->hands, call);
}

struct helper_call *server_helper_new(struct server_req *q, enum helper_op op, unsigned i)
{
	struct server_export *e = q->mount->export;
	struct helper_call *call = fs_helper_call_new(e->back->hands, index_of(e));
	int r;

	if (!call) {
		server_req_later(q);
		return NULL;
	}
	r = ref_fill(q, &call->a, i);
	if (r < 0) {
		call_drop(q, call);
		server_reply_err(q, -r);
		return NULL;
	}
	call->op = op;
	call->flags = q->helper_flags;
	call->uid = q->in->uid;
	call->gid = q->in->gid;
	return call;
}

bool server_helper_second(struct server_req *q, struct helper_call *call, unsigned i)
{
	int r = ref_fill(q, &call->b, i);

	if (r < 0) {
		call_drop(q, call);
		server_reply_err(q, -r);
	}
	return r == 0;
}

void server_helper_file(struct server_req *q, struct helper_ref *ref, struct server_file *f)
{
	*ref = (struct helper_ref){.fd = f->fd};
	f->busy++;
	*(q->file ? &q->file2 : &q->file) = f;
}

void server_helper_try(struct server_req *q, struct helper_call *call, enum helpers_lane lane,
		       bool once,
		       void (*then)(struct server_req *q, const struct helper_result *r, int fd))
{
	struct fuse_server *b = q->client->back;

	if (once && q->record) {
		call->record = q->record;
		call->ticket = q->ticket;
		q->submitted = true;
	}
	call->user = q;
	q->hand = call;
	q->then = then;
	b->n_hands++;
	fs_helper_submit(b->hands, call, lane);
}

void server_helper_go(struct server_req *q, struct helper_call *call, enum helpers_lane lane,
		      bool once,
		      void (*then)(struct server_req *q, const struct helper_result *r, int fd))
{
	q->errors_end = true;
	server_helper_try(q, call, lane, once, then);
}

static void req_back(struct server_req *q, const struct helper_result *r, int fd)
{
	bool errors_end = q->errors_end;

	q->hand = NULL;
	q->errors_end = false;
	call_release(q);
	if (r->error == -ECANCELED) {
		/* The record is another's by now, who carries the request out, or has. */
		q->again = true;
		q->record = NULL;
		q->submitted = false;
		server_req_later(q);
	} else if (r->error < 0 && errors_end) {
		if (fd >= 0)
			server_helper_close(q->mount->export, fd);
		server_reply_err(q, -r->error);
	} else {
		q->then(q, r, fd);
	}
}

/* ------------------------------------------------------------------ calls of our own */

void server_helper_close(struct server_export *e, int fd)
{
	struct fuse_server *b = e->back;
	struct helper_call *call = b->ending ? NULL : fs_helper_call_new(b->hands, index_of(e));

	if (!call) {
		close(fd);
		return;
	}
	call->op = HELPER_CLOSE;
	call->a.fd = fd;
	b->n_hands++;
	fs_helper_submit(b->hands, call, HELPERS_SLOW);
}

void server_helper_holds(struct server_export *e)
{
	struct fuse_server *b = e->back;
	struct helper_call *call;

	for (; e->n_again < STATE_HOLDS_MAX; e->n_again++) {
		const struct state_hold *rec = &e->state->holds[e->n_again];

		if (!state_hold_is_used(rec) || rec->len > sizeof(call->a.handle))
			continue;
		call = fs_helper_call_new(b->hands, index_of(e));
		if (!call)
			return; /* the rest when one has come back */
		call->op = HELPER_OPEN_PATH;
		call->a.len = rec->len;
		memcpy(call->a.handle, rec->handle, rec->len);
		b->n_hands++;
		fs_helper_submit(b->hands, call, HELPERS_QUICK);
	}
}

static void own_back(struct fuse_server *b, const struct helper_call *call)
{
	struct server_export *e = &b->exports[call->export_index];

	if (call->op == HELPER_OPEN_PATH && call->fd >= 0) {
		server_hold_anew(e, call->a.handle, call->a.len, call->fd);
		close(call->fd);
	} else if (call->op == HELPER_GETATTR) {
		b->root_error = server_root_known(e, &call->result);
	}
}

static void call_back(void *user, struct helper_call *call)
{
	struct fuse_server *b = user;
	struct helper_result r = call->result;
	struct server_req *q = call->user;
	int fd = call->fd;

	b->n_hands--;
	if (!q)
		own_back(b, call);
	fs_helper_call_free(b->hands, call);
	if (q)
		req_back(q, &r, fd);
}

int server_helpers_poll(struct fuse_server *b, bool may_sleep)
{
	int n = b->n_hands > 0 || may_sleep ? fs_helper_poll(b->hands, may_sleep, call_back, b) : 0;

	for (unsigned i = 0; i < b->n_exports; i++)
		server_helper_holds(&b->exports[i]);
	b->helpers_gone |= n < 0;
	return n;
}

int server_helpers_init(struct fuse_server *b)
{
	struct pollfd p = {.fd = fs_helper_fd(b->hands), .events = POLLIN};
	uint64_t until_ns = clock_now_ns() + ROOT_WAIT_MS * NSEC_PER_MSEC;

	for (unsigned i = 0; i < b->n_exports; i++) {
		struct helper_call *call = fs_helper_call_new(b->hands, i);

		b->exports[i].n_again = STATE_HOLDS_MAX;
		call->op = HELPER_GETATTR;
		call->a.fd = b->exports[i].root_fd;
		b->n_hands++;
		fs_helper_submit(b->hands, call, HELPERS_QUICK);
	}
	while (b->n_hands > 0 && b->root_error == 0) {
		if (server_helpers_poll(b, true) < 0)
			return -EPIPE;
		if (clock_now_ns() > until_ns)
			return -ETIMEDOUT;
		if (b->n_hands > 0)
			poll(&p, 1, 100);
	}
	/* Nobody sleeps from here on, for a worker that polls never says so. */
	if (fs_helper_poll(b->hands, false, call_back, b) < 0)
		return -EPIPE;
	return b->root_error;
}
