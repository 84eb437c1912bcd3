/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The locks that clients hold on files (fcntl(2) and flock(2)). The table is in a memfd that all
 * compute workers of the host share and that the agent keeps. So a lock of one client excludes
 * conflicting locks of all other clients, whichever worker and export each client uses, and locks
 * survive a restart of workers. A lock is held by an owner, which a client's kernel has named, in a
 * mount. fcntl(2) and flock(2) locks do not conflict with each other.
 *
 * Several processes may call all functions at the same time. Each function reserves the table for
 * its process by a lock of fcntl(2) on the memory file, usually for some microseconds. If a process
 * dies while it uses the table, the next caller undoes the unfinished change. If a process keeps
 * the table reserved, or has damaged it so that a list has no end, the calls of other processes
 * fail with -EBUSY after a short time (lock_enter()). A call that frees a lock also grants it to
 * waiting requests in the order of their arrival; if there are very many records to visit,
 * lock_mounts_expire() grants the remaining requests later. The module makes no other system calls,
 * and does not depend on messages.
 */
#ifndef PLENUM_SERVER_LOCK_TABLE_H
#define PLENUM_SERVER_LOCK_TABLE_H

#include "dataplane/launch.h"

#define LOCK_END_MAX INT64_MAX /* the last byte of a range that extends to the end of the file */
/* Maximum number of locks and waiting requests of one mount, of one file, and maximum number of
 * ranges of one owner on one file. These limits bound the time that a call takes. */
#define LOCK_MOUNT_MAX 16384U
#define LOCK_FILE_MAX 2048U
#define LOCK_OWNER_MAX 1024U
/* Maximum number of locks of a mount that are being broken at the same time. */
#define LOCK_BREAKS_MAX 8U

struct lock_table;

/* A mount's entry in the table. After the mount's lease has expired, the epoch in the table differs
 * from the epoch here, and all calls with this reference return -ESTALE. All calls may also return
 * -EBUSY. */
struct lock_mount_ref {
	uint32_t index;
	uint64_t epoch; /* 0: the mount has no entry */
	uint64_t session;
	bool reclaims; /* the client must reclaim its locks (lock_reclaim()) */
};

/* A mount whose record on disk the agent must write or remove. */
struct lock_stable {
	uint32_t index;
	uint64_t epoch;
	uint8_t id[16];
};
/* How long after a reboot clients can reclaim their locks. */
#define LOCK_GRACE_NS (30 * NSEC_PER_SEC)
/* How long the grace period lasts after that at most, while the agent cannot remove records. */
#define LOCK_GRACE_RECORDS_NS (30 * NSEC_PER_SEC)

struct lock_request {
	uint64_t dev, ino;
	uint64_t owner;
	bool flock;	     /* true: a flock(2) lock; false: an fcntl(2) lock */
	bool write;	     /* true: an exclusive lock; false: a shared lock */
	uint64_t start, end; /* first and last byte of the range */
	uint32_t pid;
	uint32_t opener; /* ID of the open file that makes the lock; not 0 */
	uint64_t unique; /* for lock_set() with `wait`: ID of the request, unique in its mount */
	int fd; /* for lock_set(): descriptor of the file in this process, from which the agent
		   finds the file's path */
};

struct lock_conflict { /* a lock that excludes a requested lock */
	uint64_t start, end;
	bool write;
	uint32_t pid; /* 0: the lock belongs to another mount */
};

/* Maps the table in fd, which has LAUNCH_LOCKS_BYTES and which the caller still owns; fd -1: uses
 * private memory. A table of zeros is empty. worker: number of this process's worker. Returns 0,
 * -EPROTO if the table has another layout, -ETIMEDOUT if another process takes too long to prepare
 * the table, or another negative errno. */
int lock_table_map(int fd, uint32_t worker, struct lock_table **ret);
struct lock_table *lock_table_unmap(struct lock_table *t); /* Accepts NULL. Returns NULL. */
/* Returns whether the last call failed with -EBUSY. *ret_worker is then the worker that uses the
 * table or used it last, as far as the table shows. */
bool lock_table_is_occupied(const struct lock_table *t, uint32_t *ret_worker);

