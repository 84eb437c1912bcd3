/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests that a mount worker reads from the kernel. It serves READs and WRITEs of files in its
 * table, and forwards all other requests unchanged to the owner. It reads each request into memory
 * that outlives the process, and sets the slot's word before the read. So if the process dies,
 * another process finds the request that the kernel has delivered.
 */
#include "dataplane/fuse/client/workers/client_workers.h"

#include <fcntl.h>
#include <string.h>

#define RESEND FUSE_PROTO_UNIQUE_RESEND
#define READ_BYTES (CLIENT_POOL_BUF_BYTES - FUSE_PROTO_REQ_TAIL_MAX)
#define READ_BURST 16
/* How many bytes of a buffer have pages at first. A larger request raises the number. */
#define POPULATE_BYTES 8192U
#define TRIM_NS NSEC_PER_SEC

_Static_assert(READ_BYTES <= MOUNT_WORKER_BUF_BYTES, "a buffer holds the largest request");
_Static_assert(MOUNT_WORKER_READS <= 32, "reads_free has a bit per read slot");

int client_reads_init(struct fuse_client *f)
{
	f->common = mount_worker_common_map(f->mount->state_fd);
	f->reads = f->common ? mount_worker_reads_map(f->mount->state_fd, f->mount_worker_number)
			     : NULL;
	f->more =
		f->reads ? mount_worker_more_map(f->mount->state_fd, f->mount_worker_number) : NULL;
	return f->more ? 0 : -errno;
}

void client_reads_done(struct fuse_client *f)
{
	/* Free the memory of the unused slots. The owner ignores them, and this mount worker may
	 * have no successor that frees it. */
	for (unsigned i = 0; f->reads && i < MOUNT_WORKER_READS; i++)
		if (mount_worker_get(&f->reads->slots[i].word) == MOUNT_WORKER_FREE)
			mount_worker_reads_trim_one(f->reads, i);
	mount_worker_reads_unmap(f->reads);
	mount_worker_more_unmap(f->more);
	mount_worker_common_unmap(f->common);
	f->reads = NULL;
	f->more = NULL;
	f->common = NULL;
}

/* ------------------------------------------------------------------ one request */

/* Returns the index of the file in this mount worker's table, or MOUNT_WORKER_FILES if it is not
 * there. */
static unsigned file_find(const struct fuse_client *f, uint64_t fh)
{
	for (unsigned way = 0; way < MOUNT_WORKER_FILE_WAYS; way++) {
		unsigned place = mount_worker_file_place(fh, way);
		const struct mount_worker_file *lf = mount_worker_file_at(f->area, f->more, place);

		if (mount_worker_get(&lf->state) == MOUNT_WORKER_FILE_OPEN && lf->fh == fh)
			return place;
	}
	return MOUNT_WORKER_FILES;
}

/* Returns whether this mount worker serves the request. The request must read or write data of a
 * file in the table; is_eligible() in client_dispatch.c has the same rules. Sets len, opcode,
 * nodeid, fh and file of the slot. */
static bool is_served_here(const struct fuse_client *f, const struct fuse_in_header *h,
			   const uint8_t *req, struct mount_worker_slot *slot)
{
	union {
		struct fuse_read_in read;
		struct fuse_write_in write;
	} in;

	if ((h->opcode != FUSE_READ && h->opcode != FUSE_WRITE) || h->unique & RESEND ||
	    h->len < FUSE_PROTO_WRITE_DATA)
		return false;
	memcpy(&in, req + sizeof(*h), sizeof(in));
	if (h->opcode == FUSE_WRITE && in.write.flags & O_APPEND)
		return false;
	slot->len = h->len;
	slot->opcode = h->opcode;
	slot->nodeid = h->nodeid;
	slot->fh = in.read.fh;
	slot->file = file_find(f, in.read.fh);
	return slot->file < MOUNT_WORKER_FILES;
}

static void free_slot(struct fuse_client *f, unsigned i)
{
	mount_worker_set(&f->reads->slots[i].word, MOUNT_WORKER_FREE);
	f->reads_free |= 1U << i;
}

/* Begins to serve the request that the kernel has delivered, or forwards it to the owner. The word
 * is swapped, not just set, because the owner may have freed the slot: the request may be one that
 * a dead predecessor had read. */
static void request_place(struct fuse_client *f, unsigned i, uint64_t now_ns)
{
	struct mount_worker_slot *slot = &f->reads->slots[i];
	const uint8_t *req = mount_worker_reads_buf(f->reads, i);
	struct fuse_in_header h;

	memcpy(&h, req, sizeof(h));
	slot->unique = h.unique;
	if (h.opcode == FUSE_INTERRUPT) {
		struct fuse_interrupt_in in;

		memcpy(&in, req + sizeof(h), sizeof(in));
		if (client_slot_find(f, in.unique)) {
			client_interrupt_request(f, req, h.len, now_ns);
			free_slot(f, i);
			return;
		}
	}
	if (!is_served_here(f, &h, req, slot)) {
		slot->len = h.len;
		if (mount_worker_swap(&slot->word, MOUNT_WORKER_READING, MOUNT_WORKER_FORWARDED))
			client_mount_worker_notify_owner(f, i);
		return;
	}
	client_mount_worker_note_begin(f, slot, req);
	if (mount_worker_swap(&slot->word, MOUNT_WORKER_READING, MOUNT_WORKER_TAKEN))
		client_mount_worker_take(f, MOUNT_WORKER_SLOTS + i, false, now_ns);
	else
		client_mount_worker_note_end(f, slot, req);
}

