/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The owner's side of requests that mount workers read themselves: decides when mount workers read,
 * takes the requests that they forward, and applies the changes of files that they report.
 */
#include "dataplane/fuse/client/workers/client_workers.h"

#include <string.h>

#define RESEND FUSE_PROTO_UNIQUE_RESEND

/* ------------------------------------------------------------------ before the kernel resends */

/* Returns whether the request is a FORGET. The kernel expects no answer to a FORGET, so it does not
 * resend one. */
static bool is_forget(const struct fuse_in_header *h)
{
	return h->opcode == FUSE_FORGET || h->opcode == FUSE_BATCH_FORGET;
}

/* Returns whether the mount worker certainly reads nothing more. If it is dead, frees the slots in
 * which it was reading, and processes the FORGETs that it had read; the kernel resends the other
 * requests. */
static bool mount_worker_quiesces(struct fuse_client *f, unsigned k)
{
	struct mount_worker_reads *r = f->dispatch->workers[k].reads;

	for (unsigned i = 0; i < MOUNT_WORKER_READS; i++) {
		uint32_t *word = &r->slots[i].word;
		struct fuse_in_header h;

		if (MOUNT_WORKER_STATE(mount_worker_get(word)) != MOUNT_WORKER_READING)
			continue;
		if (mount_worker_is_locked(f->mount->state_fd, k + 1))
			return false;
		/* A successor of the mount worker that starts now would swap the same word
		 * (reading_resolve()). Only one of the two swaps can succeed. */
		if (!mount_worker_swap(word, MOUNT_WORKER_READING, MOUNT_WORKER_FREE))
			continue;
		memcpy(&h, mount_worker_reads_buf(r, i), sizeof(h));
		if (is_forget(&h) && h.len >= sizeof(h) &&
		    h.len <= mount_worker_reads_populated(r, i))
			client_request_forget(f, mount_worker_reads_buf(r, i), h.len);
	}
	return true;
}

bool client_forward_quiesce(struct fuse_client *f)
{
	for (unsigned k = 0; f->dispatch && k < LAUNCH_MOUNT_WORKERS_MAX; k++)
		if (!mount_worker_quiesces(f, k))
			return false;
	return true;
}

/* Reads a forwarded request from slot i. Returns false if the slot has no forwarded request. */
static bool forwarded_get(struct fuse_client *f, struct client_worker *w, unsigned i,
			  size_t *ret_len)
{
	struct mount_worker_slot *slot = &w->reads->slots[i];
	uint32_t word = mount_worker_get(&slot->word);
	const uint8_t *req = mount_worker_reads_buf(w->reads, i);
	struct fuse_in_header h;

	if (MOUNT_WORKER_STATE(word) != MOUNT_WORKER_FORWARDED)
		return false;
	memcpy(&h, req, sizeof(h));
	*ret_len = MIN_OF(h.len, (uint32_t)(CLIENT_POOL_BUF_BYTES - FUSE_PROTO_REQ_TAIL_MAX));
	memcpy(f->read_buf, req, *ret_len);
	/* Free the slot before the request is processed, so that it cannot be processed twice. If
	 * this process dies here, the kernel resends the request. */
	return mount_worker_swap(&slot->word, word, MOUNT_WORKER_FREE) && h.len == *ret_len &&
	       h.len >= sizeof(h);
}

void client_forward_take_forgets(struct fuse_client *f)
{
	struct fuse_in_header h;
	size_t len;

	for (unsigned k = 0; f->dispatch && k < LAUNCH_MOUNT_WORKERS_MAX; k++)
		for (unsigned i = 0; i < MOUNT_WORKER_READS; i++) {
			if (!forwarded_get(f, &f->dispatch->workers[k], i, &len))
				continue;
			memcpy(&h, f->read_buf, sizeof(h));
			if (is_forget(&h))
				client_request_forget(f, f->read_buf, len);
		}
}

/* ------------------------------------------------------------------ forwarded requests */

/* Takes the forwarded request in slot k. Returns false if it must be tried again later. */
static bool slot_take(struct fuse_client *f, unsigned k, unsigned i, int *n_taken, uint64_t now_ns)
{
	struct client_worker *w = &f->dispatch->workers[k];
	size_t len;

	/* The slot has no request to take if the owner has claimed the request before, or if the
	 * slot only reports that a request has ended. */
	if (w->slots[MOUNT_WORKER_SLOTS + i] ||
	    MOUNT_WORKER_STATE(mount_worker_get(&w->reads->slots[i].word)) !=
		    MOUNT_WORKER_FORWARDED)
		return client_dispatch_slot_look(f, w, MOUNT_WORKER_SLOTS + i);
	/* wait, because the kernel may resend this request */
	if (f->dispatch->settling || f->resend_due || !client_has_room(f))
		return false;
	if (!forwarded_get(f, w, i, &len))
		return true;
	f->dispatch->forwarded_by = k + 1;
	client_take_request(f, len, now_ns);
	f->dispatch->forwarded_by = 0;
	++*n_taken;
	return true;
}

