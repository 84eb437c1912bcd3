/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queues of a DPDK device and their buffers. Private to the DPDK module. Only port_dpdk.c uses
 * it, which starts and stops the device and transfers the packets. This header does not include
 * DPDK's headers.
 */
#ifndef PLENUM_DATAPLANE_PORT_DPDK_QUEUES_H
#define PLENUM_DATAPLANE_PORT_DPDK_QUEUES_H

#include "dataplane/port/dpdk/port_dpdk_sizes.h"
#include "dataplane/port/port.h"

struct rte_mempool;

struct port_dpdk_queues {
	struct rte_mempool *pool; /* memory of the buffers, which the caller frees after closing
				     the device */
	uint16_t n_rx;	   /* count of receive queues, numbered from 0; sending uses queue 0 only */
	uint16_t first;	   /* the queue that the next call reads first */
	unsigned tx_flags; /* flags for port_l2_build_udp */
	uint64_t tx_mbuf_flags;
};

struct port_dpdk_queues_of {
	uint16_t id;
	bool on_pci;
	const char *device; /* name of the device in messages */
};

/* Sets up the queues of the device of cfg->ports[index], which must be attached and not started.
 * Returns the same values as port_ops.open(). */
int port_dpdk_queues_setup(struct port_dpdk_queues *q, const struct port_dpdk_queues_of *of,
			   const struct launch_config *cfg, unsigned index, struct reason *why);

#endif
