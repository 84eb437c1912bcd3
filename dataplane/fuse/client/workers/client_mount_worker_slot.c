/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory that a mount worker and its owner share: changes the words of the mount worker's
 * requests, reports their end, and records changes of files for the owner.
 */
#include "dataplane/fuse/client/workers/client_workers.h"

#include <fcntl.h>
#include <string.h>

#define RESEND FUSE_PROTO_UNIQUE_RESEND

void client_mount_worker_mark(const struct fuse_client *f, uint64_t *word)
{
	const uint64_t bit = 1ULL << (f->mount_worker_number - 1);

	if (!(__atomic_load_n(word, __ATOMIC_SEQ_CST) & bit))
		__atomic_fetch_or(word, bit, __ATOMIC_SEQ_CST);
}

/* Tells the owner that a count of the file has changed. Call it after the change. Pairs with
 * client_forward_apply_notes(): the owner takes this worker's bit, then the file's bit, then reads
 * the counts. If the file's bit is still set, the owner has not read the counts yet, so the bit
 * need not be set again. */
static void note_file(const struct fuse_client *f, unsigned file)
{
	uint64_t *word = mount_worker_noted_at(f->reads, f->more, file);
	const uint64_t bit = 1ULL << file % 64;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!(__atomic_load_n(word, __ATOMIC_SEQ_CST) & bit))
		__atomic_fetch_or(word, bit, __ATOMIC_SEQ_CST);
	client_mount_worker_mark(f, &f->common->noted);
}

static void note_write(struct mount_worker_note *note, const struct mount_worker_slot *slot,
		       const uint8_t *req)
{
	struct fuse_write_in write;

	if (slot->opcode != FUSE_WRITE)
		return;
	memcpy(&write, req + sizeof(struct fuse_in_header), sizeof(write));
	if (write.flags & O_DSYNC)
		mount_worker_set(&note->synced, note->synced + 1);
	else
		mount_worker_set(&note->wrote, note->wrote + 1);
}

/* Reports a request to the owner whose count in `out` is right already. */
void client_mount_worker_note_report(struct fuse_client *f, const struct mount_worker_slot *slot,
				     const uint8_t *req)
{
	note_write(mount_worker_note_at(f->reads, f->more, slot->file), slot, req);
	note_file(f, slot->file);
}

/* Counts the request as in flight. Call it before the request can reach the server. */
void client_mount_worker_note_begin(struct fuse_client *f, const struct mount_worker_slot *slot,
				    const uint8_t *req)
{
	struct mount_worker_note *note = mount_worker_note_at(f->reads, f->more, slot->file);

	mount_worker_set(&note->out, note->out + 1);
	client_mount_worker_note_report(f, slot, req);
}

void client_mount_worker_read_begin(struct fuse_client *f, unsigned i)
{
	client_mount_worker_note_begin(f, &f->reads->slots[i], mount_worker_reads_buf(f->reads, i));
}

/* Counts the request as ended. Call it after the kernel has accepted the reply. */
void client_mount_worker_note_end(struct fuse_client *f, const struct mount_worker_slot *slot,
				  const uint8_t *req)
{
	struct mount_worker_note *note = mount_worker_note_at(f->reads, f->more, slot->file);

	client_mount_worker_note_report(f, slot, req);
	mount_worker_set(&note->out, note->out - 1);
}

void client_mount_worker_ring_owner(const struct fuse_client *f)
{
	/* Pairs with set_asleep(): the owner sets `asleep`, then checks the bits. The caller has
	 * set a bit, and this function checks `asleep`. So either the owner sees the bit, or this
	 * worker sees `asleep` and rings the bell. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (mount_worker_get(&f->common->asleep) &&
	    __atomic_exchange_n(&f->common->asleep, 0U, __ATOMIC_SEQ_CST))
		mount_worker_ring(f->mount->bell_fd);
}

void client_mount_worker_notify_owner(const struct fuse_client *f, unsigned i)
{
	__atomic_fetch_or(&f->reads->done, 1ULL << i, __ATOMIC_SEQ_CST);
	client_mount_worker_mark(f, &f->common->done);
	client_mount_worker_ring_owner(f);
}

bool client_mount_worker_restart(struct fuse_client *f, unsigned i, uint32_t word)
{
	struct mount_worker_slot *slot = mount_worker_slot_at(f->area, f->reads, i);
	bool is_read = i >= MOUNT_WORKER_SLOTS;

	if (!(word & MOUNT_WORKER_RESENT) || word & MOUNT_WORKER_CANCELLED)
		return false;
	/* The kernel rejects the reply if it has resent the request. Send the request to the server
	 * again: a server that has executed it repeats its answer. But if the kernel may already
	 * have accepted a predecessor's reply, send that reply again instead. */
	slot->unique |= RESEND;
	if (!mount_worker_swap(&slot->word, word,
			       MOUNT_WORKER_DISPATCHED | (word & MOUNT_WORKER_REPLIED)))
		return false;
	__atomic_fetch_or(is_read ? &f->reads->posted : &f->area->posted,
			  1ULL << (is_read ? i - MOUNT_WORKER_SLOTS : i), __ATOMIC_SEQ_CST);
	return true;
}

