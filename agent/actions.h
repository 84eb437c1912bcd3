/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an apply does besides the network's steps: workers that start, restart or stop, mounts and
 * exports that come or go, each as one action of the plan with its reason. Looks at the supervisor
 * and changes nothing.
 */
#ifndef PLENUM_AGENT_ACTIONS_H
#define PLENUM_AGENT_ACTIONS_H

#include "agent/supervise/supervise.h"
#include "netcfg/plan/plan.h"

struct actions_task {
	const struct spec *running, *next; /* NULL: none runs; next is what p was made from */
	const struct launch_config *desired;
	size_t n_desired;
	bool retry_failed;
};

/* Adds to p what sup_reconcile of the desired would do, and what of the configuration counts from
 * then on without a step. 0; -ENOMEM. */
int actions_add(const struct sup *s, const struct actions_task *t, struct plan *p);

#endif
