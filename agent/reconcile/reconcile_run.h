/* SPDX-License-Identifier: BSD-3-Clause */
/* The reconcile run: functions for the queue and the start of the agent. */
#ifndef PLENUM_AGENT_RECONCILE_RUN_H
#define PLENUM_AGENT_RECONCILE_RUN_H

#include "agent/reconcile/reconcile_queue.h"

/* Starts the next queued reconcile, unless one is running or an apply is pending. Requests come
 * before repairs. */
void reconcile_run_next(struct agent *a);
/* Starts a reconcile. Call only if none is running. */
void reconcile_begin(struct agent *a, const struct reconcile_request *rq);
/* Callback on_end of applier_task; handles the result of the applier. user: struct agent. */
void reconcile_on_applied(void *user, const struct applier_result *res, const struct diag *d);
/* Adds to inputs.conflicts the found data IPs, which other hosts use, so that the next plans leave
 * them out. Returns 0 or -ENOMEM. */
int reconcile_take_conflicts(struct reconcile *rec, const struct plan_conflicts *found);

#endif