/* Finds the entry of the mount with this id, or creates one with a new epoch, and renews the
 * mount's lease. Removes the mount's waiting requests, because the client sends these again in each
 * new session. host, export_name: for display only. can_reclaim: the client can reclaim locks.
 * Returns 0, or -ENOSPC if there are too many mounts. */
int lock_mount_join(struct lock_table *t, const uint8_t id[16], const char *host,
		    const char *export_name, bool can_reclaim, uint64_t now_ns,
		    struct lock_mount_ref *ret);
/* Extends the mount's lease, because a packet of the client arrived at heard_ns. Returns 0, or
 * -ESTALE if the lease has expired. */
int lock_mount_seen(struct lock_table *t, const struct lock_mount_ref *m, uint64_t heard_ns);
/* Returns whether *m belongs to the mount's latest session, at any worker, and no worker has ended
 * the mount's lease. *ret_breaks: a number that changes whenever an operator breaks a lock of the
 * mount. Never waits. */
bool lock_mount_is_current(const struct lock_table *t, const struct lock_mount_ref *m,
			   uint32_t *ret_breaks);
/* Extends all leases as if a packet of each client had arrived at now_ns. Call it when a worker
 * starts, because clients could reach no worker before. Returns 0 or -EBUSY. */
int lock_mounts_grace(struct lock_table *t, uint64_t now_ns);
/* Ends the leases of all mounts whose clients were last heard before this time, and returns the
 * number of these mounts. Frees their locks; if a mount has a record on disk,
 * lock_mount_forgotten() frees them. Also continues the checks of waiting requests that earlier
 * calls did not complete. Call it every second. */
unsigned lock_mounts_expire(struct lock_table *t, uint64_t before_ns);
/* Frees all locks of the mount and its entry in the table; if the mount has a record on disk,
 * lock_mount_forgotten() frees them. */
void lock_mount_leave(struct lock_table *t, const struct lock_mount_ref *m);

/* ---- reclaiming after a reboot (lock_grace.c) ---- */

/* Returns whether there is a grace period. During it, no mount gets a new lock, because another
 * mount may still reclaim that lock. Never waits. */
bool lock_in_grace(const struct lock_table *t);
/* Begins a grace period if one is due. Ends it if all mounts have reclaimed their locks, if
 * LOCK_GRACE_NS have passed and the records of the missing mounts are removed, or if
 * LOCK_GRACE_RECORDS_NS more have passed. Call it every second. */
void lock_grace_tick(struct lock_table *t, uint64_t now_ns);
/* Returns the number of mounts that did not come back and whose records the agent has not removed
 * yet: the grace period lasts longer because of them, or has ended without their removal. Never
 * waits. */
unsigned lock_grace_overdue(const struct lock_table *t, uint64_t now_ns);
/* Sets a lock that the mount held before the reboot. Returns 0; -EAGAIN if another lock conflicts;
 * -EINVAL if the mount may not reclaim locks, or not any more; -ENOLCK; or -ESTALE. */
int lock_reclaim(struct lock_table *t, const struct lock_mount_ref *m,
		 const struct lock_request *q);
/* Call when the mount has reclaimed all its locks. Returns 0 or -ESTALE. */
int lock_reclaim_end(struct lock_table *t, const struct lock_mount_ref *m);
/* Call before the mount gets a lock. Returns 1 if the caller must first request the mount's record
 * from the agent; *ret then describes the mount. Returns 0 if the record is on disk, or if there is
 * to be none; or -ESTALE. */
int lock_mount_keep(struct lock_table *t, const struct lock_mount_ref *m, struct lock_stable *ret);
/* Call when the agent has written the record. Returns 0 or -EBUSY. */
int lock_mount_kept(struct lock_table *t, const struct lock_stable *of);
/* Call before a lock of a mount is freed whose client stays connected: there must be no record of
 * the mount, because the client could reclaim the lock. Returns 1 if the caller must first have the
 * record removed, 0 if there is none, or -ESTALE. */
int lock_mount_spoil(struct lock_table *t, const struct lock_mount_ref *m, struct lock_stable *ret);
/* Lists up to max mounts whose records must be removed before their locks are freed. */
unsigned lock_mounts_leaving(struct lock_table *t, struct lock_stable *ret, unsigned max);
/* Call when the agent has removed the record. Returns 0 or -EBUSY. */
int lock_mount_forgotten(struct lock_table *t, const struct lock_stable *of);

