/* SPDX-License-Identifier: BSD-3-Clause */
/* A client that owns a mount with one mount worker, or that is this mount worker. The test acts as
 * the other of the two. */
#ifndef PLENUM_TESTS_CLIENT_MOUNT_WORKERS_RIG_H
#define PLENUM_TESTS_CLIENT_MOUNT_WORKERS_RIG_H

#include "dataplane/fuse/client/workers/client_workers.h"
#include "tests/lib/fuse/client_rig.h"

struct ends {
	struct rig *g;
	struct mount_worker_area *area; /* memory of mount worker 1 */
	uint64_t node, fh;
};

extern uint32_t read_size;

const struct fuse_read_in *read_of(uint64_t fh, uint64_t offset);
uint64_t ask_read(struct ends *e);
uint32_t state_of(const struct ends *e, unsigned slot);

/* Sets the state word of a slot, as the mount worker does. */
void mount_worker_says(struct ends *e, unsigned slot, uint32_t word);
void mount_worker_lives(struct ends *e);
void owner_up(struct ends *e, struct rig *g);
void ends_down(struct ends *e);

/* ------------------------------------------------------------------ the mount worker's end */

void mount_worker_begin(struct ends *e);

/* Runs the owner until it has dispatched a request to the mount worker. */
void mount_worker_up(struct ends *e, struct rig *g, uint32_t features);
void opened(struct ends *e);

#endif
