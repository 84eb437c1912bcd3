/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides which request the I/O helpers execute next, see server_fair.c. */
#ifndef PLENUM_SERVER_FAIR_H
#define PLENUM_SERVER_FAIR_H

#include "dataplane/fuse/server/request/server_source.h"

void server_fair_init(struct fuse_server *srv);
/* Returns a helper call for the request. Returns NULL if no call is free, or if several hosts use
 * the export and the request's host already has its share of the calls. */
struct helper_call *server_fair_call(struct server_req *q);
/* Queues the request until its host may have a helper call. The server then starts the request from
 * the beginning. */
void server_fair_wait(struct server_req *q);
/* Removes from the queues and returns the next request that can have a helper call; NULL if no
 * waiting request can have one. */
struct server_req *server_fair_next(struct fuse_server *srv);
/* Returns the queue of helpers for a listing. While several hosts use the export, listings go to
 * the helpers that make no calls on names, so that the listings of one host do not delay the
 * lookups of another. */
enum helpers_queue server_fair_listings(const struct server_req *q);
/* Submits the request's helper call, at once or when the request's host has its turn. */
void server_fair_submit(struct server_req *q, enum helpers_queue queue);
/* Call when the request's helper call has returned: submits the next waiting call. */
void server_fair_returned(struct server_req *q);
/* Takes back the request's helper call if it still waits for the turn of its host. Returns whether
 * it did. */
bool server_fair_take(struct server_req *q);

#endif
