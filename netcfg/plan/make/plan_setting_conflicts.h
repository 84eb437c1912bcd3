/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conflicts between two legs on one device, such as an interface and a VLAN on it that another
 * program created. Each setting of the device has one value, so legs that want different values
 * contradict each other. Only plan_build uses this.
 */
#ifndef PLENUM_NETCFG_PLAN_SETTING_CONFLICTS_H
#define PLENUM_NETCFG_PLAN_SETTING_CONFLICTS_H

#include "netcfg/plan/planner.h"

/* Checks the complete desired state, and adds each contradiction as an error to b->d. Returns 0 or
 * -EINVAL. */
int plan_setting_conflicts_check(struct plan_builder *b);

#endif
