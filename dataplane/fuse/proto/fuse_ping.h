/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of tries of RDMA (struct launch_ping) as both ends of a mount keep it: what is asked for,
 * and then what came of it. */
#ifndef PLENUM_DATAPLANE_FUSE_PING_H
#define PLENUM_DATAPLANE_FUSE_PING_H

#include "dataplane/launch.h"

/* *ret is what is asked for, of which nothing is done yet. */
void fuse_ping_begin(struct launch_ping *ret, const struct launch_ping *ask);
/* It is over, after as many as run->done says. status: 0 or negative errno; reason: a code, or "".
 * each_ns: how long each of them took, in nanoseconds; sorted here. */
void fuse_ping_end(struct launch_ping *run, uint32_t *each_ns, int status, const char *reason);

#endif
