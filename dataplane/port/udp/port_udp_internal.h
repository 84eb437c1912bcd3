/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the port_udp*.c files share; nobody else includes it. port_udp.c: opening, receiving, the
 * hot peer's socket. port_udp_tx.c: sending.
 */
#ifndef PLENUM_DATAPLANE_PORT_UDP_INTERNAL_H
#define PLENUM_DATAPLANE_PORT_UDP_INTERNAL_H

#include "dataplane/port/udp/port_udp.h"
#include "dataplane/port/udp/port_udp_socket.h"

#include <string.h>
#include <sys/socket.h>

#define TX_DATAGRAMS_MAX PORT_BURST_MAX /* queued between two system calls */
#define TRAIN_SEGMENTS_MAX 64		/* what every kernel since 4.18 takes */
#define TRAIN_BYTES_MAX 65000		/* below 65535 less any IP and UDP header */
#define TX_BYTES_MAX (4U << 20)		/* payload queued between two system calls */
#define TX_COPY_MOST 2048U		/* payload up to this is gathered here */
#define TX_ROOM_BYTES (TX_DATAGRAMS_MAX * (size_t)(DATAGRAM_HDR_MAX + TX_COPY_MOST))
#define RX_BUFS 16
#define RX_BUF_BYTES 65536U
#define TX_RETRY_NS (50 * NSEC_PER_USEC)
#define HOT_STREAK 256U	   /* buffers in a row from one peer that make it the hot one */
#define HOT_REVIEW 1024U   /* buffers after which it is asked whether it still is */
#define UNWATCH_AFTER 256U /* turns without arm(): the worker spins */
#define HOT_MAIN_EVERY 8U  /* turns of which one looks at the common socket */

union tx_control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(uint16_t))];
};

union rx_control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct timespec)) +
		   CMSG_SPACE(sizeof(uint32_t))];
};

/* One message to the kernel: datagrams of one size (the last may be smaller) to one address. */
struct train {
	struct datagram_addr dst;
	struct sockaddr_storage name;
	union tx_control control;
	uint32_t first_iov;
	uint32_t bytes;
	uint16_t segment_bytes;
	uint16_t segments;
	bool closed;	/* a smaller datagram ended it */
	bool hot;	/* leaves by the hot peer's socket */
	uint8_t source; /* or by this one's; 0: neither */
};

struct udp_tx {
	struct train trains[TX_DATAGRAMS_MAX];
	struct mmsghdr msgs[TX_DATAGRAMS_MAX];
	struct iovec iov[2 * TX_DATAGRAMS_MAX];
	/* Headers, and payload so short that the kernel takes longer over one more piece than we
	 * over a copy in warm memory: a train of full packets of 1500 bytes is one piece. */
	uint8_t *room; /* TX_ROOM_BYTES, touched as far as needed */
	size_t room_used;
	unsigned n_trains, n_datagrams, n_iov;
	unsigned sent;	/* trains that the kernel has taken */
	uint32_t bytes; /* payload queued */
	bool stashed;	/* the caller's memory is no longer referred to */
	uint8_t *stash; /* TX_BYTES_MAX, untouched until a socket buffer was full */
};

struct udp_rx {
	struct mmsghdr msgs[RX_BUFS];
	struct iovec iov[RX_BUFS];
	struct sockaddr_storage names[RX_BUFS];
	union rx_control controls[RX_BUFS];
	uint32_t overflow[2]; /* so many the common socket, the hot one have dropped */
	bool hot;	      /* what was filled is from that one */
	uint64_t read_ns;     /* the time by the clock that stamps them */
	uint8_t *bufs;	      /* RX_BUFS of RX_BUF_BYTES, touched as far as needed */
	unsigned batch;	      /* buffers offered to the next system call: grows under load */
	/* What the last system call brought and the caller had no room for. */
	unsigned filled, next;
	uint32_t offset;
};

/*
 * Where one peer sends nearly everything, it gets a connected socket beside the common one: the
 * kernel then looks up no route for its packets, which is an eighth of a short round trip.
 */
struct udp_hot {
	int fd; /* -1: nobody is hot */
	struct datagram_addr peer;
	uint32_t streak;	/* nobody is hot: buffers in a row from `peer` */
	uint32_t main_n, hot_n; /* buffers from either socket since the last review */
	uint32_t skipped;	/* turns since the common socket was looked at */
	/* The last look at the common socket brought something: it may have the peer's bulk data,
	 * by other source ports. Then the two take turns. */
	bool main_busy, main_due;
};

struct port_udp {
	int fd;
	/* An epoll of fd and hot.fd. While the worker spins they are not in it: being watched costs
	 * the sender of each packet some 300 ns, which is its time to give the packet to us. */
	int poll_fd;
	bool watched;
	uint32_t unarmed; /* turns since the last arm() */
	struct udp_local local;
	int announce_fd; /* negative: without CAP_NET_RAW switches learn from our traffic only */
	struct udp_hot hot;
	/* Of sources beside the first, which is fd; -1: there is none. Nothing is read from them:
	 * who answers does so to the first. */
	int source_fds[DATAGRAM_SOURCES_MAX];
	uint16_t source_ports[DATAGRAM_SOURCES_MAX];
	uint32_t datagram_max; /* what fits the leg's MTU */
	uint32_t big_bytes;    /* the kernel refused a datagram of this size; 0: none */
	struct datagram_addr big_dst;
	struct port_udp_counters counters;
	struct udp_tx tx;
	struct udp_rx rx;
};

static inline bool udp_addr_same(const struct datagram_addr *a, const struct datagram_addr *b)
{
	return a->port == b->port && a->ip.family == b->ip.family &&
	       memcmp(a->ip.bytes, b->ip.bytes, sizeof(a->ip.bytes)) == 0;
}

/* Hands queued trains to the kernel. 0: all gone; -EAGAIN: the socket buffer is full. */
int udp_tx_send(struct port_udp *u);
/* As struct port_ops says. */
int udp_tx(struct port *p, const struct datagram_addr *dst, const struct datagram *pkt);
void udp_tx_flush(struct port *p);
bool udp_tx_too_big(struct port *p, struct datagram_addr *ret_dst, uint32_t *ret_bytes);

#endif
