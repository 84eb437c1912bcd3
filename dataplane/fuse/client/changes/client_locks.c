/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lock requests of a mount whose locks the server manages. If the server cannot grant a
 * blocking request at once, the request leaves its slot and waits in a table here. The server
 * reports all grants as the answer to one call that is always in flight (FUSE_PROTO_LOCK_WAIT).
 * After the loss of a session, the client sends the waiting requests again; the server at once
 * grants those whose locks it has assigned in the meantime.
 */
#include "dataplane/fuse/client/changes/client_changes.h"
#include "netcfg/base/log.h"

#include <fcntl.h>
#include <string.h>

#define ARG_AT sizeof(struct fuse_in_header)
#define RETRY_NS (100 * NSEC_PER_MSEC)
#define UNIQUE_MASK (~FUSE_PROTO_UNIQUE_RESEND)

static void lk_get(const void *req, struct fuse_lk_in *ret)
{
	memcpy(ret, (const uint8_t *)req + ARG_AT, sizeof(*ret));
}

/* ------------------------------------------------------------------ waiting requests */

static struct client_lock_wait *wait_find(struct fuse_client *f, uint64_t unique)
{
	for (unsigned i = 0; i < f->locks.n_waits; i++)
		if ((f->locks.waits[i].unique & UNIQUE_MASK) == (unique & UNIQUE_MASK))
			return &f->locks.waits[i];
	return NULL;
}

static void wait_todo(struct fuse_client *f)
{
	f->locks.n_todo = 0;
	for (unsigned i = 0; i < f->locks.n_waits; i++) {
		const struct client_lock_wait *w = &f->locks.waits[i];

		f->locks.n_todo += w->repeat || (w->cancel && !w->cancel_sent);
	}
	f->flush_wanted |= f->locks.n_todo > 0;
}

static void wait_remove(struct fuse_client *f, struct client_lock_wait *w)
{
	*w = f->locks.waits[--f->locks.n_waits];
}

/* Call when a program gets a lock: the program must see what other programs have written under
 * their locks. The kernel does not cache data on such mounts, but it caches attributes, so this
 * function invalidates the attributes. */
static void lock_got(struct fuse_client *f, uint64_t nodeid)
{
	struct client_node *node = client_node_get(&f->nodes, nodeid);
	struct {
		struct fuse_out_header out;
		struct fuse_notify_inval_inode_out inval;
	} notice = {.out = {.len = sizeof(notice), .error = FUSE_NOTIFY_INVAL_INODE},
		    .inval = {.ino = nodeid, .off = -1}}; /* invalidates only attributes, so the
							     kernel does not wait for pages */

	f->locks.n_grants++;
	if (!node)
		return;
	client_publish(&node->flags, node->flags | CLIENT_NODE_LOCKED);
	client_shown_note(f, nodeid);
	client_cache_written_drop(&f->cache, node);
	client_cache_created_drop(&f->cache, node);
	client_cache_kernel_valid_drop(&f->cache, node);
	(void)client_reply(f, &notice, sizeof(notice));
}

static void wait_end(struct fuse_client *f, struct client_lock_wait *w, int error)
{
	struct fuse_in_header in;
	const uint64_t unique = w->unique;
	uint8_t req[CLIENT_LOCK_REQ_BYTES];

	memcpy(&in, w->req, sizeof(in));
	memcpy(req, w->req, sizeof(req));
	wait_remove(f, w);
	client_locks_note(f, NULL, req, error, in.unique & FUSE_PROTO_UNIQUE_RESEND);
	if (error == 0)
		lock_got(f, in.nodeid);
	(void)client_reply_error(f, unique, error);
}

/* Moves the slot's request into the table. */
static void wait_add(struct fuse_client *f, struct client_slot *s)
{
	struct client_lock_wait *w = &f->locks.waits[f->locks.n_waits++];

	*w = (struct client_lock_wait){.unique = s->unique, .cancel = s->interrupted};
	memcpy(w->req, s->req, sizeof(w->req));
	/* The request in the slot has the server's file handle, which the server may change in the
	 * next session. So store the kernel's handle instead. */
	memcpy(w->req + s->refs.fh_at[0], &s->refs.fhs[0], sizeof(s->refs.fhs[0]));
	client_slot_free(f, s);
	wait_todo(f);
	f->flush_wanted = true;
}