static int mount_worker_take(struct fuse_client *f, unsigned k, uint64_t now_ns)
{
	struct mount_worker_reads *r = f->dispatch->workers[k].reads;
	uint64_t bits = mount_worker_take_bits(&r->done, MOUNT_WORKER_READS), left = 0;
	int n = 0;

	for (; bits; bits &= bits - 1) {
		unsigned i = (unsigned)__builtin_ctzll(bits);

		if (!slot_take(f, k, i, &n, now_ns))
			left |= 1ULL << i;
	}
	if (left) {
		__atomic_fetch_or(&r->done, left, __ATOMIC_SEQ_CST);
		__atomic_fetch_or(&f->common->done, 1ULL << k, __ATOMIC_SEQ_CST);
	}
	return n;
}

/* Takes forwarded requests and returns their number. */
static int forward_take(struct fuse_client *f, uint64_t now_ns)
{
	uint64_t bits;
	int n = 0;

	if (PLENUM_LIKELY(mount_worker_get(&f->common->done) == 0))
		return 0;
	/* Pairs with client_mount_worker_notify_owner(): a mount worker sets the bits of its slots,
	 * then its own bit in `done`. The owner first takes the bit in `done`, then the bits of the
	 * slots, so it misses no bit. */
	bits = mount_worker_take_bits(&f->common->done, LAUNCH_MOUNT_WORKERS_MAX);
	for (; bits; bits &= bits - 1)
		n += mount_worker_take(f, (unsigned)__builtin_ctzll(bits), now_ns);
	return n;
}

