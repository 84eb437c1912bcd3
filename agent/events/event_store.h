/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the agent's events across restarts of the agent and of the host. Each event is written at
 * once to RUN-DIR/events, which is in memory and outlives the agent. A child process appends new
 * events to STATE-DIR/events, at most once in EVENT_STORE_DELAY_NS, or in EVENT_STORE_SLOW_NS after
 * many events or an error. So the agent never waits for a disk, and a flood of events causes only a
 * limited rate of writes.
 *
 * If a folder cannot be written to, one event reports it; the events stay in memory and are written
 * when the folder can be written to again. For the monitor only.
 */
#ifndef PLENUM_AGENT_EVENT_STORE_H
#define PLENUM_AGENT_EVENT_STORE_H

#include "agent/base/events.h"
#include "agent/base/loop.h"

#define EVENT_STORE_DELAY_NS (10 * NSEC_PER_SEC)
#define EVENT_STORE_SLOW_NS (60 * NSEC_PER_SEC)
#define EVENT_STORE_MANY (EVENTS_KEPT / 4)
/* After a restart of the host, the last events may be lost. So this many numbers are skipped, and
 * no number is used twice. */
#define EVENT_STORE_JUMP EVENTS_KEPT

struct event_store;

/* Reads the stored events and their numbers into `events`, which is still empty. Then adds
 * `started` (NULL: none), the event of this agent's start, and after it events about damaged files.
 * Returns 0, or negative errno only if memory is lacking. */
int event_store_open(struct loop *loop, struct events *events, const char *run_dir,
		     const char *state_dir, const char *started, struct event_store **ret);
/* Call after each addition to the events. Accepts NULL. */
void event_store_note(struct event_store *s);
/* Writes the events that are not on disk yet. It does not wait for long: the child completes the
 * write without the agent. Accepts NULL. */
void event_store_close(struct event_store *s);

#endif
