/* SPDX-License-Identifier: BSD-3-Clause */
/* Informs clients which of their waiting lock requests were granted (see
 * server_lock_wait.c). */
#ifndef PLENUM_SERVER_LOCK_WAIT_H
#define PLENUM_SERVER_LOCK_WAIT_H

#include "dataplane/fuse/server/objects/server_types.h"

/* Handles FUSE_PROTO_LOCK_WAIT in buf, which this function frees. If waiting requests were
 * granted, answers at once; otherwise keeps the call until one is granted. A client has at most one
 * such call. */
void server_lock_wait(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len);
/* Answers the calls of clients whose waiting requests were granted, whichever worker
 * granted them. */
void server_lock_wait_run(struct fuse_server *srv);
/* Call when the client no longer waits for this call; call NULL: for any of its calls. */
void server_lock_wait_gone(struct fuse_server_client *c, const struct rudp_call *call);

#endif
