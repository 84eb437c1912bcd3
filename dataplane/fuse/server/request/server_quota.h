/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shares of open files. Each file that a client has open uses one of the worker's descriptors,
 * whose number is limited. Without shares, one user could use all of them, and then every open and
 * lookup of every client would fail. So the open files of each user of a mount, each mount and each
 * client host are limited to a multiple of the number of free descriptors. A single user gets most
 * of the descriptors, and some always remain for others. This module also closes the files of
 * clients that are away.
 */
#ifndef PLENUM_SERVER_QUOTA_H
#define PLENUM_SERVER_QUOTA_H

#include "dataplane/fuse/server/objects/server_quota_count.h"

/* Returns whether the user of the request may open one more file. If not, replies ENFILE. */
bool server_quota_allows(struct server_req *q);
/* Call once a second: closes files of clients that are away, and checks whether the open files run
 * out. */
void server_quota_tick(struct fuse_server *srv, uint64_t now_ns);

#endif
