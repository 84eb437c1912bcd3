/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The registry of what differs by site: today the planners of the modes of `ha`. Each is a const
 * table of functions in a file of its own; this is the one place that lists them. Owns nothing,
 * never looks at a host. Called by each program once, before its first plan_build.
 */
#ifndef PLENUM_PLUGINS_PLUGINS_H
#define PLENUM_PLUGINS_PLUGINS_H

#include "netcfg/plan/planner.h"

extern const struct planner_ops ha_none_planner;
extern const struct planner_ops ha_dual_leg_planner;

/* Makes all planners known to plan_build. */
void plugins_register(void);

#endif
