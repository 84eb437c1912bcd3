/* SPDX-License-Identifier: BSD-3-Clause */
/* Which request the I/O helpers execute next, see server_fair.c. */
#ifndef PLENUM_SERVER_FAIR_H
#define PLENUM_SERVER_FAIR_H

#include "dataplane/fuse/server/request/server_source.h"

void server_fair_init(struct fuse_server *srv);
/* Whether the request's host may have another call while other hosts use the export. */
bool server_fair_allows(const struct server_req *q);
/* Submits the request's call, now or when it is the host's turn. */
void server_fair_submit(struct server_req *q, enum helpers_queue queue);
/* The request's call came back: submits the next one. */
void server_fair_returned(struct server_req *q);
/* Takes back a call that waits for its host's turn. False: it does not wait. */
bool server_fair_take(struct server_req *q);

#endif
