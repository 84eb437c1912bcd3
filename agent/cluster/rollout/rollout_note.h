/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of this host about rollouts, in a file of the state directory: its document, its last
 * result, and its current turn. If the agent is killed during a turn, the next agent reads here how
 * the host was before the apply, and judges the result of the apply. Owns nothing.
 */
#ifndef PLENUM_AGENT_ROLLOUT_NOTE_H
#define PLENUM_AGENT_ROLLOUT_NOTE_H

#include "agent/cluster/rollout/rollout.h"

#define ROLLOUT_NOTE_FILE "rollout" /* in the state directory */

#define ROLLOUT_PROBLEMS_MAX 64

struct rollout_turn { /* the turn in which this host applies a document */
	uint64_t number, lineage, attempt;
	uint64_t turn; /* 0: none */
	struct rollout_version version;
	uint64_t unusable; /* enabled legs that were not usable before the apply */
	/* hashes of the problems that existed before the apply; any other problem counts as new */
	uint64_t problems[ROLLOUT_PROBLEMS_MAX];
	uint64_t n_problems;
	uint64_t n_cut; /* how often, in this attempt, the agent ended before the apply had begun */
};

struct rollout_note {
	struct rollout_version has;
	uint64_t number, lineage; /* number and lineage of the rollout that brought the document; 0:
				     no rollout brought it */
	uint64_t failed_number, failed_attempt;
	uint64_t turn; /* the last turn with a result */
	enum rollout_result result;
	char why[CLUSTER_TEXT_MAX];
	struct rollout_turn now;
};

/* Reads the file. Returns 0, also if the file does not exist, or a negative errno of state_file.h.
 * Without a valid file, *ret is empty. */
int rollout_note_load(struct rollout_note *ret, const char *path);
int rollout_note_save(const struct rollout_note *n, const char *path);

#endif
