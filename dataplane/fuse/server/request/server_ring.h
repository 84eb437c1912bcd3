/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and other data operations via io_uring or plain system calls (see server_ring.c). */
#ifndef PLENUM_SERVER_RING_H
#define PLENUM_SERVER_RING_H

#include "dataplane/fuse/server/objects/server_types.h"

int server_ring_init(struct fuse_server *srv);
void server_ring_done(struct fuse_server *srv);
/*
 * Queues q->op for io_uring. The next fuse_server_poll() submits it, and q->done is called with the
 * result. For the following operations, this function makes a system call instead and calls q->done
 * before it returns:
 * - all operations but reads
 * - all operations if io_uring is unavailable or its ring is full
 * - large reads from memory
 * - reads from memory that io_uring could not execute
 * - all reads from memory if server_export.ring_unfit is set
 */
void server_ring_start(struct server_req *q);
/* Submits operations, and calls `done` for each result. Returns the number of results. */
int server_ring_poll(struct fuse_server *srv);
/* Returns whether operations are queued for the next poll. */
bool server_ring_waits(const struct fuse_server *srv);

#endif
