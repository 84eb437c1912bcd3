/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The future host: the inventory plus the links that the plan will create, so that legs, workers
 * and steps are planned on them as on existing links. Such a link has a provisional index outside
 * the kernel's range. Steps name links, so an apply finds the real ones. Planners use this before
 * the first leg is planned; plan_build owns the result.
 */
#ifndef PLENUM_NETCFG_PLAN_PROJECT_H
#define PLENUM_NETCFG_PLAN_PROJECT_H

#include "netcfg/plan/planner.h"

/* Adds a copy of l to b->inv with the settings that the kernel gives to new links. Invalidates
 * pointers borrowed from b->inv. 0, -ENOMEM. */
int plan_project_add(struct plan_builder *b, const struct inv_link *l);

#endif
