/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside the AF_XDP port: the program on the interface (port_xdp_program.c), memory and rings that
 * are shared with the kernel (port_xdp_socket.c), the frames that the program leaves to the kernel
 * and the port has to see as well (port_xdp_control.c), and the port itself (port_xdp.c). Nobody
 * but these and their tests includes this.
 *
 * The kernel keeps the interface: of what comes it gives the port the datagrams for its address and
 * port alone, and all of it back when the descriptors close, however the process ends. Linux 5.9
 * and later (links of XDP); several queues from 5.10 on. Documentation/networking/af_xdp.rst.
 */
#ifndef PLENUM_DATAPLANE_PORT_XDP_H
#define PLENUM_DATAPLANE_PORT_XDP_H

#include "dataplane/launch.h"
#include "dataplane/port/l2/port_l2.h"

#define PORT_XDP_QUEUES_MAX 16

/* ---- the program ---- */

enum port_xdp_mode {
	PORT_XDP_NATIVE,  /* in the driver */
	PORT_XDP_GENERIC, /* behind it, which every interface can */
};

/* A map of n_queues sockets by receive queue. Its descriptor; negative errno. */
int port_xdp_map_new(unsigned n_queues);
int port_xdp_map_set(int map, unsigned queue, int socket);
/*
 * Gives what is a whole UDP datagram to local's MAC, IP and port to the socket of its queue, where
 * there is one, and everything else to the kernel: other packets, fragments, those with IP options
 * or extension headers, tagged ones, short ones. Its descriptor; negative errno.
 */
int port_xdp_program_load(const struct port_l2_local *local, int map);
/* The program is on the interface as long as the descriptor is open anywhere. It; negative errno:
 * -EBUSY where another one is there. */
int port_xdp_link_new(int program, uint32_t ifindex, enum port_xdp_mode mode);

/* ---- sockets ---- */

struct port_xdp_ring { /* of frames' numbers or descriptors, between us and the kernel */
	/* Written by one side each. Partner: the kernel's xsk_queue.h. */
	uint32_t *producer, *consumer;
	void *entries;
	uint32_t mask;
	uint32_t own; /* where we are: what the other side sees is up to a burst behind */
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
	struct port_xdp_ring tx, completion; /* of queues[0], by which all is sent */
	uint64_t *free_frames;
	unsigned n_free;
	unsigned next_queue; /* looked at first, so that none starves */
	uint32_t moved;	     /* how far the kernel was with what is sent, as of the last call */
	bool vain;	     /* and it was there before */
};

struct port_xdp_frame {
	uint64_t address;
	uint8_t *data;
	uint32_t len;
	uint16_t queue;
};

/* Of the longest frame, its room: what a page leaves beside the kernel's headers. */
unsigned port_xdp_frame_bytes(uint32_t mtu);
/* How many receive queues the interface has, by its driver or as the kernel has made them,
 * whichever is more. */
unsigned port_xdp_queues_count(const char *ifname);
/* One socket a queue, bound; the interface's traffic goes on as before. *s is what to give to
 * _done() also where it fails. 0; negative errno: -EBUSY where another process has a queue. */
int port_xdp_socket_init(struct port_xdp_socket *s, uint32_t ifindex, unsigned n_queues,
			 uint32_t mtu, bool zero_copy);
void port_xdp_socket_done(struct port_xdp_socket *s);
/* Up to max frames; their memory is the caller's until _give_back(). */
unsigned port_xdp_socket_rx(struct port_xdp_socket *s, struct port_xdp_frame *frames, unsigned max);
void port_xdp_socket_give_back(struct port_xdp_socket *s, const struct port_xdp_frame *frames,
			       unsigned n);
bool port_xdp_socket_has_rx(const struct port_xdp_socket *s);
/* How many frames came and found no room, as the kernel tells: by a call each queue. */
uint64_t port_xdp_socket_missed(const struct port_xdp_socket *s);
/* Memory for a frame to send. NULL: none is free, or the ring is full. */
uint8_t *port_xdp_socket_tx_get(struct port_xdp_socket *s, uint64_t *ret_address);
void port_xdp_socket_tx_put(struct port_xdp_socket *s, uint64_t address, uint32_t len);
/* Has the kernel send what was put. Frames that it has not taken yet, as far as it tells; s->vain
 * where nothing has moved since the last time. */
unsigned port_xdp_socket_tx_send(struct port_xdp_socket *s);

/* ---- what the program leaves to the kernel ---- */

/* ARP, neighbour discovery and echo requests: the kernel has them as well. */
struct port_xdp_control {
	int fd;
	uint8_t *ring;
	unsigned next;
};

int port_xdp_control_init(struct port_xdp_control *c, const struct port_l2_local *local,
			  uint32_t ifindex);
void port_xdp_control_done(struct port_xdp_control *c);
bool port_xdp_control_has(const struct port_xdp_control *c);
/* The oldest frame, until _drop(). NULL: there is none. */
const uint8_t *port_xdp_control_get(const struct port_xdp_control *c, uint32_t *ret_len);
void port_xdp_control_drop(struct port_xdp_control *c);

/* Where frames of it go. */
struct port_neigh;
struct port_xdp_control_to {
	const struct port_l2_local *local;
	struct port_neigh *neigh;
	struct launch_port_counters *counters; /* of what is dropped */
	/* Sees each frame first. NULL: nobody looks on. */
	void (*look)(void *user, const uint8_t *frame, uint32_t len);
	void *user;
};
/* What has come, to the neighbours; some of it, where it is much, so that datagrams have their
 * turn. */
void port_xdp_control_input(struct port_xdp_control *c, const struct port_xdp_control_to *to,
			    uint64_t now_ns);

#endif
