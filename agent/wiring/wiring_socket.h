/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sockets of the wiring watch. One socket per leg and family receives the ARP or neighbour
 * discovery packets about watched addresses. A further socket sends. The kernel filters the
 * packets, so that the traffic of a large network costs the agent no time. The caller closes the
 * descriptors.
 */
#ifndef PLENUM_AGENT_WIRING_SOCKET_H
#define PLENUM_AGENT_WIRING_SOCKET_H

#include "netcfg/base/addr.h"

/* The addresses, of one family, for which a socket receives packets. */
struct wiring_filter {
	/* Receives packets of hosts that use one of these addresses, and of hosts without an
	 * address that send an address probe for one of them. */
	const struct ip_addr *watched;
	size_t n_watched;
};
/* Maximum number of addresses per list; further addresses are ignored. */
#define WIRING_FILTER_MAX 128

/* Receives the link's Ethernet frames with packets of `family`, AF_INET or AF_INET6, that the
 * filter accepts. Frames with VLAN tags, and those that the host itself sends, are dropped. Returns
 * the descriptor, or negative errno. */
int wiring_socket_open(uint32_t ifindex, uint8_t family, const struct wiring_filter *f);
/* Opens a socket for wiring_socket_send, which receives nothing. */
int wiring_socket_sender(void);
struct wiring_packet;
/* Sends a probe, a request or an announcement. Returns 0, or negative errno if the packet was not
 * sent. */
int wiring_socket_send(int fd, const struct wiring_packet *p);

#endif
