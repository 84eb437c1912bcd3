/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates, binds and connects the sockets of a UDP port, and announces the leg's address. It holds
 * no state. Only port_udp.c and port_udp_tx.c call it.
 */
#ifndef PLENUM_DATAPLANE_PORT_UDP_SOCKET_H
#define PLENUM_DATAPLANE_PORT_UDP_SOCKET_H

#include "dataplane/port/port.h"
#include <netinet/udp.h>

/* Constants that old C libraries do not have. */
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

struct udp_local {
	struct datagram_addr addr;
	uint32_t ifindex;
	bool spins; /* the worker polls, so the socket may poll the NIC's queue */
};

/* Features that the kernel supports. */
struct udp_features {
	bool gso, gro;
};

/* Writes the socket address of a to *ret. For a link-local address, the interface of l is its
 * scope. Returns its length, or -EAFNOSUPPORT. */
int udp_sockaddr_make(const struct udp_local *l, const struct datagram_addr *a,
		      struct sockaddr_storage *ret);
/* Opens the port's main socket, which receives everything sent to the address and UDP port of l.
 * Returns a descriptor that the caller owns, or a negative errno with a sentence in why. */
int udp_socket_open(const struct udp_local *l, struct udp_features *ret, struct reason *why);
/* Opens a second socket with the same address, connected to one peer. For packets to and from this
 * peer, the kernel then needs no route lookup. Returns a descriptor or a negative errno. */
int udp_socket_open_peer(const struct udp_local *l, int common_fd,
			 const struct datagram_addr *peer);
/* Opens a socket with the same IP address that only sends; packets that arrive on it are dropped.
 * The kernel chooses its UDP port, at a distance from the ports of workers, because several workers
 * may share the address. Returns a descriptor or a negative errno. */
int udp_socket_open_source(const struct udp_local *l, uint16_t *ret_port);
/* Opens the socket for announcements. Call it while the worker still has CAP_NET_RAW; using the
 * socket needs no privilege. Returns a descriptor that the caller owns, or a negative errno. */
int udp_announce_open(void);
/* Sends a gratuitous ARP or an unsolicited neighbour advertisement from the socket that
 * udp_announce_open() opened. Returns 0, -EPERM if fd is negative, or another negative errno. */
int udp_announce(int fd, const struct udp_local *l);

#endif
