/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The locks that clients hold on files (fcntl(2) and flock(2)), in a memfd that all compute workers
 * of the host share and the agent keeps. So the locks of a client exclude those of all others,
 * whichever worker and export each of them uses, and they outlive the workers. A holder is a mount
 * (one kernel of a client) with an owner that this kernel has named; locks of the two kinds do not
 * conflict with each other.
 *
 * All functions may be called by several processes at a time: each has the table for itself,
 * usually for some microseconds, by a lock of fcntl(2) on the memory file. If a process dies
 * meanwhile, the next caller undoes its unfinished change. If a process keeps the table, or has
 * damaged it so that a list has no end, calls fail with -EBUSY after a while (lock_enter()), so
 * that the process cannot stop the others. A lock that is released is given to waiters in the order
 * in which they came, by the same call, or by lock_mounts_expire() if it has very many records to
 * look at. The module makes no other system calls, and knows no messages.
 */
#ifndef PLENUM_SERVER_LOCK_TABLE_H
#define PLENUM_SERVER_LOCK_TABLE_H

#include "dataplane/launch.h"

#define LOCK_END_MAX INT64_MAX /* end of a range that reaches to the end of the file */
/* Maximum numbers of locks and waiting requests of one mount and of one file, and of ranges of one
 * owner on one file. They limit the time that a call takes. */
#define LOCK_MOUNT_MAX 16384U
#define LOCK_FILE_MAX 2048U
#define LOCK_OWNER_MAX 1024U
#define LOCK_BREAKS_MAX 8U /* most locks of a mount that are being broken at a time */

struct lock_table;

/* A mount's entry in the table. If its lease has expired, `epoch` is no longer that of the table,
 * and all calls return -ESTALE. All calls may also return -EBUSY. */
struct lock_mount_ref {
	uint32_t index;
	uint64_t epoch; /* 0: the mount has no entry */
	uint64_t session;
};

struct lock_request {
	uint64_t dev, ino;
	uint64_t owner;
	bool flock;	     /* kind flock(2), else fcntl(2) */
	bool write;	     /* exclusive, else shared */
	uint64_t start, end; /* first and last byte */
	uint32_t pid;
	uint32_t opener; /* the open file by which the lock is made; not 0 */
	uint64_t unique; /* lock_set() that waits: identifies the waiting request in its mount */
	int fd; /* lock_set(): descriptor of the file in this process, by which the agent finds its
		   path */
};

struct lock_conflict { /* a lock that prevents another lock */
	uint64_t start, end;
	bool write;
	uint32_t pid; /* 0: the holder is another mount */
};

/* Maps the table in fd, of LAUNCH_LOCKS_BYTES, which the caller still owns; fd -1: uses memory of
 * this process. All zeros is an empty table. worker: the
 * id of this worker. Returns 0, -EPROTO if it has another layout, -ETIMEDOUT if another process
 * prepares it for too long, or another negative errno. */
int lock_table_map(int fd, uint32_t worker, struct lock_table **ret);
struct lock_table *lock_table_unmap(struct lock_table *t); /* Accepts NULL. Returns NULL. */
/* Returns whether the last call failed with -EBUSY. *ret_worker is then the worker that keeps or
 * last had the table, if it has said the truth. */
bool lock_table_is_occupied(const struct lock_table *t, uint32_t *ret_worker);

/* Finds the entry of the mount with this id, or creates it with a new epoch, and sets the time when
 * its client was last heard. Its waiting requests are dropped, because the client repeats them in
 * each new session. host, export_name: names to be shown. Returns 0, or -ENOSPC if there are too
 * many mounts. */
int lock_mount_join(struct lock_table *t, const uint8_t id[16], const char *host,
		    const char *export_name, uint64_t now_ns, struct lock_mount_ref *ret);
/* Extends the mount's lease: its client was heard at this time. Returns 0, or -ESTALE if the lease
 * has expired. */
int lock_mount_seen(struct lock_table *t, const struct lock_mount_ref *m, uint64_t heard_ns);
/* Returns whether *m is of the mount's latest session, at any worker, and its lease was not found
 * expired. *ret_breaks: changes whenever an operator breaks a lock of the mount. Never waits. */
bool lock_mount_is_current(const struct lock_table *t, const struct lock_mount_ref *m,
			   uint32_t *ret_breaks);
