/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Identifies a file for clients: the file system's own handle, signed for one export by an I/O
 * helper (fs_helper.h). This module has the parts that need no key: the layout, and the unsigned
 * handle of a descriptor. It has no state, and its only system call is name_to_handle_at.
 */
#ifndef PLENUM_DATAPLANE_FUSE_HANDLE_H
#define PLENUM_DATAPLANE_FUSE_HANDLE_H

#include "dataplane/fuse/proto/fuse_proto.h"
#include "netcfg/base/base.h"

enum fuse_handle_kind {
	FUSE_HANDLE_FILE = 1,  /* a handle from the file system, valid as long as the file exists */
	FUSE_HANDLE_TABLE = 2, /* a number from the server's table of nodes: valid as long as the
				  server process runs */
	FUSE_HANDLE_KIND_MAX
};

/* bytes: first the kind. For FUSE_HANDLE_FILE, type and length of the file system's handle, this
 * handle, and the signature follow. For FUSE_HANDLE_TABLE, what follows is private to the
 * server. */
struct fuse_handle {
	uint8_t len; /* length of the handle; 0: the object has no handle */
	uint8_t bytes[FUSE_PROTO_HANDLE_MAX];
};

static inline bool fuse_handle_equal(const struct fuse_handle *a, const struct fuse_handle *b)
{
	return a->len == b->len && __builtin_memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* Gets the handle of fd without a signature, and in *ret_mount the id of the mount that fd is on.
 * Returns 0, -EOPNOTSUPP if the file system has no handles, or too long ones, or another negative
 * errno. */
int fuse_handle_of(int fd, struct fuse_handle *ret, int *ret_mount);

#endif
