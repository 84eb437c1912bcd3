/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures the packets that workers send and receive. A client fetches the capture repeatedly, in
 * pieces of a pcapng file. This module owns the rings that workers write packets to (packet_ring.h)
 * and merges the packets by time. Workers that start during the capture are included, and so are
 * legs that a worker gets meanwhile. There is one capture at a time; only users who may make
 * changes can begin and read it. If the client has not fetched for CAPTURE_IDLE_LIMIT_NS, the
 * capture ends. Packets of encrypted sessions contain no keys. A client that asks for the keys gets
 * them in separate blocks, which it stores in a separate file.
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
#include <jansson.h>

#define CAPTURE_IDLE_LIMIT_NS (5 * NSEC_PER_SEC)
#define CAPTURE_CHUNK_BYTES (4U << 20) /* approximate size of the data of one capture_take() */

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
 * Begins a capture for the user `by`. Returns 0 with the capture's number in *ret_id, -EBUSY if
 * another capture is running (why names its user), -ENOENT if no worker has that leg or that id
 * (why says which), or another negative errno.
 */
int capture_begin(struct capture *c, const struct privsep_capture *what, const char *by,
		  uint64_t *ret_id, struct reason *why);
/* Gets data captured since the last call, usually all of it. The data of all calls, concatenated,
 * is one pcapng file. With `last` the workers stop capturing; call it again until *ret_more is
 * false, then the capture has ended. Returns 0, -ENOENT if the capture does not exist, or -ENOMEM.
 */
int capture_take(struct capture *c, uint64_t id, bool last, struct pcapng *ret, bool *ret_more);
/* Returns whether the capture with that number runs and contains the keys of encrypted sessions. */
bool capture_has_keys(const struct capture *c, uint64_t id);
/* Returns who started that capture if it is running and was started by another user or program than
 * `by`, else NULL. */
const char *capture_of_other(const struct capture *c, uint64_t id, const char *by);
/* Returns the answer to GET /v1/captures, or NULL if memory is short. */
json_t *capture_list(const struct capture *c);

#endif
