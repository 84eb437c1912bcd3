/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an operator should know is wrong, one sentence each, by what it is about: a configuration
 * that was asked for and does not run stays a problem until it runs or is withdrawn, whatever else
 * goes well in between. Written by the walk, read by the status.
 */
#ifndef PLENUM_AGENT_PROBLEMS_H
#define PLENUM_AGENT_PROBLEMS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum problems_kind {
	PROBLEMS_FILES,	   /* what the files say does not run */
	PROBLEMS_STAGED,   /* what is staged was to be applied and does not run */
	PROBLEMS_HOST,	   /* what runs cannot be had on this host */
	PROBLEMS_LEGS,	   /* legs that are not usable */
	PROBLEMS_DRIFT,	   /* somebody keeps changing what is ours (drift.h) */
	PROBLEMS_RECORD,   /* the record of what was agreed to cannot be read, or written */
	PROBLEMS_WORKERS,  /* workers, mounts and paths that are less than asked for (health.h) */
	PROBLEMS_WARNINGS, /* of the configuration that runs; they degrade nothing */
	PROBLEMS_LABELS,   /* switches and labels that are not as they should be; nor do these */
	PROBLEMS_MAX
};

struct problems {
	struct {
		char **texts;
		size_t n;
	} of[PROBLEMS_MAX];
	char **all;		   /* borrowed from of[], in its order; warnings come last */
	size_t n_all, n_degrading; /* the first n_degrading are why the agent is degraded */
};

void problems_done(struct problems *p);
/* Replaces those of a kind by a head line (NULL: none) and a JSON list of strings (NULL: none).
 * Whether anything changed; what does not fit into memory is left out. */
bool problems_set(struct problems *p, enum problems_kind kind, const char *head,
		  const json_t *list);
/* Whether there were any. */
bool problems_clear(struct problems *p, enum problems_kind kind);
/* The texts of a kind as a JSON list, new; NULL: out of memory. */
json_t *problems_to_json(const struct problems *p, enum problems_kind kind);
size_t problems_count(const struct problems *p, enum problems_kind kind);
/* Whether the agent is degraded for them. */
bool problems_degrade(const struct problems *p);

#endif
