/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bounded ring of numbered sentences for operators. The module that takes a decision adds the
 * event here; events_add also logs it, so nothing is logged twice. Readers ask for all events after
 * a number; the gap in the numbers shows how many have fallen out of the ring.
 */
#ifndef PLENUM_AGENT_EVENTS_H
#define PLENUM_AGENT_EVENTS_H

#include "netcfg/base/log.h"
#include <jansson.h>

#define EVENTS_KEPT 256
#define EVENTS_TEXT_MAX 240
#define EVENTS_SOURCE_MAX 48
#define EVENTS_BURST 24
#define EVENTS_REFILL_NS (2 * NSEC_PER_SEC)
#define EVENTS_SOURCES 64 /* a further source replaces the one silent for longest */

struct events_entry {
	uint64_t seq;	  /* from 1, never reused while the agent lives */
	uint64_t time_ms; /* wall clock, since 1970 */
	enum log_level severity;
	char source[EVENTS_SOURCE_MAX]; /* "agent", "worker 2", "leg-a" */
	char text[EVENTS_TEXT_MAX];
};

struct events_source {
	char name[EVENTS_SOURCE_MAX];
	uint64_t refilled_ns, last_ns; /* last_ns 0: unused */
	unsigned tokens;
	uint64_t left_out;
};

struct events {
	struct events_entry ring[EVENTS_KEPT];
	struct events_source sources[EVENTS_SOURCES];
	uint64_t (*now)(void); /* clock_now_ns; tests substitute theirs */
	uint64_t next;	       /* number of the next event */
	uint64_t instance;     /* random; readers see by it that the numbers have restarted */
	/* Called after each addition; may be NULL. */
	void (*on_add)(void *user, uint64_t next);
	void *user;
};

void events_init(struct events *ev);
void events_add(struct events *ev, enum log_level severity, const char *source, const char *fmt,
		...) PLENUM_PRINTF(4, 5);
/* The same for a source that limits its own rate. */
void events_add_all(struct events *ev, enum log_level severity, const char *source,
		    const char *text);
/* The same for text that its source has logged already. */
void events_keep(struct events *ev, enum log_level severity, const char *source, const char *text);
/*
 * {"next":N,"instance":"...","events":[...]} of the events with seq >= since; all events in the
 * ring if `since` belongs to another instance (0: not given), or is a number not reached yet. First
 * reports the dropped events of each source that is below its limit again. A new reference; NULL:
 * out of memory.
 */
json_t *events_to_json(struct events *ev, uint64_t since, uint64_t instance);
/* "error", "warning", "notice", "info", "debug" */
const char *events_severity_to_string(enum log_level l);

#endif