bool client_locks_interrupt(struct fuse_client *f, uint64_t unique)
{
	struct client_lock_wait *w = wait_find(f, unique);

	if (!w)
		return false;
	w->cancel = true;
	wait_todo(f);
	return true;
}

void client_locks_cancelled(struct fuse_client *f, const struct client_slot *s, const void *msg,
			    size_t len)
{
	struct client_lock_wait *w;
	struct fuse_out_header out;
	struct fuse_lk_in in;

	lk_get(s->req, &in);
	w = wait_find(f, in.owner);
	if (!w || !w->cancel_sent)
		return;
	w->cancel_sent = false;
	if (!msg || len < sizeof(out)) {
		wait_todo(f);
		return;
	}
	memcpy(&out, msg, sizeof(out));
	if (out.error == 0)
		wait_end(f, w, -EINTR);
	else if (out.error == -ENOENT) /* the server had granted the lock before the cancellation
					  arrived */
		wait_end(f, w, 0);
	wait_todo(f);
}

/* ------------------------------------------------------------------ requests of the kernel */

/* Returns whether the server can serve this mount's lock requests. If not, the client fails lock
 * requests: otherwise a program could believe that its lock excludes programs on other clients. */
static bool can_serve(struct fuse_client *f)
{
	const char *why = NULL;

	if (!(f->state.head->flags & FUSE_PROTO_HAS_RESEND))
		why = "this host's kernel is older than Linux 6.9";
	else if (f->link == CLIENT_READY && !(f->features & FUSE_PROTO_FEATURE_LOCKS))
		why = "the server does not support cluster locks; upgrade Plenum on the server";
	if (why && !f->locks.refused)
		log_warning("%s: cluster locks fail with ENOLCK: %s", f->mount->path, why);
	f->locks.refused |= why != NULL;
	return !why;
}

/* Prepares the request for the server. Returns true if the client has answered it. */
static bool lock_take(struct fuse_client *f, const struct fuse_in_header *in, size_t n)
{
	struct client_node *node = client_node_get(&f->nodes, in->nodeid);
	struct client_locks *l = &f->locks;
	struct client_file *file;
	struct fuse_lk_in lk;

	if (n < CLIENT_LOCK_REQ_BYTES)
		return false;
	lk_get(f->request, &lk);
	file = client_file_get(&f->files, lk.fh);
	if (!node || !file)
		return false;
	lk.padding = client_file_index(&f->files, file) + 1;
	memcpy(f->request + ARG_AT, &lk, sizeof(lk));
	if (in->opcode == FUSE_GETLK || lk.lk.type == F_UNLCK)
		return false;
	if (!l->waits)
		l->waits = calloc(CLIENT_LOCK_WAITS_MAX + CLIENT_SLOTS, sizeof(*l->waits));
	if (!l->waits || (in->opcode == FUSE_SETLKW && l->n_waits >= CLIENT_LOCK_WAITS_MAX)) {
		client_reply_error(f, in->unique, -ENOLCK);
		return true;
	}
	if (!(file->flags & CLIENT_FILE_LOST)) {
		client_publish(&file->flags, file->flags | CLIENT_FILE_LOCKED);
		client_publish(&node->flags, node->flags | CLIENT_NODE_LOCKED);
	}
	return false;
}

/* Handles a request of a mount without cluster locks. With write-back, the close of a file reports
 * errors of earlier writes. */
