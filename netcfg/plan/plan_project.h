/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host as it will be: the inventory with the links that steps are going to make, so that legs,
 * workers and steps are planned on them as on any other. Such a link has no index yet; it gets one
 * that no kernel gives. Steps name links by name, so an apply finds the real ones. Used by the
 * planners of links before the first leg is looked at; plan_build owns the result.
 */
#ifndef PLENUM_NETCFG_PLAN_PROJECT_H
#define PLENUM_NETCFG_PLAN_PROJECT_H

#include "netcfg/plan/planner.h"

/* The kernel's are positive ints. */
#define PLAN_IFINDEX_COMING 0x80000000U

static inline bool plan_ifindex_is_coming(uint32_t ifindex)
{
	return ifindex >= PLAN_IFINDEX_COMING;
}

static inline bool plan_link_is_coming(const struct inv_link *l)
{
	return plan_ifindex_is_coming(l->ifindex);
}

/* Adds a copy of l to b->inv with the settings that the kernel gives to new links. What was
 * borrowed from b->inv before is not of it any more. 0, -ENOMEM. */
int plan_project_add(struct plan_builder *b, const struct inv_link *l);

#endif
