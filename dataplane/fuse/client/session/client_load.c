/* SPDX-License-Identifier: BSD-3-Clause */
/* Estimates how many requests wait in the kernel, from the number of requests that the client has
 * read so far. */
#include "dataplane/fuse/client/session/client_session.h"

#define CLIENT_WINDOW 64 /* length of a window, in requests */

void client_queue_depth_update(struct fuse_client *f)
{
	f->unanswered_window = MAX_OF(f->unanswered_window, f->n_unanswered);
	f->unanswered_most = MAX_OF(f->unanswered_most, f->n_unanswered);
	if (++f->n_window < CLIENT_WINDOW)
		return;
	f->unanswered_most = f->unanswered_window;
	f->unanswered_window = f->n_unanswered;
	f->n_window = 0;
}

int client_read_burst_hint(const struct fuse_client *f)
{
	if (f->n_unanswered == 0)
		return MAX_OF((int)f->unanswered_most, 1);
	return f->unanswered_most > f->n_unanswered ? (int)(f->unanswered_most - f->n_unanswered)
						    : 0;
}

void client_note_read(struct fuse_client *f, const struct fuse_in_header *h)
{
	launch_stat_add(&f->stats->requests, 1);
	if (h->opcode == FUSE_WRITE)
		launch_stat_add(&f->stats->write_bytes,
				h->len - MIN_OF(h->len, (uint32_t)FUSE_PROTO_WRITE_DATA));
}
