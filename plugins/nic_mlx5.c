/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NVIDIA's ConnectX-4 and later: the kernel's driver keeps the device and steers flows to user
 * space, so host and workers have one address and need no VF. VFs that the spec asks for are driven
 * by the same kernel driver.
 */
#include "plugins/plugins.h"

static const char *const drivers[] = {"mlx5_core", NULL};

static const struct nic_devlink devlink[] = {
	{.name = "enable_roce",
	 .value = "true",
	 .mode = "driverinit",
	 .when = NIC_WHEN_ROCE,
	 .why = "the driver was started without RoCE"},
};

const struct nic_family nic_mlx5 = {
	.name = "NVIDIA ConnectX",
	.drivers = drivers,
	.reach = NIC_BY_FLOW_RULES,
	.af_xdp_since = NIC_LINUX(5, 3),
	.vfs_undisturbed = true,
	.devlink = devlink,
	.n_devlink = ARRAY_SIZE(devlink),
	.sriov_tool = "mstconfig",
	.vf_make_ms = 1000, /* the firmware starts a PCI function for each VF */
};
