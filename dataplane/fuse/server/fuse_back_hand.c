/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What hands do for requests: a request's call is made up, given away, and comes back with the
 * answer. Apart from the operations, which know nothing of calls that are scarce, of descriptors
 * that must stay open meanwhile, or of the journal.
 */
#include "dataplane/fuse/server/fuse_back_internal.h"
#include <poll.h>
#include <string.h>

#define ROOT_WAIT_MS 10000 /* for the handle of an export's root, at the start */

static unsigned index_of(const struct back_export *e)
{
	return (unsigned)(e - e->back->exports);
}

/* ------------------------------------------------------------------ a request's call */

/* A handle is opened by the hand; what has none is here, and stays for the call. */
static int ref_fill(struct back_req *q, struct hand_ref *ref, unsigned i)
{
	const uint8_t *handle = q->args.handles[i].bytes;
	struct back_node *n;

	if (handle[0] == FUSE_HANDLE_FILE) {
		ref->len = q->args.handles[i].len;
		memcpy(ref->handle, handle, ref->len);
		return 0;
	}
	n = back_req_node(q, i);
	if (!n)
		return -ESTALE;
	back_node_ref(n);
	q->pins[i] = n;
	ref->fd = n->fd;
	return 0;
}

static void call_release(struct back_req *q)
{
	for (unsigned i = 0; i < ARRAY_SIZE(q->pins); i++) {
		if (q->pins[i])
			back_node_put(q->pins[i]);
		q->pins[i] = NULL;
	}
}

static void call_drop(struct back_req *q, struct hand_call *call)
{
	call_release(q);
	fuse_hands_call_free(q->client->back->hands, call);
}

struct hand_call *back_hand_new(struct back_req *q, enum hand_op op, unsigned i)
{
	struct back_export *e = q->mount->export;
	struct hand_call *call = fuse_hands_call_new(e->back->hands, index_of(e));
	int r;

	if (!call) {
		back_req_later(q);
		return NULL;
	}
	r = ref_fill(q, &call->a, i);
	if (r < 0) {
		call_drop(q, call);
		back_reply_err(q, -r);
		return NULL;
	}
	call->op = op;
	call->flags = q->hand_flags;
	call->uid = q->in->uid;
	call->gid = q->in->gid;
	return call;
}

bool back_hand_second(struct back_req *q, struct hand_call *call, unsigned i)
{
	int r = ref_fill(q, &call->b, i);

	if (r < 0) {
		call_drop(q, call);
		back_reply_err(q, -r);
	}
	return r == 0;
}

void back_hand_file(struct back_req *q, struct hand_ref *ref, struct back_file *f)
{
	*ref = (struct hand_ref){.fd = f->fd};
	f->busy++;
	*(q->file ? &q->file2 : &q->file) = f;
}

void back_hand_try(struct back_req *q, struct hand_call *call, enum hands_lane lane, bool once,
		   void (*then)(struct back_req *q, const struct hand_result *r, int fd))
{
	struct fuse_back *b = q->client->back;

	if (once && q->record) {
		call->record = q->record;
		call->ticket = q->ticket;
		q->submitted = true;
	}
	call->user = q;
	q->hand = call;
	q->then = then;
	b->n_hands++;
	fuse_hands_submit(b->hands, call, lane);
}

void back_hand_go(struct back_req *q, struct hand_call *call, enum hands_lane lane, bool once,
		  void (*then)(struct back_req *q, const struct hand_result *r, int fd))
{
	q->errors_end = true;
	back_hand_try(q, call, lane, once, then);
}

static void req_back(struct back_req *q, const struct hand_result *r, int fd)
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
		back_req_later(q);
	} else if (r->error < 0 && errors_end) {
		if (fd >= 0)
			back_hand_close(q->mount->export, fd);
		back_reply_err(q, -r->error);
	} else {
		q->then(q, r, fd);
	}
}

/* ------------------------------------------------------------------ calls of our own */

void back_hand_close(struct back_export *e, int fd)
{
	struct fuse_back *b = e->back;
	struct hand_call *call = b->ending ? NULL : fuse_hands_call_new(b->hands, index_of(e));

	if (!call) {
		close(fd);
		return;
	}
	call->op = HAND_CLOSE;
	call->a.fd = fd;
	b->n_hands++;
	fuse_hands_submit(b->hands, call, HANDS_SLOW);
}

void back_hand_holds(struct back_export *e)
{
	struct fuse_back *b = e->back;
	struct hand_call *call;

	for (; e->n_again < STATE_HOLDS_MAX; e->n_again++) {
		const struct state_hold *rec = &e->state->holds[e->n_again];

		if (!state_hold_is_used(rec) || rec->len > sizeof(call->a.handle))
			continue;
		call = fuse_hands_call_new(b->hands, index_of(e));
		if (!call)
			return; /* the rest when one has come back */
		call->op = HAND_OPEN_PATH;
		call->a.len = rec->len;
		memcpy(call->a.handle, rec->handle, rec->len);
		b->n_hands++;
		fuse_hands_submit(b->hands, call, HANDS_QUICK);
	}
}

static void own_back(struct fuse_back *b, const struct hand_call *call)
{
	struct back_export *e = &b->exports[call->export_index];

	if (call->op == HAND_OPEN_PATH && call->fd >= 0) {
		back_hold_anew(e, call->a.handle, call->a.len, call->fd);
		close(call->fd);
	} else if (call->op == HAND_GETATTR) {
		b->root_error = back_root_known(e, &call->result);
	}
}

static void call_back(void *user, struct hand_call *call)
{
	struct fuse_back *b = user;
	struct hand_result r = call->result;
	struct back_req *q = call->user;
	int fd = call->fd;

	b->n_hands--;
	if (!q)
		own_back(b, call);
	fuse_hands_call_free(b->hands, call);
	if (q)
		req_back(q, &r, fd);
}

int back_hands_poll(struct fuse_back *b, bool may_sleep)
{
	int n = b->n_hands > 0 || may_sleep ? fuse_hands_poll(b->hands, may_sleep, call_back, b)
					    : 0;

	for (unsigned i = 0; i < b->n_exports; i++)
		back_hand_holds(&b->exports[i]);
	b->hands_gone |= n < 0;
	return n;
}

int back_hands_init(struct fuse_back *b)
{
	struct pollfd p = {.fd = fuse_hands_fd(b->hands), .events = POLLIN};
	uint64_t until_ns = clock_now_ns() + ROOT_WAIT_MS * NSEC_PER_MSEC;

	for (unsigned i = 0; i < b->n_exports; i++) {
		struct hand_call *call = fuse_hands_call_new(b->hands, i);

		b->exports[i].n_again = STATE_HOLDS_MAX;
		call->op = HAND_GETATTR;
		call->a.fd = b->exports[i].root_fd;
		b->n_hands++;
		fuse_hands_submit(b->hands, call, HANDS_QUICK);
	}
	while (b->n_hands > 0 && b->root_error == 0) {
		if (back_hands_poll(b, true) < 0)
			return -EPIPE;
		if (clock_now_ns() > until_ns)
			return -ETIMEDOUT;
		if (b->n_hands > 0)
			poll(&p, 1, 100);
	}
	/* Nobody sleeps from here on, for a worker that polls never says so. */
	if (fuse_hands_poll(b->hands, false, call_back, b) < 0)
		return -EPIPE;
	return b->root_error;
}
