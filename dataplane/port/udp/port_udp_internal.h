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
#define BURST_SEGMENTS_MAX 64 /* limit of every kernel since 4.18 */
#define BURST_BYTES_MAX 65000 /* below 65535 minus the IP and UDP headers */
/* Maximum number of payload bytes queued between two system calls. */
#define TX_BYTES_MAX (4U << 20)
#define TX_COPY_MOST 2048U /* payloads up to this many bytes are copied */
#define TX_ROOM_BYTES (TX_DATAGRAMS_MAX * (size_t)(DATAGRAM_HDR_MAX + TX_COPY_MOST))
#define RX_BUFS 16
#define RX_BUF_BYTES 65536U
#define TX_RETRY_NS (50 * NSEC_PER_USEC)
#define HOT_STREAK 256U	 /* consecutive buffers from one peer that make it the hot peer */
#define HOT_REVIEW 1024U /* buffers until the next check whether the peer is still hot */
/* Number of rx calls without arm() after which the worker counts as spinning. */
#define UNWATCH_AFTER 256U
#define HOT_MAIN_EVERY 8U /* one in this many rx calls reads the common socket */
/* number of buffers from the hot peer's socket after which an rx call reads the common socket
 * too */
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

/* A GSO burst, which is one message to the kernel: datagrams of one size to one address; only the
 * last may be smaller. */
struct gso_burst {
	struct datagram_addr dst;
	struct sockaddr_storage name;
	union tx_control control;
	uint32_t first_iov;
	uint32_t bytes;
	uint16_t segment_bytes;
	uint16_t segments;
	bool closed;	/* no further datagram may join, because a smaller one has ended the
			   burst */
	bool hot;	/* leaves from the hot peer's socket */
	uint8_t source; /* index of the source port from whose socket the burst leaves; 0: the
			   port's main socket */
};

struct udp_tx {
	struct gso_burst bursts[TX_DATAGRAMS_MAX];
	struct mmsghdr msgs[TX_DATAGRAMS_MAX];
	struct iovec iov[2 * TX_DATAGRAMS_MAX];
	/* Holds copies of headers and of short payloads: copying a short payload, whose memory is
	 * in the cache, costs us less than one more iovec costs the kernel. A burst of full
	 * 1500-byte packets is thus one piece. */
	uint8_t *room; /* TX_ROOM_BYTES, of which memory is used only as needed */
	size_t room_used;
	unsigned n_bursts, n_datagrams, n_iov;
	unsigned sent;	/* number of bursts that the kernel has taken */
	uint32_t bytes; /* bytes of queued payload */
	bool stashed;	/* the queued payload was copied to `stash`, so the caller may reuse its
			   memory */
	uint8_t *stash; /* TX_BYTES_MAX bytes; unused until a socket buffer is full */
};

struct udp_rx {
	struct mmsghdr msgs[RX_BUFS];
	struct iovec iov[RX_BUFS];
	struct sockaddr_storage names[RX_BUFS];
	union rx_control controls[RX_BUFS];
	uint32_t overflow[2]; /* drop counts that the common socket [0] and the hot socket [1] have
				 reported */
	bool hot;	      /* the filled buffers are from the hot socket */
	uint64_t read_ns;     /* when the buffers were read, by the same clock as the packets'
				 timestamps */
	uint8_t *bufs; /* RX_BUFS buffers of RX_BUF_BYTES, of which memory is used only as needed */
	unsigned batch; /* buffers per system call; grows under load */
	/* Buffers filled by the last system call; `next` is the first buffer that was not returned
	 * yet. */
	unsigned filled, next;
	uint32_t offset;
};

/*
 * If nearly all packets come from one peer, it gets a connected socket in addition to the common
 * socket. The kernel then skips the route lookup for its packets, which takes an eighth of a short
 * round trip.
 */
struct udp_hot {
	int fd; /* socket of the hot peer; -1: no peer is hot */
	struct datagram_addr peer;
	uint32_t streak; /* number of consecutive buffers from `peer`, while no peer is hot */
	/* Buffers from the common and from the hot socket since the last check. */
	uint32_t main_n, hot_n;
	uint32_t skipped;    /* empty rx calls since the common socket was read */
	uint32_t since_main; /* buffers from the hot socket since the common socket was read */
	/* main_busy: the last read of the common socket returned packets, perhaps the hot peer's
	 * bulk data from other source ports. Both sockets are then read in turn. main_due: the
	 * common socket is next. */
	bool main_busy, main_due;
};

struct port_udp {
	int fd;
	/* An epoll descriptor that watches fd and hot.fd, except while the worker spins, because a
	 * watched socket delays the sender of each packet by some 300 ns. */
	int poll_fd;
	bool watched;
	uint32_t unarmed; /* rx calls since the last arm() */
	struct udp_local local;
	int announce_fd; /* socket for announcements; negative: no CAP_NET_RAW, so switches
			    learn the address only from our traffic */
	struct udp_hot hot;
	/* Sockets of additional source ports; -1: none. They are never read: answers come to source
	 * port 0, whose socket is fd. */
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
/* Has the same contract as port_ops.tx. */
int udp_tx(struct port *p, const struct datagram_addr *dst, const struct datagram *pkt);
void udp_tx_flush(struct port *p);
bool udp_tx_too_big(struct port *p, struct datagram_addr *ret_dst, uint32_t *ret_bytes);

#endif
