/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles the requests of REST clients; the code is in the folder agent/control. Each message comes
 * from an open connection and has passed privsep_check. Only this module turns a client's request
 * into a change of the host or the configuration, and it checks the client's rights first.
 */
#ifndef PLENUM_AGENT_CONTROL_H
#define PLENUM_AGENT_CONTROL_H

#include "agent/agent.h"
#include "agent/clients/clients.h"

/* Callback on_request of clients_setup. user: struct agent. */
void control_on_request(void *user, struct client *cl, const struct privsep_msg *m, int fd);
/* Callback on_shared_read of clients_setup. user: struct agent. */
void control_on_shared_read(void *user, enum privsep_role role,
			    const struct privsep_shared_read *q);
/* Callback on_add of the events. user: struct agent. Wakes the clients that wait for events. */
void control_on_event(void *user, uint64_t next);
/* Callbacks on_applied and on_decided of reconcile_setup. They send the result to the client that
 * requested the apply or decided about it. */
void control_on_applied(struct agent *a, const struct reconcile_client *c,
			const struct reconcile_answer *w);
void control_on_decided(struct agent *a, const struct reconcile_decision *d);

/* Callback on_list of cluster_setup. user: struct agent. */
void control_on_list(void *user, uint64_t id, int fd, uint64_t len, const struct reason *why);

/* Mounts made by command (command_mounts.h). A timer continues the requested mounts and unmounts,
 * and answers their clients. control_mounts_open() creates the timer; call it after the list was
 * read. Call command_mounts_wake() when a client's connection has ended, because a mount that is
 * not served yet ends with its client. */
int control_mounts_open(struct agent *a);
/* Call when the mount at that path has ended because it was unmounted. */
void control_mount_ended(struct agent *a, const char *path);
/* Call when the mount could not be unmounted and stays attached. */
void control_mount_failed(struct agent *a, const char *path, const char *text);
/* Call when the agent stops: answers the waiting clients. ends: also removes all mounts from the
 * list. */
void control_mounts_stop(struct agent *a, bool ends);
void control_mounts_done(struct agent *a);
/* Forgets a stop that waits for the search for programs that use mounts. */
void control_stop_done(struct agent *a);

/* Ends all child processes that read the host for clients, and forgets the operations. */
void control_queries_done(struct agent *a);

#endif
