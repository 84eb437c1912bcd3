/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this host remembers of rollouts, in a file of the state directory: the document that it has,
 * its last result, and the turn in which it is. An agent that was killed in a turn finds here what
 * it has to judge. Owns nothing.
 */
#ifndef PLENUM_AGENT_ROLLOUT_NOTE_H
#define PLENUM_AGENT_ROLLOUT_NOTE_H

#include "agent/cluster/rollout/rollout.h"

#define ROLLOUT_NOTE_FILE "rollout" /* in the state directory */

#define ROLLOUT_PROBLEMS_MAX 64

struct rollout_turn { /* a turn in which the host applies a document */
	uint64_t number, lineage, attempt;
	uint64_t turn; /* 0: none */
	struct rollout_version version;
	uint64_t unusable; /* enabled legs that were not usable before the apply */
	/* the problems before the apply that the judgement looks at, as hashes of their texts */
	uint64_t problems[ROLLOUT_PROBLEMS_MAX];
	uint64_t n_problems;
	uint64_t n_cut; /* how often the agent ended in this attempt before the apply had begun */
};

struct rollout_note {
	struct rollout_version has;
	uint64_t number, lineage; /* of the rollout that brought it; 0: none did */
	uint64_t failed_number, failed_attempt;
	uint64_t turn; /* the last turn with a result */
	enum rollout_result result;
	char why[CLUSTER_TEXT_MAX];
	struct rollout_turn now;
};

/* Reads the file. Returns 0, also without a file, or negative errno as of state_file.h; then *ret
 * is that of a host that remembers nothing. */
int rollout_note_load(struct rollout_note *ret, const char *path);
int rollout_note_save(const struct rollout_note *n, const char *path);

#endif
