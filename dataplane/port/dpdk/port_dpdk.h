/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declarations private to the DPDK module: DPDK's environment (port_dpdk_eal.c) and the port
 * (port_dpdk.c). The module exports one symbol, plenum_port_module. This header does not include
 * DPDK's headers.
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

/* Starts DPDK's environment once per process; later calls return the first result. Returns 0, or a
 * negative errno with a sentence in why, for example if there are no hugepages, no such core, or a
 * privilege is missing. */
int port_dpdk_eal_start(const struct launch_config *cfg, struct reason *why);
/*
 * Chooses the DPDK device for a leg. Usually it is lp->device. If lp->device is
 * LAUNCH_DEVICE_AF_PACKET or empty, or is LAUNCH_DEVICE_AF_XDP and port_xdp could not open it, it
 * is an AF_PACKET device on lp->ifname, with space for the leg's MTU. DPDK's own AF_XDP driver is
 * not used: its program stays on the interface after a SIGKILL and then slows down or drops the
 * kernel's traffic.
 */
void port_dpdk_device_choose(const struct launch_port *lp, unsigned index,
			     struct port_dpdk_device *ret);
/* Returns whether the worker uses AF_PACKET because the configuration requests no DPDK device. */
bool port_dpdk_device_is_interface(const struct launch_port *lp);
/* Returns in *ret the early address probes of the port with this index, which were sent while the
 * environment started. The caller then owns *ret. */
void port_dpdk_eal_early(unsigned index, struct port_early *ret);
/* Returns how much of the worker's memory, in MiB, is for the buffers of the port with this
 * index. */
uint32_t port_dpdk_memory_mib(const struct launch_config *cfg, unsigned index);
/* Returns how many bytes of a buffer a received frame needs at most, on any device. */
unsigned port_dpdk_frame_room(uint32_t mtu);

#endif
