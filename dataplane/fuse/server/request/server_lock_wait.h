/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells clients which of their waiting lock requests have got their locks (see
 * server_lock_wait.c). */
#ifndef PLENUM_SERVER_LOCK_WAIT_H
#define PLENUM_SERVER_LOCK_WAIT_H

#include "dataplane/fuse/server/objects/server_types.h"

/* FUSE_PROTO_LOCK_WAIT in buf, which this function frees: answers at once if locks were granted,
 * else keeps the call until then. A client has one such call. */
void server_lock_wait(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len);
/* Answers clients whose requests have got locks, from this worker or another worker. */
void server_lock_wait_run(struct fuse_server *srv);
/* Call when the client no longer waits for this call. call NULL: the client no longer waits for any
 * call. */
void server_lock_wait_gone(struct fuse_server_client *c, const struct rudp_call *call);

#endif
