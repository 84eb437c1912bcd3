/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends ICMP echo requests of a given size, never fragmented, from one of the host's addresses, and
 * accepts answers only by the expected link. It owns the sockets; opening them needs CAP_NET_RAW.
 * It changes nothing on the host. kernel_linux alone uses it.
 */
#ifndef PLENUM_NETCFG_PING_H
#define PLENUM_NETCFG_PING_H

#include "netcfg/host/kernel.h"

struct ping_sockets {
	int four, six; /* raw sockets for IPv4 and IPv6; -1: not open */
};
#define PING_SOCKETS_INIT     \
	(struct ping_sockets) \
	{                     \
		-1, -1        \
	}

/* Opens the sockets that are not open yet, in the caller's network namespace. Returns 0 or negative
 * errno. */
int ping_open(struct ping_sockets *s);
void ping_close(struct ping_sockets *s);
/* Implements ping of struct kernel_ops. Returns -EBADF if the sockets are not open. */
int ping_run(const struct ping_sockets *s, struct kernel_ping *pings, size_t n, uint64_t limit_ns);

#endif
