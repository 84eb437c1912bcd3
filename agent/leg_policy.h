/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the legs' states mean for what runs: how they are reported, and which changes are no reason
 * to restart a worker. Owns nothing; called by the walk, between the plan and the supervisor.
 */
#ifndef PLENUM_AGENT_LEG_POLICY_H
#define PLENUM_AGENT_LEG_POLICY_H

#include "agent/supervise/supervise.h"
#include "netcfg/plan/plan.h"
#include <jansson.h>

/* A worker is not restarted for a leg that appeared less than this long after its start: a device
 * that comes and goes costs at most one restart in this time. */
#define LEG_POLICY_SETTLE_NS (10 * NSEC_PER_SEC)

#define LEG_POLICY_TEXT_MAX (REASON_FORMAT_MAX + 3 * PLENUM_NAME_MAX)

/* "leg leg-b (eth2) is absent: not-found: this host has no device eth2" into buf
 * (LEG_POLICY_TEXT_MAX bytes are always enough). */
void leg_policy_describe(const struct plan_leg_info *leg, char *buf, size_t size);
/* Whether one of these descriptions, a JSON list, is of that leg. */
bool leg_policy_mentions(const json_t *texts, const char *name);
/*
 * Wants in which a worker is to have a device again that it has let go of say so. Those whose
 * worker had better be left alone take its ports: where legs are absent, since it cannot be served
 * better without them and has them back when they are; and, unless somebody asked for this walk,
 * where a leg came back too soon. Returns in how many ns the latter may be looked at again, 0:
 * there is none.
 */
uint64_t leg_policy_keep_ports(const struct sup *sup, const struct plan *plan, bool asked,
			       struct launch_config *desired, size_t n);

/* The PCI functions that living workers have open, as plan_context takes them: heap, the caller
 * frees. 0, -ENOMEM. */
int leg_policy_held_vfs(const struct sup *sup, char (**ret)[16], size_t *ret_n);
/* The hugepages of 2 MiB that are planned for living workers. */
uint64_t leg_policy_held_hugepages(const struct sup *sup);

#endif
