/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the possible uses of a device, which an inventory shows before a configuration exists:
 * whether data can share the host's address on the device, and how DPDK can use the device. It
 * knows only the inventory and the NIC families; a plan also knows the workers and is more exact.
 */
#ifndef PLENUM_NETCFG_NIC_USE_H
#define PLENUM_NETCFG_NIC_USE_H

#include "netcfg/plan/plan.h"

#define NIC_USE_QUEUES_MAX 48

struct nic_use {
	/* data can share the host's address without VFs, because the driver steers packets to
	 * workers */
	bool shared_ip;
	bool dpdk;
	/* count of workers that can have a VF; 0: DPDK shares the kernel's interface */
	uint32_t vfs;
	/* How user space can access the device's queues, best way first, such as "vfio, AF_XDP";
	 * "": it cannot. Of these, workers use vfio and AF_XDP (net[].kernel-port). */
	char queues[NIC_USE_QUEUES_MAX];
	/* why DPDK, or DPDK on VFs, is unavailable; code "": both are available */
	struct reason why;
};

/* Returns false if a leg cannot use the link, such as a bridge or a VF of another device. */
bool nic_use_find(const struct inventory *inv, const struct inv_link *l, struct nic_use *ret);

/* Returns how the link's driver supports AF_XDP: "zero-copy", "copy", or "" if it does not or that
 * is unknown. */
const char *nic_af_xdp(const struct inventory *inv, const struct inv_link *l);

/* Returns the MAC address that the agent gives to VF number `vf` of this PF. */
struct mac_addr nic_vf_mac(const struct inv_link *pf, uint32_t vf);

#endif
