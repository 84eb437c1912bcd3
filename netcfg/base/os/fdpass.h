/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between processes of one host over an AF_UNIX socket that keeps message boundaries, each
 * with at most one descriptor. Neither call blocks.
 */
#ifndef PLENUM_NETCFG_FDPASS_H
#define PLENUM_NETCFG_FDPASS_H

#include "netcfg/base/base.h"

/* fd (borrowed) is sent with the message; -1: none. 0 or negative errno; -EAGAIN: the receiver's
 * queue is full. */
int fdpass_send(int sock, const void *msg, size_t len, int fd);
/*
 * The length of the next message, of which at most size bytes are stored in msg; 0: end of stream;
 * negative errno. *ret_fd: the received descriptor (close-on-exec), owned by the caller, or -1.
 * *ret_whole (may be NULL): false where bytes or descriptors were truncated.
 */
ssize_t fdpass_recv(int sock, void *msg, size_t size, int *ret_fd, bool *ret_whole);

#endif
