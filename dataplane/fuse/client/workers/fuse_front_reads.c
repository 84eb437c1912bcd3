/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a lane reads from the kernel itself: data of files that it knows, which it keeps, and all
 * else, which it passes to the owner as it came. A request is read into memory that outlives the
 * process, by a word that says so before: whoever comes after a death finds what the kernel had
 * given out. Apart from fuse_front_lane.c, which need not know where its requests come from.
 */
#include "dataplane/fuse/client/fuse_front_internal.h"

#include <fcntl.h>
#include <string.h>

#define RESEND FUSE_PROTO_UNIQUE_RESEND
#define READ_BYTES (FRONT_POOL_BUF_BYTES - FUSE_PROTO_REQ_TAIL_MAX)
#define READ_BURST 16
/* A first guess; a larger request makes it more for those that come after it. */
#define POPULATE_BYTES 8192U
#define TRIM_NS NSEC_PER_SEC

_Static_assert(READ_BYTES <= LANE_BUF_BYTES, "whatever the kernel may send has room");
_Static_assert(LANE_READS <= 32, "reads_free has a bit for each");

int front_reads_init(struct fuse_front *f)
{
	f->common = lane_common_map(f->mount->state_fd);
	f->reads = f->common ? lane_reads_map(f->mount->state_fd, f->lane_number) : NULL;
	f->more = f->reads ? lane_more_map(f->mount->state_fd, f->lane_number) : NULL;
	return f->more ? 0 : -errno;
}

void front_reads_done(struct fuse_front *f)
{
	/* Nobody may come after us. The owner looks at none that is free. */
	for (unsigned i = 0; f->reads && i < LANE_READS; i++)
		if (lane_get(&f->reads->slots[i].word) == LANE_FREE)
			lane_reads_trim_one(f->reads, i);
	if (f->more) /* who comes may be of an earlier version */
		lane_set(&f->more->is_known, 0U);
	lane_reads_unmap(f->reads);
	lane_more_unmap(f->more);
	f->reads = NULL;
	f->more = NULL;
}

/* ------------------------------------------------------------------ what the owner hears */

static void tell_lane(const struct fuse_front *f, uint64_t *word)
{
	const uint64_t bit = 1ULL << (f->lane_number - 1);

	if (!(__atomic_load_n(word, __ATOMIC_SEQ_CST) & bit))
		__atomic_fetch_or(word, bit, __ATOMIC_SEQ_CST);
}

/* Partner: front_pass_notes() of the owner, which takes the lane's bit away before the file's, and
 * that before it looks: where the bit is still set it will see what was counted before. */
static void note_file(const struct fuse_front *f, unsigned file)
{
	uint64_t *word = lane_noted_at(f->reads, f->more, file);
	const uint64_t bit = 1ULL << file % 64;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!(__atomic_load_n(word, __ATOMIC_SEQ_CST) & bit))
		__atomic_fetch_or(word, bit, __ATOMIC_SEQ_CST);
	tell_lane(f, &f->common->noted);
}

static void note_write(struct lane_note *note, const struct lane_slot *slot, const uint8_t *req)
{
	struct fuse_write_in write;

	if (slot->opcode != FUSE_WRITE)
		return;
	memcpy(&write, req + sizeof(struct fuse_in_header), sizeof(write));
	if (write.flags & O_DSYNC)
		lane_set(&note->synced, note->synced + 1);
	else
		lane_set(&note->wrote, note->wrote + 1);
}

/* Of one that is counted among those under way. */
static void note_tell(struct fuse_front *f, const struct lane_slot *slot, const uint8_t *req)
{
	note_write(lane_note_at(f->reads, f->more, slot->file), slot, req);
	note_file(f, slot->file);
}

/* Before it can reach the server. */
static void note_begin(struct fuse_front *f, const struct lane_slot *slot, const uint8_t *req)
{
	struct lane_note *note = lane_note_at(f->reads, f->more, slot->file);

	lane_set(&note->out, note->out + 1);
	note_tell(f, slot, req);
}

void front_reads_begin(struct fuse_front *f, unsigned i)
{
	note_begin(f, &f->reads->slots[i], lane_reads_buf(f->reads, i));
}

