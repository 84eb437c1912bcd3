/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file as a client names it: the file system's own handle of it, signed for one export. Made from
 * a descriptor or a name below one, compared byte by byte. Whoever has the key can tell whether it
 * was made here. Pure but for name_to_handle_at and statfs; owns nothing.
 */
#ifndef PLENUM_DATAPLANE_FUSE_HANDLE_H
#define PLENUM_DATAPLANE_FUSE_HANDLE_H

#include "dataplane/fuse/fuse_proto.h"
#include "netcfg/base/base.h"

enum fuse_handle_kind {
	FUSE_HANDLE_FILE = 1, /* of the file system: good for as long as the file is there */
	FUSE_HANDLE_KEPT = 2, /* of a server's own table: good for as long as the server lives */
	FUSE_HANDLE_KIND_MAX
};

#define FUSE_HANDLE_FH_MAX 64U /* longer ones of file systems are not used */
#define FUSE_HANDLE_MAC_BYTES 8U

/* bytes: the kind; FUSE_HANDLE_FILE: type and length of the file system's handle, that handle,
 * signature; FUSE_HANDLE_KEPT: what its maker likes. */
struct fuse_handle {
	uint8_t len; /* 0: none */
	uint8_t bytes[FUSE_PROTO_HANDLE_MAX];
};
_Static_assert(3 + FUSE_HANDLE_FH_MAX + FUSE_HANDLE_MAC_BYTES <= FUSE_PROTO_HANDLE_MAX,
	       "every handle fits");

static inline bool fuse_handle_equal(const struct fuse_handle *a, const struct fuse_handle *b)
{
	return a->len == b->len && __builtin_memcmp(a->bytes, b->bytes, a->len) == 0;
}

/* The unsigned handle of what the name shows (not followed), or "" for dirfd itself; *ret_mount is
 * its mount's. 0; -EOPNOTSUPP: the file system gives none, or too long ones; what the name says. */
int fuse_handle_of(int dirfd, const char *name, struct fuse_handle *ret, int *ret_mount);
/* A number for the export that lasts as long as its name, its file system and its root do. */
int fuse_handle_export_id(const uint64_t key[2], const char *name, int root_fd, uint64_t *ret);
/* Appends the signature. */
void fuse_handle_sign(const uint64_t key[2], uint64_t export_id, struct fuse_handle *h);
/* Whether h is of FUSE_HANDLE_FILE, whole, and signed so. */
bool fuse_handle_is_signed(const uint64_t key[2], uint64_t export_id, const struct fuse_handle *h);
/* A new descriptor by a signed handle. fd: of the file system. Negative errno. */
int fuse_handle_open(int fd, const struct fuse_handle *h, int flags);
/* The signature, as a name for it; 0 where there is none. */
uint64_t fuse_handle_mac(const struct fuse_handle *h);

#endif
