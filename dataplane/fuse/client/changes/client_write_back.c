/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Write-back: gathers small consecutive writes of a program, so that one request to the server
 * carries many of them. The first writes go to the server. If they follow each other closely, a
 * WRITE asks the server for the lease of the file. While a client has the lease, requests of other
 * clients that would return or change the file's data or attributes wait at the server. So the
 * client can answer further small writes at once and keep their data. It sends the data when a
 * buffer is full, after some milliseconds, and before any other request that would show the file or
 * depend on it. It returns the lease after the same time, so the server need not ask for it.
 *
 * Held data and the number of the lease are in the mount's state, so that a successor sends them
 * before anything else. The server writes held data only while the lease lasts. Errors are kept
 * with the open file, and reported by its next write, fsync or close.
 */
#include "dataplane/fuse/client/client_write_back.h"
#include "dataplane/fuse/client/changes/client_changes.h"
#include "netcfg/base/log.h"

#include <fcntl.h>
#include <string.h>

/* How long the client holds data, and how long it keeps a lease. */
#define WRITE_BACK_NS (20 * NSEC_PER_MSEC)
/* Writes up to this size are held. */
#define WRITE_BACK_BYTES (32U << 10)
/* The client asks for a lease if a write follows the write before it within this time. */
#define WRITE_BACK_CLOSE_NS (2 * NSEC_PER_MSEC)
/* If the grant arrives later than this after the request, the client returns the lease at once. */
#define WRITE_BACK_ANSWER_NS NSEC_PER_SEC
#define WRITE_BACK_RETRY_NS (10 * NSEC_PER_MSEC)
/* The lowest bit of the error that client_file.flags contains. */
#define ERROR_SHIFT 16

static bool write_back_is_on(const struct fuse_client *f)
{
	return !f->area && (client_write_back_is_wanted(f) || f->write_back.adopted);
}

static unsigned index_of(const struct fuse_client *f, const struct client_write_back_file *w)
{
	return (unsigned)(w - f->write_back.files);
}

static void file_end(struct fuse_client *f, struct client_write_back_file *w)
{
	client_held_end(&f->write_back.held, index_of(f, w));
	client_node_unpin(&f->nodes, w->node);
	*w = (struct client_write_back_file){.state = CLIENT_WRITE_BACK_UNUSED};
	f->write_back.n_files--;
}

/* ------------------------------------------------------------------ errors */

/* Drops all held data of the file, and keeps the error for the program that has written the data.
 * Other programs that have the file open get an error from fsync. */
static void data_lose(struct fuse_client *f, struct client_write_back_file *w, int error)
{
	const struct client_held_file *held = &f->write_back.held.files[index_of(f, w)];
	struct client_file *file = client_file_at(&f->files, held->file);
	uint32_t code = (uint32_t)(error == -ESTALE ? EIO : -error);

	if (!client_write_back_has_data(f, w))
		return;
	log_warning("%s: the server did not accept data that a program has written, and the data "
		    "are lost: %s",
		    f->mount->path, strerror((int)code));
	launch_stat_add(&f->stats->request_errors, 1);
	client_node_lose(w->node);
	if (file->flags & CLIENT_FILE_USED && file->nodeid == held->nodeid)
		client_publish(&file->flags, (file->flags & CLIENT_FILE_FLAGS) |
						     CLIENT_FILE_WRITE_FAILED |
						     code << ERROR_SHIFT);
	f->write_back.has_failed = true;
	for (unsigned b = 0; b < CLIENT_HELD_BUFS; b++)
		client_held_drop(&f->write_back.held, index_of(f, w), b);
	w->state = CLIENT_WRITE_BACK_ENDING;
}

/* Returns the file whose error the request must report, or NULL. */
static struct client_file *file_failed(const struct fuse_client *f, const struct client_slot *s)
{
	struct client_file *file;

	if (PLENUM_LIKELY(!f->write_back.has_failed) || s->refs.n_fhs == 0 ||
	    (s->opcode != FUSE_WRITE && s->opcode != FUSE_FSYNC && s->opcode != FUSE_FLUSH))
		return NULL;
	file = client_file_get(&f->files, s->refs.fhs[0]);
	return file && file->flags & CLIENT_FILE_WRITE_FAILED ? file : NULL;
}

