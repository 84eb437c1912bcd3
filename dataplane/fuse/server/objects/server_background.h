/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to the I/O helpers that do not belong to a request (see server_background.c). */
#ifndef PLENUM_SERVER_BACKGROUND_H
#define PLENUM_SERVER_BACKGROUND_H

#include "dataplane/fuse/server/objects/server_types.h"

/* Closes fd in a helper, because closing may take longer the larger the file is. */
void server_helper_close(struct server_export *e, int fd);
/* Makes helpers open the files of the pins in the export's state, from repin_next on, as long as
 * calls are free. When a file is open, the worker asks the agent to pin it again. If no client has
 * the file open, the worker also adds its space to pins_bytes. */
void server_helper_repin(struct server_export *e);

#endif
