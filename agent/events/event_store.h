/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the agent's events over restarts of the agent and of the host. Each event is written at
 * once to RUN-DIR/events, which is in memory and survives the agent; a child process adds what is
 * new to STATE-DIR/events, at most once in EVENT_STORE_DELAY_NS, or in EVENT_STORE_SLOW_NS after
 * many events or an error. So the agent never waits for a disk, and a flood of events costs the
 * disk a bounded rate of writes.
 *
 * Where a folder takes no events, one event says so; the events stay in memory and are written once
 * the folder takes them again. For the monitor only.
 */
#ifndef PLENUM_AGENT_EVENT_STORE_H
#define PLENUM_AGENT_EVENT_STORE_H

#include "agent/base/events.h"
#include "agent/base/loop.h"

#define EVENT_STORE_DELAY_NS (10 * NSEC_PER_SEC)
#define EVENT_STORE_SLOW_NS (60 * NSEC_PER_SEC)
#define EVENT_STORE_MANY (EVENTS_KEPT / 4)
/* Numbers that are left out after a restart of the host, at which the last events may be lost. */
#define EVENT_STORE_JUMP EVENTS_KEPT

struct event_store;

/* Gives `events`, which is still empty, the stored events and their numbers, and adds `started`
 * (NULL: nothing), the event of this agent's start, before what is wrong with the files. Only a
 * lack of memory is an error. 0; negative errno. */
int event_store_open(struct loop *loop, struct events *events, const char *run_dir,
		     const char *state_dir, const char *started, struct event_store **ret);
/* After each addition to the events. Accepts NULL. */
void event_store_note(struct event_store *s);
/* Writes what is not on disk yet, without waiting for long: the child finishes alone. Accepts NULL.
 */
void event_store_close(struct event_store *s);

#endif
