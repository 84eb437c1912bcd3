/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions of the UDP port beyond struct port_ops, for tests and benchmarks: detailed counters and
 * the main socket. They must run in the port's thread. All other access is through port_udp_ops.
 */
#ifndef PLENUM_DATAPLANE_PORT_UDP_H
#define PLENUM_DATAPLANE_PORT_UDP_H

#include "dataplane/port/port.h"

struct port_udp_counters {
	uint64_t tx_datagrams; /* count of datagrams passed to the kernel */
	uint64_t tx_calls;     /* count of system calls that sent anything */
	uint64_t tx_lost;      /* datagrams that the kernel refused: no route, link down, filtered,
				  or too big */
	uint64_t tx_full;      /* flushes that found the socket buffer full; no datagram was lost by
				  that */
	uint64_t tx_bytes;     /* bytes of UDP payload, like rx_bytes */
	uint64_t tx_bursts;    /* GSO bursts: super-packets that the kernel or the NIC segmented */
	uint64_t tx_by_source[DATAGRAM_SOURCES_MAX]; /* datagrams per source port */
	uint64_t rx_datagrams;
	uint64_t rx_bytes;
	uint64_t rx_bursts;
	uint64_t rx_calls;    /* count of system calls that received anything */
	uint64_t rx_dropped;  /* datagrams that were truncated or had an invalid address, and were
				 dropped */
	uint64_t rx_overflow; /* datagrams dropped because the socket buffer was full; the
				 kernel reports them with later packets */
	int tx_errno;	      /* errno of the last datagram in tx_lost; 0: none */
	bool gso;	      /* bursts leave as one super-packet */
	bool hot;	      /* one peer has a connected socket for its packets */
	bool gro;	      /* bursts arrive as one super-packet */
};

void port_udp_counters_get(const struct port *p, struct port_udp_counters *ret);
/* The socket that serves all peers, owned by the port. For tests and diagnosis. */
int port_udp_socket(const struct port *p);

#endif
