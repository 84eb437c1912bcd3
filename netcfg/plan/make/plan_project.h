/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inventory plus the links that the plan will create, so that legs, workers and steps can be
 * planned on them as on existing links. Such a link has a provisional index, which no link in the
 * kernel can have. Steps refer to links by name, so an apply finds the real links. Planners use
 * this before the first leg is planned; plan_build owns the result.
 */
#ifndef PLENUM_NETCFG_PLAN_PROJECT_H
#define PLENUM_NETCFG_PLAN_PROJECT_H

#include "netcfg/plan/planner.h"

/* Adds a copy of l to b->inv, with the settings that the kernel gives to new links. Pointers into
 * b->inv become invalid. Returns 0 or -ENOMEM. */
int plan_project_add(struct plan_builder *b, const struct inv_link *l);

#endif
