/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mount worker: a client that gets its requests from the mount's owner, or reads them from the
 * kernel (client_reads.c). A mount worker has its own tables, with the nodes and files of the
 * requests that the mount worker serves. The server treats it as another mount.
 */
#include "dataplane/fuse/client/workers/client_workers.h"

#include <string.h>
#include <sys/mman.h>

/* After this time without a server, a mount worker returns its requests to the owner of the
 * mount. */
#define MOUNT_WORKER_RETURN_NS NSEC_PER_SEC
/* Interval of attempts to connect to a server that does not support mount workers. */
#define MOUNT_WORKER_UNSUPPORTED_NS (60 * NSEC_PER_SEC)

/* ------------------------------------------------------------------ requests */

int client_mount_worker_pull(struct fuse_client *f, bool all, uint64_t now_ns)
{
	struct mount_worker_area *a = f->area;
	uint64_t bits, left = 0;
	int taken = 0;

	/* After a pull with `all`, this worker may sleep. It sets `asleep`, then checks the bits;
	 * the owner sets a bit, then checks `asleep` (client_dispatch_notify()). So either this
	 * worker sees the bit, or the owner sees `asleep` and rings the bell. */
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
	client_mount_worker_files_close(f, now_ns);
	taken += client_reads_pull(f, all, now_ns);
	if (taken > 0) {
		f->busy_ns = now_ns;
		mount_worker_set(&a->asleep, 0U); /* no bell is needed: this worker polls once
						     more before it sleeps */
	}
	client_flush(f, now_ns);
	return taken;
}

/* ------------------------------------------------------------------ sending */

/* Prepares the request. Returns 0 if it can be sent, -ENOMEM if it must wait, -ESTALE if its file
 * cannot be opened, or -ECANCELED if it was cancelled. */
static int slot_prepare(struct fuse_client *f, struct client_slot *s)
{
	struct mount_worker_slot *slot = client_mount_worker_slot_of(f, s);
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

static void return_pending(struct fuse_client *f, uint64_t arrived_before_ns)
{
	struct client_slot *s, *next;

	for (s = f->pending.next; s != &f->pending; s = next) {
		next = s->next;
		if (s->arrived_ns <= arrived_before_ns && client_mount_worker_return(s))
			client_slot_free(f, s);
	}
}

/* ------------------------------------------------------------------ start and end */

/* Adopts a predecessor's state. Returns 0, -EBUSY if another process is this mount worker, or
 * another negative errno. */
static int mount_worker_init(struct fuse_client *f)
{
	void *owner;
	int r;

	f->ledger_at = mount_worker_ledger_at();
	f->held_at = mount_worker_held_at();
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
	owner = mmap(NULL, CLIENT_STATE_HEAD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		     f->mount->state_fd, 0);
	if (owner == MAP_FAILED)
		return -errno;
	f->owner = owner;
	mount_worker_set(&f->area->ready, 0U);
	return 0;
}

/* Saves the reply to a WRITE in shared memory, so that a successor can send it again. Call it
 * before the kernel gets the reply. */
static void mount_worker_reply(struct fuse_client *f, struct client_slot *s, void *msg, size_t len)
{
	struct mount_worker_slot *slot;

	if (!s->worker_slot)
		return;
	client_mount_worker_renumber(f, s);
	memcpy((uint8_t *)msg + offsetof(struct fuse_out_header, unique), &s->unique,
	       sizeof(s->unique));
	if (s->opcode != FUSE_WRITE || s->answered)
		return;
	slot = client_mount_worker_slot_of(f, s);
	if (len > sizeof(slot->reply))
		return;
	memcpy(slot->reply, msg, len);
	__atomic_fetch_or(&slot->word, MOUNT_WORKER_REPLIED, __ATOMIC_RELEASE);
}

void client_mount_worker_start(struct fuse_client *f, uint64_t now_ns)
{
	client_mount_worker_files_sweep(f);
	for (unsigned i = 0; i < MOUNT_WORKER_SLOTS; i++)
		if (MOUNT_WORKER_STATE(mount_worker_get(&f->area->slots[i].word)) ==
		    MOUNT_WORKER_TAKEN)
			client_mount_worker_resume(f, i, now_ns);
	client_reads_start(f, now_ns);
	__atomic_store_n(&f->area->posted, ~0ULL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&f->area->closing, ~0ULL, __ATOMIC_SEQ_CST);
	/* Set all bits, because a predecessor may have died after it changed a slot's word and
	 * before it set the slot's bit. */
	__atomic_store_n(&f->area->done, ~0ULL, __ATOMIC_SEQ_CST);
}

static void mount_worker_done(struct fuse_client *f)
{
	if (f->area) {
		if (f->area->ready) {
			mount_worker_set(&f->area->ready, 0U);
			/* Wake the owner: it then takes back the requests that it dispatched
			 * last. */
			mount_worker_ring(f->mount->bell_fd);
		}
		mount_worker_unmap(f->area);
		client_reads_done(f); /* before mount_worker_unlock(), after which another process
					 may use this memory */
		mount_worker_unlock(f->mount->state_fd, f->mount_worker_number);
	}
	if (f->owner)
		munmap(f->owner, CLIENT_STATE_HEAD_BYTES);
	f->area = NULL;
	f->owner = NULL;
}

/* Copies the parameters that the owner has negotiated with the kernel. */
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

/* Returns whether there is work that only this mount worker can finish: requests that may have been
 * sent, or files that are open at the server. */
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
	/* An unmounted mount worker also counts as finishing: its session only sends DESTROY, and
	 * must not use up one of the server's sessions. */
	f->finishing = f->area && (has_unfinished(f) || f->unmounted);
	if (!f->area)
		return FUSE_HELLO_MOUNT;
	return f->finishing ? FUSE_HELLO_MOUNT_WORKER_FINISHING : FUSE_HELLO_MOUNT_WORKER;
}

/* Ends a session whose purpose is outdated, or whose server does not support mount workers. A
 * session for old requests is outdated when these requests have ended. A session for new requests
 * is outdated if it is not up yet and there are old requests to finish. */
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

/* Ends this mount worker's session if the owner has had no session for a while. A server with few
 * free sessions may have accepted this session instead of the owner's. */
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

	/* If the mount was unmounted, keep the session until the server ends it. */
	if (!f->unmounted) {
		yield_to_owner(f, now_ns);
		session_check_purpose(f, now_ns);
	}
	ready = client_mount_worker_takes_new(f);
	head_copy(f);
	client_reads_tick(f, now_ns);
	mount_worker_set(&f->area->seen_ns, now_ns);
	if (f->area->ready != ready) {
		mount_worker_set(&f->area->ready, ready);
		/* Wake the owner: it then takes back the requests that this worker has not
		 * begun. */
		mount_worker_ring(f->mount->bell_fd);
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
	client_limits_stop(f);
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
