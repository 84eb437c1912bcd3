/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles the end of a reconcile. */
#ifndef PLENUM_AGENT_RECONCILE_OUTCOME_H
#define PLENUM_AGENT_RECONCILE_OUTCOME_H

#include "agent/agent.h"

/* Handles the result of a reconcile: updates problems, state, events and retry times, and answers
 * the client. error: 0 or negative errno. */
void reconcile_conclude(struct agent *a, int error);
/* Adds an entry for the running reconcile to the history, if reconcile_is_asked() or the run is
 * guarded. Adds none if there is one already, for the last good configuration or that of a pending
 * apply, and for a start that applies the latest entry again. */
void reconcile_enter(struct agent *a);

#endif
