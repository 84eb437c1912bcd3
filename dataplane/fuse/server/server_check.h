/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Judges a request of a client before anything acts on it: that it is as long as it says, that its
 * arguments are all there, that names end, and that a name is one component. A kernel would
 * be trusted; a peer on the network is not. Pure: no state, no system calls, reads nothing outside
 * the bytes it is given. Called by fuse_server for each request; the target of a fuzzer.
 */
#ifndef PLENUM_SERVER_CHECK_H
#define PLENUM_SERVER_CHECK_H

#include "dataplane/fuse/proto/fuse_proto.h"
#include "netcfg/base/base.h"

/* What stands behind a request: the objects that it is about. They point into its message. */
struct fuse_server_args {
	uint16_t flags; /* FUSE_PROTO_REQ_* */
	uint8_t failed; /* legs by which its data did not come; not from the message */
	struct fuse_proto_bulk bulk;
	struct {
		uint8_t len;
		const uint8_t *bytes;
	} handles[FUSE_PROTO_REQ_HANDLES_MAX];
};

/* 0: every argument of the request lies within its len bytes, NUL-terminated where it is a string,
 * and *ret has as many handles as it needs. -EBADMSG: not even a header, or its length or what is
 * behind it is wrong; -ENOSYS: an operation that is not served; -EPROTO: an INIT of another
 * version, or with flags that we do not speak; -ENOTTY, -EINVAL, -ENAMETOOLONG, -EFBIG, -E2BIG:
 * what the peer is to be told. msg need not be aligned. */
int fuse_server_check(const void *msg, size_t len, struct fuse_server_args *ret);
/* Bytes of reply data (without struct fuse_out_header, with the tail) that the request can need at
 * most. Only for requests that passed the check. */
size_t fuse_server_check_reply_bytes(const struct fuse_in_header *in);
/* Requests that must not be executed a second time with the effect or answer of the first lost. */
bool fuse_server_check_is_once(const struct fuse_in_header *in);

#endif
