/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private to this folder: the shared memory (lock_layout.h), its lists, and changes that are undone
 * if their process dies.
 */
#ifndef PLENUM_SERVER_LOCK_INTERNAL_H
#define PLENUM_SERVER_LOCK_INTERNAL_H

#include "dataplane/fuse/server/locks/lock_table.h"
#include "dataplane/lock_layout.h"

_Static_assert(LOCKS_LAYOUT_BYTES == LAUNCH_LOCKS_BYTES,
	       "another layout needs another size: the workers of a host find their table by it");
/* A change touches only a few records for each range that an owner has on a file. */
_Static_assert(LOCKS_UNDO >= 16U * LOCK_OWNER_MAX, "any change can be undone");
/* A mount may have the LOCKS_FREE_SHARE-th part of the free records of locks and of files, but at
 * least LOCKS_MOUNT_MIN, so that no mount gets all of them. */
#define LOCKS_FREE_SHARE 8U
#define LOCKS_MOUNT_MIN 64U
/* How long a worker may wait for the table in a second, and while another process keeps it. A
 * worker serves all its clients in one thread. */
#define LOCK_WAIT_NS (100 * NSEC_PER_MSEC)
#define LOCK_WAIT_OCCUPIED_NS (5 * NSEC_PER_MSEC)
/* How many records a call may visit: twice as many as if each file had as many locks and waiting
 * requests as possible. A call that needs more is in a list without an end, which another worker
 * has made. */
#define LOCK_VISITS_MAX \
	(2U * LOCKS_RECORDS / LOCK_FILE_MAX * (LOCK_FILE_MAX / 2) * (LOCK_FILE_MAX / 2))

struct lock_table {
	struct lock_memory *mem;
	int fd;		    /* of the memory; -1: the memory belongs to this process alone */
	uint32_t worker;    /* this process's, for the table's head */
	bool occupied;	    /* the last try to get the table has failed */
	bool damaged;	    /* a call has found a list without an end: no call uses the table any
			       more */
	uint64_t budget_ns; /* how long this process may still wait for the table before refill_ns
			     */
	uint64_t refill_ns;
	uint32_t n_undo; /* of lock_head, which another worker may have damaged */
	uint32_t steps;	 /* how many more records the current search may visit */
	uint32_t visits; /* how many more records the current call may visit */
	bool exceeds;	 /* the current change may give the mount more than its share */
	/* Two arrays, by number of a record: the number of the last search for deadlocks that has
	 * visited the record; then the next record that the current search has to visit. */
	uint32_t *seen;
	uint32_t search;
};

/* lock_memory.c */

/*
 * Gets the table for this process alone. If the process that had it died, first undoes that
 * process's unfinished change; *ret_died: that process has died, so waiting requests may not have
 * been checked since a lock was freed. Returns 0, or -EBUSY if another process keeps the table:
 * then the caller must not touch it. All calls of a second together wait for at most LOCK_WAIT_NS.
 */
int lock_enter(struct lock_table *t, bool *ret_died);
void lock_leave(struct lock_table *t);
/* Saves the len bytes at p, which are about to change, for lock_undo(). */
void lock_touch(struct lock_table *t, void *p, size_t len);
/* Ends a change. It can no longer be undone. */
void lock_commit(struct lock_table *t);
/* Undoes what was changed since the last lock_commit(). */
void lock_undo(struct lock_table *t);

/* Returns the record of the file. If there is none, returns NULL or, if `as` is given, creates the
 * record for the request `as`; NULL then means that the table, or the mount of `as`, has too many
 * files. */
struct lock_file *lock_file_find(struct lock_table *t, uint64_t dev, uint64_t ino,
				 const struct lock_record *as);
/* Frees the file's record if it is in no lock any more. */
void lock_file_settle(struct lock_table *t, struct lock_file *f);
/* Adds a copy of *as to the lists of its file and its mount. Returns the copy, or NULL if there are
 * too many records. */
struct lock_record *lock_record_new(struct lock_table *t, const struct lock_record *as);
void lock_record_drop(struct lock_table *t, struct lock_record *r);
/* Moves the record to the lists of another state. */
void lock_record_turn(struct lock_table *t, struct lock_record *r, enum lock_state state);

/* lock_table.c */

/* Gets the table, and continues what a process had begun that died while it had the table. Returns
 * 0 or -EBUSY. */
int lock_table_enter(struct lock_table *t);
/* Gets the table for a call of the mount. Returns 0; -ESTALE, without the table, if the mount's
 * lease has expired; or -EBUSY. */
int lock_table_enter_as(struct lock_table *t, const struct lock_mount_ref *ref,
			struct lock_mount **ret);
/* Sets or clears the flag that the waiting requests of the file must be checked. This is not
 * undone: at worst they are checked once more. */
void lock_table_flag(struct lock_table *t, struct lock_file *f, bool freed);
/* Call when a lock on the file was freed or a request removed: ends the change, and grants what can
 * be granted now. */
void lock_table_freed(struct lock_table *t, struct lock_file *f);

#define LOCK_TOUCH(t, p) lock_touch((t), (p), sizeof(*(p)))

/* Reads a number of the table once, so that the number that is checked is the one that is used. */
#define lock_once(i) __atomic_load_n(&(i), __ATOMIC_RELAXED)

/* These functions keep numbers within the table, because another worker may damage the table at any
 * time. */
static inline struct lock_record *lock_record_at(struct lock_table *t, uint32_t i)
{
	__asm__("" : "+r"(i)); /* so that the compiler does not read it again, as lock_once() */
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
