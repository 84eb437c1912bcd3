/* SPDX-License-Identifier: BSD-3-Clause */
/* Driver parameters (devlink) that a NIC family needs for the legs on it (nic.h). */
#ifndef PLENUM_NETCFG_PLAN_DEVLINK_H
#define PLENUM_NETCFG_PLAN_DEVLINK_H

#include "netcfg/plan/planner.h"

/* Adds needs of the plan for parameters that only the operator can set or activate. */
void plan_devlink_check_leg(struct plan_builder *b, const struct plan_leg *leg);
/* Adds the parameters of the leg's ports. 0, -ENOMEM. */
int plan_devlink_want(struct plan_builder *b, const struct plan_leg *leg);
/* Whether SR-IOV of the device is a permanent parameter that is off; then adds the need that
 * enables it for n VFs. */
bool plan_devlink_need_sriov(struct plan_builder *b, const char *pci, const char *leg, uint32_t n);

#endif
