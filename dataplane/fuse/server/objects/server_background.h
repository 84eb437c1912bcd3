/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to the I/O helpers that the server makes without a request of a client (see
 * server_background.c). */
#ifndef PLENUM_SERVER_BACKGROUND_H
#define PLENUM_SERVER_BACKGROUND_H

#include "dataplane/fuse/server/objects/server_types.h"

/* Makes a helper close fd, because closing a large file can take long. */
void server_helper_close(struct server_export *e, int fd);
/* Makes helpers open the pinned files whose records are in the export's state, from repin_next on,
 * until no call is free. For each file that is open then, the worker asks the agent again to pin
 * it. If no client has the file open, the worker also adds the file's space to pins_bytes. */
void server_helper_repin(struct server_export *e);

#endif
