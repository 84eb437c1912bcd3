/* SPDX-License-Identifier: BSD-3-Clause */
/* The leases of mounts on their file locks, and the requests that wait for locks (see
 * server_locks.c). */
#ifndef PLENUM_SERVER_LOCKS_H
#define PLENUM_SERVER_LOCKS_H

#include "dataplane/fuse/server/objects/server_types.h"

/* Maps the table of locks behind fd (-1: private memory). Gives all clients time to come back after
 * this worker's start. Returns 0 or a negative errno. */
int server_locks_init(struct fuse_server *srv, int fd);
void server_locks_done(struct fuse_server *srv);
/* Call when a session of the mount begins, if the server manages the locks of its client. Returns
 * 0, -EBUSY to retry, or another negative errno. */
int server_locks_join(struct server_mount *m);
/* Call when the client has unmounted: frees the mount's locks. */
void server_locks_leave(struct server_mount *m);
/* Returns when the lease of the mount on its locks ends if its client is not heard, or 0 if the
 * server does not manage its locks. */
uint64_t server_locks_end_ns(const struct server_mount *m, uint64_t now_ns);
/*
 * Returns whether a request of a mount whose locks the server manages may be executed: its locks
 * are then kept for longer than any request takes to begin. Bars files whose locks an operator
 * breaks. Returns 0; -EAGAIN if the request must be retried; or -ESTALE if the mount has lost its
 * locks or another worker serves it, so that the session must end.
 */
int server_locks_check(struct server_mount *m, uint64_t now_ns);
/* Call when the client has reopened a file after a loss of the session, as descriptor fd. Returns 1
 * if the file must be barred, because a lock on it was broken; 0 if not; or -EBUSY if the reopen
 * must be retried. */
int server_locks_reopened(struct server_mount *m, const struct server_node *n, int fd);
/* Breaks the lock with this id. Returns the same as lock_break(). */
int server_locks_break(struct fuse_server *srv, uint64_t id);
/* Call before requests are served: at most once a second, extends the leases of mounts whose
 * clients were heard, and frees the locks of those that were not heard for SERVER_LOCK_LEASE_NS.
 * Ends sessions of mounts without a lease, so that their clients learn that the locks are gone. */
void server_locks_tick(struct fuse_server *srv, uint64_t now_ns);

#endif
