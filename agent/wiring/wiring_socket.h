/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sockets of the wiring watch: one per leg and family that receives the ARP or neighbour discovery
 * packets that concern watched addresses, and one that sends. The filter is the kernel's, so that
 * the traffic of a large network costs the agent nothing. The caller closes the descriptors.
 */
#ifndef PLENUM_AGENT_WIRING_SOCKET_H
#define PLENUM_AGENT_WIRING_SOCKET_H

#include "netcfg/base/addr.h"

/* The addresses of one family that a socket is opened for. */
struct wiring_filter {
	/* Packets of hosts that use one of these, and probes for them of hosts without an address.
	 */
	const struct ip_addr *watched;
	size_t n_watched;
};
#define WIRING_FILTER_MAX 128 /* addresses in a list; further ones are left out */

/* Receives Ethernet frames of the link with these packets of family AF_INET or AF_INET6, without
 * VLAN tags and without those that the host sends. The descriptor, or negative errno. */
int wiring_socket_open(uint32_t ifindex, uint8_t family, const struct wiring_filter *f);
/* A socket that receives nothing, for wiring_socket_send. */
int wiring_socket_sender(void);
struct wiring_packet;
/* 0; negative errno: it was not sent. */
int wiring_socket_send(int fd, const struct wiring_packet *p);

#endif
