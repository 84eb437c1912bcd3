/* SPDX-License-Identifier: BSD-3-Clause */
/* Protects mounts and exports in use that an apply removes or replaces. */
#ifndef PLENUM_AGENT_RECONCILE_MOUNTS_H
#define PLENUM_AGENT_RECONCILE_MOUNTS_H

#include "agent/agent.h"

/* Sets served, replaced and takes of the reachability check: the served mounts that remain or are
 * replaced, the mounts that replace others, and whether the running reconcile ends a mount or
 * export in use. Returns 0 or -ENOMEM. */
int reconcile_mounts_before(struct agent *a);
/* Returns whether one of the new mounts that reconcile_mounts_before() found is not served yet; if
 * so, why has the reason. */
bool reconcile_mounts_lost(const struct agent *a, struct reason *why);
/* Passes the desired workers to the supervisor. While an apply is pending, they also get the mounts
 * that it removes. Returns 0 or negative errno as from sup_reconcile. */
int reconcile_mounts_apply(struct agent *a, bool retry_failed);

#endif
