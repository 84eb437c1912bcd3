/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an apply does besides the network's steps: workers that start, restart or stop, mounts and
 * exports that come or go, each as one action of the plan with its reason. Looks at the supervisor
 * and changes nothing.
 */
#ifndef PLENUM_AGENT_ACTIONS_H
#define PLENUM_AGENT_ACTIONS_H

#include "agent/supervise.h"
#include "netcfg/plan/plan.h"

/* Adds to p what sup_reconcile(s, wants, n, retry_failed) would do. 0; -ENOMEM. */
int actions_add(const struct sup *s, const struct launch_config *wants, size_t n, bool retry_failed,
		struct plan *p);

#endif
