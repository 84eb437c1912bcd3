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
/* A change touches at most some records for each range of an owner on a file. */
#define LOCKS_UNDO (16U * LOCK_OWNER_MAX)
#define LOCKS_UNDO_BYTES 88U
/* A mount may have one in so many of the free records of locks and of files, so that no mount gets
 * all of them. */
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
	uint32_t state; /* enum lock_state; GRANTED: only a notice for the mount's client */
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
	uint8_t freed; /* something was freed, and waiting requests were not looked at since */
	uint16_t n;    /* records in both lists */
	uint32_t next; /* in its chain, or in the list of free ones */
	struct lock_list held, waiting;
	uint64_t dev, ino;
};

struct lock_mount {
	uint32_t used;
	uint32_t leaving;			  /* its locks are being freed */
	struct lock_list lists[LOCK_GRANTED + 1]; /* by enum lock_state */
	uint32_t n;				  /* records in all lists */
	uint32_t pad;
	uint64_t epoch, seen_ns;
	uint8_t id[16];
};
_Static_assert(sizeof(struct lock_mount) <= LOCKS_UNDO_BYTES, "a mount can be undone");

struct lock_undo {
	uint32_t at, len; /* where the bytes were in the table */
	uint8_t bytes[LOCKS_UNDO_BYTES];
};

struct lock_head {
	uint32_t state; /* 0: unused, 1: a process prepares it, 2: ready */
	uint32_t version;
	union {
		pthread_mutex_t mutex;
		uint8_t room[64]; /* the same size on all processors */
	};
	uint64_t grants;
	uint64_t epoch; /* of the mount that joined last */
	uint32_t n_undo;
	uint32_t n_mounts, n_files, n_records; /* records that were ever used */
	uint32_t free_file, free_record;       /* lists of free ones */
	uint32_t n_used, n_used_files;	       /* records in use */
	uint32_t n_freed;		       /* files with the flag `freed` */
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
	uint32_t steps; /* records that the search under way may still look at */
	bool exceeds;	/* the change under way may give a mount more than its share */
	/* by record: the last search for deadlocks that has visited it; behind that, by record:
	 * the next one that the search still has to visit */
	uint32_t *seen;
	uint32_t search;
};

/* lock_memory.c */

/* Takes the mutex. If its holder has died, first undoes the holder's unfinished change; *ret_died:
 * this has happened, so releases may not have been passed on to waiters yet. */
void lock_enter(struct lock_table *t, bool *ret_died);
void lock_leave(struct lock_table *t);
/* Notes the present value of something in the table that is about to change. */
void lock_touch(struct lock_table *t, void *p, size_t len);
/* Ends a change: from now on it stays. */
void lock_commit(struct lock_table *t);
/* Undoes what was changed since the last lock_commit(). */
void lock_undo(struct lock_table *t);

/* Returns the file. If it has no record, returns NULL, or with `as` creates the record for that
 * request. Then NULL means that the table or the request's mount has too many files. */
struct lock_file *lock_file_find(struct lock_table *t, uint64_t dev, uint64_t ino,
				 const struct lock_record *as);
/* Frees the file's record if it is in no lock any more. */
void lock_file_settle(struct lock_table *t, struct lock_file *f);
/* Returns a new record in the lists of its file and its mount, like *as; NULL if there are too
 * many. */
struct lock_record *lock_record_new(struct lock_table *t, const struct lock_record *as);
void lock_record_drop(struct lock_table *t, struct lock_record *r);
/* Makes a waiting record a notice, which its file does not know. */
void lock_record_notice(struct lock_table *t, struct lock_record *r);

#define LOCK_TOUCH(t, p) lock_touch((t), (p), sizeof(*(p)))

/* These keep numbers within the table, which another worker may have spoilt. */
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
