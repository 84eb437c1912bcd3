/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Settings that two legs share because they stand on one device: an interface and a VLAN on it that
 * others have made. Each has one value, so legs that ask for two contradict each other. Used by
 * plan_build alone.
 */
#ifndef PLENUM_NETCFG_PLAN_OWNER_H
#define PLENUM_NETCFG_PLAN_OWNER_H

#include "netcfg/plan/planner.h"

/* What all legs want, once it is complete: contradictions are errors in b->d. 0, -EINVAL. */
int plan_setting_conflicts_check(struct plan_builder *b);

#endif
