/* SPDX-License-Identifier: BSD-3-Clause */
/* The owner of a mount or one of its mount workers, with the memory that both share. Each of them
 * can read requests from the kernel. */
#ifndef PLENUM_TESTS_CLIENT_READS_RIG_H
#define PLENUM_TESTS_CLIENT_READS_RIG_H

#include "tests/lib/fuse/client_mount_workers_rig.h"
#include <fcntl.h>

struct both {
	struct ends e;
	struct mount_worker_common *common;
	struct mount_worker_reads *reads; /* memory of mount worker 1 */
	struct mount_worker_more *more;
};

void both_map(struct both *b);
void both_down(struct both *b);
uint32_t word_of(const struct both *b, unsigned i);
void pull(struct both *b);

/* Sends a request that any worker may read. */
uint64_t send_read(struct both *b);
void send_write(struct both *b, uint32_t flags);
uint64_t send_getattr(struct both *b);
void expect_read(struct both *b, uint64_t unique);

/* Leaves buffer i in the state that a mount worker leaves when it is killed during a read into it.
 * Returns the request's id. */
uint64_t left_reading(struct both *b, unsigned i, uint32_t populated);

#endif