/* Reports the error of the file. If this worker dies before the flags are stored, its successor
 * reports the error again. */
static void error_report(struct fuse_client *f, struct client_slot *s, struct client_file *file)
{
	s->accepted |= client_slot_reply_error(f, s, -(int)(file->flags >> ERROR_SHIFT));
	if (s->opcode == FUSE_FSYNC)
		(void)client_node_lost_report(s->nodes[0], &file->lost);
	client_publish(&file->flags,
		       file->flags & CLIENT_FILE_FLAGS & ~(uint32_t)CLIENT_FILE_WRITE_FAILED);
}

/* ------------------------------------------------------------------ sending */

static bool send_data(struct fuse_client *f, struct client_write_back_file *w)
{
	struct client_held *h = &f->write_back.held;
	unsigned i = index_of(f, w), b = client_held_first(h, i);
	const struct client_held_file *held = &h->files[i];
	const struct client_file *file = client_file_at(&f->files, held->file);
	/* With O_DIRECT, the server answers with an error if the disk is full; without it, the
	 * server would answer with the number of bytes that fitted. */
	const struct fuse_write_in in = {.fh = file->server_fh,
					 .offset = held->bufs[b].offset,
					 .size = held->bufs[b].len,
					 .write_flags = held->write_flags & ~FUSE_WRITE_LOCKOWNER,
					 .flags = held->open_flags | O_DIRECT,
					 .padding = held->lease};

	if (!(file->flags & CLIENT_FILE_USED) || file->nodeid != held->nodeid ||
	    file->flags & CLIENT_FILE_DEAD || file->incarnation != f->server.incarnation) {
		data_lose(f, w, -ESTALE);
		return false;
	}
	w->buf = b;
	w->returning = false;
	w->sent = client_internal_write(f, i, w->node, held->uid, held->gid, &in,
					client_held_msg(h, i, b));
	return w->sent;
}

static void send_return(struct fuse_client *f, struct client_write_back_file *w)
{
	unsigned i = index_of(f, w);
	const struct client_held_file *held = &f->write_back.held.files[i];
	const struct fuse_write_in in = {.padding = held->lease};

	w->returning = true;
	w->again = false;
	w->sent = client_internal_write(f, i, w->node, held->uid, held->gid, &in, NULL);
}

/* Returns whether the WRITE that asks for the lease is still in progress. */
static bool is_asking(const struct fuse_client *f, const struct client_write_back_file *w)
{
	for (unsigned i = 0; i < CLIENT_SLOTS; i++) {
		const struct client_slot *s = &f->slots[i];

		if (s->state != CLIENT_SLOT_FREE && s->kind == CLIENT_SLOT_KERNEL &&
		    s->nodes[0] == w->node && (s->unique & ~FUSE_PROTO_UNIQUE_RESEND) == w->unique)
			return true;
	}
	return false;
}

/* Sends the held data or the return of the lease, if one of them is due for the file. */
static void file_run(struct fuse_client *f, struct client_write_back_file *w, uint64_t now_ns)
{
	bool due = now_ns >= w->until_ns || w->state == CLIENT_WRITE_BACK_ENDING;

	if (w->sent || now_ns < w->retry_ns)
		return;
	/* Hold no further data: a program that writes all the time would keep the lease for ever,
	 * and the server would end it while the client holds data. */
	if (due && w->state == CLIENT_WRITE_BACK_LEASED)
		w->state = CLIENT_WRITE_BACK_ENDING;
	/* Another version of the server has no leases, so other clients may have changed the
	 * file. */
	if (!(f->features & FUSE_PROTO_FEATURE_WRITE_BACK)) {
		data_lose(f, w, -ESTALE);
		file_end(f, w);
		return;
	}
	if (client_write_back_has_data(f, w) && !due && !w->flush &&
	    !client_held_is_full(&f->write_back.held, index_of(f, w), w->last_len))
		return;
	if (client_write_back_has_data(f, w) &&
	    (send_data(f, w) || client_write_back_has_data(f, w)))
		return;
	w->flush = false;
	if (!due)
		return;
	if (w->state == CLIENT_WRITE_BACK_ASKING && is_asking(f, w)) {
		w->until_ns = now_ns + WRITE_BACK_NS;
		return;
	}
	w->state = CLIENT_WRITE_BACK_ENDING;
	send_return(f, w);
}

