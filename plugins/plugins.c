/* SPDX-License-Identifier: BSD-3-Clause */
/* The one list of what this build has: a mode of HA, or a family of NICs, is a file and a line
 * here.
 */
#include "plugins/plugins.h"

static const struct planner_ops *const planner_table[] = {
	&ha_none_planner,
	&ha_dual_leg_planner,
	&ha_lacp_planner,
	&ha_active_backup_planner,
};

static const struct nic_family *const nic_table[] = {
	&nic_intel_igb, &nic_intel_ixgbe, &nic_intel_i40e, &nic_intel_ice, &nic_mlx5,
};

void plugins_register(void)
{
	nic_table_set(nic_table, ARRAY_SIZE(nic_table));
	planner_table_set(planner_table, ARRAY_SIZE(planner_table));
}
