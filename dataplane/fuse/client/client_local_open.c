/* SPDX-License-Identifier: BSD-3-Clause */
/* Replies to opens that the client answers without the server. The file's record has the number of
 * the request, so that a successor gives the same file to a request that the kernel resends. */
#include "dataplane/fuse/client/fuse_client_internal.h"

/* The kernel's request numbers are even. So bit 0 is free, and setting it makes the result differ
 * from 0. */
uint32_t client_local_open_id(const struct fuse_in_header *in)
{
	return (uint32_t)in->unique | 1;
}

void client_local_open_reply(struct fuse_client *f, const struct fuse_in_header *in,
			     struct client_file *file, uint32_t open_flags)
{
	struct {
		struct fuse_out_header out;
		struct fuse_open_out open;
	} reply = {.out = {.len = sizeof(reply), .unique = in->unique},
		   .open = {.fh = client_file_fh(&f->files, file), .open_flags = open_flags}};

	if (!client_reply(f, &reply, sizeof(reply)))
		client_file_close(&f->files, file);
}

bool client_local_open_repeat(struct fuse_client *f, const struct fuse_in_header *in,
			      uint32_t open_flags)
{
	struct client_file *file =
		client_file_opened_by(&f->files, in->nodeid, client_local_open_id(in));

	if (file)
		client_local_open_reply(f, in, file, open_flags);
	return file;
}
