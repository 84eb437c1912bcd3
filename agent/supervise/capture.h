/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures: what workers send and receive, as pcapng for a client that comes for it again and
 * again. Owns the rings that workers write into (packet_ring.h) and takes packets out of them, in
 * the order of time; a worker that is started meanwhile is taken in, and a leg that comes to one.
 * One capture at a time, begun and read by those alone who may make changes. It ends with its
 * client: one that stays away for CAPTURE_PATIENCE_NS is taken for dead. Keys of encrypted sessions
 * are in no packet; who asks for them has them in blocks of their own, which the client keeps
 * apart.
 */
#ifndef PLENUM_AGENT_CAPTURE_H
#define PLENUM_AGENT_CAPTURE_H

#include "agent/base/events.h"
#include "agent/base/loop.h"
#include "agent/base/privsep.h"
#include "agent/supervise/pcapng.h"
#include "agent/supervise/supervise.h"
#include "netcfg/base/packet_ring.h"

#define CAPTURE_PATIENCE_NS (5 * NSEC_PER_SEC)
#define CAPTURE_CHUNK_BYTES (4U << 20) /* of an answer, about */

struct capture;

struct capture_setup {
	struct loop *loop;
	struct events *events;
	struct sup *sup;
	uint64_t patience_ns; /* CAPTURE_PATIENCE_NS; tests have less */
};
int capture_new(const struct capture_setup *setup, struct capture **ret);
struct capture *capture_free(struct capture *c); /* accepts NULL, returns NULL */

/*
 * Begins one, for `by`. 0 with its number; -EBUSY with who has one in why (size bytes); -ENOENT
 * where no worker has such a leg or number, with why; other negative errno.
 */
int capture_begin(struct capture *c, const struct privsep_capture *what, const char *by,
		  uint64_t *ret_id, char *why, size_t size);
/* What has come since the last call, most often whole: joined together, the answers are one file.
 * With `last` nothing new is captured, and once *ret_more is false it has ended. 0; -ENOENT: there
 * is no such capture; -ENOMEM. */
int capture_take(struct capture *c, uint64_t id, bool last, struct pcapng *ret, bool *ret_more);

#endif
