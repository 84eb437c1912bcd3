/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow rules of a DPDK device that the kernel has as well, with the very address that we use: what
 * is ours of its traffic comes to us, all else stays the kernel's. Inside the DPDK module, used by
 * port_dpdk.c alone. Owns the rules and a socket that keeps the UDP port ours; starts, stops and
 * reads no device. What a killed process leaves is the driver's to undo: rules of bifurcated
 * drivers belong to descriptors of the process.
 */
#ifndef PLENUM_DATAPLANE_PORT_DPDK_RULES_H
#define PLENUM_DATAPLANE_PORT_DPDK_RULES_H

#include "dataplane/port/l2/port_l2.h"

struct rte_flow;

struct port_dpdk_rules {
	uint16_t id;
	bool isolated; /* the device gives us nothing but what rules name */
	struct rte_flow *flow;
	int port_fd; /* -1: the UDP port is not kept */
};

void port_dpdk_rules_init(struct port_dpdk_rules *r, uint16_t id);
/* Of a device that is not started, on PCI before it is configured: from now on it gives us nothing
 * that no rule names, so that the kernel's traffic is the kernel's at any time. And the UDP port is
 * taken from the kernel's programs, whose datagrams would come to us else. 0; negative errno with a
 * sentence in why. */
int port_dpdk_rules_isolate(struct port_dpdk_rules *r, const struct port_l2_local *local,
			    const char *device, char *why);
/* Of a started device: UDP datagrams to the address and port of `local` go to its first n_queues
 * queues. 0; negative errno with a sentence in why, and no rule is left. */
int port_dpdk_rules_make(struct port_dpdk_rules *r, const struct port_l2_local *local,
			 unsigned n_queues, const char *device, char *why);
/* The rules go, while the device is there. May be called at any time after _init(). */
void port_dpdk_rules_done(struct port_dpdk_rules *r);

#endif
