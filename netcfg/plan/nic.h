/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Static knowledge about a NIC family, by the driver of its PF: the contract between the plan and
 * the tables in plugins/nic_*.c. Values that the device reports (number of VFs, MTU) are in the
 * inventory. netcfg knows no family by name.
 */
#ifndef PLENUM_NETCFG_NIC_H
#define PLENUM_NETCFG_NIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a queue of the NIC reaches a worker. */
enum nic_reach {
	NIC_BY_VFIO,	   /* a VF bound to vfio-pci, without the kernel */
	NIC_BY_FLOW_RULES, /* the PF itself: its driver steers flows to user space; needs no VFs */
	NIC_REACH_MAX
};

/* A version of Linux, in the order of versions; 0: none. */
#define NIC_LINUX(major, minor) ((major) << 16 | (minor))

/* When a devlink parameter is needed. */
enum nic_when {
	NIC_WHEN_ROCE, /* for legs that ask for RDMA or set RoCE options */
	NIC_WHEN_MAX
};

/* A devlink parameter of the family's driver, and the value that legs need. */
struct nic_devlink {
	const char *name, *value;
	const char *mode; /* "runtime", "driverinit" or "permanent" */
	enum nic_when when;
	const char
		*unless; /* another parameter that excludes this one while it is true; NULL: none */
	const char *why; /* for people: the problem without it */
};

struct nic_family {
	const char *name;	    /* for people: "Intel E800" */
	const char *const *drivers; /* of PFs; ends with NULL */
	enum nic_reach reach;
	/* First Linux version whose driver supports zero-copy AF_XDP. Kernels that report it
	 * (inv_link.af_xdp) take precedence. */
	uint32_t af_xdp_since;
	/* The PF's link stays up and its traffic continues while VFs are created. */
	bool vfs_undisturbed;
	/* The DPDK driver of its VFs has no receive interrupts: they support polling only. */
	bool vf_polled;
	/* Its firmware keeps LLDP frames until this private flag of ethtool(8) is set: "NAME on";
	 * NULL: it does not. */
	const char *lldp_to_host;
	/* The program that enables SR-IOV in its firmware, with mstconfig's syntax. NULL: the
	 * firmware has no such switch. */
	const char *sriov_tool;
	uint32_t vf_make_ms;		   /* upper limit for creating one VF; 0: 250 */
	const struct nic_devlink *devlink; /* parameters that it needs */
	size_t n_devlink;
	uint32_t vf_limit; /* working limit below the device's own; 0: the device's */
};

/* Registers the table of all families, which must stay valid; call once, before the first plan. */
void nic_table_set(const struct nic_family *const *table, size_t n);
/* The family of a driver; never NULL: an unknown driver gets the defaults. */
const struct nic_family *nic_family_find(const char *driver);

#endif
