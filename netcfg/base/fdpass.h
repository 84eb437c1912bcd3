/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages between processes of one host, each with at most one descriptor, over an AF_UNIX socket
 * that keeps their boundaries. Neither call waits.
 */
#ifndef PLENUM_NETCFG_FDPASS_H
#define PLENUM_NETCFG_FDPASS_H

#include "netcfg/base/base.h"

/* fd (borrowed) goes along; -1: none. 0 or negative errno; -EAGAIN: the other end has too much to
 * read. */
int fdpass_send(int sock, const void *msg, size_t len, int fd);
/*
 * The length of the next message, of which at most size bytes are in msg; 0: the end; negative
 * errno. *ret_fd: what came with it, the caller's (close-on-exec), or -1. *ret_whole (may be NULL):
 * nothing of it, bytes or descriptors, was cut off.
 */
ssize_t fdpass_recv(int sock, void *msg, size_t size, int *ret_fd, bool *ret_whole);

#endif
