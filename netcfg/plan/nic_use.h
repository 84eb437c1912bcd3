/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a device can be used for, before anything is written for it: whether its driver shares it
 * with the host, and what DPDK gets of it. Looks at the inventory and the tables of NIC families
 * alone; a plan, which knows the workers, is more exact. For those who show an inventory.
 */
#ifndef PLENUM_NETCFG_NIC_USE_H
#define PLENUM_NETCFG_NIC_USE_H

#include "netcfg/plan/plan.h"

#define NIC_USE_QUEUES_MAX 48

struct nic_use {
	bool shared_ip; /* its driver stays in charge: one IP for management and data, no VFs */
	bool dpdk;
	uint32_t vfs; /* so many workers can have a VF; 0: DPDK shares the kernel's interface */
	/* How its queues can reach user space here, the best first: "vfio, AF_XDP"; "": not at all.
	 * Workers use vfio and AF_XDP (net[].kernel-port). */
	char queues[NIC_USE_QUEUES_MAX];
	struct reason why; /* why there is no DPDK, or none by VFs; code "": nothing is missing */
};

/* False: the link is none that a leg would be put on, as a bridge or a VF of another. */
bool nic_use_find(const struct inventory *inv, const struct inv_link *l, struct nic_use *ret);

/* How the link's driver does AF_XDP here: "zero-copy", "copy"; "": not, or nobody knows. */
const char *nic_af_xdp(const struct inventory *inv, const struct inv_link *l);

#endif
