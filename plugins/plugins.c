/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of planners, NIC families and back ends: a new one is a file and a line here. */
#include "plugins/plugins.h"
#include "netcfg/feature/feature.h"

static const struct planner_ops *const planner_table[] = {
	&ha_none_planner,
	&ha_dual_leg_planner,
	&ha_lacp_planner,
	&ha_active_backup_planner,
};

static const struct nic_family *const nic_table[] = {
	&nic_intel_igb, &nic_intel_ixgbe, &nic_intel_i40e, &nic_intel_ice, &nic_mlx5,
};

static const struct backend *const backend_table[] = {
	&backend_dpdk_vf,
	&backend_dpdk_interrupt_vf,
};

void plugins_register(void)
{
	backend_table_set(backend_table, ARRAY_SIZE(backend_table));
	nic_table_set(nic_table, ARRAY_SIZE(nic_table));
	plan_features_set(plan_feature_table, plan_feature_table_n);
	planner_table_set(planner_table, ARRAY_SIZE(planner_table));
}
