/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of a family of NICs beforehand, by the driver of its PF: the contract between the
 * plan and the tables in plugins/nic_*.c. What the device itself tells (how many VFs it has, its
 * MTU) is the inventory's and not repeated here. netcfg knows no family by name.
 */
#ifndef PLENUM_NETCFG_NIC_H
#define PLENUM_NETCFG_NIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a queue of the NIC reaches a worker. */
enum nic_reach {
	NIC_BY_VFIO,	   /* a VF, given to vfio-pci: the kernel has no part in it any more */
	NIC_BY_FLOW_RULES, /* the PF itself: its driver steers flows to user space, no VFs needed */
	NIC_REACH_MAX
};

/* A version of Linux, in the order of versions; 0: none. */
#define NIC_LINUX(major, minor) ((major) << 16 | (minor))

/* For whom a parameter of devlink is wanted. */
enum nic_when {
	NIC_WHEN_ROCE, /* legs that ask for RDMA, or say how it sends */
	NIC_WHEN_MAX
};

/* A parameter that the family's driver has by devlink, and the value that legs need. */
struct nic_devlink {
	const char *name, *value;
	const char *mode; /* "runtime", "driverinit", "permanent": what it takes to have it */
	enum nic_when when;
	const char *unless; /* another parameter, which excludes it where it is true; NULL: none */
	const char *why;    /* for people: what is missing while it is not so */
};

struct nic_family {
	const char *name;	    /* for people: "Intel E800" */
	const char *const *drivers; /* of PFs; ends with NULL */
	enum nic_reach reach;
	/* Since then its driver gives queues to AF_XDP sockets without a copy. Kernels that tell
	 * themselves (inv_link.af_xdp) are believed instead. */
	uint32_t af_xdp_since;
	/* The PF's link may stay up as it is, and what it carries alive, while VFs are made. */
	bool vfs_undisturbed;
	/* DPDK's driver of its VFs knows no receive interrupts: they can only be polled. */
	bool vf_polled;
	/* Its firmware takes LLDP frames for itself until this private flag of ethtool(8) says
	 * otherwise: "NAME on"; NULL: none does. */
	const char *lldp_to_host;
	/* The program that sets its firmware's switch and limit of SR-IOV, which takes mstconfig's
	 * words. NULL: there is no such switch in its firmware. */
	const char *sriov_tool;
	uint32_t vf_make_ms;		   /* one VF takes at most so long to make; 0: 250 */
	const struct nic_devlink *devlink; /* what it needs of its driver */
	size_t n_devlink;
	uint32_t vf_limit; /* below what the device says: no more work in practice; 0: its own */
};

/* The table (borrowed for good) of all families; to be called once, before the first plan. */
void nic_table_set(const struct nic_family *const *table, size_t n);
/* That of a driver; never NULL: an unknown one is taken for the most common kind. */
const struct nic_family *nic_family_find(const char *driver);

#endif
