/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a reconcile: problems, history, retry times and the answer to its client. */
#ifndef PLENUM_AGENT_RECONCILE_OUTCOME_H
#define PLENUM_AGENT_RECONCILE_OUTCOME_H

#include "agent/agent.h"

/* Handles the end of a reconcile: problems, state, events, retry time and the client's answer.
 * error: its result. */
void reconcile_conclude(struct agent *a, int error);
/* Adds a requested reconcile to the history. */
void reconcile_enter(struct agent *a);

#endif
