/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The latest events, as an unprivileged child keeps them for all its streams, and the text of each
 * as server-sent events. A stream has only a position in it, so the memory is that of the events,
 * however many streams there are and however slowly they are read. Pure.
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

struct api_tail { /* zeroed: nothing is known yet */
	struct api_tail_entry ring[EVENTS_KEPT];
	size_t first, n;
	uint64_t instance, next; /* as in the answer of GET /v1/events; instance 0: no answer yet */
};

struct api_tail_cursor {	 /* the position of a stream, and the events that it selects */
	uint64_t instance;	 /* in which `next` counts; 0: in that of the tail */
	uint64_t next;		 /* 0: from the first event that is kept */
	enum log_level severity; /* at least as severe; 0: all */
	char source[EVENTS_SOURCE_MAX]; /* "": all */
};

void api_tail_done(struct api_tail *t);
/* Adds the events of an answer of GET /v1/events?since=t->next. 0; -EBADMSG: it has another
 * form; -ENOMEM. */
int api_tail_take(struct api_tail *t, const char *answer, size_t len);
/*
 * The next event for that stream as text: an event, or one of the type `gap` where numbers are
 * missing. Moves the cursor behind it. 1 with *ret_text (heap, the caller frees it); 0: there is
 * none yet; -ENOMEM.
 */
int api_tail_next(const struct api_tail *t, struct api_tail_cursor *c, char **ret_text);
/* A comment that keeps the connection open, with the stream's id; heap; NULL: out of memory. */
char *api_tail_keep_alive(const struct api_tail_cursor *c);

#endif
