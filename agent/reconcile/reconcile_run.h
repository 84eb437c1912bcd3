/* SPDX-License-Identifier: BSD-3-Clause */
/* The reconcile run, for the start of the agent. */
#ifndef PLENUM_AGENT_RECONCILE_RUN_H
#define PLENUM_AGENT_RECONCILE_RUN_H

#include "agent/reconcile/reconcile_queue.h"

/* Starts the next queued reconcile while none runs and no apply is pending. Requests come before
 * repairs. */
void reconcile_run_next(struct agent *a);
/* Starts a reconcile; none is running. */
void reconcile_begin(struct agent *a, const struct reconcile_request *rq);
/* applier_task.on_end; user: struct agent. */
void reconcile_on_applied(void *user, const struct applier_result *res, const struct diag *d);
/* Records data IPs that other hosts use, for the next plans. 0; -ENOMEM. */
int reconcile_take_conflicts(struct reconcile *rec, const struct plan_conflicts *found);

#endif
