/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bounded ring of numbered sentences for operators. The module that takes a decision adds the
 * event here; events_add also logs it, so nothing is logged twice. Readers ask for all events after
 * a number. The numbers continue in the next agent, which takes over what this one has stored
 * (agent/events).
 *
 * Severities: error: something does not work; warning: the host has less than it should, or will;
 * notice: the state changed, or a fault ended; info: the agent did what an operator asked for.
 */
#ifndef PLENUM_AGENT_EVENTS_H
#define PLENUM_AGENT_EVENTS_H

#include "netcfg/base/log.h"
#include <jansson.h>

#define EVENTS_KEPT 1000
#define EVENTS_TEXT_MAX 240
#define EVENTS_SOURCE_MAX 48
#define EVENTS_BURST 24
#define EVENTS_REFILL_NS (2 * NSEC_PER_SEC)
#define EVENTS_SOURCES 64 /* a further source replaces the one silent for longest */

struct events_entry {
	uint64_t seq;	  /* from 1, never reused */
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
	uint64_t place;	       /* its place: n in ring[n % EVENTS_KEPT]; from 1 */
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
/* Puts events of earlier agents before the first one of this agent, which has not been added yet.
 * Ascending numbers below `next`. */
void events_restore(struct events *ev, const struct events_entry *entries, size_t n,
		    uint64_t instance, uint64_t next);
/* The events that are kept with numbers above `after`; heap, *ret_n of them. NULL: out of memory.
 */
struct events_entry *events_copy(const struct events *ev, uint64_t after, size_t *ret_n);

/* The number of the latest event that is kept; 0: none is. */
uint64_t events_newest(const struct events *ev);

/* What a reader asks for; zeroed: everything. */
struct events_filter {
	uint64_t since;		 /* the first number */
	uint64_t instance;	 /* in which `since` counts; 0: not given */
	uint64_t from_ms;	 /* wall clock, inclusive */
	uint64_t until_ms;	 /* exclusive; 0: no limit */
	enum log_level severity; /* at least as severe; 0: all */
	const char *source;	 /* NULL or "": all */
	size_t limit;		 /* only the latest ones that match; 0: all */
};
/*
 * {"next":N,"instance":"...","events":[...]} of the events that match. `since` does not count if it
 * belongs to another instance, or is a number not reached yet. First reports the dropped events of
 * each source that is below its limit again. A new reference; NULL: out of memory.
 */
json_t *events_to_json(struct events *ev, const struct events_filter *f);
/* "error", "warning", "notice", "info", "debug" */
const char *events_severity_to_string(enum log_level l);
/* Returns false if `text` is not the name of a severity. */
bool events_severity_from_string(const char *text, enum log_level *ret);

#endif
