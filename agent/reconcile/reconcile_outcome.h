/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles the end of a reconcile. */
#ifndef PLENUM_AGENT_RECONCILE_OUTCOME_H
#define PLENUM_AGENT_RECONCILE_OUTCOME_H

#include "agent/agent.h"

/* Handles the result of a reconcile: updates problems, state, events and retry times, and answers
 * the client. error: 0 or negative errno. */
void reconcile_conclude(struct agent *a, int error);
/* Adds an entry for the running reconcile to the history, if reconcile_is_asked() or the run is
 * guarded. Adds no entry if the run already has one, if it applies the last good configuration or
 * the configuration of a pending apply, or if a start applies the latest entry again. */
void reconcile_enter(struct agent *a);

#endif
