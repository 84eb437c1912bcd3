/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends the first packet of a session (HELLO, see plenum-protocol(7)) from this host's data IPs to
 * the data ports of other hosts' workers, and counts the answers. Each worker answers such a packet
 * without storing any state. Needs no privileges and changes nothing.
 */
#ifndef PLENUM_NETCFG_PORT_PROBE_H
#define PLENUM_NETCFG_PORT_PROBE_H

#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"

#define PORT_PROBE_PACKETS_MAX 128

struct port_probe {
	struct ip_addr from, to;
	uint32_t ifindex; /* link by which an answer must arrive to count; 0: any link */
	uint16_t port;
	/* Send from this host's data port, so that the answers take the same path as packets to a
	 * worker. If this is not set or another program uses the port, the kernel chooses a
	 * port. */
	bool own_port;
	uint32_t bytes;	    /* size of the IP packets, which are never fragmented */
	unsigned n_packets; /* count of packets, at most PORT_PROBE_PACKETS_MAX */

	/* ---- results ---- */
	bool had_own_port;
	unsigned n_sent, n_answered;
	/* 0 if this host sent all packets, or else the negative errno of a packet that it could not
	 * send. */
	int send_error;
	/* Errno of the last ICMP error that a packet caused (0 if none), and the address of the
	 * host that sent the error. */
	int icmp_error;
	struct ip_addr icmp_by;
	uint64_t seen[PORT_PROBE_PACKETS_MAX / 64]; /* one bit for each answered packet */
};

/* Sends the packets of all probes, with some milliseconds between two packets of a probe, and waits
 * at most limit_ns for the last answers. Returns 0, or negative errno if nothing was sent. */
int port_probe_run(struct port_probe *probes, size_t n, uint64_t limit_ns);

#endif
