/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ticket of a requested apply. It is written to the state directory before the applier starts:
 * the configuration, the requester, and how long the apply may wait. With the ticket the next agent
 * adopts the running applier, or learns whether the new or the previous configuration runs.
 */
#ifndef PLENUM_AGENT_RECONCILE_TICKET_H
#define PLENUM_AGENT_RECONCILE_TICKET_H

#include "agent/agent.h"
#include "netcfg/base/state_file.h"

struct ticket {
	uint64_t entry; /* in the history */
	enum reconcile_source source;
	unsigned confirm_s;
	size_t n_steps;
	char by[REQUESTER_MAX];
};

/* How long the running reconcile has to wait for a confirmation; 0: not at all. */
unsigned reconcile_confirm_s(const struct agent *a);
/* Writes the ticket of the running reconcile and completes the applier's task. 0; negative errno
 * with an error in its diag. */
int reconcile_ticket(struct agent *a, struct applier_task *task);
/* f: the whole ticket; released by the caller also on failure. 0; negative errno or STATE_... */
int reconcile_ticket_read(const struct agent *a, struct ticket *ret, struct state_file *f);
/* Loads the configuration in the ticket. 0; negative errno with an error in d. */
int reconcile_ticket_load(const struct agent *a, struct diag *d, struct spec **ret);
void reconcile_ticket_drop(const struct agent *a);
/* Removes the ticket at the end of a run, unless its apply is pending. */
void reconcile_ticket_done(struct agent *a);

#endif
