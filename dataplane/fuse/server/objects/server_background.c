/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls to the I/O helpers that the server makes without a request of a client. */
#include "dataplane/fuse/server/objects/server_background.h"
#include <string.h>

void server_helper_close(struct server_export *e, int fd)
{
	struct fuse_server *srv = e->server;
	struct helper_call *call =
		srv->ending ? NULL : fs_helper_call_new(srv->helpers, server_export_index(e));

	if (!call) {
		close(fd);
		return;
	}
	call->op = HELPER_CLOSE;
	call->a.fd = fd;
	srv->n_helper_calls++;
	fs_helper_submit(srv->helpers, call, HELPERS_SLOW);
}

void server_helper_repin(struct server_export *e)
{
	struct fuse_server *srv = e->server;
	struct helper_call *call;

	for (; e->repin_next < STATE_PINS_MAX; e->repin_next++) {
		const struct state_pin *rec = &e->state->holds[e->repin_next];

		if (!state_pin_is_used(rec) || rec->len > sizeof(call->a.handle))
			continue;
		call = fs_helper_call_new(srv->helpers, server_export_index(e));
		if (!call)
			return; /* no call is free; server_helper_repin() is called again when a
				   call has returned */
		call->op = HELPER_OPEN_PATH;
		call->a.len = rec->len;
		memcpy(call->a.handle, rec->handle, rec->len);
		srv->n_helper_calls++;
		fs_helper_submit(srv->helpers, call, HELPERS_QUICK);
	}
}
