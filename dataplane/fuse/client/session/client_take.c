/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles a request of the kernel: a stage answers it at once, or it gets a slot and waits to be
 * sent to the server. */
#include "dataplane/fuse/client/session/client_session.h"

#include <string.h>

static bool client_offer(struct fuse_client *f, struct client_slot *s, uint64_t now_ns)
{
	for (const struct client_stage *const *st = f->on.offer; *st; st++)
		if ((*st)->offer(f, s, now_ns))
			return true;
	return false;
}

void client_take_request(struct fuse_client *f, size_t n, uint64_t now_ns)
{
	const struct client_stage *stage;
	struct fuse_in_header h;
	struct client_slot *s;
	int e;

	client_sync(f);
	client_slot_request_copy(f, n);
	memcpy(&h, f->request, sizeof(h));
	stage = h.opcode < CLIENT_STAGE_OPCODES ? f->on.take[h.opcode] : NULL;
	if (stage && stage->take(f, &h, n, now_ns))
		return;
	s = client_slot_take(f, (uint32_t)n, now_ns);
	/* Cannot happen: the caller has checked by client_has_room() that a slot is free. */
	if (!s) {
		client_reply_error(f, h.unique, -ENOMEM);
		return;
	}
	e = client_request_bind(f, s);
	if (e < 0)
		client_slot_fail(f, s, client_local_dir_error(f, s, e));
	else if (!client_offer(f, s, now_ns))
		client_slot_queue(f, s);
}