/* After the kernel has heard of it. */
static void note_end(struct fuse_front *f, const struct lane_slot *slot, const uint8_t *req)
{
	struct lane_note *note = lane_note_at(f->reads, f->more, slot->file);

	note_tell(f, slot, req);
	lane_set(&note->out, note->out - 1);
}

static void ring_owner(const struct fuse_front *f)
{
	/* Partner: front_pass_sleeps() of the owner, which says so before it looks. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (lane_get(&f->common->asleep) &&
	    __atomic_exchange_n(&f->common->asleep, 0U, __ATOMIC_SEQ_CST))
		lane_ring(f->mount->bell_fd);
}

static void tell_owner(const struct fuse_front *f, unsigned i)
{
	__atomic_fetch_or(&f->reads->done, 1ULL << i, __ATOMIC_SEQ_CST);
	tell_lane(f, &f->common->done);
	ring_owner(f);
}

/* ------------------------------------------------------------------ one request */

/* Its place among the lane's files; LANE_FILES: it has none. */
static unsigned file_find(const struct fuse_front *f, uint64_t fh)
{
	for (unsigned way = 0; way < LANE_FILE_WAYS; way++) {
		unsigned place = lane_file_place(fh, way);
		const struct lane_file *lf = lane_file_at(f->lane, f->more, place);

		if (lane_get(&lf->state) == LANE_FILE_OPEN && lf->fh == fh)
			return place;
	}
	for (unsigned i = 0; i < LANE_FILES_OLD && !lane_get(&f->common->by_number); i++)
		if (lane_get(&f->lane->files[i].state) == LANE_FILE_OPEN &&
		    f->lane->files[i].fh == fh)
			return i;
	return LANE_FILES;
}

/* Data of a file that the owner has shown us; as is_dealt() there. Fills the slot. */
static bool is_kept(const struct fuse_front *f, const struct fuse_in_header *h, const uint8_t *req,
		    struct lane_slot *slot)
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
	return slot->file < LANE_FILES;
}

static void free_slot(struct fuse_front *f, unsigned i)
{
	lane_set(&f->reads->slots[i].word, LANE_FREE);
	f->reads_free |= 1U << i;
}

/* What the kernel gave becomes ours, or the owner's. By a swap: where its word is a dead
 * predecessor's, the owner may have made it free meanwhile. */
static void request_place(struct fuse_front *f, unsigned i, uint64_t now_ns)
{
	struct lane_slot *slot = &f->reads->slots[i];
	const uint8_t *req = lane_reads_buf(f->reads, i);
	struct fuse_in_header h;

	memcpy(&h, req, sizeof(h));
	slot->unique = h.unique;
	if (h.opcode == FUSE_INTERRUPT) {
		struct fuse_interrupt_in in;

		memcpy(&in, req + sizeof(h), sizeof(in));
		if (front_slot_find(f, in.unique)) {
			front_patience_interrupt(f, req, h.len, now_ns);
			free_slot(f, i);
			return;
		}
	}
	if (!is_kept(f, &h, req, slot)) {
		slot->len = h.len;
		if (lane_swap(&slot->word, LANE_READING, LANE_PASSED))
			tell_owner(f, i);
		return;
	}
	note_begin(f, slot, req);
	if (lane_swap(&slot->word, LANE_READING, LANE_TAKEN))
		front_lane_take(f, LANE_SLOTS + i, false, now_ns);
	else
		note_end(f, slot, req);
}

/* ------------------------------------------------------------------ reading */

static bool may_read(struct fuse_front *f)
{
	if (!lane_get(&f->common->reads) || !front_lane_takes_new(f) || !f->free)
		return false;
	for (unsigned i = 0; i < LANE_READS && f->reads_free == 0; i++) /* the owner frees some */
		if (lane_get(&f->reads->slots[i].word) == LANE_FREE)
			f->reads_free |= 1U << i;
	return f->reads_free != 0;
}

/* Who reads is woken for what comes. Who reads no more, and may just have been, wakes the owner. */
static void reads_set(struct fuse_front *f, bool is_reading)
{
	if (f->is_reading && !is_reading)
		ring_owner(f);
	f->is_reading = is_reading;
}

