/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers that an unprivileged child gives to many clients. The monitor is asked once for all
 * clients that wait for the same object. While an object is requested often, its last answer is
 * used again for a short time. An event or a change ends that time at once, so that a client that
 * changes something reads its own change. If few clients request an object, each gets a new answer.
 * Owns the answers.
 */
#ifndef PLENUM_AGENT_API_SNAPSHOT_H
#define PLENUM_AGENT_API_SNAPSHOT_H

#include "agent/api/api_internal.h"

/* An answer is used again for at most this long after the monitor was asked. */
#define API_SNAPSHOT_AGE_NS (250 * NSEC_PER_MSEC)
/* Maximum age of inventory and samples, which take longer to make. */
#define API_SNAPSHOT_SLOW_AGE_NS NSEC_PER_SEC
/* Rate limit of questions to the monitor about one object: a burst of API_SNAPSHOT_BURST, then one
 * per API_SNAPSHOT_REFILL_NS. Beyond this rate, the last answer is used again. */
#define API_SNAPSHOT_BURST 16
#define API_SNAPSHOT_REFILL_NS (20 * NSEC_PER_MSEC)

struct api_snapshots;

int api_snapshots_new(struct api_snapshots **ret);
/* Returns whether this module answers that request of that client. */
bool api_snapshot_covers(const struct api_call *c);
/* Returns whether the last answer may be used now. If not, the call has to wait for
 * api_snapshot_ask(). */
bool api_snapshot_is_ready(struct api *a, const struct api_call *c);
/* Asks the monitor for the answer of that call, unless it has been asked already. */
void api_snapshot_ask(struct api *a, struct api_call *c);
/* Answers with the last answer. Call only after api_snapshot_is_ready() or
 * api_snapshot_take(). */
int api_snapshot_answer(struct api *a, struct api_call *c);
/* Replaces the last answer by the monitor's new one, which it reads from fd. */
void api_snapshot_take(struct api *a, const struct privsep_msg *m, int fd);
/* Call after api_snapshot_take(). Returns whether the waiting call may use the answer. If not, asks
 * the monitor again for that call. */
bool api_snapshot_is_for(struct api *a, const struct api_call *c);

#endif
