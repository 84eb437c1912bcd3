/* SPDX-License-Identifier: BSD-3-Clause */
/* Intel's NICs with SR-IOV: workers use VFs bound to vfio-pci. */
#include "plugins/plugins.h"

/* On 1 GbE NICs, creating VFs takes the PF's link down for a moment, because the driver resets the
 * port. */
static const char *const igb_drivers[] = {"igb", NULL};

const struct nic_family nic_intel_igb = {
	.name = "Intel 82576/I350",
	.drivers = igb_drivers,
	.reach = NIC_BY_VFIO,
	.af_xdp_since = NIC_LINUX(6, 14),
	.vf_polled = true,
};

/* A NIC of this driver has 64 pools and keeps one for the PF, so it offers 63 VFs. */
static const char *const ixgbe_drivers[] = {"ixgbe", NULL};

const struct nic_family nic_intel_ixgbe = {
	.name = "Intel 82599/X500",
	.drivers = ixgbe_drivers,
	.reach = NIC_BY_VFIO,
	.af_xdp_since = NIC_LINUX(4, 20),
	.vf_limit = 63,
};

static const char *const i40e_drivers[] = {"i40e", NULL};

const struct nic_family nic_intel_i40e = {
	.name = "Intel X700",
	.drivers = i40e_drivers,
	.reach = NIC_BY_VFIO,
	.af_xdp_since = NIC_LINUX(4, 20),
	.lldp_to_host = "disable-fw-lldp on",
	.vfs_undisturbed = true,
	.vf_make_ms = 800, /* the driver resets VFs one after another: creating 64 took 22 s */
};

static const char *const ice_drivers[] = {"ice", NULL};

/* The ice driver provides RoCE or iWARP. If the operator has chosen iWARP, Plenum keeps it. */
static const struct nic_devlink ice_devlink[] = {
	{.name = "enable_roce",
	 .value = "true",
	 .mode = "runtime",
	 .when = NIC_WHEN_ROCE,
	 .unless = "enable_iwarp",
	 .why = "RoCE is disabled in the driver"},
};

const struct nic_family nic_intel_ice = {
	.name = "Intel E800",
	.drivers = ice_drivers,
	.reach = NIC_BY_VFIO,
	.af_xdp_since = NIC_LINUX(5, 5),
	.lldp_to_host = "fw-lldp-agent off",
	.devlink = ice_devlink,
	.n_devlink = ARRAY_SIZE(ice_devlink),
	.vfs_undisturbed = true,
};
