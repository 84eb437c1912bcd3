/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private to this folder: the shared memory (lock_layout.h) with its lists, and the undo of
 * changes. If a process dies during a change, the next process that uses the table undoes the
 * change.
 */
#ifndef PLENUM_SERVER_LOCK_INTERNAL_H
#define PLENUM_SERVER_LOCK_INTERNAL_H

#include "dataplane/fuse/server/locks/lock_table.h"
#include "dataplane/lock_layout.h"

_Static_assert(LOCKS_LAYOUT_BYTES == LAUNCH_LOCKS_BYTES,
	       "another layout needs another size: the workers of a host find their table by it");
/* A change touches only a few records for each range of an owner on a file. */
_Static_assert(LOCKS_UNDO >= 16U * LOCK_OWNER_MAX, "any change can be undone");
/* A mount may have the LOCKS_FREE_SHARE-th part of the free records of locks and of files, but at
 * least LOCKS_MOUNT_MIN, so that no mount gets all of them. */
#define LOCKS_FREE_SHARE 8U
#define LOCKS_MOUNT_MIN 64U
/* LOCK_WAIT_NS: how long a worker may wait for the table in each second. LOCK_WAIT_OCCUPIED_NS: the
 * same after another process has kept the table for too long. The limits are short, because a
 * worker serves all its clients in one thread. */
#define LOCK_WAIT_NS (100 * NSEC_PER_MSEC)
#define LOCK_WAIT_OCCUPIED_NS (5 * NSEC_PER_MSEC)
/* Maximum number of records that one call may visit: twice as many as in the worst correct case. If
 * a call needs more, a faulty worker has made a list without an end. */
#define LOCK_VISITS_MAX \
	(2U * LOCKS_RECORDS / LOCK_FILE_MAX * (LOCK_FILE_MAX / 2) * (LOCK_FILE_MAX / 2))

struct lock_table {
	struct lock_memory *mem;
	int fd;		    /* descriptor of the memory; -1: no other process uses the memory */
	uint32_t worker;    /* ID of this process's worker; it goes into lock_head.worker */
	bool occupied;	    /* at the last attempt, the table was damaged, or another process did
			       not free it in time */
	bool damaged;	    /* a call has found a list without an end, so no call uses the table any
			       more */
	uint64_t budget_ns; /* how long this process may still wait for the table in the current
			       second, which ends at refill_ns */
	uint64_t refill_ns;
	uint32_t n_undo; /* this process's own count of undo records, because another worker may
			    damage the count in lock_head */
	uint32_t steps;	 /* how many more records the current search may visit */
	uint32_t visits; /* how many more records the current call may visit */
	bool exceeds;	 /* the current change may exceed the mount's share of the free records */
	/* Two arrays with an entry per record, for the search for deadlocks. First array: number of
	 * the last search that visited the record. Second array: the record to visit after this one
	 * in the current search. */
	uint32_t *seen;
	uint32_t search;
};

/* lock_memory.c */

/*
 * Reserves the table for this process. If the process that had reserved it has died, undoes that
 * process's unfinished change and sets *ret_died: the dead process may have freed a lock without
 * granting it to waiting requests. Returns 0. Returns -EBUSY if another process does not free the
 * table or if the table is damaged; the caller must then not use the table. All calls of one second
 * together wait for at most LOCK_WAIT_NS.
 */
int lock_enter(struct lock_table *t, bool *ret_died);
void lock_leave(struct lock_table *t);
/* Saves the len bytes at p for lock_undo(). Call it before they change. */
void lock_touch(struct lock_table *t, void *p, size_t len);
/* Ends a change, which can then no longer be undone. */
void lock_commit(struct lock_table *t);
/* Undoes what was changed since the last lock_commit(). */
void lock_undo(struct lock_table *t);

/* Returns the record of the file. If there is none and `as` is NULL, returns NULL. If there is none
 * and `as` is given, creates the record for this request, or returns NULL if the table or the mount
 * of `as` has too many files. */