static void run_all(struct fuse_client *f, uint64_t now_ns)
{
	for (unsigned i = 0; i < CLIENT_HELD_FILES && f->write_back.n_files > 0; i++)
		if (f->write_back.files[i].state)
			file_run(f, &f->write_back.files[i], now_ns);
}

static void data_sent(struct fuse_client *f, struct client_write_back_file *w,
		      const struct client_answer *a)
{
	unsigned i = index_of(f, w);
	struct fuse_write_out out = {.size = 0};

	memcpy(&out, a->body, MIN_OF(a->body_len, sizeof(out)));
	if (a->out.error == 0 && a->body_len == sizeof(out) &&
	    out.size == f->write_back.held.files[i].bufs[w->buf].len) {
		client_held_drop(&f->write_back.held, i, w->buf);
		client_node_changed(w->node);
		client_cache_written_drop(&f->cache, w->node);
		client_shown_note(f, client_node_id(&f->nodes, w->node));
	} else if (client_internal_is_transient(a->out.error)) {
		w->retry_ns = f->clock_ns() + WRITE_BACK_RETRY_NS;
	} else {
		data_lose(f, w, a->out.error ? a->out.error : -EIO);
	}
}

void client_write_back_answered(struct fuse_client *f, const struct client_slot *s, void *msg,
				size_t len)
{
	struct client_write_back_file *w = &f->write_back.files[s->file];
	struct client_answer a;

	w->sent = false;
	/* If the session ended before the answer, the next session begins with the same data. */
	if (!msg)
		return;
	if (client_answer_read(msg, len, &a) < 0) {
		f->bad_responses++;
		a = (struct client_answer){.out = {.error = -EIO}};
	}
	if (!w->returning)
		data_sent(f, w, &a);
	else if (client_internal_is_transient(a.out.error))
		w->retry_ns = f->clock_ns() + WRITE_BACK_RETRY_NS;
	else if (!w->again)
		file_end(f, w);
}

void client_write_back_written(struct fuse_client *f, const struct client_slot *s,
			       struct client_answer *a)
{
	struct client_write_back_file *w = client_write_back_find(f, s->nodes[0]);
	struct fuse_write_out out;
	struct fuse_write_in in;
	uint32_t lease;

	memcpy(&out, a->body, sizeof(out));
	lease = out.padding;
	out.padding = 0;
	memcpy(a->body, &out, sizeof(out));
	memcpy(&in, s->req + sizeof(struct fuse_in_header), sizeof(in));
	if (!w)
		return;
	/* The client has sent all held data of the file before this WRITE. */
	w->end = in.offset + out.size;
	if (w->state == CLIENT_WRITE_BACK_LEASED)
		return;
	if (w->state == CLIENT_WRITE_BACK_ENDING ||
	    w->unique != (s->unique & ~FUSE_PROTO_UNIQUE_RESEND)) {
		w->again |= lease != 0;
		return;
	}
	if (!lease) {
		file_end(f, w);
		return;
	}
	client_publish(&f->write_back.held.files[index_of(f, w)].lease, lease);
	w->until_ns = f->clock_ns() + WRITE_BACK_NS;
	/* If the answer is late, the server may already have ended the lease. */
	w->state = out.size == in.size && f->clock_ns() < w->asked_ns + WRITE_BACK_ANSWER_NS
			   ? CLIENT_WRITE_BACK_LEASED
			   : CLIENT_WRITE_BACK_ENDING;
}

/* Begins to ask for the lease of the file, by the WRITE that now goes to the server. */
static void lease_ask(struct fuse_client *f, const struct fuse_in_header *in,
		      const struct fuse_write_in *write, struct client_node *node,
		      const struct client_file *file, uint64_t now_ns)
{
	const struct client_held_file as = {.nodeid = in->nodeid,
					    .file = client_file_index(&f->files, file),
					    .uid = in->uid,
					    .gid = in->gid,
					    .write_flags = write->write_flags,
					    .open_flags = write->flags};
	unsigned i = 0;

	while (i < CLIENT_HELD_FILES && f->write_back.files[i].state)
		i++;
	if (i == CLIENT_HELD_FILES)
		return;
	client_held_begin(&f->write_back.held, i, &as);
	client_node_pin(node);
	f->write_back.files[i] =
		(struct client_write_back_file){.state = CLIENT_WRITE_BACK_ASKING,
						.node = node,
						.fh = write->fh,
						.unique = in->unique,
						.last_len = write->size,
						.asked_ns = now_ns,
						.until_ns = now_ns + WRITE_BACK_NS};
	f->write_back.n_files++;
}

