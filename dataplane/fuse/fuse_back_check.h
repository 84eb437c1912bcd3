/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Judges a request of a client before anything acts on it: that it is as long as it says, that its
 * arguments are all there, that names end, and that a name is one component. A kernel would
 * be trusted; a peer on the network is not. Pure: no state, no system calls, reads nothing outside
 * the bytes it is given. Called by fuse_back for each request; the target of a fuzzer.
 */
#ifndef PLENUM_DATAPLANE_FUSE_BACK_CHECK_H
#define PLENUM_DATAPLANE_FUSE_BACK_CHECK_H

#include "dataplane/fuse/fuse_proto.h"
#include "netcfg/base/base.h"

/* 0: every argument of the request lies within its len bytes, NUL-terminated where it is a string.
 * -EBADMSG: not even a header, or its length is wrong; -ENOSYS: an operation that is not served;
 * -EPROTO: an INIT of another version, or with flags that we do not speak; -ENOTTY, -EINVAL,
 * -ENAMETOOLONG, -EFBIG, -E2BIG: what the peer is to be told. msg need not be
 * aligned. */
int fuse_back_check(const void *msg, size_t len);
/* Bytes of reply data (without struct fuse_out_header) that the request can need at most. Only for
 * requests that passed the check. */
size_t fuse_back_check_reply_bytes(const void *msg, size_t len);
/* Requests to which the protocol knows no reply. */
bool fuse_back_check_is_mute(uint32_t opcode);
/* Requests that must not be executed a second time with the effect or answer of the first lost. */
bool fuse_back_check_is_once(const void *msg, size_t len);

#endif
