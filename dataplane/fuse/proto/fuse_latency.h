/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts how long requests take, by the class of their opcode, at the client and at the server. It
 * is called once per answer, so it neither allocates memory nor makes system calls.
 */
#ifndef PLENUM_DATAPLANE_FUSE_LATENCY_H
#define PLENUM_DATAPLANE_FUSE_LATENCY_H

#include "dataplane/launch.h"
#include <linux/fuse.h>

static inline enum launch_request_class fuse_latency_class(uint32_t opcode)
{
	switch (opcode) {
	case FUSE_READ:
		return LAUNCH_READ;
	case FUSE_WRITE:
		return LAUNCH_WRITE;
	case FUSE_FSYNC:
	case FUSE_FSYNCDIR:
		return LAUNCH_SYNC;
	default:
		return LAUNCH_METADATA;
	}
}

/* Times are in ns of clock_now_ns(). arrived_ns may have been read on another processor, so it may
 * be later than now_ns. */
static inline void fuse_latency_note(struct launch_latencies *l, uint32_t opcode,
				     uint64_t arrived_ns, uint64_t now_ns)
{
	launch_latency_add(&l->of[fuse_latency_class(opcode)], now_ns - MIN_OF(arrived_ns, now_ns));
}

#endif
