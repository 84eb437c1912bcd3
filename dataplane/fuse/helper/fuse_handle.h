/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client's name for a file: the file system's own handle, signed for one export by an I/O helper
 * (fs_helper.h). This module does what needs no key: the layout, and the unsigned handle of a
 * descriptor. Stateless; its only system call is name_to_handle_at.
 */
#ifndef PLENUM_DATAPLANE_FUSE_HANDLE_H
#define PLENUM_DATAPLANE_FUSE_HANDLE_H

#include "dataplane/fuse/proto/fuse_proto.h"
#include "netcfg/base/base.h"

enum fuse_handle_kind {
	FUSE_HANDLE_FILE = 1,  /* from the file system: valid while the file exists */
	FUSE_HANDLE_TABLE = 2, /* from a server's own table: valid while the server lives */
	FUSE_HANDLE_KIND_MAX
};

/* bytes: the kind; FUSE_HANDLE_FILE: type and length of the file system's handle, that handle,
 * signature; FUSE_HANDLE_TABLE: private to its server. */
struct fuse_handle {
	uint8_t len; /* 0: none */
	uint8_t bytes[FUSE_PROTO_HANDLE_MAX];
};

static inline bool fuse_handle_equal(const struct fuse_handle *a, const struct fuse_handle *b)
{
	return a->len == b->len && __builtin_memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* The handle of fd without the signature; *ret_mount is the mount's id. 0; -EOPNOTSUPP: the file
 * system has no handles, or too long ones; other negative errno. */
int fuse_handle_of(int fd, struct fuse_handle *ret, int *ret_mount);

#endif