/* 1: there was one; 0: none, or it is not ours to look; -ENODEV: unmounted. */
static int read_one(struct fuse_front *f, uint64_t now_ns)
{
	unsigned i = (unsigned)__builtin_ctz(f->reads_free);
	struct lane_slot *slot = &f->reads->slots[i];
	uint8_t *buf = lane_reads_buf(f->reads, i);
	struct fuse_in_header h = {0};
	ssize_t n;

	f->reads_free &= ~(1U << i);
	lane_reads_populate(f->reads, i, MAX_OF(f->largest, POPULATE_BYTES));
	memcpy(buf, &h, sizeof(h));
	__atomic_store_n(&slot->word, LANE_READING, __ATOMIC_SEQ_CST);
	/* Partner: the owner that comes, which ends reading (front_pass_init()) before it looks who
	 * reads (front_pass_hush()). */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!lane_get(&f->common->reads)) {
		free_slot(f, i);
		return 0;
	}
	do /* ENOENT: it was ended before it was read */
		n = read(f->fd, buf, READ_BYTES);
	while (n < 0 && (errno == EINTR || errno == ENOENT));
	if (n < 0) {
		int e = errno;

		free_slot(f, i);
		return e == EAGAIN ? 0 : -ENODEV;
	}
	lane_set(&f->reads->n_read, f->reads->n_read + 1);
	memcpy(&h, buf, sizeof(h));
	if ((size_t)n < sizeof(h) || h.len != (size_t)n) {
		f->bad_requests++; /* whom should one answer? */
		free_slot(f, i);
		return 1;
	}
	front_read_note(f, &h);
	f->largest = MAX_OF(f->largest, h.len);
	request_place(f, i, now_ns);
	return 1;
}

static void signalled_look(struct fuse_front *f, unsigned i, uint64_t now_ns)
{
	for (unsigned k = 0; k < FRONT_SLOTS; k++)
		if (f->slots[k].state != FRONT_SLOT_FREE && f->slots[k].lane == LANE_SLOTS + i + 1)
			front_patience_signalled(f, &f->slots[k], now_ns);
}

/* What the owner says of some that we have. */
static void posted_look(struct fuse_front *f, uint64_t now_ns)
{
	uint64_t bits = lane_get(&f->reads->posted);

	if (PLENUM_LIKELY(bits == 0))
		return;
	bits = __atomic_exchange_n(&f->reads->posted, 0, __ATOMIC_SEQ_CST);
	for (; bits; bits &= bits - 1) {
		unsigned i = (unsigned)__builtin_ctzll(bits);
		uint32_t word = lane_get(&f->reads->slots[i].word);

		if (LANE_STATE(word) == LANE_HANDED)
			front_lane_look(f, LANE_SLOTS + i, now_ns);
		else if (LANE_STATE(word) == LANE_TAKEN && word & LANE_SIGNALLED)
			signalled_look(f, i, now_ns);
	}
}

int front_reads_pull(struct fuse_front *f, bool all, uint64_t now_ns)
{
	int taken = 0, most = all ? READ_BURST : MIN_OF(front_likely(f), READ_BURST);

	posted_look(f, now_ns);
	while (taken < most && may_read(f) && read_one(f, now_ns) > 0) {
		taken++;
		front_most_learn(f);
	}
	reads_set(f, may_read(f));
	if (taken > 0)
		f->read_ns = now_ns;
	return taken;
}

bool fuse_front_reads(const struct fuse_front *f)
{
	return f->is_reading && lane_get(&f->common->reads) && front_lane_takes_new(f);
}

/* ------------------------------------------------------------------ ends */

/* As the kernel gave it: our own numbers may stand there. */
static void request_restore(const struct lane_slot *slot, uint8_t *req)
{
	const size_t fh_at = sizeof(struct fuse_in_header) + offsetof(struct fuse_read_in, fh);
	struct fuse_in_header h;

	memcpy(&h, req, sizeof(h));
	h.nodeid = slot->nodeid;
	h.unique = slot->unique;
	memcpy(req, &h, sizeof(h));
	memcpy(req + fh_at, &slot->fh, sizeof(slot->fh));
}