/*
 * Breaks the lock with this id for an operator. The lock still excludes other locks until the
 * worker that serves the mount calls lock_break_end(). That worker notices the break by
 * lock_mount_is_current(). Before it calls lock_break_end(), it bars the mount's open files and
 * waits until earlier requests have ended. Returns 0; -ENOENT; -EALREADY if the lock is being
 * broken or was broken; -EAGAIN if the request still waits for the lock; or -ENOSPC if
 * LOCK_BREAKS_MAX locks of the mount are being broken.
 */
int lock_break(struct lock_table *t, uint64_t id);
struct lock_breaking {
	uint64_t id, dev, ino;
};
/* Writes the locks of the mount that are being broken to ret. Returns how many there are, or
 * -ESTALE. Until lock_break_end(), a lock that is being broken excludes conflicting locks and new
 * locks of its own owner. The owner can remove the lock only by freeing all its locks on the
 * file. */
int lock_breaks(struct lock_table *t, const struct lock_mount_ref *m,
		struct lock_breaking ret[LOCK_BREAKS_MAX]);
/* Removes the mount's requests that wait for locks on the file. Call it after the mount's open
 * files were barred. Returns the number of removed requests, or -ESTALE. */
int lock_waits_drop(struct lock_table *t, const struct lock_mount_ref *m, uint64_t dev,
		    uint64_t ino);
/* Completes the break: grants the range to waiting requests. The record of the broken lock stays
 * until the mount closes the file. Returns 0, -ENOENT, or -ESTALE. */
int lock_break_end(struct lock_table *t, const struct lock_mount_ref *m, uint64_t id);
/* Call when the mount has reopened the file, as descriptor fd of this process. Returns 1 if a lock
 * of the mount on the file was broken and the mount has not closed the file since, 0 if not, or
 * -ESTALE. */
int lock_reopened(struct lock_table *t, const struct lock_mount_ref *m, uint64_t dev, uint64_t ino,
		  int fd);

/* Sets the lock, which replaces the owner's locks in that range. wait: the request waits if another
 * lock conflicts, or in a grace period. Returns 0; -EAGAIN if another lock conflicts; -EALREADY in
 * a grace period, to retry after it; -EINPROGRESS if the request waits; -EDEADLK if the owner would
 * wait for itself; -ENOLCK if the mount, the file or the owner has too many locks; or -ESTALE. */
int lock_set(struct lock_table *t, const struct lock_mount_ref *m, const struct lock_request *q,
	     bool wait);
/* Frees the range for the owner. Returns 0, -ENOLCK if a lock would have to be split but the mount
 * has too many locks, or -ESTALE. */
int lock_free(struct lock_table *t, const struct lock_mount_ref *m, const struct lock_request *q);
/* Frees all fcntl(2) locks of the owner on the file, as a kernel does at any close of the file. */
int lock_free_owner(struct lock_table *t, const struct lock_mount_ref *m,
		    const struct lock_request *q);
/* Frees all locks that this open file of the mount has made, as a kernel does at the last close of
 * the open file. */
int lock_free_opener(struct lock_table *t, const struct lock_mount_ref *m, uint32_t opener);
/* Finds the first lock that excludes the requested lock. Returns 1 with the lock in *ret, 0 if
 * there is none, or -ESTALE. */
int lock_get(struct lock_table *t, const struct lock_mount_ref *m, const struct lock_request *q,
	     struct lock_conflict *ret);
/* Removes a waiting request. Returns 0; -ENOENT if the request does not wait because it has already
 * got its lock; or -ESTALE. */
int lock_cancel(struct lock_table *t, const struct lock_mount_ref *m, uint64_t unique);
/* Returns whether the mount holds a lock on the file, waits for one, or had one broken. Also
 * returns true if the table cannot be used. */
bool lock_mount_has(struct lock_table *t, const struct lock_mount_ref *m, uint64_t dev,
		    uint64_t ino);

/* Returns how many waiting requests, at any worker, were granted their locks so far. Never waits.
 */
uint64_t lock_grants(const struct lock_table *t);
/* Returns up to max of the mount's waiting requests whose locks were granted. Returns each request
 * only once. */
int lock_granted(struct lock_table *t, const struct lock_mount_ref *m, uint64_t *ret, unsigned max);

#endif
