/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a reconciliation would do besides the network's steps: workers that start, restart or stop,
 * mounts and exports that come or go, each as one line with its reason. A plan that has neither
 * steps nor such lines does nothing. Looks at the supervisor and changes nothing.
 */
#ifndef PLENUM_AGENT_CHANGES_H
#define PLENUM_AGENT_CHANGES_H

#include "agent/supervise.h"
#include <jansson.h>

struct change {
	char what[256];	  /* "restart worker 2" */
	char reason[160]; /* "its exports change" */
};

struct changes {
	struct change *entries;
	size_t n, cap;
};

void changes_done(struct changes *c);
/* What sup_reconcile(s, wants, n, retry_failed) would do. 0; -ENOMEM. */
int changes_build(const struct sup *s, const struct launch_config *wants, size_t n,
		  bool retry_failed, struct changes *ret);
/* [{"change": "restart worker 2", "reason": "its exports change"}]; NULL: out of memory. */
json_t *changes_to_json(const struct changes *c);

#endif