/* Extends all leases to at least this time: call when a worker starts, because clients could not
 * be heard before. Returns 0 or -EBUSY. */
int lock_mounts_grace(struct lock_table *t, uint64_t now_ns);
/* Frees the locks of all mounts that were last heard before this time. Returns their number. Also
 * checks the waiting requests that an earlier call had to leave. Call it every second. */
unsigned lock_mounts_expire(struct lock_table *t, uint64_t before_ns);
/* Frees all locks of the mount, and its entry in the table. */
void lock_mount_leave(struct lock_table *t, const struct lock_mount_ref *m);

/*
 * Breaks the lock with this id, as an operator wants. It excludes others until the worker that
 * serves its mount calls lock_break_end(): first this worker bars the open files of the mount (it
 * notices by lock_mount_is_current()), and waits until earlier requests have ended. Returns 0,
 * -ENOENT, -EALREADY, -EAGAIN if the request only waits for its lock, or -ENOSPC if
 * LOCK_BREAKS_MAX locks of the mount are being broken.
 */
int lock_break(struct lock_table *t, uint64_t id);
struct lock_breaking {
	uint64_t id, dev, ino;
};
/* Returns the number of locks of the mount that are being broken, or -ESTALE. Until a break ends,
 * neither the owner nor others can lock the range, but the owner can free all its locks. */
int lock_breaks(struct lock_table *t, const struct lock_mount_ref *m,
		struct lock_breaking ret[LOCK_BREAKS_MAX]);
/* Call when the open files of the mount are barred: removes its requests that wait for locks on the
 * file. Returns their number, or -ESTALE. */
int lock_waits_drop(struct lock_table *t, const struct lock_mount_ref *m, uint64_t dev,
		    uint64_t ino);
/* Gives the file to those that wait for a broken lock. The lock's record stays until its file is
 * closed. Returns 0, -ENOENT, or -ESTALE. */
int lock_break_end(struct lock_table *t, const struct lock_mount_ref *m, uint64_t id);
/* Call when the mount has opened the file again, as descriptor fd of this process. Returns 1 if a
 * lock of the mount on the file was broken, and its file was not closed since, 0 if not, or
 * -ESTALE. */
int lock_reopened(struct lock_table *t, const struct lock_mount_ref *m, uint64_t dev, uint64_t ino,
		  int fd);

/* Sets the lock, which replaces what its owner has in that range. Returns 0; -EAGAIN if another
 * lock conflicts; -ENOLCK if the mount, the file or the owner has too many locks; -ESTALE. wait:
 * instead of -EAGAIN, makes the request wait and returns -EINPROGRESS, or -EDEADLK if the owner
 * would wait for itself. */
int lock_set(struct lock_table *t, const struct lock_mount_ref *m, const struct lock_request *q,
	     bool wait);
/* Frees the range for the owner. Returns 0, -ENOLCK if the mount has too many locks to split a
 * lock, or -ESTALE. */
int lock_free(struct lock_table *t, const struct lock_mount_ref *m, const struct lock_request *q);
/* Frees all locks that the owner has on the file (fcntl), as any close of the file does. */
int lock_free_owner(struct lock_table *t, const struct lock_mount_ref *m,
		    const struct lock_request *q);
/* Frees all locks made by this open file of the mount, as its last close does. */
int lock_free_opener(struct lock_table *t, const struct lock_mount_ref *m, uint32_t opener);
/* Returns 1 and the first lock that conflicts, 0 if none does, or -ESTALE. */
int lock_get(struct lock_table *t, const struct lock_mount_ref *m, const struct lock_request *q,
	     struct lock_conflict *ret);
/* Removes a waiting request. Returns 0, -ENOENT if it does not wait, because it has got its lock,
 * or -ESTALE. */
int lock_cancel(struct lock_table *t, const struct lock_mount_ref *m, uint64_t unique);
/* Returns whether the mount holds a lock on the file, or waits for one, or a lock of it was broken.
 * True if that is unknown. */
bool lock_mount_has(struct lock_table *t, const struct lock_mount_ref *m, uint64_t dev,
		    uint64_t ino);

/* Counts the waiting requests that have got their locks, at any worker. Never waits. */
uint64_t lock_grants(const struct lock_table *t);
/* Returns, once each, up to max waiting requests of the mount that have got their locks. */
int lock_granted(struct lock_table *t, const struct lock_mount_ref *m, uint64_t *ret, unsigned max);

#endif
