/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private to the DPDK module: the environment (port_dpdk_eal.c) and the port (port_dpdk.c). The
 * module exports one symbol, plenum_port_module. Free of DPDK's headers.
 */
#ifndef PLENUM_DATAPLANE_PORT_DPDK_H
#define PLENUM_DATAPLANE_PORT_DPDK_H

#include "dataplane/port/l2/port_early.h"
#include "dataplane/port/l2/port_l2.h"
#include "dataplane/port/port.h"

struct port_dpdk_device {
	bool is_pci;
	char name[PLENUM_NAME_MAX]; /* "0000:3b:02.1" or "net_af_packet0" */
	char args[PLENUM_NAME_MAX * 4];
};

extern const struct port_ops plenum_port_module;

/* Starts DPDK's environment once per process; later calls return the first result. 0; negative
 * errno with a sentence in why: no hugepages, no such core, missing privilege. */
int port_dpdk_eal_start(const struct launch_config *cfg, struct reason *why);
/*
 * The device for a leg. For LAUNCH_DEVICE_AF_PACKET, no device, or a device of port_xdp that could
 * not be opened: an AF_PACKET device on lp->ifname with space for its MTU. DPDK's own AF_XDP driver
 * is not used: its program stays on the interface after a SIGKILL and then slows down or drops the
 * kernel's traffic.
 */
void port_dpdk_device_choose(const struct launch_port *lp, unsigned index,
			     struct port_dpdk_device *ret);
/* Whether AF_PACKET is used because nothing else was requested. */
bool port_dpdk_device_is_interface(const struct launch_port *lp);
/* Probes sent for a port's address while the environment started; the caller owns them from now on.
 */
void port_dpdk_eal_early(unsigned index, struct port_early *ret);
/* The part of a worker's memory for the buffers of that port. */
uint32_t port_dpdk_memory_mib(const struct launch_config *cfg, unsigned index);
/* Buffer bytes that one received frame needs with any device. */
unsigned port_dpdk_frame_room(uint32_t mtu);

#endif