/* ------------------------------------------------------------------ gathering */

/* Returns whether the WRITE could be held if its file had a lease. */
static bool is_fit(const struct fuse_client *f, const struct fuse_in_header *in,
		   const struct fuse_write_in *write, size_t len, const struct client_node *node,
		   const struct client_file *file)
{
	const uint32_t no_flags = O_APPEND | O_DSYNC | O_DIRECT;
	const uint32_t no_file = CLIENT_FILE_DEAD | CLIENT_FILE_CLOSING | CLIENT_FILE_LOST |
				 CLIENT_FILE_WRITE_FAILED;

	return write->size > 0 && write->size <= WRITE_BACK_BYTES &&
	       len == FUSE_PROTO_WRITE_DATA + write->size &&
	       write->offset <= INT64_MAX - CLIENT_HELD_BYTES &&
	       !(in->unique & FUSE_PROTO_UNIQUE_RESEND) &&
	       !(write->write_flags & ~(FUSE_WRITE_LOCKOWNER | FUSE_WRITE_KILL_SUIDGID)) &&
	       !(write->flags & no_flags) && node && file && file->nodeid == in->nodeid &&
	       !(file->flags & no_file) && !(file->open_flags & no_flags) &&
	       file->incarnation == f->server.incarnation &&
	       !(node->flags & CLIENT_NODE_CTIME_DEFERRED);
}

/* Returns whether a request in flight may show or change the file. */
static bool is_busy(const struct fuse_client *f, const struct client_node *n)
{
	for (unsigned i = 0; i < CLIENT_SLOTS; i++) {
		const struct client_slot *s = &f->slots[i];

		if (s->state != CLIENT_SLOT_FREE && s->kind != CLIENT_SLOT_RELEASE &&
		    s->kind != CLIENT_SLOT_WRITE_BACK && (s->nodes[0] == n || s->nodes[1] == n))
			return true;
	}
	return false;
}

/* Holds the data of the WRITE. Returns false if it must go to the server. While a pending request
 * waits for held data to be sent, the client holds no further data. The time is read again here: if
 * this process was stopped meanwhile, the server may have ended the lease. */
static bool data_hold(struct fuse_client *f, struct client_write_back_file *w,
		      const struct fuse_in_header *in, const struct fuse_write_in *write)
{
	const struct client_held_file *held = &f->write_back.held.files[index_of(f, w)];

	if (w->state != CLIENT_WRITE_BACK_LEASED || f->clock_ns() >= w->until_ns || w->flush ||
	    (w->sent && w->returning) || f->n_pending > 0 || w->fh != write->fh ||
	    held->uid != in->uid || held->gid != in->gid ||
	    held->write_flags != write->write_flags || held->open_flags != write->flags ||
	    w->end != write->offset || is_busy(f, w->node) ||
	    !client_held_add(&f->write_back.held, index_of(f, w),
			     w->sent ? w->buf : CLIENT_HELD_BUFS, write->offset,
			     f->request + FUSE_PROTO_WRITE_DATA, write->size))
		return false;
	w->end += write->size;
	w->last_len = write->size;
	client_node_changed(w->node);
	client_shown_note(f, in->nodeid);
	client_cache_lease_drop(&f->cache, w->node);
	client_cache_kernel_valid_drop(&f->cache, w->node);
	client_cache_written_drop(&f->cache, w->node);
	client_cache_created_stale(&f->cache, w->node);
	return true;
}

