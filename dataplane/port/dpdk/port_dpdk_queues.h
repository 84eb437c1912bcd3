/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queues of a DPDK device, and the buffers that they are filled with. Inside the DPDK module,
 * used by port_dpdk.c alone, which starts and stops the device and moves the packets. Free of
 * DPDK's headers.
 */
#ifndef PLENUM_DATAPLANE_PORT_DPDK_QUEUES_H
#define PLENUM_DATAPLANE_PORT_DPDK_QUEUES_H

#include "dataplane/port/dpdk/port_dpdk_sizes.h"
#include "dataplane/port/port.h"

struct rte_mempool;

struct port_dpdk_queues {
	struct rte_mempool *pool; /* the caller's to free, once the device is closed */
	uint16_t n_rx;		  /* numbered from 0; packets leave by queue 0 alone */
	uint16_t first;		  /* the one that is read first, the next time */
	unsigned tx_flags;	  /* of port_l2_build_udp */
	uint64_t tx_mbuf_flags;
};

struct port_dpdk_queues_of {
	uint16_t id;
	bool on_pci;
	const char *device; /* for messages */
};

/* Sets up the device of cfg->ports[index], which is attached and not started. As port_ops.open. */
int port_dpdk_queues_setup(struct port_dpdk_queues *q, const struct port_dpdk_queues_of *of,
			   const struct launch_config *cfg, unsigned index, char *why);

#endif
