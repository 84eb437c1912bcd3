/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This host in a rollout of the cluster's document (cluster/rollout/rollout.h). When the host has a
 * turn, this module checks the document, stages it, and applies it on trial: the apply is confirmed
 * when the host has no new problem of legs, queues or workers, all workers are up, and the
 * peers that answered before answer again; else it is rolled back. The result is reported to the
 * process of the role `cluster`. A host without cluster.config: follow takes no document, whatever
 * that process says.
 */
#ifndef PLENUM_AGENT_ROLLOUT_HOST_H
#define PLENUM_AGENT_ROLLOUT_HOST_H

#include "agent/agent.h"

#define ROLLOUT_CONFIRM_S 60	  /* the time to judge an apply, which else is rolled back */
#define ROLLOUT_CLIENT UINT64_MAX /* the id in place of a client's */

/* on_problems: called when rollout_host_problems() has changed. */
int rollout_host_init(struct agent *a, void (*on_problems)(void *user));
void rollout_host_done(struct agent *a);
/* Call when another configuration is in force. */
void rollout_host_take_spec(struct agent *a);
/* Callback on_turn of cluster_setup. */
void rollout_host_on_turn(struct agent *a, const struct privsep_cluster_turn *t, int fd);
/* Callback on_view of cluster_setup. */
void rollout_host_on_view(struct agent *a, uint32_t view);
/* Take the results of reconciles. Return whether they were those of a rollout. */
bool rollout_host_on_applied(struct agent *a, const struct reconcile_client *c,
			     const struct reconcile_answer *answer);
bool rollout_host_on_decided(const struct reconcile_decision *d);
/* Adds the problems to a list of sentences. */
void rollout_host_problems(const struct agent *a, json_t *list);

#endif
