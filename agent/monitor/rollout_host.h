/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This host in a rollout of the cluster's document (cluster/rollout/rollout.h). When the host has a
 * turn, this module checks the document, stages it, and applies it on trial. The apply is confirmed
 * if legs, queues and workers have no new problem, all workers are up, and all peers that answered
 * before answer again. Otherwise the apply is rolled back. This module reports the result to the
 * process of the role `cluster`. A host without cluster.config: follow accepts no document,
 * whatever that process reports.
 */
#ifndef PLENUM_AGENT_ROLLOUT_HOST_H
#define PLENUM_AGENT_ROLLOUT_HOST_H

#include "agent/agent.h"

#define ROLLOUT_CONFIRM_S 60 /* time limit to confirm an apply; afterwards it is rolled back */
/* ID that marks an apply of a rollout, in place of the ID of a client. */
#define ROLLOUT_CLIENT UINT64_MAX

/* on_problems: called when rollout_host_problems() has changed. */
int rollout_host_init(struct agent *a, void (*on_problems)(void *user));
void rollout_host_done(struct agent *a);
/* Call when another configuration is in force. */
void rollout_host_take_spec(struct agent *a);
/* Callback on_turn of cluster_setup. */
void rollout_host_on_turn(struct agent *a, const struct privsep_cluster_turn *t, int fd);
/* Callback on_view of cluster_setup. */
void rollout_host_on_view(struct agent *a, uint32_t view);
/* Call with the result of a reconcile. Each returns whether the reconcile belonged to a rollout. */
bool rollout_host_on_applied(struct agent *a, const struct reconcile_client *c,
			     const struct reconcile_answer *answer);
bool rollout_host_on_decided(const struct reconcile_decision *d);
/* Adds the problems to a list of sentences. */
void rollout_host_problems(const struct agent *a, json_t *list);

#endif
