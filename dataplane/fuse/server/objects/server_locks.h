/* SPDX-License-Identifier: BSD-3-Clause */
/* The leases of mounts on their file locks, and the requests that wait for locks (see
 * server_locks.c). */
#ifndef PLENUM_SERVER_LOCKS_H
#define PLENUM_SERVER_LOCKS_H

#include "dataplane/fuse/server/objects/server_types.h"

/* Maps the table of locks in fd (-1: private memory). Extends all leases, so that clients have time
 * to reconnect to this worker. Returns 0 or a negative errno. */
int server_locks_init(struct fuse_server *srv, int fd);
void server_locks_done(struct fuse_server *srv);
/* Call when a session of the mount begins, if the server manages the locks of the mount's client.
 * can_reclaim: the client can reclaim locks after a reboot. Returns 0, -EBUSY to retry, or another
 * negative errno. */
int server_locks_join(struct server_mount *m, bool can_reclaim);
/* Call before the mount gets a lock. Returns true if the record by which its client can reclaim the
 * lock is on disk, or if the agent has not answered for RECORD_WAIT_NS. After false the caller must
 * retry. */
bool server_locks_recorded(struct server_mount *m);
/* Call when the agent has written or removed the record of a mount. */
void server_locks_answer(struct fuse_server *srv, const struct launch_msg *msg);
/* Call when the client has unmounted: frees the mount's locks. */
void server_locks_leave(struct server_mount *m);
/* Returns when the mount loses its locks if its client sends no further packet; 0 if the server
 * does not manage the mount's locks. */
uint64_t server_locks_end_ns(const struct server_mount *m, uint64_t now_ns);
/*
 * Returns whether a request may be executed, if the server manages the locks of its mount. It may
 * if the mount keeps its locks for longer than any request takes to begin. Also bars files on which
 * an operator breaks locks. Returns 0; -EAGAIN if the request must be retried; or -ESTALE if the
 * mount has lost its locks or another worker serves it. After -ESTALE the session must end.
 */
int server_locks_check(struct server_mount *m, uint64_t now_ns);
/* Call when the client has reopened a file, as descriptor fd, in a new session. Returns 1 if the
 * file must be barred because a lock on it was broken, 0 if not, or -EBUSY if the caller must
 * retry. */
int server_locks_reopened(struct server_mount *m, const struct server_node *n, int fd);
/* Breaks the lock with this id. Returns the same values as lock_break(). */
int server_locks_break(struct fuse_server *srv, uint64_t id);
/* Call this function in each turn before serving requests; it does its work at most once a second.
 * Extends the leases of the mounts whose clients were heard since. Frees the locks of mounts whose
 * clients were not heard for SERVER_LOCK_LEASE_NS, and ends their sessions, so that these clients
 * learn that their locks are lost. */
void server_locks_tick(struct fuse_server *srv, uint64_t now_ns);

#endif
