/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ticket of a requested apply: its configuration, the requester, and how long it may wait for a
 * confirmation. It is written to the state directory before the applier starts. With it, the next
 * agent adopts the running applier, or finds out whether the new or the previous configuration is
 * in force.
 */
#ifndef PLENUM_AGENT_RECONCILE_TICKET_H
#define PLENUM_AGENT_RECONCILE_TICKET_H

#include "agent/agent.h"
#include "netcfg/base/files/state_file.h"

struct ticket {
	uint64_t entry; /* number in the history */
	enum reconcile_source source;
	unsigned confirm_s;
	size_t n_steps;
	char by[REQUESTER_MAX];
};

/* Returns how many seconds the running reconcile has to wait for a confirmation, or 0 if it needs
 * none. */
unsigned reconcile_confirm_s(const struct agent *a);
/* For an ordered run (reconcile_is_ordered()), writes its ticket and sets the members of *task that
 * only such a run has: confirm_s, patient, former, probe_ns, socket, outcome and number. For
 * another run, does nothing. Returns 0, or negative errno with an error in the run's diag. */
int reconcile_ticket(struct agent *a, struct applier_task *task);
/* Reads the ticket. f: the ticket's file, which the caller releases, even after an error. Returns
 * 0, enum state_error, or another negative errno. */
int reconcile_ticket_read(const struct agent *a, struct ticket *ret, struct state_file *f);
/* Loads the configuration of the ticket. Returns 0, or negative errno with an error in d. */
int reconcile_ticket_load(const struct agent *a, struct diag *d, struct spec **ret);
void reconcile_ticket_drop(const struct agent *a);
/* Removes the ticket at the end of a run, unless the apply is pending. */
void reconcile_ticket_done(struct agent *a);

#endif
