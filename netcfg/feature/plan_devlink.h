/* SPDX-License-Identifier: BSD-3-Clause */
/* What a family of NICs needs of its driver's parameters (nic.h), by devlink, for what the legs on
 * it ask. Used by the legs. */
#ifndef PLENUM_NETCFG_PLAN_DEVLINK_H
#define PLENUM_NETCFG_PLAN_DEVLINK_H

#include "netcfg/plan/planner.h"

/* Says what only an operator can set, or put into effect: needs of the plan. */
void plan_devlink_check_leg(struct plan_builder *b, const struct plan_leg *leg);
/* Adds the parameters that the leg's ports shall have. 0, -ENOMEM. */
int plan_devlink_want(struct plan_builder *b, const struct plan_leg *leg);
/* Whether the device's SR-IOV is a permanent parameter that is off: then the need is added that
 * says how it is switched on for n VFs. */
bool plan_devlink_need_sriov(struct plan_builder *b, const char *pci, const char *leg, uint32_t n);

#endif
