/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to the I/O helpers that do not belong to a request (see server_background.c). */
#ifndef PLENUM_SERVER_BACKGROUND_H
#define PLENUM_SERVER_BACKGROUND_H

#include "dataplane/fuse/server/objects/server_types.h"

/* Closes fd in a helper, because closing may take longer the larger the file is. */
void server_helper_close(struct server_export *e, int fd);
/* Asks the agent to pin all files that the export's state lists. */
void server_helper_repin(struct server_export *e);

#endif
