/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The owner's side of a mount with mount workers: dispatches data requests to other cores, and
 * recovers these requests when the owner or a mount worker dies.
 */
#include "dataplane/fuse/client/workers/client_workers.h"

#include <fcntl.h>
#include <string.h>

#define RESEND FUSE_PROTO_UNIQUE_RESEND
/* Smaller requests are not dispatched, because dispatching one costs as much as sending it. If
 * there are many small requests, mount workers read them from the kernel themselves. */
#define DISPATCH_BYTES_MIN (64U << 10)
/* A mount worker that has been away for this long counts as dead. */
#define ORPHAN_NS (5 * NSEC_PER_SEC)

bool client_dispatch_is_alive(const struct client_worker *w, uint64_t now_ns)
{
	uint64_t seen_ns = mount_worker_get(&w->area->seen_ns);

	return mount_worker_get(&w->area->ready) &&
	       (seen_ns >= now_ns || now_ns - seen_ns < MOUNT_WORKER_AWAY_NS);
}

uint64_t client_dispatch_served_ns(const struct fuse_client *f, const struct client_slot *s,
				   uint64_t now_ns)
{
	const struct client_worker *w =
		&f->dispatch->workers[(s->worker_slot - 1) / MOUNT_WORKER_SLOTS_ALL];

	return client_dispatch_is_alive(w, now_ns) ? UINT64_MAX : w->served_ns;
}

static struct mount_worker_slot *slot_at(const struct client_worker *w, unsigned i)
{
	return mount_worker_slot_at(w->area, w->reads, i);
}

/* ------------------------------------------------------------------ adoption of a predecessor's
 * requests */

static struct client_node *node_of(struct fuse_client *f, const struct mount_worker_slot *slot)
{
	const struct client_file *file = client_file_get(&f->files, slot->fh);

	return file ? client_node_get(&f->nodes, file->nodeid) : NULL;
}

/* Records that a WRITE is or may have been in flight, so that its data counts as lost if the
 * server's host then dies. */
static void note_write(struct client_node *node, uint32_t opcode, const uint8_t *req)
{
	struct fuse_write_in write;

	if (opcode != FUSE_WRITE)
		return;
	memcpy(&write, req + sizeof(struct fuse_in_header), sizeof(write));
	if (write.flags & O_DSYNC)
		client_node_unstamp(node);
	else
		client_node_changed(node);
}

static void slots_adopt(struct fuse_client *f, struct client_worker *w)
{
	w->free = 0;
	for (unsigned i = 0; i < MOUNT_WORKER_SLOTS; i++) {
		const struct mount_worker_slot *slot = &w->area->slots[i];
		struct client_node *node = node_of(f, slot);

		if (MOUNT_WORKER_STATE(mount_worker_get(&slot->word)) == MOUNT_WORKER_FREE) {
			w->free |= 1ULL << i;
			continue;
		}
		w->n_out++;
		if (node)
			note_write(node, slot->opcode, mount_worker_buf(w->area, i));
	}
	w->touched = true;
}

static struct mount_worker_file *file_at(const struct client_worker *w, unsigned i)
{
	return mount_worker_file_at(w->area, w->more, i);
}

/* Enters the file as entry i of the mount worker's table of files. The node's number stays in the
 * entry after the file is closed. */
static void place_assign(struct fuse_client *f, struct client_worker *w, unsigned i, uint64_t fh,
			 uint64_t nodeid)
{
	if (w->nodeids[i])
		f->dispatch->n_nodeids[client_dispatch_nodeids_at(w->nodeids[i])]--;
	f->dispatch->n_nodeids[client_dispatch_nodeids_at(nodeid)]++;
	w->fhs[i] = fh;
	w->nodeids[i] = nodeid;
}

