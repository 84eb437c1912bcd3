/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions of the UDP port beyond struct port_ops, for tests and benchmarks: detailed counters and
 * the main socket. They must run in the port's thread. All other access is through port_udp_ops.
 */
#ifndef PLENUM_DATAPLANE_PORT_UDP_H
#define PLENUM_DATAPLANE_PORT_UDP_H

#include "dataplane/port/port.h"

struct port_udp_counters {
	uint64_t tx_datagrams; /* number of datagrams passed to the kernel */
	uint64_t tx_calls;     /* system calls that sent something */
	uint64_t tx_lost;      /* refused by the kernel: no route, link down, filtered, too big */
	uint64_t tx_full;      /* flushes that found the socket buffer full; no datagram is lost */
	uint64_t tx_bytes;     /* bytes of UDP payload, like rx_bytes */
	uint64_t tx_bursts;    /* GSO bursts: sends that the kernel or the NIC segmented */
	uint64_t tx_by_source[DATAGRAM_SOURCES_MAX]; /* datagrams per source port */
	uint64_t rx_datagrams;
	uint64_t rx_bytes;
	uint64_t rx_bursts;
	uint64_t rx_calls;    /* system calls that received something */
	uint64_t rx_dropped;  /* dropped because truncated, or with an invalid address */
	uint64_t rx_overflow; /* datagrams dropped because the socket buffer was full; the
				 kernel reports them with later packets */
	int tx_errno;	      /* errno of the last tx_lost; 0: none */
	bool gso;	      /* bursts leave as one super-packet */
	bool hot;	      /* one peer has its own connected socket */
	bool gro;	      /* bursts arrive as one super-packet */
};

void port_udp_counters_get(const struct port *p, struct port_udp_counters *ret);
/* The socket that serves all peers, owned by the port. For tests and diagnosis. */
int port_udp_socket(const struct port *p);

#endif
