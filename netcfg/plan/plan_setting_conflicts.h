/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conflicts between two legs on one device, such as an interface and a VLAN on it that another
 * program made: each setting has one value, so legs that ask for different values contradict each
 * other. Used only by plan_build.
 */
#ifndef PLENUM_NETCFG_PLAN_SETTING_CONFLICTS_H
#define PLENUM_NETCFG_PLAN_SETTING_CONFLICTS_H

#include "netcfg/plan/planner.h"

/* Checks the complete desired state; contradictions are errors in b->d. 0, -EINVAL. */
int plan_setting_conflicts_check(struct plan_builder *b);

#endif
