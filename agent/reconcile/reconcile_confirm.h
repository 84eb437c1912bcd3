/* SPDX-License-Identifier: BSD-3-Clause */
/* Pending applies (commit-confirm): from the applier's report that it waits to the decision. */
#ifndef PLENUM_AGENT_RECONCILE_CONFIRM_H
#define PLENUM_AGENT_RECONCILE_CONFIRM_H

#include "agent/agent.h"

/* The applier waits for a confirmation: the apply becomes the pending one. */
void reconcile_pending_begin(struct agent *a, struct applier *applier, uint64_t until_ns);
/* The pending apply was confirmed or rolled back. The caller starts the next reconcile. */
void reconcile_pending_end(struct agent *a, const struct applier_result *res, const struct diag *d);
/* Answers the client of a refused confirmation; the apply stays pending. applier_task.on_not_yet;
 * user: struct agent. */
void reconcile_on_not_yet(void *user, const char *why);

#endif
