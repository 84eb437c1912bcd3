/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sockets of a UDP port: making, binding and connecting them, and announcing the leg's address.
 * Owns nothing. Called by port_udp.c only.
 */
#ifndef PLENUM_DATAPLANE_PORT_UDP_SOCKET_H
#define PLENUM_DATAPLANE_PORT_UDP_SOCKET_H

#include "dataplane/port/port.h"
#include <netinet/udp.h>

/* C libraries of old have none of these. */
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

struct udp_local {
	struct datagram_addr addr;
	uint32_t ifindex;
	bool spins; /* the worker polls: let it drive the NIC's queue */
	uint8_t tos;
};

/* What the kernel offers. */
struct udp_features {
	bool gso, gro;
};

/* Length of the name; -EAFNOSUPPORT. Link-local addresses get their scope. */
int udp_sockaddr_make(const struct udp_local *l, const struct datagram_addr *a,
		      struct sockaddr_storage *ret);
/* The port's socket, which takes everything sent to the address. A descriptor, the caller's;
 * negative errno with a sentence in why. */
int udp_socket_open(const struct udp_local *l, struct udp_features *ret, char *why);
/* One more socket with the same address, connected to one peer. It spares the kernel the route
 * lookups of every packet to and from it. A descriptor; negative errno. */
int udp_socket_open_peer(const struct udp_local *l, int common_fd,
			 const struct datagram_addr *peer);
/* One more socket with the same IP address, to send from: what comes to it is dropped. Its port is
 * the kernel's choice, and far from those of workers, which may share the address. A descriptor;
 * negative errno. */
int udp_socket_open_source(const struct udp_local *l, uint16_t *ret_port);
int udp_socket_set_tos(int fd, const struct udp_local *l);
/* The socket that announcements leave by; to be opened while the worker still has CAP_NET_RAW, it
 * needs none later. A descriptor, the caller's; negative errno. */
int udp_announce_open(void);
/* Gratuitous ARP / unsolicited neighbour advertisement by that socket. -EPERM: fd is negative. */
int udp_announce(int fd, const struct udp_local *l);

#endif
