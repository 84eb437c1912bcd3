/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The history of requested applies: when, who, what, and the result; for kept ones also the
 * configuration, so that an operator can go back to one by its number. Two places in the state
 * directory: `history`, a record file (state_file.h) with one line per apply, and
 * `history.d/N.yaml`, the normalized configuration of apply N, beside its plan, `history.d/N.plan`.
 * Repairs of drift are events, not applies. Called by the monitor only.
 */
#ifndef PLENUM_AGENT_HISTORY_H
#define PLENUM_AGENT_HISTORY_H

#include "netcfg/base/base.h"
#include <jansson.h>

#define HISTORY_KEPT 20 /* configurations that ran */
#define HISTORY_ATTEMPTS \
	20 /* attempts that did not, kept apart: they push out no configuration that ran */
/* With an apply that runs, one that waits for a confirmation, and the one that replaces an old one.
 */
#define HISTORY_ENTRIES_MAX (HISTORY_KEPT + HISTORY_ATTEMPTS + 3)

enum history_outcome {
	HISTORY_OPEN,	     /* running, or its end is not known yet */
	HISTORY_WAITING,     /* pending, until it is confirmed */
	HISTORY_APPLIED,     /* done and kept, confirmed if necessary */
	HISTORY_ROLLED_BACK, /* the host is as before */
	HISTORY_FAILED,	     /* nothing was changed, or it was rolled back because of an error */
	HISTORY_UNKNOWN,     /* its agent exited without recording the end */
	HISTORY_OUTCOME_MAX
};
const char *history_outcome_to_string(enum history_outcome o);

struct history_entry {
	uint64_t number; /* from 1; never reused while the state directory exists */
	/* Of attempts that failed in the same way in a row, one entry stands for all: the number of
	 * the first one, and how many they are. */
	uint64_t first, times;
	uint64_t time_s; /* wall clock, since 1970; of the last one */
	uint64_t steps;
	enum history_outcome outcome;
	char by[96];	/* "uid 0, pid 4242, plenum"; "plenumd": the agent itself */
	char what[48];	/* "staged", "files", "rollback to 7" */
	char text[200]; /* reason; "" */
};

struct history {
	char *path, *folder;
	struct history_entry entries[HISTORY_ENTRIES_MAX]; /* oldest first */
	size_t n;
	uint64_t next; /* the next number */
};

/* Reads the history. 0; -ENOMEM. Of a damaged file the entries that can be read count, of one of a
 * newer version none; both are logged. */
int history_open(struct history *h, const char *state_dir);
void history_done(struct history *h);
/* Adds an open entry; returns its number. */
uint64_t history_begin(struct history *h, const char *by, const char *what);
/* Records the end; yaml: the configuration to go back to, or NULL. */
void history_end(struct history *h, uint64_t number, enum history_outcome outcome, uint64_t steps,
		 const char *text, const char *yaml);
/* Marks all open entries but that number (0: none) as unknown: no apply of a previous agent is
 * running. */
void history_close_stale(struct history *h, uint64_t but);
/* The entry of that apply, or the one that stands for it. Borrowed; NULL: no such number. */
const struct history_entry *history_find(const struct history *h, uint64_t number);
/* The latest apply that runs: kept, or waiting for its confirmation. Borrowed; NULL: none. */
const struct history_entry *history_last(const struct history *h);
/* Number of the latest kept apply whose configuration differs from yaml, the running one (NULL:
 * none runs); 0: none. Compares configurations, since an entry need not have changed it, and the
 * running one need not be the latest. */
uint64_t history_kept_other(const struct history *h, const char *yaml);
/* Whether yaml is the configuration of the latest kept apply. */
bool history_is_last(const struct history *h, const char *yaml);
/* Path of an apply's configuration, heap; NULL: none, or out of memory. */
char *history_config(const struct history *h, uint64_t number);
/* One entry as in that list; a new reference, NULL: out of memory. */
json_t *history_entry_to_json(const struct history *h, const struct history_entry *e);
/* {"history": [...]}, latest first; a new reference, NULL: out of memory. */
json_t *history_to_json(const struct history *h);

/* ---- history_plan.c: what an apply carried out or attempted, as `plenum plan` lists it ---- */

#define HISTORY_PLAN_BYTES_MAX (64U << 10)

/* Saves the lists `steps` and `actions` of an object of plan_to_object(); members that do not fit
 * are counted. A failure is logged: the apply does not depend on it. */
void history_plan_keep(const struct history *h, uint64_t number, const json_t *plan);
/* {"steps", "actions", "left_out"}, a new reference; NULL: none is kept. */
json_t *history_plan_load(const struct history *h, uint64_t number);
/* Called when the entry goes. */
void history_plan_forget(const struct history *h, uint64_t number);

#endif
