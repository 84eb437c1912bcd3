/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Validates a client's request before any other code uses it: its length, complete arguments,
 * terminated names, and names of one component. Requests of a local kernel could be trusted, but
 * requests from the network cannot. The functions have no state, make no system calls and read only
 * the given bytes. The server calls them for each request, and so does a fuzzer.
 */
#ifndef PLENUM_SERVER_CHECK_H
#define PLENUM_SERVER_CHECK_H

#include "dataplane/fuse/proto/fuse_proto.h"
#include "netcfg/base/base.h"

/* The result of the check: the objects of a request. Their handles point into the message. */
struct fuse_server_args {
	uint16_t flags;	     /* FUSE_PROTO_REQ_* */
	uint8_t failed;	     /* bit for each leg that could not transfer the request's data; set by
				the server */
	uint64_t arrived_ns; /* clock_now_ns() when the request arrived; set by the server */
	struct fuse_proto_bulk bulk;
	struct {
		uint8_t len;
		const uint8_t *bytes;
	} handles[FUSE_PROTO_REQ_HANDLES_MAX];
};

/* Checks a request; msg may be unaligned. Returns 0 if every argument is within the len bytes,
 * strings are terminated, and *ret has all handles that the operation needs. Returns -EBADMSG if
 * the header is incomplete, or the length or tail is wrong; -ENOSYS if the operation is
 * unsupported; -EPROTO for an INIT of an unsupported version or with unknown flags; or the error to
 * reply to the client: -ENOTTY, -EINVAL, -ENAMETOOLONG, -EFBIG or -E2BIG. */
int fuse_server_check(const void *msg, size_t len, struct fuse_server_args *ret);
/* Returns the maximum number of bytes of reply data that the request can lead to, including the
 * tail but not struct fuse_out_header. Only for requests that have passed the check. */
size_t fuse_server_check_reply_bytes(const struct fuse_in_header *in);
/* Returns whether the request must not be executed twice, because a repetition would change the
 * effect or the reply. */
bool fuse_server_check_is_non_idempotent(const struct fuse_in_header *in);

#endif
