/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The current problems for operators, one sentence each, grouped by kind. A configuration that was
 * requested and does not run stays a problem until it runs or is withdrawn, even if other requests
 * succeed meanwhile. Written by the reconcile run, read by the status.
 */
#ifndef PLENUM_AGENT_PROBLEMS_H
#define PLENUM_AGENT_PROBLEMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum problems_kind {
	PROBLEMS_FILES,	    /* the configuration files do not run */
	PROBLEMS_STAGED,    /* the staged configuration was applied and does not run */
	PROBLEMS_HOST,	    /* this host lacks parts of the running configuration */
	PROBLEMS_LEGS,	    /* legs that are not usable */
	PROBLEMS_WIRING,    /* address conflicts, crossed cables (wiring/wiring.h) */
	PROBLEMS_QUEUES,    /* queues of this host that drop packets (leg_queues.h) */
	PROBLEMS_DRIFT,	    /* another program keeps changing our objects (drift.h) */
	PROBLEMS_RECORD,    /* the record of accepted transport moves cannot be read or written */
	PROBLEMS_OWN_FILES, /* the agent cannot use its own files (health/own_files.h) */
	PROBLEMS_API,	    /* the API is not served over the network as configured */
	PROBLEMS_WORKERS,   /* workers, mounts and paths in a worse state than configured
			     * (health.h) */
	PROBLEMS_WARNINGS,  /* of the running configuration; they do not degrade the agent */
	PROBLEMS_LABELS,    /* unexpected switches and labels; they do not degrade it either */
	PROBLEMS_CABLES,    /* legs that are in one network; they do not degrade it either */
	PROBLEMS_MAX
};

struct problems {
	struct {
		char **texts;
		size_t n;
	} of[PROBLEMS_MAX];
	char **all;		   /* borrowed from of[], in its order; warnings come last */
	size_t n_all, n_degrading; /* the first n_degrading make the agent degraded */
};

void problems_done(struct problems *p);
/* Replaces the problems of a kind by a head line (NULL: none) and a JSON list of strings (NULL:
 * none). Returns whether anything changed; texts for which memory is lacking are dropped. */
bool problems_set(struct problems *p, enum problems_kind kind, const char *head,
		  const json_t *list);
/* Removes the problems of a kind; returns whether there were any. */
bool problems_clear(struct problems *p, enum problems_kind kind);
/* The texts of a kind as a JSON list, new; NULL: out of memory. */
json_t *problems_to_json(const struct problems *p, enum problems_kind kind);
size_t problems_count(const struct problems *p, enum problems_kind kind);
/* Whether the problems make the agent degraded. */
bool problems_degrade(const struct problems *p);

#endif
