/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists what an apply does besides the network's steps: workers that start, restart or stop, and
 * mounts and exports that are added or removed. Each becomes an action of the plan with its reason.
 * Reads the supervisor's state and changes nothing.
 */
#ifndef PLENUM_AGENT_ACTIONS_H
#define PLENUM_AGENT_ACTIONS_H

#include "agent/supervise/supervise.h"
#include "netcfg/plan/plan.h"

struct actions_task {
	/* running: NULL: no configuration runs; next: the spec of the plan p */
	const struct spec *running, *next;
	const struct launch_config *desired;
	size_t n_desired;
	bool retry_failed;
};

/* Adds to p the actions that sup_reconcile would carry out for the desired configurations, and the
 * settings that take effect without a step. Returns 0 or -ENOMEM. */
int actions_add(const struct sup *s, const struct actions_task *t, struct plan *p);
/* Returns whether one of the n desired configurations has this mount with the same source and
 * options. actions_keep_export does the same for an export. */
bool actions_keep_mount(const struct launch_mount *m, const struct launch_config *desired,
			size_t n);
bool actions_keep_export(const struct launch_export *e, const struct launch_config *desired,
			 size_t n);

#endif
