/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers that an unprivileged child gives to many clients: the monitor is asked once for all
 * clients that wait for the same object, and while an object is asked for often, its last answer is
 * given again for a short time. An event and a change end that time at once, so a client that
 * changes something reads its own change. An object that few clients ask for always has a new
 * answer. Owns the answers.
 */
#ifndef PLENUM_AGENT_API_SNAPSHOT_H
#define PLENUM_AGENT_API_SNAPSHOT_H

#include "agent/api/api_internal.h"

#define API_SNAPSHOT_AGE_NS (250 * NSEC_PER_MSEC) /* since the question */
#define API_SNAPSHOT_INVENTORY_AGE_NS NSEC_PER_SEC
/* Questions about one object to the monitor before answers are given again: so many at once, and
 * one more in each such time. */
#define API_SNAPSHOT_BURST 16
#define API_SNAPSHOT_REFILL_NS (20 * NSEC_PER_MSEC)

struct api_snapshots;

int api_snapshots_new(struct api_snapshots **ret);
/* Whether the question is one that this module answers, for that client. */
bool api_snapshot_covers(const struct api_call *c);
/* Whether the last answer may be given now. Else the call has to wait: it is noted, and the monitor
 * asked. */
bool api_snapshot_is_ready(struct api *a, struct api_call *c);
/* Gives the last answer to the library; only after api_snapshot_is_ready() or _take(). */
enum MHD_Result api_snapshot_answer(struct api *a, struct api_call *c);
/* The monitor's answer. */
void api_snapshot_take(struct api *a, const struct privsep_msg *m, int fd);
/* After _take(): whether the answer is one for that waiting call. Else asks again for it. */
bool api_snapshot_is_for(struct api *a, const struct api_call *c);

#endif
