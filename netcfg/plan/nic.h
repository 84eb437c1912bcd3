/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Properties of a NIC family that its devices do not report themselves. The driver of the PF
 * identifies the family. The families are tables in plugins/nic_*.c, so that the plan names none of
 * them. Values that a device does report, such as its number of VFs, are in the inventory.
 */
#ifndef PLENUM_NETCFG_NIC_H
#define PLENUM_NETCFG_NIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a worker gets direct access to a queue of the NIC. */
enum nic_reach {
	NIC_BY_VFIO, /* through a VF that is bound to vfio-pci, without the kernel */
	/* through the PF itself, whose driver steers flows to user space; needs no VFs */
	NIC_BY_FLOW_RULES,
	NIC_REACH_MAX
};

/* A version of Linux as a number that can be compared; 0: no version. */
#define NIC_LINUX(major, minor) ((major) << 16 | (minor))

/* When a leg needs a devlink parameter. */
enum nic_when {
	NIC_WHEN_ROCE, /* needed if the leg asks for RDMA or sets RoCE options */
	NIC_WHEN_MAX
};

/* A devlink parameter of the family's driver, and the value that legs need. */
struct nic_devlink {
	const char *name, *value;
	const char *mode; /* "runtime", "driverinit" or "permanent" */
	enum nic_when when;
	/* name of another parameter: while it is true, this parameter is not needed; NULL: this
	 * parameter is always needed */
	const char *unless;
	const char *why; /* what goes wrong if the parameter has another value, as a text for
			    operators */
};

struct nic_family {
	const char *name;	    /* name of the family for operators, such as "Intel E800" */
	const char *const *drivers; /* drivers of the PFs; the list ends with NULL */
	enum nic_reach reach;
	/* First Linux version whose driver supports zero-copy AF_XDP. It is used only if the kernel
	 * does not report this itself (inv_link.af_xdp). */
	uint32_t af_xdp_since;
	/* the PF's link stays up and its traffic continues while VFs are created */
	bool vfs_undisturbed;
	/* the DPDK driver of the VFs has no receive interrupts, so workers must poll */
	bool vf_polled;
	/* Until this private flag of ethtool(8) is set, the firmware does not pass LLDP frames to
	 * the host: "NAME on". NULL if the firmware always passes them. */
	const char *lldp_to_host;
	/* The program that enables SR-IOV in the firmware and accepts the options of mstconfig.
	 * NULL if SR-IOV needs no setting in the firmware. */
	const char *sriov_tool;
	uint32_t vf_make_ms; /* maximum time in ms for the creation of one VF; 0: 250 */
	const struct nic_devlink *devlink; /* parameters that legs need */
	size_t n_devlink;
	/* maximum number of VFs that works in practice; 0: the limit that the device reports */
	uint32_t vf_limit;
};

/* Registers the table of all families. The table must stay valid. Call it once, before the first
 * plan. */
void nic_table_set(const struct nic_family *const *table, size_t n);
/* Returns the family of a driver; an unknown driver gets the defaults. Never NULL. */
const struct nic_family *nic_family_find(const char *driver);

#endif
