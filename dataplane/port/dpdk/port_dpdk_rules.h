/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow rules for a DPDK device that the worker shares with the kernel, both with the same IP
 * address: datagrams for the worker's UDP port go to the worker, and all other traffic goes to the
 * kernel. Private to the DPDK module; only port_dpdk.c uses it. It owns the rules and a socket that
 * reserves the UDP port; it does not start, stop or read a device. After a SIGKILL the driver
 * removes the rules, because they belong to descriptors that close with the process.
 */
#ifndef PLENUM_DATAPLANE_PORT_DPDK_RULES_H
#define PLENUM_DATAPLANE_PORT_DPDK_RULES_H

#include "dataplane/port/l2/port_l2.h"
#include "netcfg/base/reason.h"

struct rte_flow;

struct port_dpdk_rules {
	uint16_t id;
	bool isolated; /* the device delivers only packets that a rule selects */
	struct rte_flow *flow;
	int port_fd; /* socket that reserves the UDP port; -1: none */
};

void port_dpdk_rules_init(struct port_dpdk_rules *r, uint16_t id);
/* Makes the device deliver only packets that a rule selects, so that the kernel never loses its
 * traffic. Call it before the device is started; for a PCI device, before it is configured. It also
 * reserves the UDP port, because datagrams for another program that used it would go to the worker.
 * Returns 0, or a negative errno with a sentence in why. */
int port_dpdk_rules_isolate(struct port_dpdk_rules *r, const struct port_l2_local *local,
			    const char *device, struct reason *why);
/* Steers UDP datagrams for local's address and port to the first n_queues queues of a started
 * device. Returns 0, or a negative errno with a sentence in why; in that case no rule remains. */
int port_dpdk_rules_make(struct port_dpdk_rules *r, const struct port_l2_local *local,
			 unsigned n_queues, const char *device, struct reason *why);
/* Removes the rules; call it while the device exists, any time after _init(). */
void port_dpdk_rules_done(struct port_dpdk_rules *r);

#endif
