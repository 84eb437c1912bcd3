/* SPDX-License-Identifier: BSD-3-Clause */
/* Which request the I/O helpers execute next, see server_fair.c. */
#ifndef PLENUM_SERVER_FAIR_H
#define PLENUM_SERVER_FAIR_H

#include "dataplane/fuse/server/request/server_source.h"

void server_fair_init(struct fuse_server *srv);
/* A call for the request; NULL: none is free, or its host has its share of those that several hosts
 * use. */
struct helper_call *server_fair_call(struct server_req *q);
/* The request starts again when it is its host's turn to have a call. */
void server_fair_wait(struct server_req *q);
/* Removes and returns the next request that can have a call; NULL: none. */
struct server_req *server_fair_next(struct fuse_server *srv);
/* The helpers for a listing: while several hosts use the export those that serve no names, so that
 * the listings of one host delay no names of another. */
enum helpers_queue server_fair_listings(const struct server_req *q);
/* Submits the request's call, now or when it is the host's turn. */
void server_fair_submit(struct server_req *q, enum helpers_queue queue);
/* The request's call came back: submits the next one. */
void server_fair_returned(struct server_req *q);
/* Takes back a call that waits for its host's turn. False: it does not wait. */
bool server_fair_take(struct server_req *q);

#endif
