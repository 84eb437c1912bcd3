/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notices that the file system of an export hangs, by the requests that wait for it: a disk may
 * answer from its cache and hang only for what it must read or write.
 */
#ifndef PLENUM_SERVER_HUNG_H
#define PLENUM_SERVER_HUNG_H

#include "dataplane/fuse/server/objects/server_types.h"

/* Call once a second: sets or clears the server's reason. */
void server_hung_look(struct fuse_server *srv, uint64_t now_ns);

#endif
