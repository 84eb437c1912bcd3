/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file format of events: two segments, PATH and the older PATH.1, each at most
 * EVENT_LOG_SEGMENT_BYTES long. A segment is written by appending; a full one replaces PATH.1.
 *
 *	plenum-events VERSION instance ID sum SUM
 *	SUM NUMBER TIME-MS SEVERITY SOURCE<TAB>TEXT
 *
 * The first line begins and ends like this in every version. Each line has a sum, because the end
 * of the file is incomplete after a power failure: a reader keeps all lines whose sum is right, and
 * counts the others. Numbers only grow; a line with a number that was read before is a repetition,
 * and is ignored. A segment has room for EVENTS_KEPT events of any length, so the two together
 * always have the last EVENTS_KEPT.
 *
 * A file of a newer version is not read; before the first write it becomes PATH.vVERSION, as with
 * record files (state_file.h). Holds no state.
 */
#ifndef PLENUM_AGENT_EVENT_LOG_H
#define PLENUM_AGENT_EVENT_LOG_H

#include "agent/base/events.h"

#define EVENT_LOG_LINE_MAX (17 + 20 + 16 + 8 + EVENTS_SOURCE_MAX + EVENTS_TEXT_MAX)
#define EVENT_LOG_HEAD_MAX 128
#define EVENT_LOG_SEGMENT_BYTES (EVENT_LOG_HEAD_MAX + EVENTS_KEPT * EVENT_LOG_LINE_MAX)

struct event_log {
	struct events_entry *entries; /* ascending numbers; the last EVENTS_KEPT at most */
	size_t n;
	uint64_t last;	   /* highest number that was read; 0: none */
	uint64_t instance; /* in which the numbers count; 0: unknown */
	size_t n_damaged;  /* lines that are not used */
	bool incomplete;   /* the last line has no end */
	unsigned newer;	   /* a file has this newer version and is not used; 0: none has */
	bool headless;	   /* a file without a valid first line */
};

void event_log_done(struct event_log *log);
/* Adds the events of one segment's text. 0; -ENOMEM. */
int event_log_parse(struct event_log *log, const char *text, size_t len);
/* Reads both segments, the older first. 0, also if there are none; negative errno: a file cannot be
 * read, while the events of the other are there. */
int event_log_read(struct event_log *log, const char *path);
/* Whether all lines could be used. */
bool event_log_is_whole(const struct event_log *log);

/* Appends events; begins a new segment if this one is full. sync: they survive a power failure
 * after the return. 0; -EBADMSG: the file has an incomplete end and must be replaced; other
 * negative errno with the file as before. */
int event_log_append(const char *path, uint64_t instance, const struct events_entry *entries,
		     size_t n, bool sync);
/* Replaces both segments by one with these events, atomically. 0; negative errno with the files as
 * before. */
int event_log_replace(const char *path, uint64_t instance, const struct events_entry *entries,
		      size_t n);

#endif
