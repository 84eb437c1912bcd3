/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declarations private to the AF_XDP port and its tests: the program on the interface
 * (port_xdp_program.c), memory and rings shared with the kernel (port_xdp_socket.c), copies of
 * frames that the program leaves to the kernel and the port needs too (port_xdp_control.c), and the
 * port itself (port_xdp.c).
 *
 * The kernel keeps the interface. Only datagrams for the port's address and UDP port go to the
 * port. When its descriptors are closed, for whatever reason the process ends, the kernel gets
 * these datagrams again. Needs Linux 5.9 (XDP links), and 5.10 for several queues.
 * Documentation/networking/af_xdp.rst.
 */
#ifndef PLENUM_DATAPLANE_PORT_XDP_H
#define PLENUM_DATAPLANE_PORT_XDP_H

#include "dataplane/launch.h"
#include "dataplane/port/l2/port_l2.h"

#define PORT_XDP_QUEUES_MAX 16

/* ---- the program ---- */

enum port_xdp_mode {
	PORT_XDP_NATIVE,  /* the program runs in the driver */
	PORT_XDP_GENERIC, /* the program runs in the kernel after the driver, on any interface */
};

/* Creates a map from receive queues to sockets, for n_queues queues. Returns its descriptor or a
 * negative errno. */
int port_xdp_map_new(unsigned n_queues);
int port_xdp_map_set(int map, unsigned queue, int socket);
/*
 * Loads an XDP program that redirects complete UDP datagrams for the MAC, IP address and port in
 * `local`. The target is the socket of the queue on which a datagram arrives, if that queue has a
 * socket. The program leaves everything else to the kernel: other packets, fragments, packets with
 * IP options or extension headers, and frames with a VLAN tag or too short to be valid. Returns the
 * program's descriptor or a negative errno.
 */
int port_xdp_program_load(const struct port_l2_local *local, int map);
/* Attaches the program to the interface for as long as any process has the descriptor open. Returns
 * the descriptor, -EBUSY if another program is attached, or another negative errno. */
int port_xdp_link_new(int program, uint32_t ifindex, enum port_xdp_mode mode);

/* ---- sockets ---- */

struct port_xdp_ring { /* shared with the kernel; holds frame addresses or descriptors */
	/* Positions in the ring; each is written by one side only. The kernel's code for them is in
	 * its xsk_queue.h. */
	uint32_t *producer, *consumer;
	void *entries;
	uint32_t mask;
	uint32_t own; /* this side's position in the ring; the kernel sees it at the end of the
			 burst */
	void *map;
	size_t map_bytes;
};

struct port_xdp_queue {
	int fd;
	struct port_xdp_ring fill, rx;
};

struct port_xdp_socket {
	uint8_t *memory; /* frames, each of frame_bytes */
	size_t memory_bytes;
	uint32_t frame_bytes;
	unsigned n_queues;
	struct port_xdp_queue queues[PORT_XDP_QUEUES_MAX];
	struct port_xdp_ring tx, completion; /* rings of queues[0], which sends all frames */
	uint64_t *free_frames;
	unsigned n_free;
	unsigned next_queue; /* the queue that is read first; it changes with each call, so that all
				queues are served */
	uint32_t moved;	     /* value of moved() at the last call of port_xdp_socket_tx_send(): how
				far the kernel had sent then */
	bool no_progress;    /* the kernel sent nothing between the last two calls of
				port_xdp_socket_tx_send() */
};

struct port_xdp_frame {
	uint64_t address;
	uint8_t *data;
	uint32_t len;
	uint16_t queue;
};

/* Returns the size in bytes of a frame buffer for that MTU: half a page or a page. */
unsigned port_xdp_frame_bytes(uint32_t mtu);
/* Returns the number of the interface's receive queues. Driver and kernel may report different
 * numbers; this is the larger one. */
unsigned port_xdp_queues_count(const char *ifname);
/* Opens one socket per queue and binds it, without interrupting the interface's traffic. Pass *s to
 * port_xdp_socket_done() also after a failure. Returns 0, -EBUSY if another process has a queue, or
 * another negative errno. */
int port_xdp_socket_init(struct port_xdp_socket *s, uint32_t ifindex, unsigned n_queues,
			 uint32_t mtu, bool zero_copy);
void port_xdp_socket_done(struct port_xdp_socket *s);
/* Receives up to max frames and returns their number. The caller may use their memory until it
 * passes them to port_xdp_socket_give_back(). */
unsigned port_xdp_socket_rx(struct port_xdp_socket *s, struct port_xdp_frame *frames, unsigned max);
void port_xdp_socket_give_back(struct port_xdp_socket *s, const struct port_xdp_frame *frames,
			       unsigned n);
bool port_xdp_socket_has_rx(const struct port_xdp_socket *s);
/* Returns how many frames arrived while no buffer was free, from the kernel's counters. Makes one
 * system call per queue. */
uint64_t port_xdp_socket_missed(const struct port_xdp_socket *s);
/* Returns memory for a frame to send, or NULL if no frame is free or the ring is full. */
uint8_t *port_xdp_socket_tx_get(struct port_xdp_socket *s, uint64_t *ret_address);
void port_xdp_socket_tx_put(struct port_xdp_socket *s, uint64_t address, uint32_t len);
/* Makes the kernel send the queued frames. Returns how many frames the kernel has not taken, as far
 * as is known. Sets s->no_progress if the kernel has sent nothing since the last call. */
unsigned port_xdp_socket_tx_send(struct port_xdp_socket *s);

/* ---- frames that the program leaves to the kernel ---- */

/* Copies of ARP, neighbour discovery and echo request frames, which the kernel receives too. */
struct port_xdp_control {
	int fd;
	uint8_t *ring;
	unsigned next;
};

int port_xdp_control_init(struct port_xdp_control *c, const struct port_l2_local *local,
			  uint32_t ifindex);
void port_xdp_control_done(struct port_xdp_control *c);
bool port_xdp_control_has(const struct port_xdp_control *c);
/* Returns the oldest frame, which is valid until port_xdp_control_drop(), or NULL if no frame is
 * waiting. */
const uint8_t *port_xdp_control_get(const struct port_xdp_control *c, uint32_t *ret_len);
void port_xdp_control_drop(struct port_xdp_control *c);

/* The destination of frames that port_xdp_control_input() passes on. */
struct port_neigh;
struct port_xdp_control_to {
	const struct port_l2_local *local;
	struct port_neigh *neigh;
	struct launch_port_counters *counters; /* counts dropped frames */
	/* Called with each frame before it is processed, for the capture; NULL: no capture. */
	void (*look)(void *user, const uint8_t *frame, uint32_t len);
	void *user;
};
/* Passes received control frames to to->neigh. Passes a limited number per call, so that datagrams
 * are processed too. */
void port_xdp_control_input(struct port_xdp_control *c, const struct port_xdp_control_to *to,
			    uint64_t now_ns);

#endif
