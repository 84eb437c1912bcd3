/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides how the states of legs are reported, and which changes of legs do not restart a worker.
 * Owns nothing. The reconcile calls it after the plan and before the supervisor.
 */
#ifndef PLENUM_AGENT_LEG_POLICY_H
#define PLENUM_AGENT_LEG_POLICY_H

#include "agent/supervise/supervise.h"
#include "netcfg/plan/plan.h"
#include <jansson.h>

/* A leg that appears does not restart a worker that was started less than this time ago. So a
 * device that flaps costs at most one restart in this time. */
#define LEG_POLICY_SETTLE_NS (10 * NSEC_PER_SEC)

#define LEG_POLICY_TEXT_MAX (REASON_FORMAT_MAX + 3 * PLENUM_NAME_MAX)

/* Writes a sentence such as "leg leg-b (eth2) is absent: not-found: this host has no device eth2"
 * to buf; LEG_POLICY_TEXT_MAX bytes are always enough. */
void leg_policy_describe(const struct plan_leg_info *leg, char *buf, size_t size);
/* Returns whether one of these sentences (a JSON list) is about that leg. */
bool leg_policy_mentions(const json_t *texts, const char *name);
/*
 * Adjusts the desired ports so that no worker restarts without need. A worker keeps its ports of
 * absent legs, because the legs may return. A worker is not restarted for a leg that returned too
 * soon, unless an operator requested this reconcile. A device that the worker released and should
 * open again is marked as a new one. Returns in how many ns a postponed leg can be added, or 0 if
 * no leg is postponed.
 */
uint64_t leg_policy_keep_ports(const struct sup *sup, const struct plan *plan, bool asked,
			       struct launch_config *desired, size_t n);

/* Lists the PCI functions that running workers have open, for plan_context. The list is on the
 * heap; the caller frees it. Returns 0 or -ENOMEM. */
int leg_policy_held_vfs(const struct sup *sup, char (**ret)[16], size_t *ret_n);
/* Returns the number of 2 MiB hugepages planned for the running workers. */
uint64_t leg_policy_held_hugepages(const struct sup *sup);

#endif
