/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether the peers that answered the workers before an apply still do. */
#ifndef PLENUM_AGENT_REACHABILITY_H
#define PLENUM_AGENT_REACHABILITY_H

#include "agent/agent.h"
#include "netcfg/base/state_file.h"

int reachability_init(struct agent *a);
void reachability_done(struct reconcile *rec);
/* No operator will confirm this apply: only workers that a peer answers may move to VFs. */
bool reconcile_needs_verified_peer(const struct agent *a, const struct reconcile_client *c,
				   const struct spec *spec);
/* The cores of workers that are answered by a peer which stays in spec. 0 and *ret, owned by the
 * caller; -ENOMEM. */
int reachability_answered_cores(const struct agent *a, const struct spec *spec, unsigned **ret,
				size_t *ret_n);
/* Whether the running reconcile has peers, workers or mounts to check after its apply. */
bool reachability_waits(const struct reconcile *rec);
/* Whether the pending apply is rolled back if peers or mounts do not answer in time; false if the
 * requester has asked for a confirmation. */
bool reachability_decides(const struct reconcile *rec);
/* Answers the running reconcile's client when that is decided, or the apply ends. */
void reachability_answer_later(struct agent *a);
/* Records the paths that are up now, that this run may cut off, and that a worker uses afterwards.
 */
void reachability_before(struct agent *a);
/* Starts the checks: the apply is pending and its workers are starting. Rolls it back if a peer
 * stays silent; keeps it if no operator has to confirm it. */
void reachability_begin(struct agent *a);
/* Adds the checks to the ticket. */
void reachability_put(const struct agent *a, struct state_draft *ticket);
/* Reads them from the ticket of a previous agent; skips all other lines. */
void reachability_inherit(struct agent *a, struct state_file *ticket);
/* Whether a peer that must answer the pending apply's workers does not. */
bool reachability_is_lost(struct agent *a);
/* Ends the checks: the pending apply was kept or rolled back. Answers the client that waits for it.
 */
void reachability_answer(struct agent *a, const struct applier_result *res, const struct diag *d);

#endif
