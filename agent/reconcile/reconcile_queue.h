/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests that wait for the running reconcile, and the timers that make them. Starts nothing
 * itself: the function `run` that reconcile_queue_init gets does.
 */
#ifndef PLENUM_AGENT_RECONCILE_QUEUE_H
#define PLENUM_AGENT_RECONCILE_QUEUE_H

#include "agent/reconcile/reconcile_internal.h"

struct reconcile_request {
	enum reconcile_trigger trigger;
	enum reconcile_source source;
	struct reconcile_client client; /* zeroed: none waits for it */
};

/* run: starts the next request if it can. 0; negative errno. */
int reconcile_queue_init(struct agent *a, void (*run)(struct agent *a));
void reconcile_queue_done(struct reconcile *rec);
/* Takes the next request; those of operators come before repairs. False: there is none, or its
 * time has not come. */
bool reconcile_queue_take(struct agent *a, struct reconcile_request *ret);
/* Gives the answer to the owner's on_applied, if a client waits for it. */
void reconcile_answer_client(struct agent *a, const struct reconcile_client *c,
			     const struct reconcile_answer *answer);
/* Answers a client whose reconcile does not start. */
void reconcile_refuse_client(struct agent *a, const struct reconcile_client *c, int error);

#endif
