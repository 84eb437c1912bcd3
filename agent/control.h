/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles the requests of REST clients, in the folder agent/control. Each message has passed
 * privsep_check and comes from an open connection. Only this module turns a client's request into a
 * change, and it checks the client's rights first.
 */
#ifndef PLENUM_AGENT_CONTROL_H
#define PLENUM_AGENT_CONTROL_H

#include "agent/agent.h"
#include "agent/clients/clients.h"

/* clients_setup's on_request; user: struct agent. */
void control_on_request(void *user, struct client *cl, const struct privsep_msg *m, int fd);
/* clients_setup's on_shared_read; user: struct agent. */
void control_on_shared_read(void *user, enum privsep_role role,
			    const struct privsep_shared_read *q);
/* events' on_add; user: struct agent. Wakes the clients that poll for events. */
void control_on_event(void *user, uint64_t next);
/* reconcile_setup's on_applied and on_decided: they answer the client. */
void control_on_applied(struct agent *a, const struct reconcile_client *c,
			const struct reconcile_answer *w);
void control_on_decided(struct agent *a, const struct reconcile_decision *d);

/* Ends all child processes that read the host for clients, and forgets the operations. */
void control_queries_done(struct agent *a);

#endif