/* ------------------------------------------------------------------ reading */

static bool may_read(struct fuse_client *f)
{
	if (!mount_worker_get(&f->common->reads) || !client_mount_worker_takes_new(f) || !f->free)
		return false;
	for (unsigned i = 0; i < MOUNT_WORKER_READS && f->reads_free == 0;
	     i++) /* no slot is free: look for slots that the owner has freed */
		if (mount_worker_get(&f->reads->slots[i].word) == MOUNT_WORKER_FREE)
			f->reads_free |= 1U << i;
	return f->reads_free != 0;
}

/* Begins or stops reading. When this worker stops, it wakes the owner: for a new request, the
 * kernel may have woken only this worker. */
static void reads_set(struct fuse_client *f, bool is_reading)
{
	if (f->is_reading && !is_reading)
		client_mount_worker_ring_owner(f);
	f->is_reading = is_reading;
}

/* Reads one request. Returns 1 if a request was read, 0 if none is pending or this worker must stop
 * reading, or -ENODEV if the mount was unmounted. */
static int read_one(struct fuse_client *f, uint64_t now_ns)
{
	unsigned i = (unsigned)__builtin_ctz(f->reads_free);
	struct mount_worker_slot *slot = &f->reads->slots[i];
	uint8_t *buf = mount_worker_reads_buf(f->reads, i);
	struct fuse_in_header h = {0};
	ssize_t n;

	f->reads_free &= ~(1U << i);
	mount_worker_reads_populate(f->reads, i, MAX_OF(f->largest, POPULATE_BYTES));
	memcpy(buf, &h, sizeof(h));
	__atomic_store_n(&slot->word, MOUNT_WORKER_READING, __ATOMIC_SEQ_CST);
	/* A new owner clears `reads`, then looks for slots in READING (client_forward_quiesce()).
	 * This worker has marked its slot, and now checks `reads`. So either this worker sees that
	 * it must not read, or the owner sees the slot and waits. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!mount_worker_get(&f->common->reads)) {
		free_slot(f, i);
		return 0;
	}
	do /* ENOENT: the request has ended before it was read */
		n = read(f->fd, buf, READ_BYTES);
	while (n < 0 && (errno == EINTR || errno == ENOENT));
	if (n < 0) {
		int e = errno;

		free_slot(f, i);
		return e == EAGAIN ? 0 : -ENODEV;
	}
	mount_worker_set(&f->reads->n_read, f->reads->n_read + 1);
	memcpy(&h, buf, sizeof(h));
	if ((size_t)n < sizeof(h) || h.len != (size_t)n) {
		f->bad_requests++; /* a malformed request has no number to which an answer could be
				      sent */
		free_slot(f, i);
		return 1;
	}
	client_note_read(f, &h);
	f->largest = MAX_OF(f->largest, h.len);
	request_place(f, i, now_ns);
	return 1;
}

static void signalled_look(struct fuse_client *f, unsigned i, uint64_t now_ns)
{
	for (unsigned k = 0; k < CLIENT_SLOTS; k++)
		if (f->slots[k].state != CLIENT_SLOT_FREE &&
		    f->slots[k].worker_slot == MOUNT_WORKER_SLOTS + i + 1)
			client_killed_signalled(f, &f->slots[k], now_ns);
}

/* Checks the slots whose bit the owner has set: begins the requests that the owner has dispatched
 * in them, and handles signals to processes. */
static void posted_look(struct fuse_client *f, uint64_t now_ns)
{
	uint64_t bits = mount_worker_get(&f->reads->posted);

	if (PLENUM_LIKELY(bits == 0))
		return;
	bits = mount_worker_take_bits(&f->reads->posted, MOUNT_WORKER_READS);
	for (; bits; bits &= bits - 1) {
		unsigned i = (unsigned)__builtin_ctzll(bits);
		uint32_t word = mount_worker_get(&f->reads->slots[i].word);

		if (MOUNT_WORKER_STATE(word) == MOUNT_WORKER_DISPATCHED)
			client_mount_worker_look(f, MOUNT_WORKER_SLOTS + i, now_ns);
		else if (MOUNT_WORKER_STATE(word) == MOUNT_WORKER_TAKEN &&
			 word & MOUNT_WORKER_SIGNALLED)
			signalled_look(f, i, now_ns);
	}
}

