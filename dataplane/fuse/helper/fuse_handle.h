/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file as a client names it: the file system's own handle of it, signed for one export by a hand
 * (fs_helper.h). Here is what can be said of it without the key: its bytes, and which handle a
 * descriptor's would begin with. Pure but for name_to_handle_at; owns nothing.
 */
#ifndef PLENUM_DATAPLANE_FUSE_HANDLE_H
#define PLENUM_DATAPLANE_FUSE_HANDLE_H

#include "dataplane/fuse/proto/fuse_proto.h"
#include "netcfg/base/base.h"

enum fuse_handle_kind {
	FUSE_HANDLE_FILE = 1,  /* of the file system: good for as long as the file is there */
	FUSE_HANDLE_TABLE = 2, /* of a server's own table: good for as long as the server lives */
	FUSE_HANDLE_KIND_MAX
};

/* bytes: the kind; FUSE_HANDLE_FILE: type and length of the file system's handle, that handle,
 * signature; FUSE_HANDLE_KEPT: what its maker likes. */
struct fuse_handle {
	uint8_t len; /* 0: none */
	uint8_t bytes[FUSE_PROTO_HANDLE_MAX];
};

static inline bool fuse_handle_equal(const struct fuse_handle *a, const struct fuse_handle *b)
{
	return a->len == b->len && __builtin_memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* What the handle of fd begins with, all but the signature; *ret_mount is its mount's. 0;
 * -EOPNOTSUPP: the file system gives none, or too long ones; errno. */
int fuse_handle_of(int fd, struct fuse_handle *ret, int *ret_mount);

#endif
