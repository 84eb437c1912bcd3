/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The owner's end of a mount's mount workers: dispatches data requests to other cores, and recovers
 * them when either end dies.
 */
#include "dataplane/fuse/client/fuse_client_internal.h"

#include <fcntl.h>
#include <string.h>

#define RESEND FUSE_PROTO_UNIQUE_RESEND
/* Smaller requests cost as much to dispatch as to send; when there are too many of them, mount
 * workers read for themselves. */
#define DEAL_BYTES_MIN (64U << 10)
/* A mount worker that is away this long may not return. */
#define ORPHAN_NS (5 * NSEC_PER_SEC)

bool client_dispatch_is_alive(const struct client_dispatched *l, uint64_t now_ns)
{
	uint64_t seen_ns = mount_worker_get(&l->area->seen_ns);

	return mount_worker_get(&l->area->ready) &&
	       (seen_ns >= now_ns || now_ns - seen_ns < MOUNT_WORKER_AWAY_NS);
}

static struct mount_worker_slot *slot_at(const struct client_dispatched *l, unsigned i)
{
	return mount_worker_slot_at(l->area, l->reads, i);
}

static void post(const struct client_dispatch *d, struct client_dispatched *l, uint64_t *bits,
		 unsigned i)
{
	/* Partner: client_mount_worker_pull() of the mount worker, which sets `asleep` before it
	 * looks, and looks before it sets it again: ringing once is enough. */
	__atomic_fetch_or(bits, 1ULL << i, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (mount_worker_get(&l->area->asleep) &&
	    __atomic_exchange_n(&l->area->asleep, 0U, __ATOMIC_SEQ_CST))
		mount_worker_ring(d->bell_fd);
}

void client_dispatch_post(struct fuse_client *f, struct client_dispatched *l, unsigned i)
{
	if (i < MOUNT_WORKER_SLOTS)
		post(f->deal, l, &l->area->posted, i);
	else
		post(f->deal, l, &l->reads->posted, i - MOUNT_WORKER_SLOTS);
}

/* ------------------------------------------------------------------ adoption of a predecessor's */

static struct client_node *node_of(struct fuse_client *f, const struct mount_worker_slot *slot)
{
	const struct client_file *file = client_file_get(&f->files, slot->fh);

	return file ? client_node_get(&f->nodes, file->nodeid) : NULL;
}

/* A WRITE that is or was in flight: only unsynced data can be lost with the server. */
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

static void adopt_slots(struct fuse_client *f, struct client_dispatched *l)
{
	l->free = 0;
	for (unsigned i = 0; i < MOUNT_WORKER_SLOTS; i++) {
		const struct mount_worker_slot *slot = &l->area->slots[i];
		struct client_node *node = node_of(f, slot);

		if (MOUNT_WORKER_STATE(mount_worker_get(&slot->word)) == MOUNT_WORKER_FREE) {
			l->free |= 1ULL << i;
			continue;
		}
		l->n_out++;
		if (node)
			note_write(node, slot->opcode, mount_worker_buf(l->area, i));
	}
	l->touched = true;
}

static struct mount_worker_file *file_at(const struct client_dispatched *l, unsigned i)
{
	return mount_worker_file_at(l->area, l->more, i);
}

static unsigned nodeids_at(uint64_t nodeid)
{
	return (unsigned)(nodeid % CLIENT_DEAL_NODEIDS);
}

/* Assigns place i to the file. The node's number stays after the file is closed. */
static void place_give(struct fuse_client *f, struct client_dispatched *l, unsigned i, uint64_t fh,
		       uint64_t nodeid)
{
	if (l->nodeids[i])
		f->deal->n_nodeids[nodeids_at(l->nodeids[i])]--;
	f->deal->n_nodeids[nodeids_at(nodeid)]++;
	l->fhs[i] = fh;
	l->nodeids[i] = nodeid;
}

static void adopt_files(struct fuse_client *f, struct client_dispatched *l)
{
	for (unsigned i = 0; i < MOUNT_WORKER_FILES; i++) {
		struct mount_worker_file *lf = file_at(l, i);
		const struct client_file *file = client_file_get(&f->files, lf->fh);

		if (mount_worker_get(&lf->state) == MOUNT_WORKER_FILE_FREE)
			continue;
		if (file && !(file->flags & CLIENT_FILE_CLOSING)) {
			place_give(f, l, i, lf->fh, file->nodeid);
			f->deal->strays |= (i - (unsigned)lf->fh) % MOUNT_WORKER_FILES >=
					   MOUNT_WORKER_FILE_WAYS;
		} else {
			mount_worker_set(&lf->state, MOUNT_WORKER_FILE_CLOSING);
		}
	}
}

int client_dispatch_init(struct fuse_client *f)
{
	struct client_dispatch *d;
	int r;

	if (f->lane || (!f->mount->has_lanes && !mount_worker_was_there(f->mount->state_fd)))
		return 0;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	f->deal = d;
	d->bell_fd = f->mount->has_lanes ? f->mount->bell_fd : -1;
	for (unsigned i = 0; i < LAUNCH_LANES_MAX; i++) {
		struct client_dispatched *l = &d->lanes[i];

		l->area = mount_worker_map(f->mount->state_fd, i + 1);
		l->more = l->area ? mount_worker_more_map(f->mount->state_fd, i + 1) : NULL;
		if (!l->more)
			return -errno;
		adopt_slots(f, l);
		adopt_files(f, l);
		/* What the predecessor had processed is unknown: look at everything. */
		__atomic_store_n(&l->area->done, ~0ULL, __ATOMIC_SEQ_CST);
		__atomic_store_n(&l->area->closing, ~0ULL, __ATOMIC_SEQ_CST);
		__atomic_store_n(&l->area->posted, ~0ULL, __ATOMIC_SEQ_CST);
	}
	r = client_forward_init(f);
	/* The predecessor may have died before it rang the bell for a sleeping mount worker. */
	mount_worker_ring(d->bell_fd);
	return r;
}

void client_dispatch_done(struct fuse_client *f)
{
	for (unsigned i = 0; f->deal && i < LAUNCH_LANES_MAX; i++) {
		mount_worker_unmap(f->deal->lanes[i].area);
		mount_worker_more_unmap(f->deal->lanes[i].more);
	}
	if (f->deal)
		client_forward_done(f);
	free(f->deal);
	f->deal = NULL;
}

/* ------------------------------------------------------------------ dispatch */

/* The file's place in the mount worker's table; MOUNT_WORKER_FILES: none. */
static unsigned file_place(struct fuse_client *f, struct client_dispatched *l,
			   const struct client_slot *s)
{
	const struct client_file *file = client_file_get(&f->files, s->refs.fhs[0]);
	unsigned at = MOUNT_WORKER_FILES;
	struct mount_worker_file *lf;

	for (unsigned way = 0; way < MOUNT_WORKER_FILE_WAYS; way++) {
		unsigned i = mount_worker_file_place(s->refs.fhs[0], way);
		uint32_t state = mount_worker_get(&file_at(l, i)->state);

		if (i >= MOUNT_WORKER_FILES_OLD && !mount_worker_get(&l->more->is_known))
			continue;
		if (l->fhs[i] == s->refs.fhs[0])
			return state == MOUNT_WORKER_FILE_OPEN ? i : MOUNT_WORKER_FILES;
		if (l->fhs[i] == 0 && at == MOUNT_WORKER_FILES && state == MOUNT_WORKER_FILE_FREE)
			at = i;
	}
	if (at == MOUNT_WORKER_FILES)
		return at;
	lf = file_at(l, at);
	lf->own = 0;
	lf->fh = s->refs.fhs[0];
	lf->open_flags = file->open_flags;
	lf->uid = file->uid;
	lf->gid = file->gid;
	lf->handle_len = s->nodes[0]->handle_len;
	memcpy(lf->handle, s->nodes[0]->handle, sizeof(lf->handle));
	mount_worker_set(&lf->state, MOUNT_WORKER_FILE_OPEN);
	place_give(f, l, at, lf->fh, file->nodeid);
	return at;
}

bool client_dispatch_by_rdma(const struct fuse_client *f)
{
	return f->rdma.only || (f->rdma.peer && port_rdma_ready(f->rdma.peer));
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
	return size >= DEAL_BYTES_MIN;
}

/* The flag of the request counts: fcntl(2) may have set O_APPEND since the file was opened. */
static bool appends(const struct client_slot *s)
{
	struct fuse_write_in write;

	if (s->opcode != FUSE_WRITE)
		return false;
	memcpy(&write, s->req + sizeof(struct fuse_in_header), sizeof(write));
	return write.flags & O_APPEND;
}

/* Only data of regular files, whose requests are idempotent: the server recognizes a repeated
 * append by the id that sent it first. Requests that may use RDMA stay with the owner. */
static bool is_dealt(const struct fuse_client *f, const struct client_slot *s)
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

/* The mount worker with the least work, if it has less than we have. A single request stays
 * here: another core would only add latency. */
static struct client_dispatched *mount_worker_choose(const struct fuse_client *f, uint64_t now_ns)
{
	struct client_dispatched *best = NULL;
	unsigned least = f->n_sent + f->n_pending;

	for (unsigned i = 0; i < LAUNCH_LANES_MAX; i++) {
		struct client_dispatched *l = &f->deal->lanes[i];

		if (l->n_out >= least || !l->free || !client_dispatch_is_alive(l, now_ns))
			continue;
		best = l;
		least = l->n_out;
	}
	return best;
}

/* The mount worker that forwarded the request: it gets the file, and keeps its later requests. */
static struct client_dispatched *mount_worker_that_passed(const struct fuse_client *f,
							  uint64_t now_ns)
{
	struct client_dispatched *l =
		f->deal->passed_by ? &f->deal->lanes[f->deal->passed_by - 1] : NULL;

	return l && l->free && client_dispatch_is_alive(l, now_ns) ? l : NULL;
}

/* NULL: the owner serves it. */
static struct client_dispatched *mount_worker_for(const struct fuse_client *f,
						  const struct client_slot *s, uint64_t now_ns)
{
	if (!f->deal || !is_dealt(f, s))
		return NULL;
	return is_large(s) ? mount_worker_choose(f, now_ns) : mount_worker_that_passed(f, now_ns);
}

/* Hands the slot to the mount worker; the request's bytes are now only in its area. */
static void deal_out(struct fuse_client *f, struct client_slot *s, unsigned lane, unsigned i)
{
	if (s->req != s->small)
		client_pool_put(&f->pool, s->req, s->req_len + FUSE_PROTO_REQ_TAIL_MAX);
	s->req = NULL;
	s->state = CLIENT_SLOT_DEALT;
	s->lane = lane * MOUNT_WORKER_SLOTS_ALL + i + 1;
	f->deal->lanes[lane].slots[i] = s;
	if (i >= MOUNT_WORKER_SLOTS) /* of these only claimed ones count */
		f->deal->lanes[lane].n_out++;
}

bool client_dispatch_give(struct fuse_client *f, struct client_slot *s, uint64_t now_ns)
{
	struct client_dispatched *l = mount_worker_for(f, s, now_ns);
	unsigned file = l ? file_place(f, l, s) : MOUNT_WORKER_FILES, i;
	struct mount_worker_slot *slot;

	if (file == MOUNT_WORKER_FILES)
		return false;
	i = (unsigned)__builtin_ctzll(l->free);
	l->free &= ~(1ULL << i);
	l->n_out++;
	l->touched |= s->req_len > CLIENT_SMALL_BYTES;
	slot = &l->area->slots[i];
	slot->len = s->req_len;
	slot->file = file;
	slot->opcode = s->opcode;
	slot->unique = s->unique;
	slot->fh = s->refs.fhs[0];
	slot->nodeid = s->refs.nodeids[0];
	memcpy(mount_worker_buf(l->area, i), s->req, s->req_len);
	note_write(s->nodes[0], s->opcode, s->req); /* before it can be answered */
	client_cache_written_drop(&f->known, s->nodes[0]);
	if (s->opcode == FUSE_WRITE)
		client_cache_made_stale(&f->known, s->nodes[0]);
	deal_out(f, s, (unsigned)(l - f->deal->lanes), i);
	mount_worker_set(&slot->word, MOUNT_WORKER_HANDED);
	post(f->deal, l, &l->area->posted, i);
	return true;
}

/* ------------------------------------------------------------------ recovery of the owner */

static bool claim_slot(struct fuse_client *f, struct client_dispatched *l, unsigned i,
		       uint64_t unique)
{
	struct mount_worker_slot *slot = slot_at(l, i);

	for (;;) {
		uint32_t word = mount_worker_get(&slot->word);

		switch (MOUNT_WORKER_STATE(word)) {
		case MOUNT_WORKER_HANDED:
		case MOUNT_WORKER_TAKEN: /* partner: client_mount_worker_end() */
			if (mount_worker_swap(&slot->word, word, word | MOUNT_WORKER_AGAIN))
				return true;
			break;
		case MOUNT_WORKER_UNHEARD: /* the kernel rejected its reply, since the request was
					      being resent */
			slot->unique = unique;
			mount_worker_set(&slot->word, MOUNT_WORKER_HANDED);
			client_dispatch_post(f, l, i);
			return true;
		case MOUNT_WORKER_PASSED: /* we have the request already: drop this copy */
			if (mount_worker_swap(&slot->word, word, MOUNT_WORKER_FREE))
				return false;
			break;
		default:
			return false;
		}
	}
}

bool client_dispatch_claim(struct fuse_client *f, struct client_slot *s)
{
	if (!f->deal || !(s->unique & RESEND))
		return false;
	for (unsigned k = 0; k < LAUNCH_LANES_MAX; k++) {
		struct client_dispatched *l = &f->deal->lanes[k];

		for (unsigned i = 0; i < MOUNT_WORKER_SLOTS_ALL; i++) {
			if ((i < MOUNT_WORKER_SLOTS && l->free & 1ULL << i) || l->slots[i] ||
			    (slot_at(l, i)->unique & ~RESEND) != (s->unique & ~RESEND) ||
			    !claim_slot(f, l, i, s->unique))
				continue;
			deal_out(f, s, k, i);
			return true;
		}
	}
	return false;
}

static bool mount_worker_has(const struct fuse_client *f, const struct client_dispatched *l,
			     const struct client_node *node)
{
	for (unsigned i = 0; i < MOUNT_WORKER_SLOTS_ALL && l->n_out > 0; i++) {
		const struct client_slot *s = l->slots[i];

		/* A predecessor's request may be of any node. */
		if (s ? s->nodes[0] == node : i < MOUNT_WORKER_SLOTS && !(l->free & 1ULL << i))
			return true;
	}
	return f->deal->n_nodeids[nodeids_at(client_node_id(&f->nodes, node))] > 0 &&
	       client_forward_has(l, client_node_id(&f->nodes, node));
}

bool client_dispatch_has(const struct fuse_client *f, const struct client_node *node)
{
	for (unsigned i = 0; f->deal && i < LAUNCH_LANES_MAX; i++)
		if (mount_worker_has(f, &f->deal->lanes[i], node))
			return true;
	return false;
}

void client_dispatch_settled(struct fuse_client *f)
{
	if (PLENUM_LIKELY(!f->deal || !f->deal->settling))
		return;
	f->deal->settling = false;
	for (unsigned i = 0; i < LAUNCH_LANES_MAX; i++) {
		__atomic_store_n(&f->deal->lanes[i].area->done, ~0ULL, __ATOMIC_SEQ_CST);
		__atomic_store_n(&f->deal->lanes[i].reads->done, ~0ULL >> (64 - MOUNT_WORKER_READS),
				 __ATOMIC_SEQ_CST);
	}
	__atomic_store_n(&f->common->done, ~0ULL >> (64 - LAUNCH_LANES_MAX), __ATOMIC_SEQ_CST);
}

/* ------------------------------------------------------------------ completion */

static void slot_release(struct client_dispatched *l, unsigned i)
{
	mount_worker_set(&slot_at(l, i)->word, MOUNT_WORKER_FREE);
	if (i < MOUNT_WORKER_SLOTS)
		l->free |= 1ULL << i;
	if (i < MOUNT_WORKER_SLOTS || l->slots[i])
		l->n_out--;
	l->slots[i] = NULL;
}

/* False: there is no buffer for it now. */
static bool bytes_back(struct fuse_client *f, struct client_dispatched *l, unsigned i)
{
	struct client_slot *s = l->slots[i];
	uint8_t *to = s->small;

	if (s->req_len > CLIENT_SMALL_BYTES - FUSE_PROTO_REQ_TAIL_MAX)
		to = client_pool_get(&f->pool, 0);
	if (!to)
		return false;
	s->req = to;
	memcpy(s->req, mount_worker_buf_at(l->area, l->reads, i), s->req_len);
	return true;
}

/* The mount worker has not sent it: queue it here, as if it had never been dispatched. */
static bool take_back(struct fuse_client *f, struct client_dispatched *l, unsigned i)
{
	struct client_slot *s = l->slots[i];
	struct fuse_in_header in;

	if (!s || s->answered) { /* its resend has not been read yet: the kernel resends it */
		slot_release(l, i);
		if (s)
			client_slot_free(f, s);
		return true;
	}
	if (!bytes_back(f, l, i))
		return false;
	/* The mount worker may have replaced these numbers by its own. */
	memcpy(&in, s->req, sizeof(in));
	in.nodeid = s->refs.nodeids[0];
	in.unique = s->unique;
	memcpy(s->req, &in, sizeof(in));
	memcpy(s->req + s->refs.fh_at[0], &s->refs.fhs[0], sizeof(s->refs.fhs[0]));
	s->lane = 0;
	s->state = CLIENT_SLOT_FREE;
	client_slot_queue(f, s);
	slot_release(l, i);
	return true;
}

static void end_note(struct fuse_client *f, struct client_dispatched *l, unsigned i)
{
	struct mount_worker_slot *slot = slot_at(l, i);
	struct client_slot *s = l->slots[i];
	struct client_node *node = s ? s->nodes[0] : node_of(f, slot);

	if (node) {
		note_write(node, slot->opcode, mount_worker_buf_at(l->area, l->reads, i));
		client_cache_written_drop(&f->known, node);
		client_prefetch_shown(f, client_node_id(&f->nodes, node));
	} else {
		client_cache_written_drop_all(&f->known);
		client_prefetch_shown_all(f);
	}
	slot_release(l, i);
	if (s)
		client_slot_free(f, s);
}

bool client_dispatch_slot_look(struct fuse_client *f, struct client_dispatched *l, unsigned i)
{
	if (i < MOUNT_WORKER_SLOTS && l->free & 1ULL << i)
		return true;
	switch (MOUNT_WORKER_STATE(mount_worker_get(&slot_at(l, i)->word))) {
	case MOUNT_WORKER_UNHEARD:
		if (f->deal->settling && !l->slots[i])
			break; /* it may be resent: client_dispatch_claim() */
		end_note(f, l, i);
		break;
	case MOUNT_WORKER_DONE:
		end_note(f, l, i);
		break;
	case MOUNT_WORKER_BACK:
		return take_back(f, l, i);
	case MOUNT_WORKER_PASSED: /* one that we claimed, or that has just arrived */
		return l->slots[i] && take_back(f, l, i);
	default:
		break;
	}
	return true;
}

static void mount_worker_reap(struct fuse_client *f, struct client_dispatched *l)
{
	uint64_t bits = mount_worker_get(&l->area->done);

	if (PLENUM_LIKELY(bits == 0))
		return;
	/* Partner: client_mount_worker_end(). */
	bits = __atomic_exchange_n(&l->area->done, 0, __ATOMIC_SEQ_CST);
	for (; bits; bits &= bits - 1) {
		unsigned i = (unsigned)__builtin_ctzll(bits);

		if (!client_dispatch_slot_look(f, l, i))
			__atomic_fetch_or(&l->area->done, 1ULL << i, __ATOMIC_SEQ_CST);
	}
}

static void full_set(struct fuse_client *f, uint32_t full)
{
	for (unsigned i = 0; i < LAUNCH_LANES_MAX; i++)
		if (f->deal->lanes[i].area->full != full)
			mount_worker_set(&f->deal->lanes[i].area->full, full);
}

void client_dispatch_reap(struct fuse_client *f)
{
	if (!f->deal)
		return;
	for (unsigned i = 0; i < LAUNCH_LANES_MAX; i++)
		mount_worker_reap(f, &f->deal->lanes[i]);
	if (mount_worker_get(&f->deal->lanes[0].area->full) && client_has_room(f))
		full_set(f, 0);
}

void client_dispatch_full(struct fuse_client *f)
{
	if (!f->deal)
		return;
	full_set(f, 1);
	/* Partner: client_mount_worker_end(), which marks the slot before it looks. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	client_dispatch_reap(f);
}

static void tell_again(struct fuse_client *f, struct client_dispatched *l, unsigned i)
{
	if (i < MOUNT_WORKER_SLOTS) {
		__atomic_fetch_or(&l->area->done, 1ULL << i, __ATOMIC_SEQ_CST);
		return;
	}
	__atomic_fetch_or(&l->reads->done, 1ULL << (i - MOUNT_WORKER_SLOTS), __ATOMIC_SEQ_CST);
	__atomic_fetch_or(&f->common->done, 1ULL << (l - f->deal->lanes), __ATOMIC_SEQ_CST);
}

/* Takes back the requests that a departed mount worker has not begun. */
static void mount_worker_desert(struct fuse_client *f, struct client_dispatched *l)
{
	for (unsigned i = 0; i < MOUNT_WORKER_SLOTS_ALL; i++) {
		uint32_t *word = &slot_at(l, i)->word, is = mount_worker_get(word);

		if ((i < MOUNT_WORKER_SLOTS && l->free & 1ULL << i) ||
		    MOUNT_WORKER_STATE(is) != MOUNT_WORKER_HANDED ||
		    (f->deal->settling && !l->slots[i]))
			continue;
		/* Partner: the mount worker's swap to TAKEN. */
		if (mount_worker_swap(word, is, MOUNT_WORKER_BACK) &&
		    !client_dispatch_slot_look(f, l, i))
			tell_again(f, l, i);
	}
}

/* A mount worker may have died between the word and the bit, and may not return. */
static void passed_again(struct fuse_client *f, struct client_dispatched *l)
{
	for (unsigned i = 0; i < MOUNT_WORKER_READS; i++)
		if (MOUNT_WORKER_STATE(mount_worker_get(&l->reads->slots[i].word)) ==
		    MOUNT_WORKER_PASSED)
			tell_again(f, l, MOUNT_WORKER_SLOTS + i);
}

void client_dispatch_served(struct fuse_client *f)
{
	uint32_t served = f->link == CLIENT_READY && f->features & FUSE_PROTO_FEATURE_LANES;

	if (!f->deal ||
	    mount_worker_get(&f->deal->lanes[LAUNCH_LANES_MAX - 1].area->served) == served)
		return;
	for (unsigned i = 0; i < LAUNCH_LANES_MAX; i++)
		mount_worker_set(&f->deal->lanes[i].area->served, served);
	mount_worker_ring(f->deal->bell_fd);
}

void client_dispatch_tick(struct fuse_client *f, uint64_t now_ns)
{
	bool looks;

	if (!f->deal)
		return;
	looks = now_ns >= f->deal->look_ns;
	if (looks)
		f->deal->look_ns = now_ns + NSEC_PER_SEC;
	client_dispatch_reap(f);
	client_dispatch_served(f);
	for (unsigned i = 0; i < LAUNCH_LANES_MAX; i++) {
		struct client_dispatched *l = &f->deal->lanes[i];

		if (l->n_out > 0 && !client_dispatch_is_alive(l, now_ns))
			mount_worker_desert(f, l);
		if (looks)
			passed_again(f, l);
		if (l->n_out > 0 || !l->touched || now_ns - f->busy_ns < NSEC_PER_SEC)
			continue;
		mount_worker_trim(l->area);
		l->touched = false;
	}
}

static bool leaves_some(const struct client_dispatched *l)
{
	for (unsigned i = 0; i < MOUNT_WORKER_READS; i++) {
		uint32_t state = MOUNT_WORKER_STATE(mount_worker_get(&l->reads->slots[i].word));

		if (state == MOUNT_WORKER_READING || state == MOUNT_WORKER_TAKEN ||
		    state == MOUNT_WORKER_HANDED)
			return true;
	}
	for (unsigned i = 0; i < MOUNT_WORKER_FILES; i++)
		if (mount_worker_get(&file_at(l, i)->state) != MOUNT_WORKER_FILE_FREE)
			return true;
	return false;
}

/* Closes the files that no unfinished request of the mount worker needs: the process that
 * finishes the requests closes them. The rest is closed after those requests. */
static void files_leave(struct client_dispatched *l)
{
	bool needed[MOUNT_WORKER_FILES] = {false};

	for (unsigned i = 0; i < MOUNT_WORKER_SLOTS_ALL; i++) {
		uint32_t state = MOUNT_WORKER_STATE(mount_worker_get(&slot_at(l, i)->word));

		if (state == MOUNT_WORKER_READING) /* its file is not known yet */
			return;
		if (state == MOUNT_WORKER_TAKEN)
			needed[slot_at(l, i)->file % MOUNT_WORKER_FILES] = true;
	}
	for (unsigned i = 0; i < MOUNT_WORKER_FILES; i++) {
		if (needed[i])
			continue;
		l->fhs[i] = 0;
		if (mount_worker_get(&file_at(l, i)->state) != MOUNT_WORKER_FILE_FREE)
			mount_worker_set(&file_at(l, i)->state, MOUNT_WORKER_FILE_CLOSING);
	}
	__atomic_store_n(&l->area->closing, ~0ULL, __ATOMIC_SEQ_CST);
}

unsigned fuse_client_orphan(struct fuse_client *f, uint64_t now_ns)
{
	/* Until then, the requests that it may have read are not ours to judge. */
	for (unsigned i = 0; f->deal && !f->resend_due && i < LAUNCH_LANES_MAX; i++) {
		struct client_dispatched *l = &f->deal->lanes[i];
		uint64_t seen_ns = mount_worker_get(&l->area->seen_ns);

		if (seen_ns >= now_ns || now_ns - seen_ns < ORPHAN_NS ||
		    (l->n_out == 0 && !leaves_some(l))) {
			l->away_ns = 0;
			continue;
		}
		if (l->away_ns == 0)
			l->away_ns = now_ns;
		if (now_ns - l->away_ns < NSEC_PER_SEC || f->gone)
			continue;
		files_leave(l);
		return i + 1;
	}
	return 0;
}

void client_dispatch_cancel(struct fuse_client *f, const struct client_slot *s)
{
	if (s->state == CLIENT_SLOT_DEALT)
		__atomic_fetch_or(&slot_at(&f->deal->lanes[(s->lane - 1) / MOUNT_WORKER_SLOTS_ALL],
					   (s->lane - 1) % MOUNT_WORKER_SLOTS_ALL)
					   ->word,
				  MOUNT_WORKER_CANCELLED, __ATOMIC_ACQ_REL);
}

static void place_close(struct fuse_client *f, struct client_dispatched *l, unsigned i, uint64_t fh)
{
	if (l->fhs[i] != fh)
		return;
	l->fhs[i] = 0;
	mount_worker_set(&file_at(l, i)->state, MOUNT_WORKER_FILE_CLOSING);
	post(f->deal, l, &l->area->closing, i % 64);
}

void client_dispatch_close(struct fuse_client *f, uint64_t fh)
{
	for (unsigned k = 0; f->deal && k < LAUNCH_LANES_MAX; k++) {
		struct client_dispatched *l = &f->deal->lanes[k];

		for (unsigned way = 0; way < MOUNT_WORKER_FILE_WAYS; way++)
			place_close(f, l, mount_worker_file_place(fh, way), fh);
		for (unsigned i = 0; i < MOUNT_WORKER_FILES_OLD && f->deal->strays; i++)
			place_close(f, l, i, fh);
	}
}

void client_dispatch_gone(struct fuse_client *f)
{
	/* Once: the bell wakes us too. */
	if (!f->deal || mount_worker_get(&f->deal->lanes[LAUNCH_LANES_MAX - 1].area->gone))
		return;
	for (unsigned i = 0; i < LAUNCH_LANES_MAX; i++)
		mount_worker_set(&f->deal->lanes[i].area->gone, 1U);
	mount_worker_ring(f->deal->bell_fd);
}
