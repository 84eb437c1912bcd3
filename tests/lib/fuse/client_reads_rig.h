/* SPDX-License-Identifier: BSD-3-Clause */
/* The owner of a mount, or a mount worker that reads requests, with the memory that they share. */
#ifndef PLENUM_TESTS_CLIENT_READS_RIG_H
#define PLENUM_TESTS_CLIENT_READS_RIG_H

#include "tests/lib/fuse/client_mount_workers_rig.h"
#include <fcntl.h>

struct both {
	struct ends e;
	struct mount_worker_common *common;
	struct mount_worker_reads *reads; /* of mount worker 1 */
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

/* The buffer of a mount worker that was killed while it was reading. */
uint64_t left_reading(struct both *b, unsigned i, uint32_t populated);

#endif
