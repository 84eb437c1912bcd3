/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mount worker: a client whose requests come from the mount's owner, or that it reads from the
 * kernel (client_reads.c). It has its own nodes and files, for the requests that it gets; the
 * server sees it as another mount.
 */
#include "dataplane/fuse/client/workers/client_workers.h"

#include <string.h>
#include <sys/mman.h>

#define RESEND FUSE_PROTO_UNIQUE_RESEND
/* Without a server for this long, requests go back to the owner. */
#define MOUNT_WORKER_RETURN_NS NSEC_PER_SEC
/* Interval of attempts at a server without support for mount workers. */
#define MOUNT_WORKER_UNSUPPORTED_NS (60 * NSEC_PER_SEC)

static struct mount_worker_slot *slot_of(const struct fuse_client *f, const struct client_slot *s)
{
	return mount_worker_slot_at(f->area, f->reads, s->worker_slot - 1);
}

/* ------------------------------------------------------------------ files */

static struct client_file *file_of(const struct fuse_client *f, const struct mount_worker_file *lf)
{
	struct client_file *file;
	const struct client_node *node;

	if (lf->client_file == 0 || lf->client_file > f->state.head->n_files)
		return NULL;
	file = client_file_at(&f->files, lf->client_file - 1);
	if (!(file->flags & CLIENT_FILE_USED) || file->flags & CLIENT_FILE_CLOSING)
		return NULL;
	/* The record of the file may have been reused since. */
	node = client_node_get(&f->nodes, file->nodeid);
	return node && node->handle_len == lf->handle_len &&
			       memcmp(node->handle, lf->handle, lf->handle_len) == 0
		       ? file
		       : NULL;
}

/* The client's file for an entry of the owner's table. NULL: it cannot be opened. */
static struct client_file *file_make(struct fuse_client *f, struct mount_worker_file *lf)
{
	const struct client_file as = {
		.open_flags = lf->open_flags, .uid = lf->uid, .gid = lf->gid};
	struct client_node *node;
	struct client_file *file = file_of(f, lf);
	uint8_t len = mount_worker_get(&lf->handle_len);

	if (file || len == 0 || len > FUSE_PROTO_HANDLE_MAX)
		return file;
	node = client_node_of(&f->nodes, lf->handle, len);
	file = node ? client_file_new(&f->files, node, &as) : NULL;
	if (file)
		client_publish(&lf->client_file, client_file_index(&f->files, file) + 1);
	else if (node)
		client_node_settle(&f->nodes, node);
	return file;
}

static void file_close(struct fuse_client *f, struct mount_worker_file *lf, uint64_t now_ns)
{
	struct client_file *file = file_of(f, lf);

	if (file) {
		if (f->files.n_closing == 0)
			f->closing_ns = now_ns;
		client_file_close(&f->files, file);
	}
	lf->client_file = 0;
	mount_worker_set(&lf->state, MOUNT_WORKER_FILE_FREE);
}

static void files_close(struct fuse_client *f, uint64_t now_ns)
{
	uint64_t bits = mount_worker_get(&f->area->closing);

	if (PLENUM_LIKELY(bits == 0))
		return;
	/* The owner sets the file's state to CLOSING before it sets the bit
	 * (client_dispatch_close()): a bit that is taken here has its state. */
	bits = __atomic_exchange_n(&f->area->closing, 0, __ATOMIC_SEQ_CST);
	for (; bits; bits &= bits - 1)
		for (unsigned k = (unsigned)__builtin_ctzll(bits); k < MOUNT_WORKER_FILES;
		     k += 64) {
			struct mount_worker_file *lf = mount_worker_file_at(f->area, f->more, k);

			if (mount_worker_get(&lf->state) == MOUNT_WORKER_FILE_CLOSING)
				file_close(f, lf, now_ns);
		}
}