struct lock_file *lock_file_find(struct lock_table *t, uint64_t dev, uint64_t ino,
				 const struct lock_record *as);
/* Frees the file's record if no lock and no waiting request uses it. */
void lock_file_settle(struct lock_table *t, struct lock_file *f);
/* Adds a copy of *as to the lists of its file and its mount. Returns the copy, or NULL if there are
 * too many records. */
struct lock_record *lock_record_new(struct lock_table *t, const struct lock_record *as);
void lock_record_drop(struct lock_table *t, struct lock_record *r);
/* Moves the record to the lists of another state. */
void lock_record_turn(struct lock_table *t, struct lock_record *r, enum lock_state state);

/* lock_table.c */

/* Reserves the table. If a process has died while it used the table, completes that process's work.
 * Returns 0 or -EBUSY. */
int lock_table_enter(struct lock_table *t);
/* Reserves the table for a call about this mount, and sets *ret to the mount's entry. Returns 0;
 * -ESTALE, without the table, if the mount's lease has expired; or -EBUSY. */
int lock_table_enter_as(struct lock_table *t, const struct lock_mount_ref *ref,
			struct lock_mount **ret);
/* Sets or clears the flag which says that the waiting requests of the file must be checked.
 * lock_undo() does not restore the flag: an unnecessary check does no harm. */
void lock_table_flag(struct lock_table *t, struct lock_file *f, bool freed);
/* Call after a lock or a waiting request of the file was removed: ends the change, and grants locks
 * to the requests that no longer conflict. */
void lock_table_freed(struct lock_table *t, struct lock_file *f);
/* Grants locks to the waiting requests of all files that have the flag. */
void lock_table_grant_all(struct lock_table *t);
/* Returns the record for a request of the mount. */
struct lock_record lock_table_record(const struct lock_mount_ref *m, const struct lock_request *q);
/* Sets the lock if no other one conflicts. Returns the same values as lock_set(). */
int lock_table_set_now(struct lock_table *t, const struct lock_request *q, struct lock_record *as);
/* Frees the locks of the mount and its entry. */
void lock_table_drop_mount(struct lock_table *t, struct lock_mount *m);

/* Frees the locks of the mount and its entry in the table: now, or, if the mount has a record on
 * disk, as soon as the record is removed. */
void lock_table_end_mount(struct lock_table *t, struct lock_mount *m);

static inline bool lock_mount_is_recorded(const struct lock_mount *m)
{
	return m->stable & (LOCK_STABLE_ASKED | LOCK_STABLE_KEPT);
}

#define LOCK_TOUCH(t, p) lock_touch((t), (p), sizeof(*(p)))

/* Reads a number in the table only once, so that the value that was checked is the value that is
 * used: another worker may change the number at any time. */
#define lock_once(i) __atomic_load_n(&(i), __ATOMIC_RELAXED)

/* The following functions return a valid pointer for any number, because a faulty worker may write
 * any number into the table. */
static inline struct lock_record *lock_record_at(struct lock_table *t, uint32_t i)
{
	/* Keeps the compiler from reading the number a second time, see lock_once(). */
	__asm__("" : "+r"(i));
	if (!i || i > LOCKS_RECORDS || t->visits == 0)
		return NULL;
	t->visits--;
	return &t->mem->records[i - 1];
}
static inline struct lock_mount *lock_mount_at(const struct lock_table *t, uint32_t i)
{
	return &t->mem->mounts[i % LOCKS_MOUNTS];
}
static inline uint32_t lock_record_number(const struct lock_table *t, const struct lock_record *r)
{
	return (uint32_t)(r - t->mem->records) + 1;
}
static inline struct lock_file *lock_file_at(const struct lock_table *t, uint32_t i)
{
	return &t->mem->files[(i - 1) % LOCKS_FILES];
}
static inline uint32_t lock_file_number(const struct lock_table *t, const struct lock_file *f)
{
	return (uint32_t)(f - t->mem->files) + 1;
}

#endif
