/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a device can be used for, for showing an inventory before any configuration exists: whether
 * its driver shares it with the host, and how DPDK can use it. Reads only the inventory and the
 * NIC families; a plan, which knows the workers, is more exact.
 */
#ifndef PLENUM_NETCFG_NIC_USE_H
#define PLENUM_NETCFG_NIC_USE_H

#include "netcfg/plan/plan.h"

#define NIC_USE_QUEUES_MAX 48

struct nic_use {
	bool shared_ip; /* its driver keeps the device: one IP for management and data, no VFs */
	bool dpdk;
	uint32_t vfs; /* number of workers that can have a VF; 0: DPDK shares the kernel's interface
		       */
	/* How its queues reach user space, best first: "vfio, AF_XDP"; "": not at all. Workers use
	 * vfio and AF_XDP (net[].kernel-port). */
	char queues[NIC_USE_QUEUES_MAX];
	struct reason why; /* why DPDK, or DPDK on VFs, is unavailable; code "": it is available */
};

/* False: a leg cannot use the link, such as a bridge or a VF of another device. */
bool nic_use_find(const struct inventory *inv, const struct inv_link *l, struct nic_use *ret);

/* How the link's driver supports AF_XDP: "zero-copy", "copy"; "": not, or unknown. */
const char *nic_af_xdp(const struct inventory *inv, const struct inv_link *l);

/* The MAC of VF number vf of this PF. */
struct mac_addr nic_vf_mac(const struct inv_link *pf, uint32_t vf);

#endif