static bool unlocked_take(struct fuse_client *f, const struct fuse_in_header *in, size_t n)
{
	const struct client_node *node = client_node_get(&f->nodes, in->nodeid);
	struct fuse_flush_in flush = {.fh = 0};

	if (in->opcode != FUSE_FLUSH) {
		client_reply_error(f, in->unique, -ENOLCK);
		return true;
	}
	memcpy(&flush, f->request + ARG_AT, MIN_OF(n - ARG_AT, sizeof(flush)));
	if (client_write_back_waits_at_close(f, node, client_file_get(&f->files, flush.fh)))
		return false;
	if (client_write_back_is_wanted(f) && f->state.head->kernel & CLIENT_KERNEL_FLUSHES) {
		client_reply_error(f, in->unique, 0);
		return true;
	}
	/* The reply ENOSYS makes the kernel stop sending FLUSH requests. Record this in the mount's
	 * state before the reply. */
	f->state.head->kernel &= ~(uint32_t)CLIENT_KERNEL_FLUSHES;
	client_reply_error(f, in->unique, -ENOSYS);
	return true;
}

static bool locks_take(struct fuse_client *f, const struct fuse_in_header *in, size_t n,
		       uint64_t now_ns)
{
	const struct client_node *node = client_node_get(&f->nodes, in->nodeid);
	const bool flush = in->opcode == FUSE_FLUSH;

	(void)now_ns;
	if (!client_locks_wanted(f))
		return unlocked_take(f, in, n);
	if (flush) {
		if (node && node->flags & CLIENT_NODE_LOCKED)
			return false;
		client_reply_error(f, in->unique, 0);
		return true;
	}
	if (can_serve(f))
		return lock_take(f, in, n);
	client_reply_error(f, in->unique, -ENOLCK);
	return true;
}

static int locks_holds(struct fuse_client *f, struct client_slot *s)
{
	if (f->features & FUSE_PROTO_FEATURE_LOCKS)
		return 0;
	switch (s->opcode) {
	case FUSE_GETLK:
	case FUSE_SETLK:
	case FUSE_SETLKW:
		return can_serve(f) ? 0 : -ENOLCK;
	default:
		return 0;
	}
}

/* ------------------------------------------------------------------ answers */

/* Returns whether no other lock request for the node is in flight, and no lock request of the mount
 * waits. */
static bool is_alone(const struct fuse_client *f, const struct client_slot *s)
{
	for (unsigned i = 0; i < CLIENT_SLOTS; i++) {
		const struct client_slot *o = &f->slots[i];

		if (o != s && o->state != CLIENT_SLOT_FREE && o->nodes[0] == s->nodes[0] &&
		    (o->opcode == FUSE_SETLK || o->opcode == FUSE_SETLKW))
			return false;
	}
	return f->locks.n_waits == 0;
}

static bool locks(const struct client_slot *s)
{
	struct fuse_lk_in lk;

	if (s->opcode != FUSE_SETLK && s->opcode != FUSE_SETLKW)
		return false;
	lk_get(s->req, &lk);
	return lk.lk.type != F_UNLCK;
}

static void closed(struct fuse_client *f, const struct client_slot *s)
{
	struct fuse_flush_in in;
	struct client_file *file;

	memcpy(&in, s->req + ARG_AT, sizeof(in));
	file = in.unused & FUSE_PROTO_FLUSH_OPENER ? client_file_get(&f->files, in.fh) : NULL;
	if (file && !(file->flags & CLIENT_FILE_CLOSING)) {
		if (f->files.n_closing == 0)
			f->closing_ns = f->clock_ns();
		client_file_close(&f->files, file);
	}
}

static void unlocked(struct fuse_client *f, struct client_node *node)
{
	client_publish(&node->flags, node->flags & ~CLIENT_NODE_LOCKED);
	client_ledger_drop_node(&f->locks.ledger, client_node_id(&f->nodes, node));
}

void client_locks_fail(struct fuse_client *f, struct client_slot *s, int error)
{
	if (s->opcode == FUSE_FLUSH)
		closed(f, s);
	client_locks_note(f, s, s->req, error, true);
	client_slot_fail(f, s, error);
}

void client_locks_fail_waits(struct fuse_client *f, int error)
{
	while (f->locks.n_waits > 0) {
		launch_stat_add(&f->stats->request_errors, 1);
		wait_end(f, &f->locks.waits[f->locks.n_waits - 1], error);
	}
	wait_todo(f);
}

