/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements server_turn.h. */
#include "tests/lib/fuse/server_turn.h"

int server_turn(struct fuse_server *srv, uint64_t now_ns, bool may_sleep)
{
	unsigned moved = fuse_server_begin(srv, now_ns);
	int n = fuse_server_poll(srv, now_ns, may_sleep);

	return n < 0 ? n : n + (int)moved;
}
