/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file format of events. There are two segments, PATH and the older PATH.1, of at most
 * EVENT_LOG_SEGMENT_BYTES each. Events are appended to PATH; when it is full, it replaces PATH.1.
 *
 *	plenum-events VERSION instance ID sum SUM
 *	SUM NUMBER TIME-MS SEVERITY SOURCE<TAB>TEXT
 *
 * The first line begins and ends like this in all versions. Each line has a checksum, because the
 * end of the file is incomplete after a power failure: a reader keeps all lines with a right
 * checksum and counts the others. Numbers ascend; a line with a number that was read before is a
 * repetition and is ignored. A segment has room for EVENTS_KEPT events of any length, so the two
 * together always have the last EVENTS_KEPT.
 *
 * A file of a newer version is not read. Before the first write it is renamed to PATH.vVERSION, as
 * with record files (state_file.h). Keeps no state.
 */
#ifndef PLENUM_AGENT_EVENT_LOG_H
#define PLENUM_AGENT_EVENT_LOG_H

#include "agent/base/events.h"

#define EVENT_LOG_LINE_MAX (17 + 20 + 16 + 8 + EVENTS_SOURCE_MAX + EVENTS_TEXT_MAX)
#define EVENT_LOG_HEAD_MAX 128
#define EVENT_LOG_SEGMENT_BYTES (EVENT_LOG_HEAD_MAX + EVENTS_KEPT * EVENT_LOG_LINE_MAX)

struct event_log {
	/* At most the last EVENTS_KEPT events, in ascending order of number. */
	struct events_entry *entries;
	size_t n;
	uint64_t last;	   /* highest number that was read; 0: no line was read */
	uint64_t instance; /* instance to which the numbers belong; 0: unknown */
	size_t n_damaged;  /* count of lines that cannot be used */
	bool incomplete;   /* the last line has no newline */
	unsigned newer;	   /* version of a newer file, which is not used; 0: neither file is
			      newer */
	bool headless;	   /* a file lacks a valid first line */
};

void event_log_done(struct event_log *log);
/* Adds the events of one segment's text. Returns 0 or -ENOMEM. */
int event_log_parse(struct event_log *log, const char *text, size_t len);
/* Reads both segments, the older one first. Returns 0, also if the files do not exist, or negative
 * errno if a file cannot be read; *log then has the events of the other file. */
int event_log_read(struct event_log *log, const char *path);
/* Returns whether all lines could be used. */
bool event_log_is_whole(const struct event_log *log);

/* Appends events, in a new segment if the current one is full. sync: return only when the events
 * would survive a power failure. Returns 0, -EBADMSG if the file has an incomplete end and must be
 * replaced, or another negative errno if the file is unchanged. */
int event_log_append(const char *path, uint64_t instance, const struct events_entry *entries,
		     size_t n, bool sync);
/* Replaces both segments atomically by one with these events. Returns 0, or negative errno if the
 * files are unchanged. */
int event_log_replace(const char *path, uint64_t instance, const struct events_entry *entries,
		      size_t n);

#endif
