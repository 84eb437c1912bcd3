/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and other data operations via io_uring or plain system calls (see server_ring.c). */
#ifndef PLENUM_SERVER_RING_H
#define PLENUM_SERVER_RING_H

#include "dataplane/fuse/server/objects/server_types.h"

int server_ring_init(struct fuse_server *srv);
void server_ring_done(struct fuse_server *srv);
/* Queues q->op for io_uring until the next fuse_server_poll, which calls q->done with the result.
 * Some operations are done at once instead, and q->done is called before this returns: everything
 * but reads, and of reads from memory the large ones, those that io_uring has returned, and all if
 * server_export.ring_unfit is set. */
void server_ring_start(struct server_req *q);
/* Submits operations, processes results and calls done. Returns the number of results. */
int server_ring_poll(struct fuse_server *srv);
/* Whether operations wait for the next poll. */
bool server_ring_waits(const struct fuse_server *srv);

#endif
