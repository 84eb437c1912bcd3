/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monitor's answers to clients: one function a message. What arrives here has passed
 * privsep_check and comes from a connection that is open. The only place where a client's wish
 * becomes a change, and there the client's right is looked at.
 */
#ifndef PLENUM_AGENT_CONTROL_H
#define PLENUM_AGENT_CONTROL_H

#include "agent/agent.h"
#include "agent/api/clients.h"

/* clients_setup's on_request; user: struct agent. */
void control_on_request(void *user, struct client *cl, const struct privsep_msg *m, int fd);
/* events' on_add; user: struct agent. Wakes the clients that wait for events. */
void control_on_event(void *user, uint64_t next);
/* The end of an apply; nobody is answered where c->id is 0. */
void control_on_applied(struct agent *a, const struct reconcile_client *c,
			const struct reconcile_answer *w);

/* The apply that waited was kept (error 0) or not, after `client` (0: nobody) wanted it kept or
 * rolled back. written: its files are what is kept. */
void control_on_decided(struct agent *a, uint64_t client, uint64_t entry, bool keep, int error,
			bool written, const struct diag *d);

/* Forgets the children that look for clients. */
void control_queries_done(struct agent *a);

#endif
