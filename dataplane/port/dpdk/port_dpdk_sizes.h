/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many queues, descriptors and buffers a DPDK port has, by the speed of its link, its MTU and
 * the memory that it may take, and what is said where it has less. Pure: no DPDK, no system call.
 * Used by port_dpdk_queues.c alone.
 */
#ifndef PLENUM_DATAPLANE_PORT_DPDK_SIZES_H
#define PLENUM_DATAPLANE_PORT_DPDK_SIZES_H

#include "dataplane/port/port.h"

#define PORT_DPDK_QUEUES_MAX 4U

struct port_dpdk_wants {
	uint32_t mbps; /* of the link; 0: not known */
	uint32_t mtu;
	unsigned room;	     /* bytes of a buffer that a frame may fill */
	uint32_t memory_mib; /* of the worker's, for this port */
	uint16_t queues;     /* to receive by that the device can spread packets over; at least 1 */
	bool all_queues;     /* it spreads them over these, whether all are read or not */
};

struct port_dpdk_sizes {
	uint16_t rx_queues;
	uint16_t rx_descriptors; /* of each of them */
	uint16_t tx_descriptors;
};

void port_dpdk_sizes_choose(const struct port_dpdk_wants *w, struct port_dpdk_sizes *ret);
/* Fewer descriptors, since there is no memory for these. False: so few carry nothing. */
bool port_dpdk_sizes_halve(struct port_dpdk_sizes *s);
/* Fills all queues, what rx and tx hold, and a core's cache of so many. */
unsigned port_dpdk_sizes_buffers(const struct port_dpdk_sizes *s, unsigned cache);
/* Bytes of memory that a buffer takes with all that is around it. */
uint32_t port_dpdk_sizes_buffer_bytes(unsigned room);

struct port_dpdk_got {		      /* in the end */
	uint16_t wanted, descriptors; /* to receive */
	int device_node, memory_node; /* NUMA; negative: none, or not known */
};
/* What is less than it should be, as port_ops.open says it; "": nothing. */
void port_dpdk_sizes_say(const struct port_dpdk_got *g, char *why);

#endif
