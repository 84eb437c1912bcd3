/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements the journal: its layout in the memfd, and the compare-and-swap of each record's word.
 * It never blocks or allocates.
 */
#include "dataplane/fuse/helper/fuse_journal.h"
#include "netcfg/base/os/memfd.h"
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define MAGIC 0x334c4e524a4c50ULL /* "PLJRNL3" */
#define PAGE 4096U
#define ERRNO_MAX 4095 /* largest errno of the kernel's interface */
/* If all mount numbers are in use, a mount that no worker has seen for this long may lose its
 * number and records to another mount. */
#define MOUNT_AWAY_S_MAX (24 * 3600)

struct journal_owner {
	/* Links for the kernel's robust list. Only the registered thread uses them: they are
	 * addresses in its memory. */
	struct robust_list node;
	uint32_t word; /* id of the owner's thread; the entry is free if this is 0 or if the kernel
			  has marked the thread as dead */
	uint32_t worker_id;
	uint64_t since; /* sequence number when the owner registered; claims with smaller numbers
			   belong to an earlier owner with the same owner number */
	uint64_t pad;
};

struct journal_mount {
	uint32_t used;	   /* 0: free; 1: a worker is filling the entry; 2: in use */
	uint32_t n_opened; /* how many records were ever used, at most JOURNAL_RECORDS */
	uint32_t next;
	uint32_t pad;
	uint8_t id[16];
	uint64_t last_seen_s; /* seconds of CLOCK_BOOTTIME; 0: no mount has ever used this slot or a
				 later one */
};

/* The journal in the file. All zeros are a valid empty journal, so two processes may open a new
 * journal at the same time. */
struct journal_file {
	uint64_t magic;
	uint64_t record_bytes;
	uint64_t turn;
	uint64_t pad[5];
	_Alignas(64) uint32_t locks[JOURNAL_LOCKS];
	/* The first entry is never used, because owner number 0 means "no owner". */
	struct journal_owner robust_list[JOURNAL_OWNERS_MAX];
	struct journal_mount mounts[JOURNAL_MOUNTS_MAX];
	_Alignas(PAGE) struct journal_record records[JOURNAL_MOUNTS_MAX][JOURNAL_RECORDS];
};

static uint64_t boot_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec + 1;
}

size_t journal_bytes(void)
{
	return sizeof(struct journal_file);
}

int journal_open(struct journal *j, int fd)
{
	struct journal_file *f;
	int r = memfd_grow(fd, sizeof(*f));

	*j = (struct journal){};
	if (r < 0)
		return r;
	f = mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (f == MAP_FAILED)
		return -errno;
	if (f->magic != MAGIC || f->record_bytes != sizeof(struct journal_record)) {
		if (f->magic != 0)
			(void)madvise(f, sizeof(*f), MADV_REMOVE);
		f->record_bytes = sizeof(struct journal_record);
		f->magic = MAGIC;
	}
	j->file = f;
	return 0;
}

void journal_close(struct journal *j)
{
	if (j->file)
		munmap(j->file, sizeof(*j->file));
	*j = (struct journal){};
}

/* ------------------------------------------------------------------ mounts */

