/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of events in an unprivileged child: answers of GET /v1/events as server-sent events. All
 * streams share one set of events (api_tail.h), which the monitor fills with a single answer for
 * all of them. Owns the streams and that set. Has at most one question to the monitor open at a
 * time.
 */
#ifndef PLENUM_AGENT_API_STREAM_H
#define PLENUM_AGENT_API_STREAM_H

#include "agent/api/api_internal.h"

#define API_STREAM_ALIVE_NS (15 * NSEC_PER_SEC) /* time between two comments on an idle stream */

/* Begins the answer of c, a PRIVSEP_STREAM that the monitor has admitted. */
int api_stream_begin(struct api *a, struct api_call *c);
/* Ends and frees the stream; NULL is allowed. */
void api_stream_end(struct api *a, struct api_stream *s);
/* Call when there are events with numbers below a->next_event. */
void api_stream_note(struct api *a);
/* Handles the monitor's answer to a question of this module. Becomes the owner of fd. */
void api_stream_take(struct api *a, const struct privsep_msg *m, int fd);
/* Prepares the next text if the client has received all others. Returns 1, 0 if there is nothing to
 * send now, or negative errno if the stream has to end. */
int api_stream_step(struct api_stream *s);
/* Returns the time of the next comment or time limit, or UINT64_MAX if no stream is open. */
uint64_t api_stream_deadline(const struct api *a);
void api_stream_tick(struct api *a, uint64_t now_ns);

#endif
