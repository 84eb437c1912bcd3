/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carries out requests of operators: set or show the cluster's document; begin, pause, resume,
 * abort or show a rollout. Each change is a transaction that fails if the keys have changed since
 * they were read. If it fails, the object reads the new values and repeats the change with them.
 */
#ifndef PLENUM_AGENT_ROLLOUT_EDIT_H
#define PLENUM_AGENT_ROLLOUT_EDIT_H

#include "agent/cluster/rollout/rollout.h"

enum rollout_edit_op {
	ROLLOUT_SHOW,	/* the latest document */
	ROLLOUT_STATUS, /* shows the rollout and the state of each host */
	ROLLOUT_SET,	/* sets the document */
	ROLLOUT_START,
	ROLLOUT_PAUSE,
	ROLLOUT_RESUME,
	ROLLOUT_ABORT,
	ROLLOUT_EDIT_OP_MAX
};

struct rollout_edit;
struct rollout_edit_setup {
	const struct kv_ops *ops;
	struct kv *kv; /* borrowed */
	const char *cluster;
	uint64_t id; /* ID of the request */
	enum rollout_edit_op op;
	/* For ROLLOUT_START: how many hosts apply at a time, as a number or, if that is 0, as a
	 * percentage of the hosts that follow; the time limit of a turn; whether hosts return to
	 * the former document after a failure. */
	uint32_t max_unavailable, percent, timeout_s;
	bool rolls_back;
	const char *by;
	const char *text; /* ROLLOUT_SET: the document; copied */
	/* Called at the end with the answer as JSON, or with text NULL and the trouble. The callee
	 * frees the object afterwards. */
	void (*on_end)(void *user, struct rollout_edit *e, const char *text,
		       enum cluster_trouble trouble, const char *why);
	void *user;
};

int rollout_edit_new(const struct rollout_edit_setup *setup, struct rollout_edit **ret);
/* Call it only when the object's requests have ended or the store was closed. Accepts NULL, returns
 * NULL. */
struct rollout_edit *rollout_edit_free(struct rollout_edit *e);
uint64_t rollout_edit_id(const struct rollout_edit *e);

#endif
