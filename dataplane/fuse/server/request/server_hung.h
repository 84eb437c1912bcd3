/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Detects that the file system of an export hangs: requests have waited too long for it. Other
 * requests may still be fast, because a disk that hangs may answer from its cache.
 */
#ifndef PLENUM_SERVER_HUNG_H
#define PLENUM_SERVER_HUNG_H

#include "dataplane/fuse/server/objects/server_types.h"

/* Sets or clears the reason fuse_server.hung. Call it once a second. */
void server_hung_look(struct fuse_server *srv, uint64_t now_ns);

#endif
