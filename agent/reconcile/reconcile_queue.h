/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests that wait for the running reconcile, and timers that create requests. The queue does not
 * start a reconcile itself: it calls the argument `run` of reconcile_queue_init.
 */
#ifndef PLENUM_AGENT_RECONCILE_QUEUE_H
#define PLENUM_AGENT_RECONCILE_QUEUE_H

#include "agent/reconcile/reconcile_internal.h"

struct reconcile_request {
	enum reconcile_trigger trigger;
	enum reconcile_source source;
	struct reconcile_client client; /* zeroed: no client waits for the result */
};

/* Creates the queue. `run` is the function that starts the next request if possible. Returns 0 or
 * negative errno. */
int reconcile_queue_init(struct agent *a, void (*run)(struct agent *a));
void reconcile_queue_done(struct reconcile *rec);
/* Removes the next request from the queue; requests of operators come before repairs. Returns false
 * if no request waits, or none is due. */
bool reconcile_queue_take(struct agent *a, struct reconcile_request *ret);
/* Passes the answer to the agent's callback on_applied, if a client waits for it. */
void reconcile_answer_client(struct agent *a, const struct reconcile_client *c,
			     const struct reconcile_answer *answer);
/* Answers a client whose reconcile will not start. */
void reconcile_refuse_client(struct agent *a, const struct reconcile_client *c, int error);

#endif