/* Records whether the owner is about to sleep. */
static void set_asleep(struct fuse_client *f, bool sleeps)
{
	if (mount_worker_get(&f->common->asleep) == sleeps)
		return;
	/* Pairs with client_mount_worker_ring_owner(): a mount worker sets the bit of a request,
	 * then checks `asleep`. The owner sets `asleep` here, and the caller then checks for
	 * requests. So either the owner sees the bit, or the mount worker sees `asleep` and rings
	 * the bell. */
	__atomic_store_n(&f->common->asleep, sleeps, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* ------------------------------------------------------------------ signals */

/* Returns whether the slot must be checked again later: its request is not known yet, or is about
 * to be forwarded to this worker. Letting the kernel repeat the INTERRUPT instead would block all
 * other requests of the mount. */
static bool signal_waits(struct fuse_client *f, struct client_worker *w, unsigned i,
			 uint64_t unique)
{
	struct mount_worker_slot *slot = &w->reads->slots[i];

	for (;;) {
		uint32_t word = mount_worker_get(&slot->word);

		if (MOUNT_WORKER_STATE(word) == MOUNT_WORKER_READING)
			return true;
		if ((slot->unique & ~RESEND) != (unique & ~RESEND))
			return false;
		if (MOUNT_WORKER_STATE(word) != MOUNT_WORKER_TAKEN)
			return MOUNT_WORKER_STATE(word) == MOUNT_WORKER_FORWARDED;
		if (!mount_worker_swap(&slot->word, word, word | MOUNT_WORKER_SIGNALLED))
			continue;
		client_dispatch_notify(f, w, MOUNT_WORKER_SLOTS + i);
		return false;
	}
}

/* Tries to deliver the signal. Returns false if the signal is done: the mount worker knows of it,
 * or no mount worker has the request. */
static bool signal_look(struct fuse_client *f, struct client_signal *g)
{
	bool waits = false;

	for (unsigned k = 0; k < LAUNCH_MOUNT_WORKERS_MAX; k++) {
		for (uint32_t bits = g->at[k]; bits; bits &= bits - 1) {
			unsigned i = (unsigned)__builtin_ctz(bits);

			if (!signal_waits(f, &f->dispatch->workers[k], i, g->unique))
				g->at[k] &= ~(1U << i);
		}
		waits |= g->at[k] != 0;
	}
	return waits;
}

void client_forward_interrupt(struct fuse_client *f, uint64_t unique, uint64_t now_ns)
{
	struct client_dispatch *d = f->dispatch;
	struct client_signal g = {.unique = unique, .until_ns = now_ns + CLIENT_LONG_NS};

	if (!d)
		return;
	memset(g.at, 0xff, sizeof(g.at));
	/* If the table is full, drop the signal: the regular check for killed processes works too,
	 * but later. */
	if (!signal_look(f, &g) || d->n_signals == CLIENT_SIGNALS)
		return;
	d->signals[d->n_signals++] = g;
	d->signals_ns = now_ns + NSEC_PER_MSEC;
}

/* Tries again to deliver signals to mount workers. Returns when to call it next. */
static uint64_t forward_expire(struct fuse_client *f, uint64_t now_ns)
{
	struct client_dispatch *d = f->dispatch;

	if (PLENUM_LIKELY(d->n_signals == 0))
		return UINT64_MAX;
	if (now_ns < d->signals_ns)
		return d->signals_ns;
	for (unsigned n = d->n_signals; n-- > 0;) {
		struct client_signal *g = &d->signals[n];
		/* The owner has this slot if the request was forwarded to it meanwhile. */
		struct client_slot *s = client_slot_find(f, g->unique);

		if (s)
			client_killed_signalled(f, s, now_ns);
		else if (now_ns < g->until_ns && signal_look(f, g))
			continue;
		*g = d->signals[--d->n_signals];
	}
	d->signals_ns = now_ns + NSEC_PER_MSEC;
	return d->n_signals > 0 ? d->signals_ns : UINT64_MAX;
}

/* ------------------------------------------------------------------ file changes by mount
 * workers */

/* Applies the changes of entry k of the mount worker's table of files. Last, stores the counts that
 * are now applied. If this process dies before that, a successor applies the changes once more,
 * which does no harm. */
static void file_note(struct fuse_client *f, struct client_worker *w, unsigned k)
{
	struct mount_worker_note *note = mount_worker_note_at(w->reads, w->more, k);
	uint32_t wrote = mount_worker_get(&note->wrote), synced = mount_worker_get(&note->synced);
	/* Another file may use the entry by now, or none may. Node numbers are unique, so the
	 * number shows that. */
	struct client_node *node = client_node_get(&f->nodes, w->nodeids[k]);

	if (!node) {
		client_cache_drop_all_written(&f->cache);
		client_shown_note_all(f);
		return;
	}
	if (wrote != note->wrote_seen)
		client_node_changed(node);
	if (synced != note->synced_seen)
		client_node_unstamp(node);
	if (wrote != note->wrote_seen || synced != note->synced_seen)
		client_cache_created_stale(&f->cache, node);
	client_cache_written_drop(&f->cache, node);
	client_shown_note(f, w->nodeids[k]);
	mount_worker_set(&note->wrote_seen, wrote);
	mount_worker_set(&note->synced_seen, synced);
}

static void files_note(struct fuse_client *f, struct client_worker *w, unsigned first)
{
	uint64_t *word = mount_worker_noted_at(w->reads, w->more, first), files;

	if (__atomic_load_n(word, __ATOMIC_SEQ_CST) == 0)
		return;
	files = __atomic_exchange_n(word, 0, __ATOMIC_SEQ_CST);
	/* Pairs with note_file(): the mount worker increments a count, then sets the file's bit.
	 * The owner has taken the bit, and reads the counts after this fence, so it sees every
	 * increment that came before the bit was set. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (; files; files &= files - 1)
		file_note(f, w, first + (unsigned)__builtin_ctzll(files));
}

void client_forward_apply_notes(struct fuse_client *f)
{
	uint64_t bits;

	if (PLENUM_LIKELY(mount_worker_get(&f->common->noted) == 0))
		return;
	/* Pairs with note_file(): the mount worker sets the file's bit, then its own bit in
	 * `noted`. The owner first takes the bit in `noted`, then the bits of the files, so it
	 * misses none. */
	bits = mount_worker_take_bits(&f->common->noted, LAUNCH_MOUNT_WORKERS_MAX);
	for (; bits; bits &= bits - 1) {
		struct client_worker *w = &f->dispatch->workers[__builtin_ctzll(bits)];

		for (unsigned k = 0; k < MOUNT_WORKER_FILES; k += 64)
			files_note(f, w, k);
	}
}

/* ------------------------------------------------------------------ deciding whether mount workers
 * read */

static uint64_t workers_read(const struct fuse_client *f)
{
	uint64_t n = 0;

	for (unsigned k = 0; k < LAUNCH_MOUNT_WORKERS_MAX; k++)
		n += mount_worker_get(&f->dispatch->workers[k].reads->n_read);
	return n;
}

/* Decides whether mount workers read from the kernel. */
static void decide(struct fuse_client *f, uint64_t now_ns)
{
	struct client_dispatch *d = f->dispatch;
	uint32_t reads;

	if (client_trial_is_due(&d->trial, now_ns))
		client_trial_look(&d->trial, f->n_read + workers_read(f), f->n_behind, now_ns);
	reads = (d->trial.all || d->always) && !d->settling && !f->resend_due && !f->unmounted &&
		f->link == CLIENT_READY && !client_dispatch_by_rdma(f);
	if (PLENUM_LIKELY(mount_worker_get(&f->common->reads) == reads))
		return;
	__atomic_store_n(&f->common->reads, reads, __ATOMIC_SEQ_CST);
	mount_worker_ring(d->bell_fd);
}

/* ------------------------------------------------------------------ the stage */

static int forward_poll(struct fuse_client *f, bool all, uint64_t now_ns)
{
	set_asleep(f, all);
	return forward_take(f, now_ns);
}

static void forward_polled(struct fuse_client *f, int n_taken, uint64_t now_ns)
{
	if (n_taken > 0) /* do not go to sleep yet: the worker calls pull once more */
		set_asleep(f, false);
	decide(f, now_ns);
}

static bool forward_is_on(const struct fuse_client *f)
{
	return f->dispatch;
}

/* dispatch_init() initializes this stage, before it wakes mount workers. */
const struct client_stage client_forward_stage = {
	.is_on = forward_is_on,
	.poll = forward_poll,
	.polled = forward_polled,
	.sync = client_forward_apply_notes,
	.expire = forward_expire,
};
