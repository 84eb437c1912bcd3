/* SPDX-License-Identifier: BSD-3-Clause */
/* Executes long requests in steps, see server_steps.c. */
#ifndef PLENUM_SERVER_STEPS_H
#define PLENUM_SERVER_STEPS_H

#include "dataplane/fuse/server/request/server_source.h"

#define SERVER_STEP_BYTES 65536U
#define SERVER_STEP_ENTRIES 32U

/* Call when a short request of this host has arrived. */
void server_steps_note(struct server_source *from);
/* Returns whether several hosts sent short requests lately. */
bool server_steps_shared(const struct fuse_server *srv);
/* Returns whether hosts other than the request's host sent short requests lately. The request must
 * then be executed in steps. */
bool server_steps_wanted(const struct server_req *q);
/* Queues the request, and calls step() for it when it is its host's turn, in this poll or a later
 * one. */
void server_steps_add(struct server_req *q, void (*step)(struct server_req *q));
/* Executes a bounded number of steps, one of each host in turn. Returns their number. */
unsigned server_steps_run(struct fuse_server *srv);

#endif
