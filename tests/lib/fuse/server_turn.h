/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a server for one turn of its loop, as a worker does. */
#ifndef PLENUM_TESTS_SERVER_TURN_H
#define PLENUM_TESTS_SERVER_TURN_H

#include "dataplane/fuse/server/fuse_server.h"

/* Returns the amount of work done, or a negative errno. */
int server_turn(struct fuse_server *srv, uint64_t now_ns, bool may_sleep);

#endif