static bool mount_take(struct journal_mount *m, const uint8_t id[16])
{
	uint32_t was = 0;

	/* Another worker that reads `used` in journal_mount_get() sees that this entry is taken. */
	if (!__atomic_compare_exchange_n(&m->used, &was, 1, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return false;
	memcpy(m->id, id, sizeof(m->id));
	m->n_opened = m->next = 0;
	m->last_seen_s = boot_seconds();
	__atomic_store_n(&m->used, 2, __ATOMIC_RELEASE);
	return true;
}

/* Returns the number of the mount, or -1 if it is not found. */
static int mount_find(const struct journal *j, const uint8_t id[16])
{
	const struct journal_mount *m = j->file->mounts;

	for (unsigned i = 0; i < JOURNAL_MOUNTS_MAX; i++) {
		uint32_t used = __atomic_load_n(&m[i].used, __ATOMIC_ACQUIRE);

		if (used == 0 && m[i].last_seen_s == 0)
			break; /* no later slot was ever used; do not read them, because reading
				  allocates memory */
		if (used == 2 && memcmp(m[i].id, id, sizeof(m[i].id)) == 0)
			return (int)i;
	}
	return -1;
}

/* Call after taking a slot for a new mount. If another worker has taken a slot for the same
 * mount at the same time, both workers use the first of these two slots. Returns the number of
 * this slot. */
static unsigned mount_settle(struct journal *j, unsigned mount, const uint8_t id[16])
{
	int first;

	/* If two workers take a slot at the same time, these fences make sure that at least one of
	 * them sees the slot of the other. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	first = mount_find(j, id);
	if (first < 0 || (unsigned)first >= mount)
		return mount;
	journal_mount_drop(j, mount);
	return (unsigned)first;
}

int journal_mount_get(struct journal *j, const uint8_t id[16], unsigned *ret)
{
	struct journal_mount *m = j->file->mounts;
	uint64_t now_s = boot_seconds();
	int known = mount_find(j, id);

	if (known >= 0) {
		m[known].last_seen_s = now_s;
		*ret = (unsigned)known;
		return 0;
	}
	for (unsigned i = 0; i < JOURNAL_MOUNTS_MAX; i++) {
		if (m[i].used == 0 && mount_take(&m[i], id)) {
			*ret = mount_settle(j, i, id);
			return 0;
		}
	}
	for (unsigned i = 0; i < JOURNAL_MOUNTS_MAX; i++) {
		if (m[i].used != 2 || now_s - m[i].last_seen_s <= MOUNT_AWAY_S_MAX)
			continue;
		journal_mount_drop(j, i);
		if (mount_take(&m[i], id)) {
			*ret = i;
			return 0;
		}
	}
	return -ENOSPC;
}

void journal_mount_seen(struct journal *j, unsigned mount)
{
	j->file->mounts[mount].last_seen_s = boot_seconds();
}

uint64_t journal_mount_seen_s(const struct journal *j, unsigned mount)
{
	/* Pairs with journal_mount_seen() of the worker that serves the mount. Relaxed order
	 * suffices, because no other value depends on this one. */
	return __atomic_load_n(&j->file->mounts[mount].last_seen_s, __ATOMIC_RELAXED);
}

void journal_mount_drop(struct journal *j, unsigned mount)
{
	(void)madvise(j->file->records[mount], sizeof(j->file->records[mount]), MADV_REMOVE);
	__atomic_store_n(&j->file->mounts[mount].used, 0, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------ records */

static uint64_t word_get(const struct journal_record *rec)
{
	/* Pairs with word_swap(): a reader of the word also sees everything that was written before
	 * the word. */
	return __atomic_load_n(&rec->word, __ATOMIC_ACQUIRE);
}

static bool word_swap(struct journal_record *rec, uint64_t from, uint64_t to)
{
	/* A process that sees the new word also sees everything that was written before the swap.
	 */
	return __atomic_compare_exchange_n(&rec->word, &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_ACQUIRE);
}

static uint64_t seq_next(struct journal *j)
{
	/* Relaxed order suffices, because the numbers must only be unique and increasing. */
	return __atomic_add_fetch(&j->file->turn, 1, __ATOMIC_RELAXED) & ((1ULL << 40) - 1);
}

static bool owner_is_alive(const struct journal_owner *l)
{
	/* journal_owner_register() stores the thread's id in this word, and the kernel clears the
	 * id when the thread ends. */
	return (__atomic_load_n(&l->word, __ATOMIC_ACQUIRE) & FUTEX_TID_MASK) != 0;
}

/* Returns whether the owner that the record's word names is alive, so that it may still change the
 * record. */
static bool word_is_owned(const struct journal *j, uint64_t word)
{
	unsigned owner = JOURNAL_OWNER(word);
	const struct journal_owner *l = &j->file->robust_list[owner];

	return owner > 0 && owner < JOURNAL_OWNERS_MAX && owner_is_alive(l) &&
	       __atomic_load_n(&l->since, __ATOMIC_RELAXED) < JOURNAL_SEQ(word);
}

enum journal_state journal_state_get(const struct journal_record *rec)
{
	return JOURNAL_STATE(word_get(rec));
}

/* Decides by the state of its record how to handle a repeated request. */
static enum journal_verdict record_again(struct journal *j, struct journal_record *rec,
					 uint64_t *ret_ticket)
{
	for (;;) {
		uint64_t word = word_get(rec), ours;
		enum journal_state state = JOURNAL_STATE(word);

		if (state == JOURNAL_DONE || state == JOURNAL_ACKED)
			return JOURNAL_ANSWER;
		if (state == JOURNAL_FREE)
			return JOURNAL_FULL; /* the record was freed just now, because the first
						request was cancelled */
		/* If a helper closes the record and exits between the two checks, the word has
		 * changed, so the swap below fails. */
		if ((state == JOURNAL_RUNNING || state == JOURNAL_INTENT) && word_is_owned(j, word))
			return JOURNAL_WAIT;
		state = state == JOURNAL_INTENT || state == JOURNAL_SUSPECT ? JOURNAL_SUSPECT
									    : JOURNAL_STARTED;
		ours = JOURNAL_WORD(state, j->owner, seq_next(j));
		if (word_swap(rec, word, ours)) {
			*ret_ticket = ours;
			return JOURNAL_RUN;
		}
	}
}

/* Returns whether the record may be reused. last: accept also records that a client might still
 * need, because all records are of this kind. */
static bool record_is_reusable(const struct journal *j, uint64_t word, bool last)
{
	switch (JOURNAL_STATE(word)) {
	case JOURNAL_FREE:
	case JOURNAL_ACKED:
		return true;
	case JOURNAL_DONE:
		return last;
	default: /* the owner is dead, and so many requests have come since that the client will
		    hardly need the record */
		return last && !word_is_owned(j, word);
	}
}

static struct journal_record *record_new(struct journal *j, unsigned mount, uint64_t unique,
					 uint32_t opcode, uint64_t *ret_ticket)
{
	struct journal_mount *m = &j->file->mounts[mount];

	/* Search the ring for a record that no client can need any more. If all may still be
	 * needed, search again and reuse the oldest record that is not in use. */
	for (unsigned i = 0; i < 2 * JOURNAL_RECORDS; i++) {
		uint32_t at = __atomic_fetch_add(&m->next, 1, __ATOMIC_RELAXED) % JOURNAL_RECORDS;
		struct journal_record *rec = &j->file->records[mount][at];
		uint64_t word = word_get(rec), ours = JOURNAL_WORD(JOURNAL_FREE, 0, seq_next(j));

		/* Free the record before it gets the new number, so that no worker finds an old
		 * reply under that number. */
		if (!record_is_reusable(j, word, i >= JOURNAL_RECORDS) ||
		    !word_swap(rec, word, ours))
			continue;
		rec->unique = unique;
		rec->opcode = opcode;
		if (m->n_opened <= at)
			m->n_opened = at + 1;
		*ret_ticket = JOURNAL_WORD(JOURNAL_STARTED, j->owner, seq_next(j));
		if (word_swap(rec, ours, *ret_ticket))
			return rec;
	}
	return NULL;
}

enum journal_verdict journal_begin(struct journal *j, unsigned mount, uint64_t unique,
				   uint32_t opcode, bool again, struct journal_record **ret,
				   uint64_t *ret_ticket)
{
	struct journal_mount *m = &j->file->mounts[mount];
	/* Atomic, because another worker of the export may write it at the same time. */
	const uint32_t n = MIN_OF(__atomic_load_n(&m->n_opened, __ATOMIC_RELAXED), JOURNAL_RECORDS);
	struct journal_record *rec;

	for (uint32_t i = 0; again && i < n; i++) {
		rec = &j->file->records[mount][i];
		if (rec->unique != unique || journal_state_get(rec) == JOURNAL_FREE)
			continue;
		*ret = rec;
		return rec->opcode == opcode ? record_again(j, rec, ret_ticket) : JOURNAL_MISMATCH;
	}
	m->last_seen_s = boot_seconds();
	rec = record_new(j, mount, unique, opcode, ret_ticket);
	if (!rec)
		return JOURNAL_FULL;
	*ret = rec;
	return JOURNAL_RUN;
}

bool journal_result_get(const struct journal_record *rec, struct helper_result *ret)
{
	*ret = rec->result;
	return ret->error <= 0 && ret->error >= -ERRNO_MAX &&
	       ret->handle_len <= sizeof(ret->handle);
}

void journal_ack(struct journal_record *rec)
{
	uint64_t word = word_get(rec);

	if (JOURNAL_STATE(word) == JOURNAL_DONE)
		word_swap(rec, word, JOURNAL_WORD(JOURNAL_ACKED, 0, JOURNAL_SEQ(word)));
}

void journal_cancel(struct journal_record *rec, uint64_t ticket)
{
	if (JOURNAL_STATE(ticket) == JOURNAL_STARTED)
		word_swap(rec, ticket, JOURNAL_WORD(JOURNAL_FREE, 0, JOURNAL_SEQ(ticket)));
}

/* ------------------------------------------------------------------ functions for helpers */

/* The robust list of this process's only thread. A forked child starts with an empty list. */
static struct robust_list_head robust_list = {
	.list = {&robust_list.list},
	.futex_offset = (long)offsetof(struct journal_owner, word),
};
static uint32_t robust_list_tid; /* id of the thread that has set the list */

static void robust_list_begin(uint32_t tid)
{
	if (robust_list_tid == tid)
		return;
	robust_list_tid = tid;
	robust_list.list.next = &robust_list.list;
	syscall(SYS_set_robust_list, &robust_list, sizeof(robust_list));
}

/* Frees the locks that an earlier owner with this number held when it was killed. No other process
 * would free them. */
static void locks_stale_drop(struct journal *j, uint32_t owner)
{
	for (unsigned i = 0; i < JOURNAL_LOCKS; i++) {
		uint32_t was = owner;

		/* A helper that waits for the lock takes it when it sees 0. */
		(void)__atomic_compare_exchange_n(&j->file->locks[i], &was, 0, false,
						  __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	}
}

int journal_owner_register(struct journal *j, uint32_t worker_id)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);

	robust_list_begin(tid);
	for (unsigned i = 1; i < JOURNAL_OWNERS_MAX; i++) {
		struct journal_owner *l = &j->file->robust_list[i];
		uint32_t was = l->word;

		if (was & FUTEX_TID_MASK)
			continue;
		/* From here on, the kernel marks the word when this thread ends, if the word
		 * contains this thread's id. */
		robust_list.list_op_pending = &l->node;
		/* owner_is_alive() reads this word to find out whether this thread is alive. */
		if (__atomic_compare_exchange_n(&l->word, &was, tid, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED)) {
			l->worker_id = worker_id;
			__atomic_store_n(&l->since, seq_next(j), __ATOMIC_RELEASE);
			l->node.next = robust_list.list.next;
			robust_list.list.next = &l->node;
			robust_list.list_op_pending = NULL;
			locks_stale_drop(j, i);
			return (int)i;
		}
		robust_list.list_op_pending = NULL;
	}
	return -ENOSPC;
}

bool journal_worker_is_alive(const struct journal *j, uint32_t worker_id)
{
	for (unsigned i = 1; i < JOURNAL_OWNERS_MAX; i++)
		if (owner_is_alive(&j->file->robust_list[i]) &&
		    j->file->robust_list[i].worker_id == worker_id)
			return true;
	return false;
}

bool journal_owner_is_alive(const struct journal *j, unsigned owner)
{
	return owner > 0 && owner < JOURNAL_OWNERS_MAX &&
	       owner_is_alive(&j->file->robust_list[owner]);
}

uint32_t *journal_locks(struct journal *j)
{
	return j->file->locks;
}

bool journal_contains(const struct journal *j, const struct journal_record *rec)
{
	uintptr_t at = (uintptr_t)rec - (uintptr_t)j->file->records;

	return at < sizeof(j->file->records) && at % sizeof(*rec) == 0;
}

int journal_claim(struct journal_claim *c, struct journal_record *rec, uint64_t ticket,
		  unsigned owner)
{
	bool suspect = JOURNAL_STATE(ticket) == JOURNAL_SUSPECT;

	*c = (struct journal_claim){};
	if (JOURNAL_STATE(ticket) != JOURNAL_STARTED && !suspect)
		return -ECANCELED;
	c->rec = rec;
	c->word = JOURNAL_WORD(suspect ? JOURNAL_INTENT : JOURNAL_RUNNING, owner,
			       JOURNAL_SEQ(ticket));
	if (word_swap(rec, ticket, c->word))
		return suspect;
	c->rec = NULL;
	return -ECANCELED;
}

/* Changes the state of a claimed record. Only the owner of the record does that, or a worker that
 * drops the mount. */
static void claim_state(struct journal_claim *c, enum journal_state to)
{
	uint64_t word = (c->word & ~0xffULL) | (uint64_t)to;

	if (word_swap(c->rec, c->word, word))
		c->word = word;
}

void journal_log_intent(struct journal_claim *c)
{
	claim_state(c, JOURNAL_INTENT);
}

void journal_clear_intent(struct journal_claim *c)
{
	claim_state(c, JOURNAL_RUNNING);
}

void journal_return(struct journal_claim *c, uint64_t ticket)
{
	word_swap(c->rec, c->word, ticket);
	c->rec = NULL;
}

void journal_done(struct journal_claim *c, const struct helper_result *result)
{
	if (word_get(c->rec) != c->word)
		return;
	c->rec->result = *result;
	claim_state(c, JOURNAL_DONE);
}