bool client_locks_answer(struct fuse_client *f, struct client_slot *s,
			 const struct client_answer *a)
{
	struct client_node *node = s->nodes[0];

	if (s->opcode == FUSE_FLUSH)
		closed(f, s);
	/* This server manages no locks. Reply success instead of ENOSYS: after ENOSYS the kernel
	 * would never send FLUSH again, not even to another server. */
	if (s->opcode == FUSE_FLUSH && a->out.error == -ENOSYS) {
		client_slot_fail(f, s, 0);
		return true;
	}
	if (locks(s) && a->out.error == -EINPROGRESS && s->opcode == FUSE_SETLKW) {
		if (!s->lock_granted) {
			wait_add(f, s);
			return true;
		}
		client_locks_note(f, s, s->req, 0, client_slot_is_resent(s));
		lock_got(f, s->refs.nodeids[0]); /* the report of the grant arrived before this
						    answer */
		client_slot_fail(f, s, 0);
		return true;
	}
	client_locks_note(f, s, s->req, a->out.error, client_slot_is_resent(s));
	if (a->out.error != 0)
		return false;
	if (locks(s))
		lock_got(f, s->refs.nodeids[0]);
	/* If the server has granted a lock since the request was sent, this answer may be older
	 * than the grant and must be ignored. */
	else if (a->is_unlocked && s->n_grants == f->locks.n_grants && is_alone(f, s))
		unlocked(f, node);
	return false;
}

/* Handles the answer to FUSE_PROTO_LOCK_WAIT: replies to the requests whose locks the server has
 * granted. If such a request is still in its slot, its own answer is on the way, so only sets
 * lock_granted of the slot. */
static void granted(struct fuse_client *f, const void *msg, size_t len, uint64_t now_ns)
{
	struct fuse_out_header out = {.error = -EIO};
	uint64_t unique;

	f->locks.asked = false;
	if (len >= sizeof(out))
		memcpy(&out, msg, sizeof(out));
	if (out.error != 0)
		f->locks.retry_ns = now_ns + RETRY_NS;
	for (size_t at = sizeof(out); out.error == 0 && at + sizeof(unique) <= len;
	     at += sizeof(unique)) {
		struct client_lock_wait *w;
		struct client_slot *s;

		memcpy(&unique, (const uint8_t *)msg + at, sizeof(unique));
		w = wait_find(f, unique);
		s = w ? NULL : client_slot_find(f, unique);
		if (w)
			wait_end(f, w, 0);
		else if (s && s->opcode == FUSE_SETLKW)
			s->lock_granted = true;
	}
	wait_todo(f);
	f->flush_wanted = true;
}

/* ------------------------------------------------------------------ sending */

/* Sends the waiting request again. Returns false if no slot is free. */
static bool repeat(struct fuse_client *f, struct client_lock_wait *w, uint64_t now_ns)
{
	struct fuse_in_header in;
	struct client_slot *s;
	int e;

	memcpy(&in, w->req, sizeof(in));
	in.unique = w->unique | FUSE_PROTO_UNIQUE_RESEND;
	memcpy(w->req, &in, sizeof(in));
	if (!client_has_room(f))
		return false;
	f->request = w->req;
	s = client_slot_take(f, sizeof(w->req), now_ns);
	f->request = f->read_buf;
	if (!s)
		return false;
	e = client_request_bind(f, s);
	s->unique = w->unique; /* the number of the kernel's request, which the reply needs */
	s->resent = true;
	if (w->cancel) {
		s->interrupted = true;
		f->n_interrupted++;
	}
	wait_remove(f, w);
	if (e < 0)
		client_slot_fail(f, s, e);
	else
		client_slot_queue(f, s);
	return true;
}

/* Returns the oldest request that must be sent again. The kernel numbers its requests in increasing
 * order. */
static struct client_lock_wait *first_to_repeat(struct client_locks *l)
{
	struct client_lock_wait *first = NULL;

