/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the sizes of a DPDK port (queues, descriptors and buffers) from its link speed, MTU and
 * memory limit. Writes the reason if a port gets less than it needs. It uses neither DPDK nor
 * system calls. Only port_dpdk_queues.c calls it.
 */
#ifndef PLENUM_DATAPLANE_PORT_DPDK_SIZES_H
#define PLENUM_DATAPLANE_PORT_DPDK_SIZES_H

#include "dataplane/port/port.h"

#define PORT_DPDK_QUEUES_MAX 4U

struct port_dpdk_wants {
	uint32_t mbps; /* link speed; 0: unknown */
	uint32_t mtu;
	unsigned room;	     /* number of bytes of a buffer that a frame may fill */
	uint32_t memory_mib; /* how much of the worker's memory is for this port, MiB */
	uint16_t queues;     /* count of receive queues over which the device can spread packets; at
				least 1 */
	bool all_queues;     /* the device spreads packets over all its queues, even if some are not
				read */
};

struct port_dpdk_sizes {
	uint16_t rx_queues;
	uint16_t rx_descriptors; /* count of receive descriptors per queue */
	uint16_t tx_descriptors;
};

void port_dpdk_sizes_choose(const struct port_dpdk_wants *w, struct port_dpdk_sizes *ret);
/* Halves the number of descriptors; call it if memory is short. Returns false if the number is at
 * its minimum already. */
bool port_dpdk_sizes_halve(struct port_dpdk_sizes *s);
/* Returns how many buffers are necessary to fill all queues, one rx call, one tx call, and the
 * cache of a core, which has `cache` buffers. */
unsigned port_dpdk_sizes_buffers(const struct port_dpdk_sizes *s, unsigned cache);
/* Returns how many bytes of memory a buffer takes, including overhead. */
uint32_t port_dpdk_sizes_buffer_bytes(unsigned room);

struct port_dpdk_got {		      /* the sizes that this module has computed for the port */
	uint16_t wanted, descriptors; /* wanted: count of receive queues that the port should have;
					 descriptors: receive descriptors per queue */
	int device_node, memory_node; /* NUMA nodes of device and memory; negative: none or
					 unknown */
};
/* Writes the port's limitations to `why` for port_ops.open(). Leaves `why` unset if there are
 * none. */
void port_dpdk_sizes_report(const struct port_dpdk_got *g, struct reason *why);

#endif
