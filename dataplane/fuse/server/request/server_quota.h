/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares of open files. Each file that a client has open takes one of the worker's descriptors,
 * which are finite: without shares one user takes all, and every open and lookup of every client
 * fails. A user of a mount, a mount and a client may each have a multiple of what is free, so a
 * lone one gets most of the descriptors and there is always some room for others. Also closes the
 * files of clients that are away.
 */
#ifndef PLENUM_SERVER_QUOTA_H
#define PLENUM_SERVER_QUOTA_H

#include "dataplane/fuse/server/objects/server_quota_count.h"

/* Whether the user of the request may have one more file open; otherwise replies ENFILE. */
bool server_quota_allows(struct server_req *q);
/* Call once a second: closes files of clients that are away, and looks whether files are short. */
void server_quota_tick(struct fuse_server *srv, uint64_t now_ns);

#endif