	for (unsigned i = 0; i < l->n_waits; i++)
		if (l->waits[i].repeat &&
		    (!first || (l->waits[i].unique & UNIQUE_MASK) < (first->unique & UNIQUE_MASK)))
			first = &l->waits[i];
	return first;
}

static void cancel(struct fuse_client *f, struct client_lock_wait *w)
{
	struct fuse_lk_in lk = {.owner = w->unique & UNIQUE_MASK, .lk_flags = FUSE_PROTO_LK_CANCEL};
	struct client_node *node;
	struct fuse_in_header in;

	memcpy(&in, w->req, sizeof(in));
	node = client_node_get(&f->nodes, in.nodeid);
	if (node)
		w->cancel_sent = client_internal_ask(f, CLIENT_SLOT_LOCK_CANCEL, FUSE_SETLKW, node,
						     &lk, sizeof(lk));
}

static void locks_flush(struct fuse_client *f, uint64_t now_ns)
{
	struct client_locks *l = &f->locks;

	if (l->n_todo > 0) {
		struct client_lock_wait *next = first_to_repeat(l);

		while (next && repeat(f, next, now_ns))
			next = first_to_repeat(l);
		for (unsigned i = 0; i < l->n_waits; i++) {
			struct client_lock_wait *w = &l->waits[i];

			if (!w->repeat && w->cancel && !w->cancel_sent)
				cancel(f, w);
		}
		wait_todo(f);
	}
	if (l->n_waits == 0 || l->asked || now_ns < l->retry_ns)
		return;
	l->msg = (struct fuse_in_header){.len = sizeof(l->msg), .opcode = FUSE_PROTO_LOCK_WAIT};
	l->asked = rudp_call_send(f->session, &l->msg, sizeof(l->msg), CLIENT_COOKIE_LOCKS) == 0;
}

static uint64_t locks_due(struct fuse_client *f, uint64_t now_ns)
{
	const struct client_locks *l = &f->locks;

	return f->link == CLIENT_READY && (l->n_todo > 0 || (l->n_waits > 0 && !l->asked))
		       ? now_ns + 10 * NSEC_PER_MSEC
		       : UINT64_MAX;
}

static void locks_down(struct fuse_client *f, uint64_t now_ns)
{
	(void)now_ns;
	f->locks.asked = false;
	f->locks.reclaim = CLIENT_RECLAIM_NONE;
	for (unsigned i = 0; i < f->locks.n_waits; i++) {
		f->locks.waits[i].repeat = true;
		f->locks.waits[i].cancel_sent = false;
	}
	wait_todo(f);
}

/* All requests that the kernel has resent are read. */
static void locks_drained(struct fuse_client *f)
{
	if (PLENUM_LIKELY(!f->locks.unread))
		return;
	f->locks.unread = false;
	f->flush_wanted = true;
}

static void locks_done(struct fuse_client *f)
{
	free(ptr_take(f->locks.waits));
	client_ledger_done(&f->locks.ledger);
}

static int locks_init(struct fuse_client *f)
{
	return f->mount_worker_number == 0 && client_locks_wanted(f) ? client_locks_adopt(f) : 0;
}

const struct client_stage client_locks_stage = {
	.init = locks_init,
	.done = locks_done,
	.drained = locks_drained,
	.begin = client_locks_reclaim,
	.opcodes = CLIENT_STAGE_OPCODE(FUSE_GETLK) | CLIENT_STAGE_OPCODE(FUSE_SETLK) |
		   CLIENT_STAGE_OPCODE(FUSE_SETLKW) | CLIENT_STAGE_OPCODE(FUSE_FLUSH),
	.take = locks_take,
	.holds = locks_holds,
	.cookie = CLIENT_COOKIE_LOCKS,
	.resp_at = offsetof(struct fuse_client, locks.resp),
	.resp_bytes = sizeof(((struct fuse_client *)0)->locks.resp),
	.is_background = true,
	.answer = granted,
	.flush = locks_flush,
	.due = locks_due,
	.down = locks_down,
};
