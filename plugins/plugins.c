/* SPDX-License-Identifier: BSD-3-Clause */
/* The one list of what this build has: a mode of HA is a file and a line here. */
#include "plugins/plugins.h"

static const struct planner_ops *const planner_table[] = {
	&ha_none_planner,
	&ha_dual_leg_planner,
};

void plugins_register(void)
{
	planner_table_set(planner_table, ARRAY_SIZE(planner_table));
}
