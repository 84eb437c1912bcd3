/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow rules for a DPDK device that the kernel shares with the same IP address: datagrams for our
 * UDP port go to the worker, all other traffic stays with the kernel. Private to the DPDK module;
 * only port_dpdk.c uses it. Owns the rules and a socket that reserves the UDP port; does not start,
 * stop or read a device. After a SIGKILL the driver removes the rules: those of bifurcated drivers
 * belong to the process's descriptors.
 */
#ifndef PLENUM_DATAPLANE_PORT_DPDK_RULES_H
#define PLENUM_DATAPLANE_PORT_DPDK_RULES_H

#include "dataplane/port/l2/port_l2.h"
#include "netcfg/base/reason.h"

struct rte_flow;

struct port_dpdk_rules {
	uint16_t id;
	bool isolated; /* the device delivers only what rules select */
	struct rte_flow *flow;
	int port_fd; /* socket that reserves the UDP port; -1: none */
};

void port_dpdk_rules_init(struct port_dpdk_rules *r, uint16_t id);
/* For a device that is not started (on PCI: not configured): from now on it delivers nothing that
 * no rule selects, so the kernel keeps its traffic at all times. Also reserves the UDP port, so
 * that no program of the kernel's loses its datagrams to us. 0; negative errno with a sentence in
 * why. */
int port_dpdk_rules_isolate(struct port_dpdk_rules *r, const struct port_l2_local *local,
			    const char *device, struct reason *why);
/* For a started device: steers UDP datagrams for local's address and port to its first n_queues
 * queues. 0; negative errno with a sentence in why, and no rule remains. */
int port_dpdk_rules_make(struct port_dpdk_rules *r, const struct port_l2_local *local,
			 unsigned n_queues, const char *device, struct reason *why);
/* Removes the rules while the device exists. May be called any time after _init(). */
void port_dpdk_rules_done(struct port_dpdk_rules *r);

#endif
