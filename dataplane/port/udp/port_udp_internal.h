/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declarations that only the port_udp*.c files use. port_udp.c opens the port, receives, and
 * manages the socket of the hot peer, from which nearly all packets come; port_udp_tx.c sends.
 */
#ifndef PLENUM_DATAPLANE_PORT_UDP_INTERNAL_H
#define PLENUM_DATAPLANE_PORT_UDP_INTERNAL_H

#include "dataplane/port/udp/port_udp.h"
#include "dataplane/port/udp/port_udp_socket.h"

#include <string.h>
#include <sys/socket.h>

/* Maximum number of datagrams queued between two system calls. */
#define TX_DATAGRAMS_MAX PORT_BURST_MAX
#define BURST_SEGMENTS_MAX 64 /* the limit of every kernel since 4.18 */
#define BURST_BYTES_MAX 65000 /* less than 65535 minus the IP and UDP headers */
/* Maximum number of payload bytes queued between two system calls. */
#define TX_BYTES_MAX (4U << 20)
#define TX_COPY_MOST 2048U /* payloads of up to this many bytes are copied */
#define TX_ROOM_BYTES (TX_DATAGRAMS_MAX * (size_t)(DATAGRAM_HDR_MAX + TX_COPY_MOST))
#define RX_BUFS 16
#define RX_BUF_BYTES 65536U
#define TX_RETRY_NS (50 * NSEC_PER_USEC)
#define HOT_STREAK 256U /* this many consecutive buffers from one peer make it the hot peer */
/* After this many buffers, the port checks whether the peer is still hot. */
#define HOT_REVIEW 1024U
/* After this many rx calls without arm(), the worker counts as polling. */
#define UNWATCH_AFTER 256U
#define HOT_MAIN_EVERY 8U /* one in this many rx calls reads the common socket */
/* after this many buffers from the hot peer's socket, an rx call also reads the common socket */
#define HOT_MAIN_BUFS 32U

union tx_control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(uint16_t))];
};

union rx_control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct timespec)) +
		   CMSG_SPACE(sizeof(uint32_t))];
};

/* A GSO burst is one message to the kernel: datagrams of equal size to one address; only the last
 * one may be smaller. */
struct gso_burst {
	struct datagram_addr dst;
	struct sockaddr_storage name;
	union tx_control control;
	uint32_t first_iov;
	uint32_t bytes;
	uint16_t segment_bytes;
	uint16_t segments;
	bool closed;	/* no further datagram can be added, because a smaller one has ended the
			   burst */
	bool hot;	/* sent from the hot peer's socket */
	uint8_t source; /* index of the source port from whose socket the burst is sent; 0: the
			   port's main socket */
};

struct udp_tx {
	struct gso_burst bursts[TX_DATAGRAMS_MAX];
	struct mmsghdr msgs[TX_DATAGRAMS_MAX];
	struct iovec iov[2 * TX_DATAGRAMS_MAX];
	/* Copies of headers and of short payloads. Copying a short payload, which is in the
	 * processor's cache, costs less than another iovec costs the kernel. So a burst of full
	 * 1500-byte packets is one piece of memory. */
	uint8_t *room; /* TX_ROOM_BYTES of address space; pages are allocated on first use */
	size_t room_used;
	unsigned n_bursts, n_datagrams, n_iov;
	unsigned sent;	/* count of bursts that the kernel has taken */
	uint32_t bytes; /* bytes of queued payload */
	bool stashed;	/* the queued payload was copied to `stash`, so the caller may reuse its own
			   memory */
	uint8_t *stash; /* TX_BYTES_MAX bytes; unused until a socket buffer is full */
};

struct udp_rx {
	struct mmsghdr msgs[RX_BUFS];
	struct iovec iov[RX_BUFS];
	struct sockaddr_storage names[RX_BUFS];
	union rx_control controls[RX_BUFS];
	uint32_t overflow[2]; /* numbers of dropped packets that the common socket [0] and the hot
				 socket [1] have reported */
	bool hot;	      /* the filled buffers are from the hot socket */
	uint64_t read_ns;     /* when the buffers were read, by the same clock as the packets'
				 timestamps */
	uint8_t *bufs;	/* RX_BUFS buffers of RX_BUF_BYTES; pages are allocated on first use */
	unsigned batch; /* count of buffers in a system call; grows under load */
	/* Buffers that the last system call filled; `next` is the first one that was not returned
	 * yet. */
	unsigned filled, next;
	uint32_t offset;
};

/*
 * If nearly all packets come from one peer, that peer gets a connected socket in addition to the
 * common socket. The kernel then needs no route lookup for its packets, which saves an eighth of a
 * short round trip.
 */
struct udp_hot {
	int fd; /* socket of the hot peer; -1: no peer is hot */
	struct datagram_addr peer;
	uint32_t streak; /* count of consecutive buffers from `peer`, while no peer is hot */
	/* Buffers from the common and from the hot socket since the last check. */
	uint32_t main_n, hot_n;
	uint32_t skipped;    /* count of empty rx calls since the common socket was read */
	uint32_t since_main; /* count of buffers from the hot socket since the common socket was
				read */
	/* main_busy: the last read of the common socket returned packets, perhaps bulk data that
	 * the hot peer sent from other source ports; both sockets are then read in turn. main_due:
	 * the common socket is read next. */
	bool main_busy, main_due;
};

struct port_udp {
	int fd;
	/* An epoll descriptor that watches fd and hot.fd. While the worker polls, it does not watch
	 * them, because a watched socket delays the sender of each packet by some 300 ns. */
	int poll_fd;
	bool watched;
	uint32_t unarmed; /* count of rx calls since the last arm() */
	struct udp_local local;
	int announce_fd; /* socket for announcements; negative: the worker lacks CAP_NET_RAW, so
			    switches learn the address only from other packets */
	struct udp_hot hot;
	/* Sockets of the additional source ports; -1: none. They are never read, because answers
	 * come to source port 0, whose socket is fd. */
	int source_fds[DATAGRAM_SOURCES_MAX];
	uint16_t source_ports[DATAGRAM_SOURCES_MAX];
	uint32_t datagram_max; /* bytes of the largest datagram that fits the leg's MTU */
	uint32_t big_bytes; /* size of a datagram that the kernel refused as too big; 0: none since
			       udp_tx_too_big() last reported one */
	struct datagram_addr big_dst;
	struct port_udp_counters counters;
	struct launch_refusal refusals[LAUNCH_REFUSALS_MAX];
	struct udp_tx tx;
	struct udp_rx rx;
};

static inline bool udp_addr_same(const struct datagram_addr *a, const struct datagram_addr *b)
{
	return a->port == b->port && a->ip.family == b->ip.family &&
	       memcmp(a->ip.bytes, b->ip.bytes, sizeof(a->ip.bytes)) == 0;
}

/* Passes the queued bursts to the kernel. Returns 0 if it took all of them, or -EAGAIN if the
 * socket buffer is full. */
int udp_tx_send(struct port_udp *u);
/* Has the contract of port_ops.tx. */
int udp_tx(struct port *p, const struct datagram_addr *dst, const struct datagram *pkt);
void udp_tx_flush(struct port *p);
bool udp_tx_too_big(struct port *p, struct datagram_addr *ret_dst, uint32_t *ret_bytes);

#endif
