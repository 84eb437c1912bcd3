/* SPDX-License-Identifier: BSD-3-Clause */
/* Pending applies (commit-confirm), from the applier's message that it waits for a confirmation to
 * the decision. */
#ifndef PLENUM_AGENT_RECONCILE_CONFIRM_H
#define PLENUM_AGENT_RECONCILE_CONFIRM_H

#include "agent/agent.h"

/* Call when the applier waits for a confirmation: makes its apply the pending one. */
void reconcile_pending_begin(struct agent *a, struct applier *applier, uint64_t until_ns);
/* Call when the pending apply was confirmed or rolled back. Afterwards, the caller starts the next
 * reconcile. */
void reconcile_pending_end(struct agent *a, const struct applier_result *res, const struct diag *d);
/* Callback on_not_yet of applier_task. user: struct agent. Called when the applier has refused a
 * confirmation: answers the client that sent it. The apply stays pending. */
void reconcile_on_not_yet(void *user, const char *why);

#endif
