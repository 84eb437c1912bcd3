/* SPDX-License-Identifier: BSD-3-Clause */
/* Accepted transports of workers with `transport: auto`. */
#ifndef PLENUM_AGENT_RECONCILE_CHOICE_H
#define PLENUM_AGENT_RECONCILE_CHOICE_H

#include "agent/agent.h"
#include "netcfg/base/files/state_file.h"

/* Returns the choices in force: the choices of the pending apply or, if none is pending, the
 * accepted choices. */
const struct transport_choice *reconcile_choice_now(const struct reconcile *rec);
/* Reads the record of accepted choices, unless it was read before. If it cannot be read, the
 * running transports count as accepted. Returns 0, even without a record, or -ENOMEM. */
int reconcile_choice_look(struct agent *a, const struct inventory *inv);
/* Keeps the plan's choices unchanged for the rest of the run: the run's own steps change the state
 * of the host from which the choices were made. Returns 0 or -ENOMEM. */
int reconcile_choice_freeze(struct agent *a, struct plan_context *ctx);
/* Called when an apply is kept: its proposed choices become the accepted ones and, if they changed,
 * are written to the record. A record that cannot be read is overwritten only if an operator
 * requested all changes of the apply. */
void reconcile_choice_keep(struct agent *a);
/* Adds events for workers that lost their accepted transport or can use it again. was NULL: no plan
 * was in force before. */
void reconcile_choice_note(struct agent *a, const struct plan *was, const struct plan *is);
/* Returns whether reading or writing the record failed and has to be retried. */
bool reconcile_choice_waits(const struct reconcile *rec);
/* The ticket is the record file of a requested apply (reconcile_ticket.h). Writes to it the
 * transport choices of the running reconcile, and the PFs whose VFs it creates. Returns 0 or
 * -ENOMEM. */
int reconcile_choice_put(const struct reconcile *rec, struct state_draft *ticket);
/* Reads from the ticket what the agent that started the apply wrote with reconcile_choice_put(). */
void reconcile_choice_read(struct reconcile *rec, struct state_file *ticket);
void reconcile_choice_done(struct reconcile *rec);

#endif
