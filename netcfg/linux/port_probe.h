/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends the first packet of a session (HELLO, see plenum-protocol(7)) to the data port of other
 * hosts' workers, from this host's data IPs, and counts the answers. Every worker answers such a
 * packet and remembers nothing of it. Needs no privileges; changes nothing.
 */
#ifndef PLENUM_NETCFG_PORT_PROBE_H
#define PLENUM_NETCFG_PORT_PROBE_H

#include "netcfg/base/addr.h"
#include "netcfg/base/base.h"

#define PORT_PROBE_PACKETS_MAX 128

struct port_probe {
	struct ip_addr from, to;
	uint32_t ifindex; /* answers that arrive by another link do not count */
	uint16_t port;
	/* Send from this host's own data port, where no program has it: answers then take the very
	 * path of those to a worker. Else, or where the port is in use, the kernel chooses one. */
	bool own_port;
	uint32_t bytes;	    /* size of the IP packets; never fragmented */
	unsigned n_packets; /* PORT_PROBE_PACKETS_MAX at most */

	/* ---- results ---- */
	bool had_own_port;
	unsigned n_sent, n_answered;
	/* Why this host did not send a packet: a negative errno; 0: it sent all. */
	int send_error;
	/* The last ICMP error that a packet caused: its errno, 0 for none, and the host that sent
	 * it. */
	int icmp_error;
	struct ip_addr icmp_by;
	uint64_t seen[PORT_PROBE_PACKETS_MAX / 64]; /* bit per answered packet */
};

/* Sends the packets of all probes, one every few milliseconds each, and waits at most limit_ns
 * for the last answers. 0; negative errno: nothing was sent. */
int port_probe_run(struct port_probe *probes, size_t n, uint64_t limit_ns);

#endif
