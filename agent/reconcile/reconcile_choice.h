/* SPDX-License-Identifier: BSD-3-Clause */
/* Accepted transports of auto workers. */
#ifndef PLENUM_AGENT_RECONCILE_CHOICE_H
#define PLENUM_AGENT_RECONCILE_CHOICE_H

#include "agent/agent.h"
#include "netcfg/base/state_file.h"

/* The choices in force: those of the pending apply (recorded only in its ticket) or the accepted
 * ones. */
const struct transport_choice *reconcile_choice_now(const struct reconcile *rec);
/* Reads the record of accepted choices, if not read yet. While the record is unreadable, the
 * running transports count as accepted. 0, also where there is no record; -ENOMEM. */
int reconcile_choice_look(struct agent *a, const struct inventory *inv);
/* Freezes the plan's choices for the rest of the run, although the host's state changes from step
 * to step. 0, -ENOMEM. */
int reconcile_choice_freeze(struct agent *a, struct plan_context *ctx);
/* Writes the choices of a kept apply to the record. */
void reconcile_choice_keep(struct agent *a);
/* Adds events for workers that lost their accepted transport or have it again. was NULL: nothing
 * ran before. */
void reconcile_choice_note(struct agent *a, const struct plan *was, const struct plan *is);
/* Whether the record could not be read or written, so that a retry is pending. */
bool reconcile_choice_waits(const struct reconcile *rec);
/* Adds the choices of the running reconcile and the PFs whose VFs it makes to its ticket. 0;
 * -ENOMEM. */
int reconcile_choice_put(const struct reconcile *rec, struct state_draft *ticket);
/* Reads the choices from the ticket of a previous agent. */
void reconcile_choice_read(struct reconcile *rec, struct state_file *ticket);
void reconcile_choice_done(struct reconcile *rec);

#endif