/* Returns whether the write follows the last write to the open file closely; notes this write. */
static bool follows(struct fuse_client *f, const struct fuse_write_in *write, uint64_t now_ns)
{
	unsigned at = (unsigned)(write->fh ^ write->fh >> 32) % CLIENT_WRITE_BACK_RECENT;
	bool is_next = f->write_back.recent[at].fh == write->fh &&
		       f->write_back.recent[at].end == write->offset &&
		       now_ns < f->write_back.recent[at].at_ns + WRITE_BACK_CLOSE_NS;

	f->write_back.recent[at].fh = write->fh;
	f->write_back.recent[at].end = write->offset + write->size;
	f->write_back.recent[at].at_ns = now_ns;
	return is_next;
}

static bool write_back_take(struct fuse_client *f, const struct fuse_in_header *in, size_t len,
			    uint64_t now_ns)
{
	struct {
		struct fuse_out_header out;
		struct fuse_write_out write;
	} reply = {.out = {.len = sizeof(reply), .unique = in->unique}};
	struct client_node *node = client_node_get(&f->nodes, in->nodeid);
	struct client_write_back_file *w;
	struct client_file *file;
	struct fuse_write_in write;

	if (!client_write_back_is_wanted(f) || f->link != CLIENT_READY ||
	    len < FUSE_PROTO_WRITE_DATA || !(f->features & FUSE_PROTO_FEATURE_WRITE_BACK) ||
	    !(f->state.head->kernel & CLIENT_KERNEL_FLUSHES))
		return false;
	memcpy(&write, f->request + sizeof(*in), sizeof(write));
	file = client_file_get(&f->files, write.fh);
	if (!is_fit(f, in, &write, len, node, file))
		return false;
	w = client_write_back_find(f, node);
	/* The client sends held data without waiting for the mount's limits, so the program must
	 * wait here instead. */
	if (w && !client_limits_exceeded(f, now_ns) && data_hold(f, w, in, &write)) {
		client_limits_count(f, write.size, now_ns);
		reply.write.size = write.size;
		(void)client_reply(f, &reply, sizeof(reply));
		if (client_held_is_full(&f->write_back.held, index_of(f, w), w->last_len))
			file_run(f, w, now_ns);
		return true;
	}
	if (follows(f, &write, now_ns) && !w)
		lease_ask(f, in, &write, node, file, now_ns);
	return false;
}

/* ------------------------------------------------------------------ other requests */

/* Returns whether the request shows or changes only objects that it names by number. */
static bool is_about_nodes(uint32_t opcode)
{
	switch (opcode) {
	case FUSE_READ:
	case FUSE_WRITE:
	case FUSE_GETATTR:
	case FUSE_SETATTR:
	case FUSE_OPEN:
	case FUSE_FLUSH:
	case FUSE_FSYNC:
	case FUSE_SETXATTR:
	case FUSE_GETXATTR:
	case FUSE_LISTXATTR:
	case FUSE_REMOVEXATTR:
	case FUSE_FALLOCATE:
	case FUSE_LSEEK:
	case FUSE_COPY_FILE_RANGE:
	case FUSE_READLINK:
		return true;
	default:
		return false;
	}
}

/* If a request may show held data or depend on them, makes it wait until the data are sent. Answers
 * a request by which a program gets the error of an earlier write. */
static int write_back_holds(struct fuse_client *f, struct client_slot *s)
{
	bool any = !is_about_nodes(s->opcode), waits = false;
	struct client_file *failed;

	for (unsigned i = 0; i < CLIENT_HELD_FILES && f->write_back.n_files > 0; i++) {
		struct client_write_back_file *w = &f->write_back.files[i];

		if (!w->state || !client_write_back_has_data(f, w) ||
		    (!any && s->nodes[0] != w->node && s->nodes[1] != w->node))
			continue;
		w->flush = true;
		file_run(f, w, f->clock_ns());
		waits |= w->state && client_write_back_has_data(f, w);
	}
	if (waits)
		return -ENOMEM;
	failed = file_failed(f, s);
	if (failed)
		error_report(f, s, failed);
	else if (s->opcode == FUSE_FLUSH && !client_locks_wanted(f))
		s->accepted |= client_slot_reply_error(f, s, 0);
	else
		return 0;
	return -ECANCELED;
}

bool client_write_back_waits_at_close(const struct fuse_client *f, const struct client_node *node,
				      const struct client_file *file)
{
	return node && file && f->on.take[FUSE_WRITE] == &client_write_back_stage &&
	       (file->flags & CLIENT_FILE_WRITE_FAILED || client_write_back_has(f, node));
}

