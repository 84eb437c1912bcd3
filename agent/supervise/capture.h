/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures the packets that workers send and receive, as pcapng for a client that fetches it
 * repeatedly. Owns the rings that workers write to (packet_ring.h) and merges their packets by
 * time; workers that start during the capture, and legs that a worker gets, are included. One
 * capture at a time; only peers who may make changes can begin and read it. A client that stays
 * away for CAPTURE_IDLE_LIMIT_NS is considered dead, and its capture ends. Keys of encrypted
 * sessions are not part of packets; a client that requests them gets them in separate blocks, which
 * it stores apart.
 */
#ifndef PLENUM_AGENT_CAPTURE_H
#define PLENUM_AGENT_CAPTURE_H

#include "agent/base/events.h"
#include "agent/base/loop.h"
#include "agent/base/privsep.h"
#include "agent/supervise/pcapng.h"
#include "agent/supervise/supervise.h"
#include "netcfg/base/os/packet_ring.h"
#include "netcfg/base/reason.h"

#define CAPTURE_IDLE_LIMIT_NS (5 * NSEC_PER_SEC)
#define CAPTURE_CHUNK_BYTES (4U << 20) /* per answer, approximately */

struct capture;

struct capture_setup {
	struct loop *loop;
	struct events *events;
	struct sup *sup;
	uint64_t idle_limit_ns; /* CAPTURE_IDLE_LIMIT_NS; tests use less */
};
int capture_new(const struct capture_setup *setup, struct capture **ret);
struct capture *capture_free(struct capture *c); /* accepts NULL, returns NULL */

/*
 * Begins a capture for `by`. 0 with its number; -EBUSY with the owner of the running capture in
 * why; -ENOENT with why if no worker has that leg or number; other negative errno.
 */
int capture_begin(struct capture *c, const struct privsep_capture *what, const char *by,
		  uint64_t *ret_id, struct reason *why);
/* The data captured since the last call, usually all of it; concatenated, the answers are one file.
 * With `last` the capture stops, and once *ret_more is false it has ended. 0; -ENOENT: no such
 * capture; -ENOMEM. */
int capture_take(struct capture *c, uint64_t id, bool last, struct pcapng *ret, bool *ret_more);

#endif