static void files_adopt(struct fuse_client *f, struct client_worker *w)
{
	for (unsigned i = 0; i < MOUNT_WORKER_FILES; i++) {
		struct mount_worker_file *lf = file_at(w, i);
		const struct client_file *file = client_file_get(&f->files, lf->fh);

		if (mount_worker_get(&lf->state) == MOUNT_WORKER_FILE_FREE)
			continue;
		if (file && !(file->flags & CLIENT_FILE_CLOSING))
			place_assign(f, w, i, lf->fh, file->nodeid);
		else
			mount_worker_set(&lf->state, MOUNT_WORKER_FILE_CLOSING);
	}
}

/* Sets the bits of all open files, so that the owner checks each of them for changes by the mount
 * worker. */
static void files_all_note(struct client_worker *w)
{
	for (unsigned k = 0; k < MOUNT_WORKER_FILES; k++)
		if (w->fhs[k])
			__atomic_fetch_or(mount_worker_noted_at(w->reads, w->more, k),
					  1ULL << k % 64, __ATOMIC_SEQ_CST);
}

static int forward_init(struct fuse_client *f)
{
	f->common = mount_worker_common_map(f->mount->state_fd);
	if (!f->common)
		return -errno;
	/* Pairs with read_one(): a mount worker marks its slot as READING, then checks `reads`. The
	 * owner clears `reads` here, and client_forward_quiesce() checks the slots later. So either
	 * the mount worker sees that it must not read, or the owner sees the slot and waits until
	 * the read has ended. */
	__atomic_store_n(&f->common->reads, 0U, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (unsigned k = 0; k < LAUNCH_MOUNT_WORKERS_MAX; k++) {
		struct client_worker *w = &f->dispatch->workers[k];

		w->reads = mount_worker_reads_map(f->mount->state_fd, k + 1);
		if (!w->reads)
			return -errno;
		/* Check all slots and files, because the predecessor may have left some
		 * unprocessed. */
		__atomic_store_n(&w->reads->done, ~0ULL >> (64 - MOUNT_WORKER_READS),
				 __ATOMIC_SEQ_CST);
		files_all_note(w);
		/* The predecessor may have died after it changed a slot's word and before it set
		 * the slot's bit. */
		__atomic_store_n(&w->reads->posted, ~0ULL >> (64 - MOUNT_WORKER_READS),
				 __ATOMIC_SEQ_CST);
	}
	mount_worker_set(&f->common->by_number, 1U); /* mount workers of version 0.1.0 check
							this value */
	f->dispatch->settling = true;
	f->dispatch->always = f->mount->mount_workers_always;
	__atomic_store_n(&f->common->done, ~0ULL >> (64 - LAUNCH_MOUNT_WORKERS_MAX),
			 __ATOMIC_SEQ_CST);
	__atomic_store_n(&f->common->noted, ~0ULL >> (64 - LAUNCH_MOUNT_WORKERS_MAX),
			 __ATOMIC_SEQ_CST);
	return 0;
}

static void forward_done(struct fuse_client *f)
{
	for (unsigned k = 0; k < LAUNCH_MOUNT_WORKERS_MAX; k++)
		mount_worker_reads_unmap(f->dispatch->workers[k].reads);
	mount_worker_common_unmap(f->common);
	f->common = NULL;
}

static int dispatch_init(struct fuse_client *f)
{
	struct client_dispatch *d;
	int r;

	if (f->area ||
	    (!f->mount->has_mount_workers && !mount_worker_was_there(f->mount->state_fd)))
		return 0;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	f->dispatch = d;
	d->bell_fd = f->mount->has_mount_workers ? f->mount->bell_fd : -1;
	for (unsigned i = 0; i < LAUNCH_MOUNT_WORKERS_MAX; i++) {
		struct client_worker *w = &d->workers[i];

		w->area = mount_worker_map(f->mount->state_fd, i + 1);
		w->more = w->area ? mount_worker_more_map(f->mount->state_fd, i + 1) : NULL;
		if (!w->more)
			return -errno;
		slots_adopt(f, w);
		files_adopt(f, w);
		/* Check all slots and files, because the predecessor may have left some
		 * unprocessed. */
		__atomic_store_n(&w->area->done, ~0ULL, __ATOMIC_SEQ_CST);
		__atomic_store_n(&w->area->closing, ~0ULL, __ATOMIC_SEQ_CST);
		__atomic_store_n(&w->area->posted, ~0ULL, __ATOMIC_SEQ_CST);
	}
	r = forward_init(f);
	/* The predecessor may have died before it rang the bell for a sleeping mount worker. */
	mount_worker_ring(d->bell_fd);
	return r;
}

static void dispatch_done(struct fuse_client *f)
{
	for (unsigned i = 0; f->dispatch && i < LAUNCH_MOUNT_WORKERS_MAX; i++) {
		mount_worker_unmap(f->dispatch->workers[i].area);
		mount_worker_more_unmap(f->dispatch->workers[i].more);
	}
	if (f->dispatch)
		forward_done(f);
	free(f->dispatch);
	f->dispatch = NULL;
}

/* ------------------------------------------------------------------ dispatch */

/* Returns the file's index in the mount worker's table, or MOUNT_WORKER_FILES if the file is not in
 * this table. */
static unsigned file_place(struct fuse_client *f, struct client_worker *w,
			   const struct client_slot *s)
{
	const struct client_file *file = client_file_get(&f->files, s->refs.fhs[0]);
	unsigned at = MOUNT_WORKER_FILES;
	struct mount_worker_file *lf;

	for (unsigned way = 0; way < MOUNT_WORKER_FILE_WAYS; way++) {
		unsigned i = mount_worker_file_place(s->refs.fhs[0], way);
		uint32_t state = mount_worker_get(&file_at(w, i)->state);

		if (w->fhs[i] == s->refs.fhs[0])
			return state == MOUNT_WORKER_FILE_OPEN ? i : MOUNT_WORKER_FILES;
		if (w->fhs[i] == 0 && at == MOUNT_WORKER_FILES && state == MOUNT_WORKER_FILE_FREE)
			at = i;
	}
	if (at == MOUNT_WORKER_FILES)
		return at;
	lf = file_at(w, at);
	lf->client_file = 0;
	lf->fh = s->refs.fhs[0];
	lf->open_flags = file->open_flags;
	lf->uid = file->uid;
	lf->gid = file->gid;
	lf->handle_len = s->nodes[0]->handle_len;
	memcpy(lf->handle, s->nodes[0]->handle, sizeof(lf->handle));
	mount_worker_set(&lf->state, MOUNT_WORKER_FILE_OPEN);
	place_assign(f, w, at, lf->fh, file->nodeid);
	return at;
}

static bool is_large(const struct client_slot *s)
{
	const size_t at = sizeof(struct fuse_in_header) + offsetof(struct fuse_read_in, size);
	uint32_t size;

	_Static_assert(offsetof(struct fuse_read_in, size) == offsetof(struct fuse_write_in, size),
		       "READ and WRITE have the size at the same offset");
	if (s->req_len < at + sizeof(size))
		return false;
	memcpy(&size, s->req + at, sizeof(size));
	return size >= DISPATCH_BYTES_MIN;
}

/* Returns whether the WRITE appends. The flag in the request decides, because fcntl(2) may have set
 * O_APPEND after the file was opened. */
static bool appends(const struct client_slot *s)
{
	struct fuse_write_in write;

	if (s->opcode != FUSE_WRITE)
		return false;
	memcpy(&write, s->req + sizeof(struct fuse_in_header), sizeof(write));
	return write.flags & O_APPEND;
}

/* Returns whether the request may be dispatched: only READs and WRITEs of regular files, because a
 * mount worker's successor can repeat these. Appends stay with the owner, because the server
 * recognises a repeated append only under the same mount id. Requests that may use RDMA stay with
 * the owner as well. */
static bool is_eligible(const struct fuse_client *f, const struct client_slot *s)
{
	const struct client_file *file;

	if ((s->opcode != FUSE_READ && s->opcode != FUSE_WRITE) || s->refs.n_fhs != 1 ||
	    s->unique & RESEND || client_dispatch_by_rdma(f) || f->link != CLIENT_READY)
		return false;
	file = client_file_get(&f->files, s->refs.fhs[0]);
	return file &&
	       !(file->flags & (CLIENT_FILE_DIR | CLIENT_FILE_DEAD | CLIENT_FILE_CLOSING)) &&
	       !(file->open_flags & O_APPEND) && !appends(s) &&
	       !(s->nodes[0]->flags & CLIENT_NODE_SPECIAL);
}

/* Returns the mount worker with the fewest requests, if it has fewer than this worker; otherwise
 * NULL. A single request stays at this worker, because another core would only add latency. */
static struct client_worker *mount_worker_choose(const struct fuse_client *f, uint64_t now_ns)
{
	struct client_worker *best = NULL;
	unsigned least = f->n_sent + f->n_pending;

	for (unsigned i = 0; i < LAUNCH_MOUNT_WORKERS_MAX; i++) {
		struct client_worker *w = &f->dispatch->workers[i];

		if (w->n_out >= least || !w->free || !client_dispatch_is_alive(w, now_ns))
			continue;
		best = w;
		least = w->n_out;
	}
	return best;
}

/* Returns the mount worker that forwarded the request; NULL if none did. Dispatching the request
 * back to that mount worker adds the file to the mount worker's table. Then the mount worker can
 * serve later requests for the file itself. */
static struct client_worker *mount_worker_that_forwarded(const struct fuse_client *f,
							 uint64_t now_ns)
{
	struct client_worker *w = f->dispatch->forwarded_by
					  ? &f->dispatch->workers[f->dispatch->forwarded_by - 1]
					  : NULL;

	return w && w->free && client_dispatch_is_alive(w, now_ns) ? w : NULL;
}

/* Returns the mount worker to which to dispatch the request; NULL: the owner serves it. */
static struct client_worker *mount_worker_for(const struct fuse_client *f,
					      const struct client_slot *s, uint64_t now_ns)
{
	if (!is_eligible(f, s))
		return NULL;
	return is_large(s) ? mount_worker_choose(f, now_ns)
			   : mount_worker_that_forwarded(f, now_ns);
}

/* Passes the slot's request to the mount worker. Afterwards, only the mount worker's area contains
 * the request's bytes. */
static void hand_over(struct fuse_client *f, struct client_slot *s, unsigned number, unsigned i)
{
	if (s->req != s->small)
		client_pool_put(&f->pool, s->req, s->req_len + FUSE_PROTO_REQ_TAIL_MAX);
	s->req = NULL;
	s->state = CLIENT_SLOT_DISPATCHED;
	s->worker_slot = number * MOUNT_WORKER_SLOTS_ALL + i + 1;
	f->dispatch->workers[number].slots[i] = s;
	if (i >= MOUNT_WORKER_SLOTS) /* the owner claims a request that the mount worker has read,
					which is not counted yet */
		f->dispatch->workers[number].n_out++;
}

static bool dispatch_out(struct fuse_client *f, struct client_slot *s, uint64_t now_ns)
{
	struct client_worker *w = mount_worker_for(f, s, now_ns);
	unsigned file = w ? file_place(f, w, s) : MOUNT_WORKER_FILES, i;
	struct mount_worker_slot *slot;

	if (file == MOUNT_WORKER_FILES)
		return false;
	i = (unsigned)__builtin_ctzll(w->free);
	w->free &= ~(1ULL << i);
	w->n_out++;
	w->touched |= s->req_len > CLIENT_SMALL_BYTES;
	slot = &w->area->slots[i];
	slot->len = s->req_len;
	slot->file = file;
	slot->opcode = s->opcode;
	slot->unique = s->unique;
	slot->fh = s->refs.fhs[0];
	slot->nodeid = s->refs.nodeids[0];
	memcpy(mount_worker_buf(w->area, i), s->req, s->req_len);
	/* Record the write before the mount worker can reply to it. */
	note_write(s->nodes[0], s->opcode, s->req);
	client_cache_written_drop(&f->cache, s->nodes[0]);
	if (s->opcode == FUSE_WRITE)
		client_cache_created_stale(&f->cache, s->nodes[0]);
	hand_over(f, s, (unsigned)(w - f->dispatch->workers), i);
	mount_worker_set(&slot->word, MOUNT_WORKER_DISPATCHED);
	client_dispatch_notify(f, w, i);
	return true;
}

/* ------------------------------------------------------------------ recovery of the owner */

static bool claim_slot(struct fuse_client *f, struct client_worker *w, unsigned i, uint64_t unique)
{
	struct mount_worker_slot *slot = slot_at(w, i);

	for (;;) {
		uint32_t word = mount_worker_get(&slot->word);

		switch (MOUNT_WORKER_STATE(word)) {
		case MOUNT_WORKER_DISPATCHED:
		case MOUNT_WORKER_TAKEN: /* pairs with client_mount_worker_end() */
			if (mount_worker_swap(&slot->word, word, word | MOUNT_WORKER_RESENT))
				return true;
			break;
		case MOUNT_WORKER_REJECTED: /* the kernel has rejected the mount worker's reply,
					       because the kernel was resending the request */
			slot->unique = unique;
			mount_worker_set(&slot->word, MOUNT_WORKER_DISPATCHED);
			client_dispatch_notify(f, w, i);
			return true;
		case MOUNT_WORKER_FORWARDED: /* the owner has read the resent request itself, so
						drop this copy */
			if (mount_worker_swap(&slot->word, word, MOUNT_WORKER_FREE))
				return false;
			break;
		default:
			return false;
		}
	}
}

/* If a mount worker already has this request, which the kernel has resent, claims it for the owner:
 * the owner then waits for the mount worker and does not start the request again. Returns whether a
 * mount worker has received the request. */
static bool claim(struct fuse_client *f, struct client_slot *s)
{
	if (!(s->unique & RESEND))
		return false;
	for (unsigned k = 0; k < LAUNCH_MOUNT_WORKERS_MAX; k++) {
		struct client_worker *w = &f->dispatch->workers[k];

		for (unsigned i = 0; i < MOUNT_WORKER_SLOTS_ALL; i++) {
			if ((i < MOUNT_WORKER_SLOTS && w->free & 1ULL << i) || w->slots[i] ||
			    (slot_at(w, i)->unique & ~RESEND) != (s->unique & ~RESEND) ||
			    !claim_slot(f, w, i, s->unique))
				continue;
			hand_over(f, s, k, i);
			return true;
		}
	}
	return false;
}

static bool dispatch_offer(struct fuse_client *f, struct client_slot *s, uint64_t now_ns)
{
	return claim(f, s) || dispatch_out(f, s, now_ns);
}

void client_dispatch_resend_done(struct fuse_client *f)
{
	if (PLENUM_LIKELY(!f->dispatch || !f->dispatch->settling))
		return;
	f->dispatch->settling = false;
	for (unsigned i = 0; i < LAUNCH_MOUNT_WORKERS_MAX; i++) {
		__atomic_store_n(&f->dispatch->workers[i].area->done, ~0ULL, __ATOMIC_SEQ_CST);
		__atomic_store_n(&f->dispatch->workers[i].reads->done,
				 ~0ULL >> (64 - MOUNT_WORKER_READS), __ATOMIC_SEQ_CST);
	}
	__atomic_store_n(&f->common->done, ~0ULL >> (64 - LAUNCH_MOUNT_WORKERS_MAX),
			 __ATOMIC_SEQ_CST);
}

/* ------------------------------------------------------------------ completion */

static void slot_release(struct client_worker *w, unsigned i)
{
	mount_worker_set(&slot_at(w, i)->word, MOUNT_WORKER_FREE);
	if (i < MOUNT_WORKER_SLOTS)
		w->free |= 1ULL << i;
	if (i < MOUNT_WORKER_SLOTS || w->slots[i])
		w->n_out--;
	w->slots[i] = NULL;
}

/* Copies the request's bytes back from the mount worker's area. Returns false if no buffer is free.
 */
static bool bytes_fetch(struct fuse_client *f, struct client_worker *w, unsigned i)
{
	struct client_slot *s = w->slots[i];
	uint8_t *to = s->small;

	if (s->req_len > CLIENT_SMALL_BYTES - FUSE_PROTO_REQ_TAIL_MAX)
		to = client_slot_req_buf(f);
	if (!to)
		return false;
	s->req = to;
	memcpy(s->req, mount_worker_buf_at(w->area, w->reads, i), s->req_len);
	return true;
}

/* Takes back a request that the mount worker has not sent, and queues the request at the owner as
 * if the owner had never dispatched it. */
static bool take_back(struct fuse_client *f, struct client_worker *w, unsigned i)
{
	struct client_slot *s = w->slots[i];
	struct fuse_in_header in;

	if (!s || s->answered) { /* the kernel has a reply, or the owner gets the request from the
				    kernel again */
		slot_release(w, i);
		if (s)
			client_slot_free(f, s);
		return true;
	}
	if (!bytes_fetch(f, w, i))
		return false;
	/* Restore the kernel's numbers, because the mount worker may have replaced them by its own
	 * numbers. */
	memcpy(&in, s->req, sizeof(in));
	in.nodeid = s->refs.nodeids[0];
	in.unique = s->unique;
	memcpy(s->req, &in, sizeof(in));
	memcpy(s->req + s->refs.fh_at[0], &s->refs.fhs[0], sizeof(s->refs.fhs[0]));
	s->worker_slot = 0;
	s->state = CLIENT_SLOT_FREE;
	/* A limit may have held the request back at the mount worker; its timeout begins now. */
	if (f->limits.is_on)
		s->arrived_ns = client_clock_refresh(f, MAX_OF(s->arrived_ns, f->limits.now_ns));
	client_slot_queue(f, s);
	slot_release(w, i);
	return true;
}

static void request_finish(struct fuse_client *f, struct client_worker *w, unsigned i)
{
	struct mount_worker_slot *slot = slot_at(w, i);
	struct client_slot *s = w->slots[i];
	struct client_node *node = s ? s->nodes[0] : node_of(f, slot);

	if (node) {
		note_write(node, slot->opcode, mount_worker_buf_at(w->area, w->reads, i));
		client_cache_written_drop(&f->cache, node);
		client_shown_note(f, client_node_id(&f->nodes, node));
	} else {
		client_cache_drop_all_written(&f->cache);
		client_shown_note_all(f);
	}
	slot_release(w, i);
	if (s)
		client_slot_free(f, s);
}

bool client_dispatch_slot_look(struct fuse_client *f, struct client_worker *w, unsigned i)
{
	if (i < MOUNT_WORKER_SLOTS && w->free & 1ULL << i)
		return true;
	switch (MOUNT_WORKER_STATE(mount_worker_get(&slot_at(w, i)->word))) {
	case MOUNT_WORKER_REJECTED:
		if (f->dispatch->settling && !w->slots[i])
			break; /* if the kernel resends the request, claim() handles it */
		request_finish(f, w, i);
		break;
	case MOUNT_WORKER_DONE:
		request_finish(f, w, i);
		break;
	case MOUNT_WORKER_RETURNED:
		return take_back(f, w, i);
	case MOUNT_WORKER_FORWARDED: /* the owner has claimed this request, or the mount worker has
					just forwarded it */
		return w->slots[i] && take_back(f, w, i);
	default:
		break;
	}
	return true;
}

static void mount_worker_reap(struct fuse_client *f, struct client_worker *w)
{
	uint64_t bits = mount_worker_get(&w->area->done);

	if (PLENUM_LIKELY(bits == 0))
		return;
	/* Pairs with client_mount_worker_end(): the mount worker changes the slot's word before it
	 * sets the slot's bit. So this process sees the changed word of each bit that it takes
	 * here. */
	bits = __atomic_exchange_n(&w->area->done, 0, __ATOMIC_SEQ_CST);
	for (; bits; bits &= bits - 1) {
		unsigned i = (unsigned)__builtin_ctzll(bits);

		if (!client_dispatch_slot_look(f, w, i))
			__atomic_fetch_or(&w->area->done, 1ULL << i, __ATOMIC_SEQ_CST);
	}
}

static void full_set(struct fuse_client *f, uint32_t full)
{
	for (unsigned i = 0; i < LAUNCH_MOUNT_WORKERS_MAX; i++)
		if (f->dispatch->workers[i].area->full != full)
			mount_worker_set(&f->dispatch->workers[i].area->full, full);
}

/* Handles the requests that mount workers have finished, and takes back those that they have
 * returned. */
static void reap(struct fuse_client *f)
{
	for (unsigned i = 0; i < LAUNCH_MOUNT_WORKERS_MAX; i++)
		mount_worker_reap(f, &f->dispatch->workers[i]);
	if (mount_worker_get(&f->dispatch->workers[0].area->full) && client_has_room(f))
		full_set(f, 0);
}

static int dispatch_poll(struct fuse_client *f, bool all, uint64_t now_ns)
{
	(void)all;
	(void)now_ns;
	reap(f);
	return 0;
}

/* Call when no slot is free: asks mount workers to ring the bell as soon as they have finished a
 * request. */
static void dispatch_full(struct fuse_client *f)
{
	full_set(f, 1);
	/* Pairs with client_mount_worker_end(): the mount worker sets the bit of an ended request,
	 * then checks `full`. The owner has set `full`, and now checks the bits. So either the
	 * owner sees the bit, or the mount worker sees `full` and rings the bell. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	reap(f);
}

static void mark_done(struct fuse_client *f, struct client_worker *w, unsigned i)
{
	if (i < MOUNT_WORKER_SLOTS) {
		__atomic_fetch_or(&w->area->done, 1ULL << i, __ATOMIC_SEQ_CST);
		return;
	}
	__atomic_fetch_or(&w->reads->done, 1ULL << (i - MOUNT_WORKER_SLOTS), __ATOMIC_SEQ_CST);
	__atomic_fetch_or(&f->common->done, 1ULL << (w - f->dispatch->workers), __ATOMIC_SEQ_CST);
}

/* Takes back the requests that an absent mount worker has not begun. */
static void mount_worker_take_back(struct fuse_client *f, struct client_worker *w)
{
	for (unsigned i = 0; i < MOUNT_WORKER_SLOTS_ALL; i++) {
		uint32_t *word = &slot_at(w, i)->word, is = mount_worker_get(word);

		if ((i < MOUNT_WORKER_SLOTS && w->free & 1ULL << i) ||
		    MOUNT_WORKER_STATE(is) != MOUNT_WORKER_DISPATCHED ||
		    (f->dispatch->settling && !w->slots[i]))
			continue;
		/* The mount worker begins a request by swapping the word to TAKEN. So either this
		 * swap or the mount worker's swap succeeds, but not both. */
		if (mount_worker_swap(word, is, MOUNT_WORKER_RETURNED) &&
		    !client_dispatch_slot_look(f, w, i))
			mark_done(f, w, i);
	}
}

/* Checks all slots of a mount worker that may have died after it changed a slot's word and before
 * it set the slot's bit. */
static void forwarded_recheck(struct fuse_client *f, struct client_worker *w)
{
	for (unsigned i = 0; i < MOUNT_WORKER_READS; i++)
		if (MOUNT_WORKER_STATE(mount_worker_get(&w->reads->slots[i].word)) ==
		    MOUNT_WORKER_FORWARDED)
			mark_done(f, w, MOUNT_WORKER_SLOTS + i);
}

static void dispatch_tick(struct fuse_client *f, uint64_t now_ns)
{
	bool looks = now_ns >= f->dispatch->look_ns;

	if (looks)
		f->dispatch->look_ns = now_ns + NSEC_PER_SEC;
	reap(f);
	client_dispatch_report_served(f);
	for (unsigned i = 0; i < LAUNCH_MOUNT_WORKERS_MAX; i++) {
		struct client_worker *w = &f->dispatch->workers[i];

		if (client_dispatch_is_alive(w, now_ns))
			w->served_ns = now_ns;
		else if (w->n_out > 0)
			mount_worker_take_back(f, w);
		if (looks)
			forwarded_recheck(f, w);
		if (w->n_out > 0 || !w->touched || now_ns - f->busy_ns < NSEC_PER_SEC)
			continue;
		mount_worker_trim(w->area);
		w->touched = false;
	}
}

static bool has_unfinished(const struct client_worker *w)
{
	for (unsigned i = 0; i < MOUNT_WORKER_READS; i++) {
		uint32_t state = MOUNT_WORKER_STATE(mount_worker_get(&w->reads->slots[i].word));

		if (state == MOUNT_WORKER_READING || state == MOUNT_WORKER_TAKEN ||
		    state == MOUNT_WORKER_DISPATCHED)
			return true;
	}
	for (unsigned i = 0; i < MOUNT_WORKER_FILES; i++)
		if (mount_worker_get(&file_at(w, i)->state) != MOUNT_WORKER_FILE_FREE)
			return true;
	return false;
}

/* Closes the mount worker's files, except those that its unfinished requests need. A process that
 * finishes these requests closes the other files. */
static void files_close_unneeded(struct client_worker *w)
{
	bool needed[MOUNT_WORKER_FILES] = {false};

	for (unsigned i = 0; i < MOUNT_WORKER_SLOTS_ALL; i++) {
		uint32_t state = MOUNT_WORKER_STATE(mount_worker_get(&slot_at(w, i)->word));

		if (state == MOUNT_WORKER_READING) /* the mount worker may have read a request for a
						      file that is not known here */
			return;
		if (state == MOUNT_WORKER_TAKEN)
			needed[slot_at(w, i)->file % MOUNT_WORKER_FILES] = true;
	}
	for (unsigned i = 0; i < MOUNT_WORKER_FILES; i++) {
		if (needed[i])
			continue;
		w->fhs[i] = 0;
		if (mount_worker_get(&file_at(w, i)->state) != MOUNT_WORKER_FILE_FREE)
			mount_worker_set(&file_at(w, i)->state, MOUNT_WORKER_FILE_CLOSING);
	}
	__atomic_store_n(&w->area->closing, ~0ULL, __ATOMIC_SEQ_CST);
}

unsigned fuse_client_find_orphan(struct fuse_client *f, uint64_t now_ns)
{
	/* The owner learns which requests mount workers had read only when the kernel has resent
	 * its requests. */
	for (unsigned i = 0; f->dispatch && !f->resend_due && i < LAUNCH_MOUNT_WORKERS_MAX; i++) {
		struct client_worker *w = &f->dispatch->workers[i];
		uint64_t seen_ns = mount_worker_get(&w->area->seen_ns);

		if (seen_ns >= now_ns || now_ns - seen_ns < ORPHAN_NS ||
		    (w->n_out == 0 && !has_unfinished(w))) {
			w->away_ns = 0;
			continue;
		}
		if (w->away_ns == 0)
			w->away_ns = now_ns;
		if (now_ns - w->away_ns < NSEC_PER_SEC || f->unmounted)
			continue;
		files_close_unneeded(w);
		return i + 1;
	}
	return 0;
}

static bool dispatch_is_on(const struct fuse_client *f)
{
	return f->dispatch;
}

const struct client_stage client_dispatch_stage = {
	.is_on = dispatch_is_on,
	.init = dispatch_init,
	.done = dispatch_done,
	.poll = dispatch_poll,
	.drained = client_dispatch_resend_done,
	.full = dispatch_full,
	.offer = dispatch_offer,
	.tick = dispatch_tick,
};
