/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private to this folder: the layout of the shared memory, its lists, and changes that are undone
 * if their process dies. Records refer to each other by number, because each process maps the table
 * at its own address; number 0 means none.
 */
#ifndef PLENUM_SERVER_LOCK_INTERNAL_H
#define PLENUM_SERVER_LOCK_INTERNAL_H

#include "dataplane/fuse/server/locks/lock_table.h"
#include <pthread.h>

#define LOCKS_MOUNTS 16384U
#define LOCKS_FILES 65536U
#define LOCKS_RECORDS 262144U
#define LOCKS_CHAINS 65536U
/* Maximum number of saved pieces. A change touches only a few records for each range that an owner
 * has on a file. */
#define LOCKS_UNDO (16U * LOCK_OWNER_MAX)
#define LOCKS_UNDO_BYTES 88U
/* A mount may have the LOCKS_FREE_SHARE-th part of the free records of locks and of files, but at
 * least LOCKS_MOUNT_MIN, so that no mount gets all of them. */
#define LOCKS_FREE_SHARE 8U
#define LOCKS_MOUNT_MIN 64U

enum lock_state { LOCK_UNUSED, LOCK_HELD, LOCK_WAITING, LOCK_GRANTED };

struct lock_link {
	uint32_t prev, next;
};
struct lock_list {
	uint32_t first, last;
};

struct lock_record {
	uint32_t state; /* enum lock_state; GRANTED: not a lock, but a notice to the mount's client
			   that a waiting request has got its lock */
	uint32_t file, mount;
	struct lock_link in_file; /* in the file's list for this state; not for notices */
	struct lock_link in_mount;
	uint32_t pid, opener;
	uint8_t flock, write, pad[2];
	uint64_t owner, start, end, unique, since_ns;
};
_Static_assert(sizeof(struct lock_record) <= LOCKS_UNDO_BYTES, "a record can be undone");

struct lock_file {
	uint8_t used;
	uint8_t freed; /* 1: a lock was freed, and the waiting requests have not been checked
			  since */
	uint16_t n;    /* number of records in both lists */
	uint32_t next; /* next file in the hash chain, or in the list of free file records */
	struct lock_list held, waiting;
	uint64_t dev, ino;
};

struct lock_mount {
	uint32_t used;
	uint32_t leaving;			  /* 1: the mount's locks are being freed */
	struct lock_list lists[LOCK_GRANTED + 1]; /* by enum lock_state */
	uint32_t n;				  /* number of records in all lists */
	uint32_t pad;
	uint64_t epoch, seen_ns;
	uint8_t id[16];
};
_Static_assert(sizeof(struct lock_mount) <= LOCKS_UNDO_BYTES, "a mount can be undone");

struct lock_undo {
	uint32_t at, len; /* offset in the table, and length, of the saved bytes */
	uint8_t bytes[LOCKS_UNDO_BYTES];
};

struct lock_head {
	uint32_t state; /* 0: unused, 1: a process prepares it, 2: ready */
	uint32_t version;
	union {
		pthread_mutex_t mutex;
		uint8_t room[64]; /* makes the union equally large on all processors */
	};
	uint64_t grants;
	uint64_t epoch; /* epoch of the mount that joined last */
	uint32_t n_undo;
	uint32_t n_mounts, n_files, n_records; /* numbers of records that were ever used */
	uint32_t free_file, free_record;       /* first entries of the lists of free records; 0: the
						  list is empty */
	uint32_t n_used, n_used_files;	       /* numbers of records in use */
	uint32_t n_freed;		       /* number of files with the flag `freed` */
};

struct lock_memory {
	struct lock_head head;
	struct lock_undo undo[LOCKS_UNDO];
	uint32_t chains[LOCKS_CHAINS];
	struct lock_mount mounts[LOCKS_MOUNTS];
	struct lock_file files[LOCKS_FILES];
	struct lock_record records[LOCKS_RECORDS];
};
#define LOCKS_LAYOUT_BYTES ((sizeof(struct lock_memory) + 4095) / 4096 * 4096)
_Static_assert(sizeof(struct lock_head) == 128 && sizeof(struct lock_undo) == 96 &&
		       sizeof(struct lock_mount) == 80 && sizeof(struct lock_file) == 40 &&
		       sizeof(struct lock_record) == 80,
	       "another layout needs another TABLE_VERSION");
_Static_assert(LOCKS_LAYOUT_BYTES == LAUNCH_LOCKS_BYTES,
	       "another layout needs another size: the workers of a host find their table by it");

struct lock_table {
	struct lock_memory *mem;
	uint32_t steps; /* how many more records the current search may visit */
	bool exceeds;	/* the current change may give the mount more than its share */
	/* Two arrays, by number of a record: the number of the last search for deadlocks that has
	 * visited the record; then the next record that the current search has to visit. */
	uint32_t *seen;
	uint32_t search;
};

/* lock_memory.c */

/* Takes the mutex. If the process that held it has died, first undoes that process's unfinished
 * change; *ret_died: that process has died, so waiting requests may not have been checked since a
 * lock was freed. */
void lock_enter(struct lock_table *t, bool *ret_died);
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
/* Turns a waiting record into a notice, and removes it from the list of its file. */
void lock_record_notice(struct lock_table *t, struct lock_record *r);

#define LOCK_TOUCH(t, p) lock_touch((t), (p), sizeof(*(p)))

/* These functions keep numbers within the table, because another worker may have damaged the
 * table. */
static inline struct lock_record *lock_record_at(const struct lock_table *t, uint32_t i)
{
	return i && i <= LOCKS_RECORDS ? &t->mem->records[i - 1] : NULL;
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
