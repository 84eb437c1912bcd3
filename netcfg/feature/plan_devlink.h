/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver parameters (devlink) that legs on a NIC of this family need (nic.h). */
#ifndef PLENUM_NETCFG_PLAN_DEVLINK_H
#define PLENUM_NETCFG_PLAN_DEVLINK_H

#include "netcfg/plan/planner.h"

/* Returns whether a permanent parameter of the device turns SR-IOV off. If so, adds the operator
 * action that enables it for n VFs. */
bool plan_devlink_need_sriov(struct plan_builder *b, const char *pci, const char *leg, uint32_t n);

#endif
