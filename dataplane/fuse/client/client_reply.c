/* SPDX-License-Identifier: BSD-3-Clause */
/* Replies to the kernel. */
#include "dataplane/fuse/client/fuse_client_internal.h"
#include "dataplane/fuse/proto/fuse_latency.h"
#include <string.h>

/* Writes one answer to the kernel. Returns false if the kernel rejected it, including by ENOENT,
 * which means that the request has already ended in the kernel. */
bool client_reply(struct fuse_client *f, const void *msg, size_t len)
{
	if (write(f->fd, msg, len) >= 0)
		return true;
	if (errno == ENODEV)
		f->unmounted = true;
	return false;
}

void client_slot_note_latency(struct fuse_client *f, const struct client_slot *s)
{
	/* Read the clock here, because processing and writing a large answer takes long, so the
	 * time at which this turn began is too old. */
	fuse_latency_note(f->latencies, s->opcode, s->arrived_ns, f->clock_ns());
}

bool client_slot_reply(struct fuse_client *f, struct client_slot *s, void *msg, size_t len)
{
	for (const struct client_stage *const *st = f->on.reply; *st; st++)
		(*st)->reply(f, s, msg, len);
	memcpy((uint8_t *)msg + offsetof(struct fuse_out_header, unique), &s->unique,
	       sizeof(s->unique));
	if (s->answered || !client_reply(f, msg, len))
		return false;
	client_slot_note_latency(f, s);
	return true;
}

bool client_slot_reply_error(struct fuse_client *f, struct client_slot *s, int error)
{
	struct fuse_out_header out = {.len = sizeof(out), .error = error};

	return client_slot_reply(f, s, &out, sizeof(out));
}

bool client_reply_error(struct fuse_client *f, uint64_t unique, int error)
{
	struct fuse_out_header out = {.len = sizeof(out), .error = error, .unique = unique};

	return client_reply(f, &out, sizeof(out));
}

void client_slot_fail(struct fuse_client *f, struct client_slot *s, int error)
{
	s->accepted |= client_slot_reply_error(f, s, error);
	client_slot_free(f, s);
}
