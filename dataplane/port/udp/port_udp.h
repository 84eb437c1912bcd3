/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the UDP port offers beyond struct port_ops: its counters and the traffic class. Called by
 * the worker's owner of the port, from the port's thread only. All other access is by port_udp_ops.
 */
#ifndef PLENUM_DATAPLANE_PORT_UDP_H
#define PLENUM_DATAPLANE_PORT_UDP_H

#include "dataplane/port/port.h"

struct port_udp_counters {
	uint64_t tx_datagrams; /* handed to the kernel */
	uint64_t tx_calls;     /* system calls that sent something */
	uint64_t tx_lost;      /* refused by the kernel: no route, link down, filtered, too big */
	uint64_t tx_full;      /* flushes that met a full socket buffer; nothing is lost by them */
	uint64_t tx_bytes;     /* of UDP payload, as those received */
	uint64_t tx_trains;    /* of several datagrams that the kernel or the NIC cut */
	uint64_t tx_by_source[DATAGRAM_SOURCES_MAX]; /* datagrams */
	uint64_t rx_datagrams;
	uint64_t rx_bytes;
	uint64_t rx_trains;
	uint64_t rx_calls;    /* system calls that received something */
	uint64_t rx_dropped;  /* truncated or from an address that is none */
	uint64_t rx_overflow; /* found the socket's buffer full, as far as what came later tells */
	int tx_errno;	      /* of the last tx_lost; 0: none */
	bool gso;	      /* trains leave as one super-packet */
	bool hot;	      /* one peer has a connected socket of its own */
	bool gro;	      /* trains arrive as one super-packet */
};

void port_udp_counters_get(const struct port *p, struct port_udp_counters *ret);
/* DSCP and ECN bits of everything sent from now on (ip(7) IP_TOS, ipv6(7) IPV6_TCLASS). 0; negative
 * errno. */
int port_udp_set_tos(struct port *p, uint8_t tos);
/* The common socket; the port's. For tests and diagnosis. */
int port_udp_socket(const struct port *p);

#endif
