/* SPDX-License-Identifier: BSD-3-Clause */
/* Tells which data write-back holds. This file is separate from client_write_back.c, because
 * modules below client_write_back.c need the answer too. */
#include "dataplane/fuse/client/client_write_back.h"
#include "dataplane/fuse/client/fuse_client_internal.h"

bool client_write_back_is_wanted(const struct fuse_client *f)
{
	return f->mount->write_back && !f->area && !f->dispatch && !client_locks_wanted(f);
}

struct client_write_back_file *client_write_back_find(const struct fuse_client *f,
						      const struct client_node *node)
{
	for (unsigned i = 0; i < CLIENT_HELD_FILES && f->write_back.n_files > 0; i++)
		if (f->write_back.files[i].state && f->write_back.files[i].node == node)
			return (struct client_write_back_file *)&f->write_back.files[i];
	return NULL;
}

bool client_write_back_has_data(const struct fuse_client *f, const struct client_write_back_file *w)
{
	return !client_held_is_empty(&f->write_back.held, (unsigned)(w - f->write_back.files));
}

bool client_write_back_has(const struct fuse_client *f, const struct client_node *node)
{
	const struct client_write_back_file *w = client_write_back_find(f, node);

	return w && client_write_back_has_data(f, w);
}

bool client_write_back_asks(const struct fuse_client *f, const struct client_slot *s)
{
	const struct client_write_back_file *w;

	if (PLENUM_LIKELY(f->write_back.n_files == 0) || s->kind != CLIENT_SLOT_KERNEL ||
	    s->opcode != FUSE_WRITE || !(f->features & FUSE_PROTO_FEATURE_WRITE_BACK))
		return false;
	w = client_write_back_find(f, s->nodes[0]);
	return w && w->state == CLIENT_WRITE_BACK_ASKING &&
	       w->unique == (s->unique & ~FUSE_PROTO_UNIQUE_RESEND);
}

bool client_write_back_delays_release(struct fuse_client *f)
{
	bool delays = false;

	for (unsigned i = 0; i < CLIENT_HELD_FILES && f->write_back.n_files > 0; i++) {
		struct client_write_back_file *w = &f->write_back.files[i];
		const struct client_file *file;

		if (!w->state || !client_write_back_has_data(f, w))
			continue;
		file = client_file_at(&f->files, f->write_back.held.files[i].file);
		if (!(file->flags & CLIENT_FILE_CLOSING))
			continue;
		w->flush = true;
		delays = true;
	}
	return delays;
}
