/* SPDX-License-Identifier: BSD-3-Clause */
/* The apply that waits for its confirmation, for clients and for the check of peers. */
#ifndef PLENUM_AGENT_RECONCILE_PENDING_H
#define PLENUM_AGENT_RECONCILE_PENDING_H

#include "agent/agent.h"

/* Orders the applier to keep the pending apply or to roll it back. client: the client that
 * requested this; 0: none. Returns 0 if the applier got the order, -ENOENT if no apply is pending,
 * -EALREADY if another client has just decided, or another negative errno. */
int reconcile_pending_order(struct agent *a, bool keep, uint64_t client, const char *by);
/* Passes the result to the agent's callback on_decided, if a client waits for it. */
void reconcile_answer_decision(struct agent *a, const struct reconcile_decision *d);

#endif
