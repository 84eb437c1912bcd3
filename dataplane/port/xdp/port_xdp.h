/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private to the AF_XDP port and its tests: the program on the interface (port_xdp_program.c),
 * memory and rings shared with the kernel (port_xdp_socket.c), frames that the program leaves to
 * the kernel and the port must see too (port_xdp_control.c), and the port itself (port_xdp.c).
 *
 * The kernel keeps the interface: it passes to the port only datagrams for its address and port,
 * and gets everything back when the descriptors close, however the process ends. Linux 5.9 and
 * later (XDP links); several queues since 5.10. Documentation/networking/af_xdp.rst.
 */
#ifndef PLENUM_DATAPLANE_PORT_XDP_H
#define PLENUM_DATAPLANE_PORT_XDP_H

#include "dataplane/launch.h"
#include "dataplane/port/l2/port_l2.h"

#define PORT_XDP_QUEUES_MAX 16

/* ---- the program ---- */

enum port_xdp_mode {
	PORT_XDP_NATIVE,  /* in the driver */
	PORT_XDP_GENERIC, /* after the driver, on any interface */
};

/* Creates a map of n_queues sockets by receive queue. Its descriptor; negative errno. */
int port_xdp_map_new(unsigned n_queues);
int port_xdp_map_set(int map, unsigned queue, int socket);
/*
 * Loads a program that redirects complete UDP datagrams for local's MAC, IP and port to the socket
 * of their queue, if there is one, and leaves everything else to the kernel: other packets,
 * fragments, packets with IP options or extension headers, tagged and short ones. Its descriptor;
 * negative errno.
 */
int port_xdp_program_load(const struct port_l2_local *local, int map);
/* Attaches the program to the interface for as long as the descriptor is open anywhere. The
 * descriptor; negative errno: -EBUSY: another program is attached. */
int port_xdp_link_new(int program, uint32_t ifindex, enum port_xdp_mode mode);

/* ---- sockets ---- */

struct port_xdp_ring { /* shared with the kernel; holds frame addresses or descriptors */
	/* Written by one side each. Partner: the kernel's xsk_queue.h. */
	uint32_t *producer, *consumer;
	void *entries;
	uint32_t mask;
	uint32_t own; /* our position; the kernel sees it up to a burst later */
	void *map;
	size_t map_bytes;
};

struct port_xdp_queue {
	int fd;
	struct port_xdp_ring fill, rx;
};

struct port_xdp_socket {
	uint8_t *memory; /* frames, of frame_bytes each */
	size_t memory_bytes;
	uint32_t frame_bytes;
	unsigned n_queues;
	struct port_xdp_queue queues[PORT_XDP_QUEUES_MAX];
	struct port_xdp_ring tx, completion; /* of queues[0], which sends everything */
	uint64_t *free_frames;
	unsigned n_free;
	unsigned next_queue; /* read first, so that no queue starves */
	uint32_t moved;	     /* the kernel's send progress as of the last call */
	bool no_progress;    /* no progress since the call before */
};

struct port_xdp_frame {
	uint64_t address;
	uint8_t *data;
	uint32_t len;
	uint16_t queue;
};

/* Bytes of a frame buffer for the MTU: half a page or a page. */
unsigned port_xdp_frame_bytes(uint32_t mtu);
/* The interface's receive queues: the driver's number or the kernel's, whichever is larger. */
unsigned port_xdp_queues_count(const char *ifname);
/* Opens and binds one socket per queue; the interface's traffic is not interrupted. Pass *s to
 * _done() also after a failure. 0; negative errno: -EBUSY: another process has a queue. */
int port_xdp_socket_init(struct port_xdp_socket *s, uint32_t ifindex, unsigned n_queues,
			 uint32_t mtu, bool zero_copy);
void port_xdp_socket_done(struct port_xdp_socket *s);
/* Up to max frames; the caller owns their memory until _give_back(). */
unsigned port_xdp_socket_rx(struct port_xdp_socket *s, struct port_xdp_frame *frames, unsigned max);
void port_xdp_socket_give_back(struct port_xdp_socket *s, const struct port_xdp_frame *frames,
			       unsigned n);
bool port_xdp_socket_has_rx(const struct port_xdp_socket *s);
/* Frames that arrived without a free buffer, from the kernel's counters: one call per queue. */
uint64_t port_xdp_socket_missed(const struct port_xdp_socket *s);
/* Memory for a frame to send. NULL: no free frame, or the ring is full. */
uint8_t *port_xdp_socket_tx_get(struct port_xdp_socket *s, uint64_t *ret_address);
void port_xdp_socket_tx_put(struct port_xdp_socket *s, uint64_t address, uint32_t len);
/* Lets the kernel send the queued frames. Returns the frames it has not taken, as far as known;
 * s->no_progress if nothing has moved since the last call. */
unsigned port_xdp_socket_tx_send(struct port_xdp_socket *s);

/* ---- what the program leaves to the kernel ---- */

/* ARP, neighbour discovery and echo requests: the kernel receives them too. */
struct port_xdp_control {
	int fd;
	uint8_t *ring;
	unsigned next;
};

int port_xdp_control_init(struct port_xdp_control *c, const struct port_l2_local *local,
			  uint32_t ifindex);
void port_xdp_control_done(struct port_xdp_control *c);
bool port_xdp_control_has(const struct port_xdp_control *c);
/* The oldest frame, valid until _drop(). NULL: none. */
const uint8_t *port_xdp_control_get(const struct port_xdp_control *c, uint32_t *ret_len);
void port_xdp_control_drop(struct port_xdp_control *c);

/* Destination of its frames. */
struct port_neigh;
struct port_xdp_control_to {
	const struct port_l2_local *local;
	struct port_neigh *neigh;
	struct launch_port_counters *counters; /* counts drops */
	/* Sees each frame first. NULL: no capture. */
	void (*look)(void *user, const uint8_t *frame, uint32_t len);
	void *user;
};
/* Passes received control frames to the neighbours; a limited number, so that datagrams get their
 * turn. */
void port_xdp_control_input(struct port_xdp_control *c, const struct port_xdp_control_to *to,
			    uint64_t now_ns);

#endif