int client_reads_pull(struct fuse_client *f, bool all, uint64_t now_ns)
{
	int taken = 0, most = all ? READ_BURST : MIN_OF(client_read_burst_hint(f), READ_BURST);

	posted_look(f, now_ns);
	while (taken < most && may_read(f) && read_one(f, now_ns) > 0) {
		taken++;
		client_queue_depth_update(f);
	}
	reads_set(f, may_read(f));
	if (taken > 0)
		f->read_ns = now_ns;
	return taken;
}

bool fuse_client_is_reading(const struct fuse_client *f)
{
	return f->is_reading && mount_worker_get(&f->common->reads) &&
	       client_mount_worker_takes_new(f);
}

/* ------------------------------------------------------------------ start and end */

static void reading_resolve(struct fuse_client *f, unsigned i, uint64_t now_ns)
{
	struct mount_worker_slot *slot = &f->reads->slots[i];
	struct fuse_in_header h;

	memcpy(&h, mount_worker_reads_buf(f->reads, i), sizeof(h));
	if (h.unique == 0 && h.opcode == 0) { /* the kernel has delivered no request */
		(void)mount_worker_swap(&slot->word, MOUNT_WORKER_READING, MOUNT_WORKER_FREE);
		return;
	}
	if (h.len >= sizeof(h) && h.len <= mount_worker_reads_populated(f->reads, i)) {
		mount_worker_set(&f->reads->n_read, f->reads->n_read + 1);
		request_place(f, i, now_ns);
		return;
	}
	/* The request may be incomplete. It is larger than all earlier requests, so the buffer did
	 * not have all its pages yet, and the predecessor may have been killed while the kernel
	 * copied the request. Usually the kernel has then reported an error to the program;
	 * otherwise this reply does. */
	if (mount_worker_swap(&slot->word, MOUNT_WORKER_READING, MOUNT_WORKER_FREE))
		client_reply_error(f, h.unique, -EIO);
}

/* Counts a predecessor's requests as in flight again. The owner may be alive and read the
 * counts meanwhile. */
static void outs_count(struct fuse_client *f)
{
	uint32_t out[MOUNT_WORKER_FILES] = {0};

	for (unsigned i = 0; i < MOUNT_WORKER_READS; i++) {
		const struct mount_worker_slot *slot = &f->reads->slots[i];

		if (MOUNT_WORKER_STATE(mount_worker_get(&slot->word)) == MOUNT_WORKER_TAKEN)
			out[slot->file % MOUNT_WORKER_FILES]++;
	}
	for (unsigned i = 0; i < MOUNT_WORKER_FILES; i++) {
		struct mount_worker_note *note = mount_worker_note_at(f->reads, f->more, i);

		/* Do not write an equal value: most pages of the notes have no memory, and a write
		 * would allocate some. */
		if (note->out != out[i])
			mount_worker_set(&note->out, out[i]);
	}
}

void client_reads_start(struct fuse_client *f, uint64_t now_ns)
{
	outs_count(f);
	mount_worker_set(&f->more->is_known, 1U); /* owners of version 0.1.0 check this value */
	for (unsigned i = 0; i < MOUNT_WORKER_READS; i++) {
		struct mount_worker_slot *slot = &f->reads->slots[i];
		uint32_t word = mount_worker_get(&slot->word);

		if (MOUNT_WORKER_STATE(word) == MOUNT_WORKER_TAKEN) {
			client_mount_worker_note_report(f, slot,
							mount_worker_reads_buf(f->reads, i));
			client_mount_worker_resume(f, MOUNT_WORKER_SLOTS + i, now_ns);
		} else if (MOUNT_WORKER_STATE(word) == MOUNT_WORKER_READING) {
			reading_resolve(f, i, now_ns);
		}
	}
	/* As if a request was read now: client_reads_tick() then also frees the memory that the
	 * predecessor's requests used. */
	f->read_ns = now_ns;
	__atomic_store_n(&f->reads->posted, ~0ULL >> (64 - MOUNT_WORKER_READS), __ATOMIC_SEQ_CST);
	/* A predecessor may have died after it set a word and before it set the bit. */
	__atomic_store_n(&f->reads->done, ~0ULL >> (64 - MOUNT_WORKER_READS), __ATOMIC_SEQ_CST);
	client_mount_worker_mark(f, &f->common->done);
}

bool client_reads_is_finished(const struct fuse_client *f)
{
	for (unsigned i = 0; i < MOUNT_WORKER_READS; i++) {
		uint32_t state = MOUNT_WORKER_STATE(mount_worker_get(&f->reads->slots[i].word));

		if (state == MOUNT_WORKER_TAKEN || state == MOUNT_WORKER_DISPATCHED ||
		    state == MOUNT_WORKER_READING)
			return false;
	}
	return true;
}

void client_reads_tick(struct fuse_client *f, uint64_t now_ns)
{
	if (f->read_ns == 0 || now_ns - f->read_ns < TRIM_NS)
		return;
	for (unsigned i = 0; i < MOUNT_WORKER_READS; i++)
		if (mount_worker_get(&f->reads->slots[i].word) != MOUNT_WORKER_FREE)
			return;
	mount_worker_reads_trim(f->reads);
	f->largest = 0;
	f->read_ns = 0;
}
