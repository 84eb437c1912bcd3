/* SPDX-License-Identifier: BSD-3-Clause */
/* An RDMA test (struct launch_ping) with its parameters and results, for both sides of a mount. */
#ifndef PLENUM_DATAPLANE_FUSE_PING_H
#define PLENUM_DATAPLANE_FUSE_PING_H

#include "dataplane/launch.h"

/* Starts a test with the parameters of *ask and without results. */
void fuse_ping_begin(struct launch_ping *ret, const struct launch_ping *ask);
/* Computes the results of a test with run->done transfers. status: 0 or a negative errno. reason: a
 * reason code, or "". each_ns: the duration of each transfer in nanoseconds; the function sorts
 * this array. */
void fuse_ping_end(struct launch_ping *run, uint32_t *each_ns, int status, const char *reason);

#endif
