/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The current problems as sentences for operators, grouped by kind. A requested configuration that
 * does not run stays a problem until it runs or is withdrawn, even if other requests succeed
 * meanwhile. Several modules of the monitor set them, each its own kinds; the status reads them.
 */
#ifndef PLENUM_AGENT_PROBLEMS_H
#define PLENUM_AGENT_PROBLEMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum problems_kind {
	PROBLEMS_FILES,	    /* the configuration files could not be applied */
	PROBLEMS_STAGED,    /* the staged configuration could not be applied */
	PROBLEMS_HOST,	    /* this host lacks parts of the running configuration */
	PROBLEMS_LEGS,	    /* legs that are not usable */
	PROBLEMS_WIRING,    /* address conflicts, crossed cables (wiring/wiring.h) */
	PROBLEMS_LINKS,	    /* legs that no other host answers (leg_links.h) */
	PROBLEMS_QUEUES,    /* kernel queues of this host that drop packets (leg_queues.h) */
	PROBLEMS_DRIFT,	    /* another program keeps changing objects of the agent (drift.h) */
	PROBLEMS_RECORD,    /* the record of accepted transport moves cannot be read or written */
	PROBLEMS_OWN_FILES, /* the agent cannot use its own files (health/own_files.h) */
	PROBLEMS_API,	    /* the API is not served over the network as configured */
	PROBLEMS_CLUSTER,   /* this host is not registered in the cluster as configured */
	PROBLEMS_WORKERS,   /* workers, mounts and paths in a worse state than configured
			     * (health.h) */
	/* Warnings about the running configuration; they do not degrade the agent's state. */
	PROBLEMS_WARNINGS,
	PROBLEMS_LABELS, /* unexpected switches and labels; they do not degrade the state */
	PROBLEMS_CABLES, /* legs that share a layer-2 network although each should have its own, so
			    that one failure can stop both; they do not degrade the state */
	PROBLEMS_MAX
};

struct problems {
	struct {
		char **texts;
		size_t n;
	} of[PROBLEMS_MAX];
	char **all; /* borrowed from of[], in the order of the kinds; warnings come last */
	size_t n_all, n_degrading; /* the first n_degrading of them degrade the agent's state */
};

void problems_done(struct problems *p);
/* Replaces the problems of a kind by a first sentence (NULL: none) and a JSON list of sentences
 * (NULL: none). Returns whether anything changed. Sentences for which there is no memory are
 * dropped. */
bool problems_set(struct problems *p, enum problems_kind kind, const char *head,
		  const json_t *list);
/* Removes all problems of a kind. Returns whether there were any. */
bool problems_clear(struct problems *p, enum problems_kind kind);
/* Returns the sentences of a kind as a JSON list, a new reference, or NULL if memory is short. */
json_t *problems_to_json(const struct problems *p, enum problems_kind kind);
size_t problems_count(const struct problems *p, enum problems_kind kind);
/* Returns whether any problem degrades the agent's state. */
bool problems_degrade(const struct problems *p);

#endif