void front_reads_end(struct fuse_front *f, unsigned i, enum lane_state state)
{
	struct lane_slot *slot = &f->reads->slots[i];
	uint8_t *req = lane_reads_buf(f->reads, i);

	if (state == LANE_BACK) {
		request_restore(slot, req);
		state = LANE_PASSED;
	}
	note_end(f, slot, req);
	for (;;) {
		uint32_t word = lane_get(&slot->word);
		/* Whose number says that it was handed out anew the owner has claimed, and waits
		 * for. */
		bool is_claimed = word & LANE_AGAIN || slot->unique & RESEND;
		uint32_t is = state == LANE_DONE && !is_claimed ? LANE_FREE : state;

		if (state == LANE_UNHEARD && front_lane_again(f, LANE_SLOTS + i, word))
			return;
		/* Partner: claim_slot() of the owner. */
		if (!lane_swap(&slot->word, word, is))
			continue;
		if (is == LANE_FREE)
			f->reads_free |= 1U << i;
		else
			tell_owner(f, i);
		return;
	}
}

/* ------------------------------------------------------------------ life */

static void reading_resolve(struct fuse_front *f, unsigned i, uint64_t now_ns)
{
	struct lane_slot *slot = &f->reads->slots[i];
	struct fuse_in_header h;

	memcpy(&h, lane_reads_buf(f->reads, i), sizeof(h));
	if (h.unique == 0 && h.opcode == 0) { /* it was not read */
		(void)lane_swap(&slot->word, LANE_READING, LANE_FREE);
		return;
	}
	if (h.len >= sizeof(h) && h.len <= lane_get(&f->reads->populated[i])) {
		lane_set(&f->reads->n_read, f->reads->n_read + 1);
		request_place(f, i, now_ns);
		return;
	}
	/* Where memory was missing a kill may have cut the copy short, of which the kernel has told
	 * the program; if it had not, we do. This is the first of a size that had not come lately.
	 */
	if (lane_swap(&slot->word, LANE_READING, LANE_FREE))
		front_reply_error(f, h.unique, -EIO);
}

/* What a predecessor had begun is under way at every moment: the owner, which lives, may look. */
static void outs_count(struct fuse_front *f)
{
	uint32_t out[LANE_FILES] = {0};

	for (unsigned i = 0; i < LANE_READS; i++) {
		const struct lane_slot *slot = &f->reads->slots[i];

		if (LANE_STATE(lane_get(&slot->word)) == LANE_TAKEN)
			out[slot->file % LANE_FILES]++;
	}
	for (unsigned i = 0; i < LANE_FILES; i++) {
		struct lane_note *note = lane_note_at(f->reads, f->more, i);

		if (note->out != out[i]) /* most have no memory, and need none */
			lane_set(&note->out, out[i]);
	}
}

void front_reads_start(struct fuse_front *f, uint64_t now_ns)
{
	outs_count(f);
	lane_set(&f->more->is_known, 1U);
	for (unsigned i = 0; i < LANE_READS; i++) {
		struct lane_slot *slot = &f->reads->slots[i];
		uint32_t word = lane_get(&slot->word);

		if (LANE_STATE(word) == LANE_TAKEN) {
			note_tell(f, slot, lane_reads_buf(f->reads, i));
			front_lane_resume(f, LANE_SLOTS + i, now_ns);
		} else if (LANE_STATE(word) == LANE_READING) {
			reading_resolve(f, i, now_ns);
		}
	}
	f->read_ns = now_ns; /* a predecessor's memory goes back, too */
	__atomic_store_n(&f->reads->posted, ~0ULL >> (64 - LANE_READS), __ATOMIC_SEQ_CST);
	/* Where a predecessor died between a word and the bit. */
	__atomic_store_n(&f->reads->done, ~0ULL >> (64 - LANE_READS), __ATOMIC_SEQ_CST);
	tell_lane(f, &f->common->done);
}

bool front_reads_is_spent(const struct fuse_front *f)
{
	for (unsigned i = 0; i < LANE_READS; i++) {
		uint32_t state = LANE_STATE(lane_get(&f->reads->slots[i].word));

		if (state == LANE_TAKEN || state == LANE_HANDED || state == LANE_READING)
			return false;
	}
	return true;
}

void front_reads_tick(struct fuse_front *f, uint64_t now_ns)
{
	if (f->read_ns == 0 || now_ns - f->read_ns < TRIM_NS)
		return;
	for (unsigned i = 0; i < LANE_READS; i++)
		if (lane_get(&f->reads->slots[i].word) != LANE_FREE)
			return;
	lane_reads_trim(f->reads);
	f->largest = 0;
	f->read_ns = 0;
}