/* Restores the kernel's numbers in the request, because this worker may have replaced them by its
 * own. */
static void request_restore(const struct mount_worker_slot *slot, uint8_t *req)
{
	const size_t fh_at = sizeof(struct fuse_in_header) + offsetof(struct fuse_read_in, fh);
	struct fuse_in_header h;

	memcpy(&h, req, sizeof(h));
	h.nodeid = slot->nodeid;
	h.unique = slot->unique;
	memcpy(req, &h, sizeof(h));
	memcpy(req + fh_at, &slot->fh, sizeof(slot->fh));
}

static void read_end(struct fuse_client *f, unsigned i, enum mount_worker_state state)
{
	struct mount_worker_slot *slot = &f->reads->slots[i];
	uint8_t *req = mount_worker_reads_buf(f->reads, i);

	if (state == MOUNT_WORKER_RETURNED) {
		request_restore(slot, req);
		state = MOUNT_WORKER_FORWARDED;
	}
	client_mount_worker_note_end(f, slot, req);
	for (;;) {
		uint32_t word = mount_worker_get(&slot->word);
		/* If the kernel has resent the request and the owner has claimed it, the owner
		 * waits for the end of the request. */
		bool is_claimed = word & MOUNT_WORKER_RESENT || slot->unique & RESEND;
		uint32_t is = state == MOUNT_WORKER_DONE && !is_claimed ? MOUNT_WORKER_FREE : state;

		if (state == MOUNT_WORKER_REJECTED &&
		    client_mount_worker_restart(f, MOUNT_WORKER_SLOTS + i, word))
			return;
		/* The owner marks a resent request by swapping its word (claim_slot()). If that
		 * happens first, this swap fails, and the loop sees the mark. */
		if (!mount_worker_swap(&slot->word, word, is))
			continue;
		if (is == MOUNT_WORKER_FREE)
			f->reads_free |= 1U << i;
		else
			client_mount_worker_notify_owner(f, i);
		return;
	}
}

static void word_end(struct fuse_client *f, unsigned i, enum mount_worker_state state)
{
	struct mount_worker_area *a = f->area;

	/* Pairs with dispatch_full(): the owner sets `full`, then checks the bits. This function
	 * sets the bit, then checks `full`. So either the owner sees the bit, or this worker sees
	 * `full` and rings the bell. */
	__atomic_fetch_or(&a->done, 1ULL << i, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (state == MOUNT_WORKER_RETURNED || mount_worker_get(&a->full))
		mount_worker_ring(f->mount->bell_fd);
}

void client_mount_worker_end(struct fuse_client *f, const struct client_slot *s)
{
	struct mount_worker_slot *slot = client_mount_worker_slot_of(f, s);
	enum mount_worker_state state = s->returned   ? MOUNT_WORKER_RETURNED
					: s->accepted ? MOUNT_WORKER_DONE
						      : MOUNT_WORKER_REJECTED;

	if (s->worker_slot > MOUNT_WORKER_SLOTS) {
		read_end(f, s->worker_slot - 1 - MOUNT_WORKER_SLOTS, state);
		return;
	}
	for (;;) {
		uint32_t word = mount_worker_get(&slot->word);

		if (state == MOUNT_WORKER_REJECTED &&
		    client_mount_worker_restart(f, s->worker_slot - 1, word))
			return;
		/* The owner marks a resent request by swapping its word (claim_slot()). If that
		 * happens first, this swap fails, and the loop sees the mark. */
		if (mount_worker_swap(&slot->word, word, state))
			break;
	}
	word_end(f, s->worker_slot - 1, state);
}

bool client_mount_worker_is_cancelled(const struct fuse_client *f, const struct client_slot *s)
{
	return f->area && s->worker_slot &&
	       mount_worker_get(&client_mount_worker_slot_of(f, s)->word) & MOUNT_WORKER_CANCELLED;
}

/* If the kernel has resent the request meanwhile, marks its number as resent. */
void client_mount_worker_renumber(struct fuse_client *f, struct client_slot *s)
{
	if (mount_worker_get(&client_mount_worker_slot_of(f, s)->word) & MOUNT_WORKER_RESENT)
		s->unique |= RESEND;
}

bool client_mount_worker_return(struct client_slot *s)
{
	struct fuse_in_header in;

	if (!s->worker_slot || s->state == CLIENT_SLOT_SENT)
		return false;
	memcpy(&in, s->req, sizeof(in));
	/* A request that may have been sent under this worker's mount id must be repeated under the
	 * same id, so do not return it. */
	s->returned = !(in.unique & RESEND);
	return s->returned;
}
