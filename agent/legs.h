/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the legs' states mean for what runs: which changes are no reason to restart a worker. Owns
 * nothing; called by the walk, between the plan and the supervisor.
 */
#ifndef PLENUM_AGENT_LEGS_H
#define PLENUM_AGENT_LEGS_H

#include "agent/supervise.h"
#include "netcfg/plan/plan.h"

/* A worker is not restarted for a leg that appeared less than this long after its start: a device
 * that comes and goes costs at most one restart in this time. */
#define LEGS_SETTLE_NS (10 * NSEC_PER_SEC)

/*
 * Wants whose worker had better be left alone take its ports: where legs are absent, since it
 * cannot be served better without them and has them back when they are; and, unless somebody asked
 * for this walk, where a leg came back too soon. Returns in how many ns the latter may be looked at
 * again, 0: there is none.
 */
uint64_t legs_keep_ports(const struct sup *sup, const struct plan *plan, bool asked,
			 struct launch_config *wants, size_t n);

#endif