bool client_write_back_delays_goodbye(struct fuse_client *f)
{
	bool delays = false;

	for (unsigned i = 0; i < CLIENT_HELD_FILES && f->write_back.n_files > 0; i++) {
		struct client_write_back_file *w = &f->write_back.files[i];

		if (!w->state || !client_write_back_has_data(f, w))
			continue;
		w->flush = true;
		file_run(f, w, f->clock_ns());
		delays |= w->state && client_write_back_has_data(f, w);
	}
	return delays;
}

void client_write_back_give_up(struct fuse_client *f)
{
	for (unsigned i = 0; i < CLIENT_HELD_FILES && f->write_back.n_files > 0; i++)
		if (f->write_back.files[i].state)
			data_lose(f, &f->write_back.files[i], -EHOSTUNREACH);
}

/* ------------------------------------------------------------------ the stage */

/* Before any other request of a session, sends the data that were held before it, and returns the
 * leases. The server answers the return of a lease only when no WRITE of the former session is in
 * progress. So such a WRITE cannot overwrite data that a program writes later. */
static bool write_back_begin(struct fuse_client *f)
{
	bool is_done = true;

	for (unsigned i = 0; i < CLIENT_HELD_FILES && f->write_back.n_files > 0; i++) {
		struct client_write_back_file *w = &f->write_back.files[i];

		/* There are no held data of a file that is still asking for its lease. */
		if (!w->state || w->state == CLIENT_WRITE_BACK_ASKING)
			continue;
		w->state = CLIENT_WRITE_BACK_ENDING;
		file_run(f, w, f->clock_ns());
		is_done &= !w->state;
	}
	return is_done;
}

static void write_back_flush(struct fuse_client *f, uint64_t now_ns)
{
	if (PLENUM_UNLIKELY(f->write_back.n_files > 0))
		run_all(f, now_ns);
}

static uint64_t write_back_due(struct fuse_client *f, uint64_t now_ns)
{
	uint64_t due = UINT64_MAX;

	for (unsigned i = 0; i < CLIENT_HELD_FILES && f->write_back.n_files > 0; i++) {
		const struct client_write_back_file *w = &f->write_back.files[i];

		if (w->state && !w->sent)
			due = MIN_OF(due,
				     client_due_after(MAX_OF(w->until_ns, w->retry_ns), now_ns));
	}
	return due;
}

/* Adopts the data that a predecessor has held. This worker may not know the numbers of the leases,
 * so it returns every lease on these files. */
static void file_adopt(struct fuse_client *f, unsigned i)
{
	const struct client_held_file *held = &f->write_back.held.files[i];
	struct client_node *node = client_node_get(&f->nodes, held->nodeid);

	if (held->nodeid == 0)
		return;
	if (!node || held->file >= f->state.head->n_files) {
		client_held_end(&f->write_back.held, i);
		return;
	}
	client_node_pin(node);
	f->write_back.files[i] =
		(struct client_write_back_file){.state = CLIENT_WRITE_BACK_ENDING, .node = node};
	f->write_back.n_files++;
}

static int write_back_init(struct fuse_client *f)
{
	struct client_write_back *b = &f->write_back;
	int r;

	if (f->mount_worker_number != 0 || client_locks_wanted(f) ||
	    (!f->mount->write_back && !f->adopted))
		return 0;
	r = client_held_open(&b->held, f->mount->state_fd, f->held_at, f->mount->id, f->adopted);
	if (r < 0)
		return r;
	b->adopted = b->has_failed = r > 0;
	for (unsigned i = 0; i < CLIENT_HELD_FILES && r > 0; i++)
		file_adopt(f, i);
	return 0;
}

static void write_back_done(struct fuse_client *f)
{
	client_held_done(&f->write_back.held);
}

const struct client_stage client_write_back_stage = {
	.is_on = write_back_is_on,
	.init = write_back_init,
	.done = write_back_done,
	.opcodes = CLIENT_STAGE_OPCODE(FUSE_WRITE),
	.take = write_back_take,
	.holds = write_back_holds,
	.begin = write_back_begin,
	.flush = write_back_flush,
	.due = write_back_due,
};
