/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers everything in the lists of plugins.h with the plan. */
#include "plugins/plugins.h"
#include "netcfg/feature/feature.h"

#define ITEM(name) &name,
static const struct planner_ops *const planner_table[] = {PLUGINS_PLANNERS(ITEM)};
static const struct nic_family *const nic_table[] = {PLUGINS_NICS(ITEM)};
static const struct backend *const backend_table[] = {PLUGINS_BACKENDS(ITEM)};

void plugins_register(void)
{
	backend_table_set(backend_table, ARRAY_SIZE(backend_table));
	nic_table_set(nic_table, ARRAY_SIZE(nic_table));
	plan_features_set(plan_feature_table, plan_feature_table_n);
	planner_table_set(planner_table, ARRAY_SIZE(planner_table));
}
