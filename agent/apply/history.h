/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The last applies that somebody asked for: when, who, what, and what became of it; and of those
 * that were kept the configuration, so that one can be gone back to by its number. Two places in
 * the state directory: `history`, a line an apply, replaced as a whole, and `history.d/N.yaml`, the
 * configuration of apply N in its normal form. Repairs of what somebody else changed are events,
 * not applies. Called by the monitor only.
 */
#ifndef PLENUM_AGENT_HISTORY_H
#define PLENUM_AGENT_HISTORY_H

#include "netcfg/base/base.h"
#include <jansson.h>

#define HISTORY_KEPT 20

enum history_outcome {
	HISTORY_OPEN,	     /* under way, or its end is not known yet */
	HISTORY_WAITING,     /* for a confirmation */
	HISTORY_APPLIED,     /* and kept; so are confirmed ones */
	HISTORY_ROLLED_BACK, /* the host is as before */
	HISTORY_FAILED,	     /* nothing was changed, or what was is rolled back with an error */
	HISTORY_UNKNOWN,     /* its end could not be written, and its agent has gone */
	HISTORY_OUTCOME_MAX
};
const char *history_outcome_to_string(enum history_outcome o);

struct history_entry {
	uint64_t number; /* from 1, never reused while the state directory lasts */
	uint64_t time_s; /* wall clock, since 1970 */
	uint64_t steps;
	enum history_outcome outcome;
	char by[48];	/* "uid 0, pid 4242"; "plenumd" where nobody asked */
	char what[48];	/* "staged", "files", "rollback to 7" */
	char text[200]; /* why, "" */
};

struct history {
	char *path, *folder;
	struct history_entry entries[HISTORY_KEPT]; /* oldest first */
	size_t n;
	uint64_t next; /* number of the next one */
};

/* Reads what is there. 0; -ENOMEM. A file that cannot be read is an empty history, and is said in
 * the log. */
int history_open(struct history *h, const char *state_dir);
void history_done(struct history *h);
/* A new entry, open; its number. */
uint64_t history_begin(struct history *h, const char *by, const char *what);
/* What became of it; yaml: the configuration, where it can be gone back to, else NULL. */
void history_end(struct history *h, uint64_t number, enum history_outcome outcome, uint64_t steps,
		 const char *text, const char *yaml);
/* No apply of an earlier agent is under way, but that of the number, 0: none. */
void history_close_stale(struct history *h, uint64_t but);
/* Borrowed; NULL: there is none of that number. */
const struct history_entry *history_find(const struct history *h, uint64_t number);
/* The number of the latest one that was kept and left another configuration than yaml, the one that
 * runs (NULL: none does); 0: none. By what they left, since not every entry made a difference, and
 * what runs need not be the latest (that could perhaps not be written). */
uint64_t history_kept_other(const struct history *h, const char *yaml);
/* Whether that is what the latest one that was kept left. */
bool history_is_last(const struct history *h, const char *yaml);
/* Path of the configuration of an apply, heap; NULL: it has none, or no memory. */
char *history_config(const struct history *h, uint64_t number);
/* {"history": [...]}, latest first; a new reference, NULL: out of memory. */
json_t *history_to_json(const struct history *h);

#endif
