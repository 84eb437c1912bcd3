/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the lists of all hosts that clients request: reads the leases and the summaries, or the
 * pools and their addresses, in pages. The number of hosts and the size of the answer are limited.
 */
#ifndef PLENUM_AGENT_VIEW_H
#define PLENUM_AGENT_VIEW_H

#include "agent/cluster/view/rows.h"

#define VIEW_ANSWER_BYTES_MAX (12U << 20)

struct view;
struct view_setup {
	const struct kv_ops *ops;
	struct kv *kv; /* borrowed */
	const char *cluster, *host;
	uint64_t id; /* id of the request */
	enum rows_kind kind;
	/* For ROWS_LINKS: the record of this host; NULL: none. If the store does not answer, the
	 * list has only this record. The view copies it. */
	const char *own;
	/* Called at the end: with the answer as JSON, or with text NULL and the kind of failure.
	 * The callee frees the view afterwards. */
	void (*on_end)(void *user, struct view *v, const char *text, enum cluster_trouble trouble,
		       const char *why);
	void *user;
};

/* Begins to read. Returns 0 or negative errno. */
int view_new(const struct view_setup *setup, struct view **ret);
/* Frees the view. Call this function only when the view's reads have ended or the store was closed.
 * Accepts NULL, returns NULL. */
struct view *view_free(struct view *v);
uint64_t view_id(const struct view *v);

#endif
