/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bounded ring of numbered sentences for operators. A module that takes a decision adds an event
 * with events_add, which also logs it. Readers ask for all events after a number. The next agent
 * continues the numbers and takes over the events that this agent stored (agent/events).
 *
 * Severities: error: something does not work; warning: something works less well than it should, or
 * soon will; notice: the state changed, or a fault ended; info: the agent did what an operator
 * requested.
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
/* Sources with a rate limit; a further source replaces the one that has been silent longest. */
#define EVENTS_SOURCES 64

struct events_entry {
	uint64_t seq;	  /* number from 1, never reused */
	uint64_t time_ms; /* wall clock since 1970 */
	enum log_level severity;
	char source[EVENTS_SOURCE_MAX]; /* "agent", "worker 2", "leg-a" */
	char text[EVENTS_TEXT_MAX];
};

struct events_source {
	char name[EVENTS_SOURCE_MAX];
	uint64_t refilled_ns, last_ns; /* last_ns 0: the entry is unused */
	unsigned tokens;
	uint64_t left_out;
};

struct events {
	struct events_entry ring[EVENTS_KEPT];
	struct events_source sources[EVENTS_SOURCES];
	uint64_t (*now)(void); /* clock_now_ns; tests set another clock */
	uint64_t next;	       /* ID of the next event */
	uint64_t place;	       /* place of the next event; the event with place n is in ring[n %
				  EVENTS_KEPT]; the first place is 1 */
	/* random; a changed value shows readers that the numbers have restarted */
	uint64_t instance;
	/* Called after an event was added; may be NULL. */
	void (*on_add)(void *user, uint64_t next);
	void *user;
};

void events_init(struct events *ev);
void events_add(struct events *ev, enum log_level severity, const char *source, const char *fmt,
		...) PLENUM_PRINTF(4, 5);
/* Adds an event like events_add, but without the rate limit, for a source that limits its own
 * rate. */
void events_add_all(struct events *ev, enum log_level severity, const char *source,
		    const char *text);
/* Adds an event like events_add, but does not log it, for a text that is already in the log. */
void events_keep(struct events *ev, enum log_level severity, const char *source, const char *text);
/* Adds events of earlier agents. Call before this agent adds its first event. Their numbers ascend
 * and are below `next`. */
void events_restore(struct events *ev, const struct events_entry *entries, size_t n,
		    uint64_t instance, uint64_t next);
/* Returns the kept events with numbers above `after`, a heap array of *ret_n, or NULL if memory is
 * short. */
struct events_entry *events_copy(const struct events *ev, uint64_t after, size_t *ret_n);

/* Returns the number of the latest kept event, or 0 if no event is kept. */
uint64_t events_newest(const struct events *ev);

/* Selects events; zeroed: all of them. */
struct events_filter {
	uint64_t since;		 /* lowest number */
	uint64_t instance;	 /* the instance to which `since` belongs; 0: not given */
	uint64_t from_ms;	 /* wall clock, included */
	uint64_t until_ms;	 /* wall clock, not included; 0: no limit */
	enum log_level severity; /* lowest severity; 0: all */
	const char *source;	 /* NULL or "": all sources */
	size_t limit;		 /* maximum number of the latest matching events; 0: all */
};
/*
 * Returns the matching events as {"next":N,"instance":"...","events":[...]}, a new reference, or
 * NULL if memory is short. `since` is ignored if it belongs to another instance or has not been
 * reached yet. First adds an event about dropped events for each source that is below its rate
 * limit again.
 */
json_t *events_to_json(struct events *ev, const struct events_filter *f);
/* Returns false if `text` is not the name of a severity. */
bool events_severity_from_string(const char *text, enum log_level *ret);

#endif
