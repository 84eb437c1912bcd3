/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The latest events, which an unprivileged child keeps for all its streams, and the text of each as
 * a server-sent event. A stream has only a position in the events. So the memory does not depend on
 * the number of streams or on how slowly clients read. Makes no system calls.
 */
#ifndef PLENUM_AGENT_API_TAIL_H
#define PLENUM_AGENT_API_TAIL_H

#include "agent/base/events.h"

struct api_tail_entry {
	uint64_t seq;
	enum log_level severity;
	char source[EVENTS_SOURCE_MAX];
	char *json; /* owned */
};

struct api_tail { /* all bytes are 0 as long as no events are known */
	struct api_tail_entry ring[EVENTS_KEPT];
	size_t first, n;
	/* Values from the last answer of GET /v1/events; instance 0: no answer has arrived yet. */
	uint64_t instance, next;
};

struct api_tail_cursor {	 /* position of a stream, and its selection of events */
	uint64_t instance;	 /* instance to which `next` belongs; 0: the instance of the tail */
	uint64_t next;		 /* ID of the next event; 0: start with the first kept event */
	enum log_level severity; /* lowest severity; 0: all */
	char source[EVENTS_SOURCE_MAX]; /* "": all sources */
};

void api_tail_done(struct api_tail *t);
/* Adds the events of an answer of GET /v1/events?since=t->next. Returns 0, -EBADMSG if it has an
 * unexpected form, or -ENOMEM. */
int api_tail_take(struct api_tail *t, const char *answer, size_t len);
/*
 * Makes the next text for a stream: an event, or one of the type `gap` if events are missing. Moves
 * the cursor after it. Returns 1 with *ret_text on the heap, 0 if there is no further event yet, or
 * -ENOMEM.
 */
int api_tail_next(const struct api_tail *t, struct api_tail_cursor *c, char **ret_text);
/* Returns a comment that keeps the connection open and has the stream's id, on the heap, or NULL if
 * memory is short. */
char *api_tail_keep_alive(const struct api_tail_cursor *c);

#endif
