/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares of open files. Each file that a client has open uses one of the worker's descriptors, of
 * which there is a limited number: without shares one user could take all, and every open and
 * lookup of every client would fail. A user of a mount, a mount and a client may each have a
 * multiple of the files that are free. So a user alone gets most of the descriptors, and there are
 * always some for others. This module also closes the files of clients that are away.
 */
#ifndef PLENUM_SERVER_QUOTA_H
#define PLENUM_SERVER_QUOTA_H

#include "dataplane/fuse/server/objects/server_quota_count.h"

/* Whether the user of the request may open one more file; if not, it replies ENFILE. */
bool server_quota_allows(struct server_req *q);
/* Call once a second: closes files of clients that are away, and checks whether files are short. */
void server_quota_tick(struct fuse_server *srv, uint64_t now_ns);

#endif
