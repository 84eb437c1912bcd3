/* SPDX-License-Identifier: BSD-3-Clause */
/* The mode of IPoIB devices that legs ask for (`ipoib-mode`), and what it leaves of the MTU. Used
 * by plan_leg.c and plan_want.c alone. */
#ifndef PLENUM_NETCFG_PLAN_IPOIB_H
#define PLENUM_NETCFG_PLAN_IPOIB_H

#include "netcfg/plan/planner.h"

/* True and why where the mode that the device has, or shall have, has no room for the leg's MTU. */
bool plan_ipoib_mtu_impossible(const struct plan_leg *leg, struct reason *why);
/* A leg on a device that has no such mode is degraded. */
void plan_ipoib_check_leg(struct plan_builder *b, size_t i, const struct plan_leg *leg);
/* To be called before the leg's MTU is wanted, and after it: a mode comes before an MTU that needs
 * it, and goes after one that it does not allow. 0, -ENOMEM. */
int plan_ipoib_want(struct plan_builder *b, const struct plan_leg *leg, bool after_mtu);

#endif