/* Closes files without a place: a predecessor may have died before it recorded the place. */
static void files_sweep(struct fuse_client *f)
{
	for (uint32_t i = 0; i < f->state.head->n_files; i++) {
		struct client_file *file = client_file_at(&f->files, i);
		bool named = false;

		if (!(file->flags & CLIENT_FILE_USED) || file->flags & CLIENT_FILE_CLOSING)
			continue;
		for (unsigned k = 0; k < MOUNT_WORKER_FILES && !named; k++) {
			const struct mount_worker_file *lf =
				mount_worker_file_at(f->area, f->more, k);

			named = lf->client_file == i + 1 &&
				mount_worker_get(&lf->state) != MOUNT_WORKER_FILE_FREE;
		}
		if (!named)
			client_file_close(&f->files, file);
	}
}

/* ------------------------------------------------------------------ requests */

static void word_end(struct fuse_client *f, unsigned i, enum mount_worker_state state)
{
	struct mount_worker_area *a = f->area;

	/* The owner sets `full`, then looks for bits (dispatch_full()); this sets the bit, then
	 * looks at `full`. So either the owner reaps the request, or this rings. */
	__atomic_fetch_or(&a->done, 1ULL << i, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (state == MOUNT_WORKER_RETURNED || mount_worker_get(&a->full))
		mount_worker_ring(f->mount->bell_fd);
}

bool client_mount_worker_restart(struct fuse_client *f, unsigned i, uint32_t word)
{
	struct mount_worker_slot *slot = mount_worker_slot_at(f->area, f->reads, i);
	bool is_read = i >= MOUNT_WORKER_SLOTS;

	if (!(word & MOUNT_WORKER_RESENT) || word & MOUNT_WORKER_CANCELLED)
		return false;
	/* The kernel resent the request after it had rejected the reply: ask the server again,
	 * which repeats its answer if it has executed the request. If a predecessor's reply may
	 * have reached the kernel, that reply is repeated instead. */
	slot->unique |= RESEND;
	if (!mount_worker_swap(&slot->word, word,
			       MOUNT_WORKER_DISPATCHED | (word & MOUNT_WORKER_REPLIED)))
		return false;
	__atomic_fetch_or(is_read ? &f->reads->posted : &f->area->posted,
			  1ULL << (is_read ? i - MOUNT_WORKER_SLOTS : i), __ATOMIC_SEQ_CST);
	return true;
}

void client_mount_worker_end(struct fuse_client *f, const struct client_slot *s)
{
	struct mount_worker_slot *slot = slot_of(f, s);
	enum mount_worker_state state = s->returned   ? MOUNT_WORKER_RETURNED
					: s->accepted ? MOUNT_WORKER_DONE
						      : MOUNT_WORKER_REJECTED;

	if (s->worker_slot > MOUNT_WORKER_SLOTS) {
		client_reads_end(f, s->worker_slot - 1 - MOUNT_WORKER_SLOTS, state);
		return;
	}
	for (;;) {
		uint32_t word = mount_worker_get(&slot->word);

		if (state == MOUNT_WORKER_REJECTED &&
		    client_mount_worker_restart(f, s->worker_slot - 1, word))
			return;
		/* The owner marks a request that the kernel has resent by its own swap of the word
		 * (claim_slot()): then this one fails, and the loop sees the mark. */
		if (mount_worker_swap(&slot->word, word, state))
			break;
	}
	word_end(f, s->worker_slot - 1, state);
}

bool client_mount_worker_is_cancelled(const struct fuse_client *f, const struct client_slot *s)
{
	return f->area && s->worker_slot &&
	       mount_worker_get(&slot_of(f, s)->word) & MOUNT_WORKER_CANCELLED;
}

/* Adopts the request number of a resend, if the kernel resent the request meanwhile. */
static void renumber(struct fuse_client *f, struct client_slot *s)
{
	if (mount_worker_get(&slot_of(f, s)->word) & MOUNT_WORKER_RESENT)
		s->unique |= RESEND;
}

/* Replaces the owner's numbers by ours. The RESEND bit tells the server whether the request may
 * have been sent before. */
static int slot_bind(struct fuse_client *f, struct client_slot *s, bool again)
{
	struct mount_worker_slot *slot = slot_of(f, s);
	struct mount_worker_file *lf = mount_worker_file_at(f->area, f->more, slot->file);
	const size_t fh_at = sizeof(struct fuse_in_header) + offsetof(struct fuse_read_in, fh);
	struct client_file *file;
	struct fuse_in_header in;
	uint64_t fh;
	int r;

	_Static_assert(offsetof(struct fuse_read_in, fh) == offsetof(struct fuse_write_in, fh),
		       "READ and WRITE have the file handle at the same offset");
	if (s->req_len < FUSE_PROTO_WRITE_DATA || lf->fh != slot->fh ||
	    mount_worker_get(&lf->state) != MOUNT_WORKER_FILE_OPEN)
		return -ESTALE;
	file = file_make(f, lf);
	if (!file)
		return -ENOMEM;
	memcpy(&in, s->req, sizeof(in));
	in.nodeid = file->nodeid;
	in.unique = slot->unique | (again ? RESEND : 0);
	memcpy(s->req, &in, sizeof(in));
	fh = client_file_fh(&f->files, file);
	memcpy(s->req + fh_at, &fh, sizeof(fh));
	r = client_request_bind(f, s);
	s->unique = slot->unique;
	s->refs.nodeids[0] =
		slot->nodeid; /* notifications to the kernel use the owner's node number */
	return r;
}

void client_mount_worker_take(struct fuse_client *f, unsigned i, bool again, uint64_t now_ns)
{
	struct mount_worker_slot *slot = mount_worker_slot_at(f->area, f->reads, i);
	uint32_t len = mount_worker_get(&slot->len);
	struct client_slot *s;
	int r;

	/* The buffer has room for the request's tail after the request. */
	s = client_slot_borrow(f, mount_worker_buf_at(f->area, f->reads, i),
			       MIN_OF(len, CLIENT_POOL_BUF_BYTES - FUSE_PROTO_REQ_TAIL_MAX),
			       now_ns);
	s->worker_slot = i + 1;
	r = slot_bind(f, s, again || slot->unique & RESEND);
	client_slot_queue(f, s);
	if (r == 0 || (!again && client_mount_worker_return(s))) {
		if (r < 0)
			client_slot_free(f, s);
		return;
	}
	client_slot_fail(f, s, r);
}

/* Repeats a predecessor's reply; the kernel rejects it if it already has a reply. */
static void slot_repeat_reply(struct fuse_client *f, unsigned i, uint64_t now_ns)
{
	struct mount_worker_slot *slot = mount_worker_slot_at(f->area, f->reads, i);
	struct client_slot *s =
		client_slot_borrow(f, mount_worker_buf_at(f->area, f->reads, i), 0, now_ns);
	struct fuse_out_header out;

	s->worker_slot = i + 1;
	s->unique = slot->unique;
	renumber(f, s);
	memcpy(&out, slot->reply, sizeof(out));
	out.unique = s->unique;
	memcpy(slot->reply, &out, sizeof(out));
	s->accepted = client_reply(f, slot->reply, MIN_OF(out.len, (uint32_t)sizeof(slot->reply)));
	client_slot_free(f, s);
}

bool client_mount_worker_look(struct fuse_client *f, unsigned i, uint64_t now_ns)
{
	struct mount_worker_slot *slot = mount_worker_slot_at(f->area, f->reads, i);
	uint32_t word;

	if (!f->free)
		return false;
	do { /* partner: mount_worker_take_back() of the owner */
		word = mount_worker_get(&slot->word);
		if (MOUNT_WORKER_STATE(word) != MOUNT_WORKER_DISPATCHED)
			return true;
	} while (!mount_worker_swap(&slot->word, word, (word & ~0xffU) | MOUNT_WORKER_TAKEN));
	if (i >= MOUNT_WORKER_SLOTS)
		client_reads_begin(f, i - MOUNT_WORKER_SLOTS);
	if (word & MOUNT_WORKER_REPLIED)
		slot_repeat_reply(f, i, now_ns);
	else
		client_mount_worker_take(f, i, false, now_ns);
	return true;
}

bool client_mount_worker_takes_new(const struct fuse_client *f)
{
	return f->link == CLIENT_READY && f->features & FUSE_PROTO_FEATURE_MOUNT_WORKERS &&
	       !f->finishing && !f->quiescing && !f->unmounted;
}

int client_mount_worker_pull(struct fuse_client *f, bool all, uint64_t now_ns)
{
	struct mount_worker_area *a = f->area;
	uint64_t bits, left = 0;
	int taken = 0;

	/* After a pull of all, this worker may sleep: it sets `asleep`, then looks for bits; the
	 * owner sets a bit, then looks at `asleep` (post()). So either this sees the bit, or the
	 * owner rings. */
	if (mount_worker_get(&a->asleep) != all)
		__atomic_store_n(&a->asleep, all, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (mount_worker_get(&a->unmounted))
		f->unmounted = true;
	if (f->unmounted) {
		client_goodbye(f);
		return -ENODEV;
	}
	bits = client_mount_worker_takes_new(f) ? mount_worker_get(&a->posted) : 0;
	if (bits)
		bits = __atomic_exchange_n(&a->posted, 0, __ATOMIC_SEQ_CST);
	for (; bits; bits &= bits - 1) {
		unsigned i = (unsigned)__builtin_ctzll(bits);

		if (client_mount_worker_look(f, i, now_ns))
			taken += mount_worker_get(&a->slots[i].word) != MOUNT_WORKER_FREE;
		else
			left |= 1ULL << i;
	}
	if (left)
		__atomic_fetch_or(&a->posted, left, __ATOMIC_SEQ_CST);
	files_close(f, now_ns);
	taken += client_reads_pull(f, all, now_ns);
	if (taken > 0) {
		f->busy_ns = now_ns;
		mount_worker_set(&a->asleep, 0U); /* this worker checks again before it sleeps */
	}
	client_flush(f, now_ns);
	return taken;
}

/* ------------------------------------------------------------------ sending */

/* Prepares the request. 0: send it; -ENOMEM: not yet; -ESTALE: its file cannot be opened;
 * -ECANCELED. */
static int slot_prepare(struct fuse_client *f, struct client_slot *s)
{
	struct mount_worker_slot *slot = slot_of(f, s);
	const struct client_file *file;
	uint32_t i;

	if (mount_worker_get(&slot->word) & MOUNT_WORKER_CANCELLED)
		return -ECANCELED;
	file = client_file_get(&f->files, s->refs.fhs[0]);
	if (!file || file->flags & (CLIENT_FILE_DEAD | CLIENT_FILE_CLOSING)) {
		mount_worker_swap(&mount_worker_file_at(f->area, f->more, slot->file)->state,
				  MOUNT_WORKER_FILE_OPEN, MOUNT_WORKER_FILE_REFUSED);
		return -ESTALE;
	}
	if (PLENUM_LIKELY(file->incarnation == f->server.incarnation))
		return 0;
	i = client_file_index(&f->files, file);
	if (!client_internal_is_reopening(f, i))
		(void)client_internal_reopen(f, i);
	return -ENOMEM;
}

bool client_mount_worker_return(struct client_slot *s)
{
	struct fuse_in_header in;

	if (!s->worker_slot || s->state == CLIENT_SLOT_SENT)
		return false;
	memcpy(&in, s->req, sizeof(in));
	/* A request that may have been sent under this worker's id must be repeated under the
	 * same id. */
	s->returned = !(in.unique & RESEND);
	return s->returned;
}

static void return_pending(struct fuse_client *f, uint64_t arrived_before_ns)
{
	struct client_slot *s, *next;

	for (s = f->pending.next; s != &f->pending; s = next) {
		next = s->next;
		if (s->arrived_ns <= arrived_before_ns && client_mount_worker_return(s))
			client_slot_free(f, s);
	}
}

/* ------------------------------------------------------------------ life */

/* Adopts a predecessor's state. 0; -EBUSY: another process is this mount worker. */
static int mount_worker_init(struct fuse_client *f)
{
	void *owner;
	int r;

	if (f->mount_worker_number == 0)
		return 0;
	mount_worker_id(f->own_mount.id, f->mount_worker_number);
	f->state_at = mount_worker_state_at(f->mount_worker_number);
	f->answered_max = MOUNT_WORKER_SLOTS / 8;
	r = mount_worker_lock(f->mount->state_fd, f->mount_worker_number);
	if (r < 0)
		return r;
	f->area = mount_worker_map(f->mount->state_fd, f->mount_worker_number);
	if (!f->area) {
		r = -errno;
		mount_worker_unlock(f->mount->state_fd, f->mount_worker_number);
		return r;
	}
	r = client_reads_init(f);
	if (r < 0)
		return r;
	owner = mmap(NULL, CLIENT_STATE_HEAD_BYTES, PROT_READ, MAP_SHARED, f->mount->state_fd, 0);
	if (owner == MAP_FAILED)
		return -errno;
	f->owner = owner;
	mount_worker_set(&f->area->ready, 0U);
	return 0;
}

/* Call before the kernel gets the reply: saves the reply to a WRITE, so that a successor repeats
 * it. */
static void mount_worker_reply(struct fuse_client *f, struct client_slot *s, void *msg, size_t len)
{
	struct mount_worker_slot *slot;

	if (!s->worker_slot)
		return;
	renumber(f, s);
	memcpy((uint8_t *)msg + offsetof(struct fuse_out_header, unique), &s->unique,
	       sizeof(s->unique));
	if (s->opcode != FUSE_WRITE || s->answered)
		return;
	slot = slot_of(f, s);
	if (len > sizeof(slot->reply))
		return;
	memcpy(slot->reply, msg, len);
	__atomic_fetch_or(&slot->word, MOUNT_WORKER_REPLIED, __ATOMIC_RELEASE);
}

void client_mount_worker_resume(struct fuse_client *f, unsigned i, uint64_t now_ns)
{
	if (mount_worker_get(&mount_worker_slot_at(f->area, f->reads, i)->word) &
	    MOUNT_WORKER_REPLIED)
		slot_repeat_reply(f, i, now_ns);
	else
		client_mount_worker_take(f, i, true, now_ns);
}

void client_mount_worker_start(struct fuse_client *f, uint64_t now_ns)
{
	files_sweep(f);
	for (unsigned i = 0; i < MOUNT_WORKER_SLOTS; i++)
		if (MOUNT_WORKER_STATE(mount_worker_get(&f->area->slots[i].word)) ==
		    MOUNT_WORKER_TAKEN)
			client_mount_worker_resume(f, i, now_ns);
	client_reads_start(f, now_ns);
	__atomic_store_n(&f->area->posted, ~0ULL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&f->area->closing, ~0ULL, __ATOMIC_SEQ_CST);
	/* A predecessor may have died between setting a word and setting the bit. */
	__atomic_store_n(&f->area->done, ~0ULL, __ATOMIC_SEQ_CST);
}

static void mount_worker_done(struct fuse_client *f)
{
	if (f->area) {
		if (f->area->ready) {
			mount_worker_set(&f->area->ready, 0U);
			mount_worker_ring(
				f->mount->bell_fd); /* the owner takes back the newest requests */
		}
		mount_worker_unmap(f->area);
		client_reads_done(f); /* while this process still holds the lock */
		mount_worker_unlock(f->mount->state_fd, f->mount_worker_number);
	}
	if (f->owner)
		munmap(f->owner, CLIENT_STATE_HEAD_BYTES);
	f->area = NULL;
	f->owner = NULL;
}

/* Adopts the parameters that the owner has negotiated with the kernel. */
static void head_copy(struct fuse_client *f)
{
	const struct client_head *from = f->owner;
	struct client_head *to = f->state.head;

	if (to->negotiated || !mount_worker_get(&from->negotiated))
		return;
	to->minor = from->minor;
	to->flags = from->flags;
	to->max_readahead = from->max_readahead;
	to->kernel = from->kernel;
	client_publish(&to->negotiated, 1);
}

/* Work that only this mount worker can finish: requests that may have been sent, files that are
 * open at the server. */
static bool has_unfinished(const struct fuse_client *f)
{
	return f->n_used > 0 || f->files.n_closing > 0;
}

bool client_mount_worker_may_connect(const struct fuse_client *f, uint64_t now_ns)
{
	return !f->area || has_unfinished(f) ||
	       (mount_worker_get(&f->area->served) && now_ns >= f->connect_ns);
}

enum fuse_hello_purpose client_mount_worker_hello(struct fuse_client *f)
{
	f->finishing = f->area && (has_unfinished(f) ||
				   f->unmounted); /* a goodbye takes no place at the server */
	if (!f->area)
		return FUSE_HELLO_MOUNT;
	return f->finishing ? FUSE_HELLO_MOUNT_WORKER_FINISHING : FUSE_HELLO_MOUNT_WORKER;
}

/* Ends a session that no longer fits its purpose: one that takes a place at the server, or one
 * that only finishes old requests. */
static void session_check_purpose(struct fuse_client *f, uint64_t now_ns)
{
	bool is_up = f->session && rudp_session_is_up(f->session);

	if (f->link == CLIENT_READY && !(f->features & FUSE_PROTO_FEATURE_MOUNT_WORKERS) &&
	    !has_unfinished(f)) {
		f->connect_ns = now_ns + MOUNT_WORKER_UNSUPPORTED_NS;
		client_session_drop(f, now_ns);
	} else if (f->session && f->finishing != has_unfinished(f) && (f->finishing || !is_up)) {
		client_session_drop(f, now_ns);
	}
}

/* A full server may have accepted us instead of our owner: give up the place. */
static void yield_to_owner(struct fuse_client *f, uint64_t now_ns)
{
	if (has_unfinished(f) || mount_worker_get(&f->area->served)) {
		f->unserved_ns = 0;
		return;
	}
	if (f->unserved_ns == 0)
		f->unserved_ns = now_ns;
	if (!f->session || now_ns - f->unserved_ns < MOUNT_WORKER_AWAY_NS)
		return;
	client_session_drop(f, now_ns);
}

static void mount_worker_tick(struct fuse_client *f, uint64_t now_ns)
{
	bool ready;

	if (!f->unmounted) { /* after an unmount, the server ends the session */
		yield_to_owner(f, now_ns);
		session_check_purpose(f, now_ns);
	}
	ready = client_mount_worker_takes_new(f);
	head_copy(f);
	client_reads_tick(f, now_ns);
	mount_worker_set(&f->area->seen_ns, now_ns);
	if (f->area->ready != ready) {
		mount_worker_set(&f->area->ready, ready);
		mount_worker_ring(f->mount->bell_fd); /* the owner takes back the requests that this
							 worker has not begun */
	}
	if (f->quiescing)
		return_pending(f, now_ns);
	else if (f->link != CLIENT_READY && now_ns > MOUNT_WORKER_RETURN_NS)
		return_pending(f, now_ns - MOUNT_WORKER_RETURN_NS);
}

bool fuse_client_is_finished(const struct fuse_client *f)
{
	if (f->n_used > 0 || f->files.n_closing > 0 || !client_reads_is_finished(f))
		return false;
	for (unsigned i = 0; i < MOUNT_WORKER_SLOTS; i++)
		if (MOUNT_WORKER_STATE(mount_worker_get(&f->area->slots[i].word)) ==
		    MOUNT_WORKER_TAKEN)
			return false;
	for (unsigned i = 0; i < MOUNT_WORKER_FILES; i++)
		if (mount_worker_get(&mount_worker_file_at(f->area, f->more, i)->state) ==
		    MOUNT_WORKER_FILE_CLOSING)
			return false;
	return true;
}

bool fuse_client_is_finishing(const struct fuse_client *f)
{
	return f->finishing;
}

bool fuse_client_is_unsupported(const struct fuse_client *f, uint64_t now_ns)
{
	return now_ns < f->connect_ns;
}

void fuse_client_quiesce(struct fuse_client *f)
{
	if (f->area)
		f->quiescing = true;
}

static bool mount_worker_is_on(const struct fuse_client *f)
{
	return f->area;
}

static int mount_worker_holds(struct fuse_client *f, struct client_slot *s)
{
	return s->worker_slot ? slot_prepare(f, s) : 0;
}

const struct client_stage client_mount_worker_stage = {
	.is_on = mount_worker_is_on,
	.init = mount_worker_init,
	.done = mount_worker_done,
	.holds = mount_worker_holds,
	.reply = mount_worker_reply,
	.tick = mount_worker_tick,
};
