/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks after an apply that the peers which answered this host's workers before still answer. */
#ifndef PLENUM_AGENT_REACHABILITY_H
#define PLENUM_AGENT_REACHABILITY_H

#include "agent/agent.h"
#include "netcfg/base/files/state_file.h"

int reachability_init(struct agent *a);
void reachability_done(struct reconcile *rec);
/* Returns whether a worker may move to VFs only if a peer answers it, because no operator will
 * confirm this apply. */
bool reconcile_needs_verified_peer(const struct agent *a, const struct reconcile_client *c,
				   const struct spec *spec);
/* Lists the cores of the workers that get answers from at least one peer which `spec` still has.
 * Returns 0 and *ret, which the caller frees, or -ENOMEM. */
int reachability_answered_cores(const struct agent *a, const struct spec *spec, unsigned **ret,
				size_t *ret_n);
/* Returns whether the running reconcile has peers, workers or mounts to check after its apply. */
bool reachability_waits(const struct reconcile *rec);
/* Returns whether the pending apply is rolled back automatically if peers or mounts do not answer
 * in time. Returns false if the client requested a confirmation by an operator. */
bool reachability_decides(const struct reconcile *rec);
/* Delays the answer to the running reconcile's client until the check has a result or the apply
 * ends. */
void reachability_answer_later(struct agent *a);
/* Sets reachability.paths to the paths that must work after the apply: those that are up now, that
 * this run may interrupt, and that a worker will still use. The list is empty if the run is not
 * ordered (reconcile_is_ordered()) or --force was given. */
void reachability_before(struct agent *a);
/* Starts the check of a pending apply whose workers are starting. Rolls the apply back if a peer
 * does not answer. Otherwise keeps the apply, unless an operator has to confirm it. */
void reachability_begin(struct agent *a);
/* Writes the peers and mounts to check to the ticket, the file that tells the next agent about a
 * pending apply. */
void reachability_put(const struct agent *a, struct state_draft *ticket);
/* Reads from a previous agent's ticket which peers and mounts to check. Ignores its other lines. */
void reachability_inherit(struct agent *a, struct state_file *ticket);
/* Returns whether a peer that must answer the workers of the pending apply does not. */
bool reachability_is_lost(struct agent *a);
/* Ends the check, because the pending apply was kept or rolled back, and answers the client that
 * waits. */
void reachability_answer(struct agent *a, const struct applier_result *res, const struct diag *d);

#endif
