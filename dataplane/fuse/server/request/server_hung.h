/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Detects that the file system of an export hangs, by the requests that wait for it. All other
 * requests may still be fast, because a disk may answer from its cache and hang only when it must
 * read or write.
 */
#ifndef PLENUM_SERVER_HUNG_H
#define PLENUM_SERVER_HUNG_H

#include "dataplane/fuse/server/objects/server_types.h"

/* Call once a second: sets or clears the server's reason. */
void server_hung_look(struct fuse_server *srv, uint64_t now_ns);

#endif
