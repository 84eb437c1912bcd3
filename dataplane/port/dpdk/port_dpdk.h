/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside the DPDK module: the environment (port_dpdk_eal.c) and the port (port_dpdk.c). Nobody else
 * includes this; the module's one exported symbol is plenum_port_module. Free of DPDK's headers.
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

/* Starts DPDK's environment for this process, once; later calls return the first result. 0;
 * negative errno with a sentence in why: no hugepages, no such core, no right. */
int port_dpdk_eal_start(const struct launch_config *cfg, char *why);
/*
 * The device for a leg. LAUNCH_DEVICE_AF_PACKET, nothing, or one of port_xdp's that it could not
 * have: an AF_PACKET device on lp->ifname, with room for its MTU. DPDK's own for AF_XDP is none for
 * us: its program stays on the interface after a SIGKILL, and then slows or eats the kernel's
 * traffic.
 */
void port_dpdk_device_choose(const struct launch_port *lp, unsigned index,
			     struct port_dpdk_device *ret);
/* Whether that is AF_PACKET because nothing else is asked for. */
bool port_dpdk_device_is_interface(const struct launch_port *lp);
/* What was asked of a port's network while the environment started; the caller's from now on. */
void port_dpdk_eal_asked(unsigned index, struct port_early *ret);
/* The share of a worker's memory that is for the buffers of that port. */
uint32_t port_dpdk_memory_mib(const struct launch_config *cfg, unsigned index);
/* Bytes of buffer that one received frame needs, whatever the device. */
unsigned port_dpdk_frame_room(uint32_t mtu);

#endif
