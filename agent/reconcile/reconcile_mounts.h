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
/* Adds the mounts made by command to the n desired configurations of that spec and plan. If the
 * spec contradicts such a mount, the result depends on `strict`. If it is set, the function returns
 * -EINVAL with the reasons in d. If not, the mount ends, because a rollback or start must not
 * depend on it. A contradicted mount that the server has not served yet always ends. */
int reconcile_mounts_merge(struct agent *a, const struct spec *spec, const struct plan *plan,
			   bool strict, struct diag *d, struct launch_config *desired, size_t n);
/*
 * If a client's apply ends or replaces mounts, starts a search for processes that use them. Returns
 * 1 if the run has to wait until `then` is called with 0 or a negative errno: -EADDRINUSE if
 * processes use the mounts, which are then in the run's diag and `users`. Returns 0 if the run can
 * continue, because it ends no mount, the client has used force, or the search has ended; or
 * negative errno.
 */
int reconcile_mounts_search(struct agent *a, void (*then)(struct agent *a, int error));
/* Passes the desired workers to the supervisor. While an apply is pending, they also get the mounts
 * that it removes. Returns 0 or negative errno as from sup_reconcile. */
int reconcile_mounts_apply(struct agent *a, bool retry_failed);

#endif
