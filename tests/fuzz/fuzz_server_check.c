/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a FUSE request: if it passes the check its strings and data lie within its bytes. */
#include "dataplane/fuse/server/base/server_check.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* Reads the same bytes as the operations do. */
static void use(const uint8_t *msg, size_t len, const struct fuse_server_args *args)
{
	const struct fuse_in_header *in = (const void *)msg;
	uint32_t opcode = in->opcode;
	static const struct {
		uint32_t opcode;
		size_t arg_bytes;
		unsigned names;
	} strings[] = {
		{FUSE_LOOKUP, 0, 1},
		{FUSE_SYMLINK, 0, 2},
		{FUSE_MKNOD, sizeof(struct fuse_mknod_in), 1},
		{FUSE_MKDIR, sizeof(struct fuse_mkdir_in), 1},
		{FUSE_UNLINK, 0, 1},
		{FUSE_RMDIR, 0, 1},
		{FUSE_RENAME, sizeof(struct fuse_rename_in), 2},
		{FUSE_RENAME2, sizeof(struct fuse_rename2_in), 2},
		{FUSE_LINK, sizeof(struct fuse_link_in), 1},
		{FUSE_CREATE, sizeof(struct fuse_create_in), 1},
		{FUSE_TMPFILE, sizeof(struct fuse_create_in), 1},
		{FUSE_GETXATTR, sizeof(struct fuse_getxattr_in), 1},
		{FUSE_REMOVEXATTR, 0, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(strings); i++) {
		const char *p =
			(const char *)msg + sizeof(struct fuse_in_header) + strings[i].arg_bytes;

		if (strings[i].opcode != opcode)
			continue;
		for (unsigned k = 0; k < strings[i].names; k++)
			p += strlen(p) + 1;
		if (p > (const char *)msg + in->len)
			abort();
	}
	if (opcode == FUSE_WRITE) {
		struct fuse_write_in w;

		memcpy(&w, msg + sizeof(struct fuse_in_header), sizeof(w));
		if (FUSE_PROTO_WRITE_DATA + (args->flags & FUSE_PROTO_REQ_BULK ? 0 : w.size) !=
			    in->len ||
		    (args->flags & FUSE_PROTO_REQ_BULK && args->bulk.len != w.size))
			abort();
	}
	for (size_t i = 0; i < FUSE_PROTO_REQ_HANDLES_MAX; i++)
		if (args->handles[i].len > 0 &&
		    (args->handles[i].bytes < msg + in->len ||
		     args->handles[i].bytes + args->handles[i].len > msg + len))
			abort();
	if (fuse_server_check_reply_bytes(in) > FUSE_PROTO_MAX_WRITE +
							sizeof(struct fuse_proto_resp_tail) +
							sizeof(struct fuse_proto_bulk_done))
		abort();
	(void)fuse_server_check_is_non_idempotent(in);
}

/* The first byte is the length of the tail. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len = size > 0 ? size - 1 : 0;
	uint8_t *msg = malloc(len + 1); /* of this size, so that a read past the end is detected */
	struct fuse_server_args args;
	struct fuse_in_header in;

	if (!msg)
		return 0;
	if (len > 0)
		memcpy(msg, data + 1, len);
	if (len >= sizeof(in)) {
		memcpy(&in, msg, sizeof(in));
		in.len = (uint32_t)(len - MIN_OF(len, data[0]));
		memcpy(msg, &in, sizeof(in));
		msg = realloc(msg, len);
		if (fuse_server_check(msg, len, &args) == 0)
			use(msg, len, &args);
	} else if (fuse_server_check(msg, len, &args) != -EBADMSG) {
		abort();
	}
	free(msg);
	return 0;
}
