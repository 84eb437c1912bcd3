/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between processes of one host over an AF_UNIX socket that keeps message boundaries, each
 * with at most one descriptor. Neither call blocks.
 */
#ifndef PLENUM_NETCFG_FDPASS_H
#define PLENUM_NETCFG_FDPASS_H

#include "netcfg/base/base.h"

/* Sends the message, and with it the descriptor fd (borrowed; -1: none). Returns 0, -EAGAIN if the
 * receiver's queue is full, or another negative errno. */
int fdpass_send(int sock, const void *msg, size_t len, int fd);
/*
 * Receives the next message and returns its length, of which at most `size` bytes are stored in
 * msg. Returns 0 at the end of the stream, or negative errno. *ret_fd is the received descriptor
 * (close-on-exec), which the caller owns, or -1. *ret_whole (may be NULL) is false if bytes or
 * descriptors were truncated.
 */
ssize_t fdpass_recv(int sock, void *msg, size_t size, int *ret_fd, bool *ret_whole);

#endif
