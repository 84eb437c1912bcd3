/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The history of requested applies: time, user, source and result of each apply. If an apply was
 * kept, its entry has the configuration, and an operator can return to that configuration by the
 * apply's number. In the state directory, `history` is a record file (state_file.h) with a line per
 * apply, `history.d/N.yaml` has the normalized configuration of apply N, and `history.d/N.plan` has
 * its plan. Repairs of drift are not applies; they are only events. Called by the monitor only.
 */
#ifndef PLENUM_AGENT_HISTORY_H
#define PLENUM_AGENT_HISTORY_H

#include "netcfg/base/base.h"
#include <jansson.h>

#define HISTORY_KEPT 20 /* maximum number of entries of configurations that ran */
/* Maximum number of entries of attempts that failed. They are counted separately, so that they do
 * not push out configurations that ran. */
#define HISTORY_ATTEMPTS 20
/* Room for three more entries: an apply that is running, an apply that waits for a confirmation,
 * and an apply that is being added before an old entry is removed. */
#define HISTORY_ENTRIES_MAX (HISTORY_KEPT + HISTORY_ATTEMPTS + 3)

enum history_outcome {
	HISTORY_OPEN,	     /* running, or its result is not known yet */
	HISTORY_WAITING,     /* pending: waits for its confirmation */
	HISTORY_APPLIED,     /* done and kept, after a confirmation if one was necessary */
	HISTORY_ROLLED_BACK, /* rolled back, so the host is as before */
	HISTORY_FAILED,	     /* an error: nothing was changed, or the change was rolled back */
	HISTORY_UNKNOWN,     /* the agent of that time exited without recording the result */
	HISTORY_OUTCOME_MAX
};
const char *history_outcome_to_string(enum history_outcome o);

struct history_entry {
	uint64_t number; /* from 1; never reused while the state directory exists */
	/* Attempts that failed in a row in the same way share one entry. first: number of the first
	 * of them; times: how many there are. */
	uint64_t first, times;
	uint64_t time_s; /* wall clock since 1970, of the last attempt */
	uint64_t steps;
	enum history_outcome outcome;
	char by[96];	/* "uid 0, pid 4242, plenum"; "plenumd" is the agent itself */
	char what[48];	/* "staged", "files", "rollback to 7" */
	char text[200]; /* reason; "": none */
};

struct history {
	char *path, *folder;
	/* Entries in ascending order of number. */
	struct history_entry entries[HISTORY_ENTRIES_MAX];
	size_t n;
	uint64_t next; /* ID of the next entry */
};

/* Reads the history. Returns 0 or -ENOMEM. A damaged file and a file of a newer version are logged.
 * Of the damaged file, the entries that can be read are used; the newer file is not used. */
int history_open(struct history *h, const char *state_dir);
void history_done(struct history *h);
/* Adds an entry with the outcome HISTORY_OPEN. Returns its number. */
uint64_t history_begin(struct history *h, const char *by, const char *what);
/* Sets the result of the entry and saves it. yaml: the configuration to which an operator can
 * return, or NULL. */
void history_end(struct history *h, uint64_t number, enum history_outcome outcome, uint64_t steps,
		 const char *text, const char *yaml);
/* Sets the outcome of open entries to HISTORY_UNKNOWN, because no apply of a previous agent is
 * running. but: ID of an apply that may still be running, so its entry stays open; 0: no apply is
 * running. */
void history_close_stale(struct history *h, uint64_t but);
/* Returns the entry of that apply, or the entry that it shares with others, borrowed. Returns NULL
 * if there is no such number. */
const struct history_entry *history_find(const struct history *h, uint64_t number);
/* Returns the latest apply whose configuration was kept or waits for its confirmation, borrowed;
 * NULL if there is none. */
const struct history_entry *history_last(const struct history *h);
/* Returns the number of the latest kept apply whose configuration differs from yaml, or 0 if no
 * kept apply differs. yaml: the running configuration; NULL: no configuration runs. The function
 * compares texts, because an apply may have left the configuration unchanged, and because the
 * running configuration may be older than the latest apply. */
uint64_t history_kept_other(const struct history *h, const char *yaml);
/* Returns whether yaml is the same text as the configuration of the latest kept apply. */
bool history_is_last(const struct history *h, const char *yaml);
/* Returns the path of the configuration of an apply, on the heap, or NULL if there is no
 * configuration or memory is short. */
char *history_config(const struct history *h, uint64_t number);
/* Returns an entry as it is in history_to_json(), a new reference, or NULL if memory is short. */
json_t *history_entry_to_json(const struct history *h, const struct history_entry *e);
/* Returns {"history": [...]} with the latest apply first, a new reference, or NULL if memory is
 * short. */
json_t *history_to_json(const struct history *h);

/* ---- history_plan.c: the plan that an apply carried out or attempted, as `plenum plan` lists it
 * ---- */

#define HISTORY_PLAN_BYTES_MAX (64U << 10)

/* Where a failed apply stopped: index from 1 of the step that the kernel refused (0: none), and
 * whether the apply changed the host. unclear: it is not known how far the apply or its rollback
 * came. */
struct history_extent {
	size_t failed_step;
	bool changed, unclear;
};
/* Saves the lists `steps` and `actions` of `plan`, an object that plan_to_object() has made.
 * Entries beyond HISTORY_PLAN_BYTES_MAX are only counted. A failure is logged, because the apply
 * does not depend on it. */
void history_plan_keep(const struct history *h, uint64_t number, const json_t *plan,
		       const struct history_extent *extent);
/* Returns {"steps", "actions", "left_out"} with the `result` of each step and action, a new
 * reference, or NULL if the plan was not saved. The results follow from the present outcome of the
 * entry, which may change after the plan was saved: "done", "failed", "rolled back", "not done" or
 * "unknown". */
json_t *history_plan_load(const struct history *h, uint64_t number, enum history_outcome outcome);
/* Records that the state of the host after the apply is not known step by step, because the
 * rollback failed. */
void history_plan_unclear(const struct history *h, uint64_t number);
/* Removes the plan of an entry. Call when the entry is removed. */
void history_plan_forget(const struct history *h, uint64_t number);

#endif
