/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides which request the I/O helpers execute next, see server_fair.c. */
#ifndef PLENUM_SERVER_FAIR_H
#define PLENUM_SERVER_FAIR_H

#include "dataplane/fuse/server/request/server_source.h"

void server_fair_init(struct fuse_server *srv);
/* Returns a call for the request; NULL: none is free, or its host has as many as it may while
 * several hosts use the export. */
struct helper_call *server_fair_call(struct server_req *q);
/* Queues the request; it starts again when its host may have a call. */
void server_fair_wait(struct server_req *q);
/* Removes and returns the next request that can have a call; NULL: none. */
struct server_req *server_fair_next(struct fuse_server *srv);
/* The queue of helpers for a listing. While several hosts use the export, it is the one of helpers
 * that handle no names, so that the listings of one host do not delay names of another. */
enum helpers_queue server_fair_listings(const struct server_req *q);
/* Submits the request's call, now or when it is its host's turn. */
void server_fair_submit(struct server_req *q, enum helpers_queue queue);
/* Call when the request's call has returned: submits the next one. */
void server_fair_returned(struct server_req *q);
/* Takes back a call that waits for its host's turn. Returns false if it does not wait. */
bool server_fair_take(struct server_req *q);

#endif
