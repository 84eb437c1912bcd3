/* SPDX-License-Identifier: BSD-3-Clause */
/* The feature `ipoib-mode`: the mode of IPoIB devices, and the MTU that it allows. */
#ifndef PLENUM_NETCFG_PLAN_IPOIB_H
#define PLENUM_NETCFG_PLAN_IPOIB_H

#include "netcfg/plan/planner.h"

/* True and why if the present or configured mode does not allow the leg's MTU. */
bool plan_ipoib_mtu_impossible(const struct plan_leg *leg, struct reason *why);
/* Degrades a leg whose device is not IPoIB. */
void plan_ipoib_check_leg(struct plan_builder *b, size_t i, const struct plan_leg *leg);
/* Called before and after the leg's MTU is added: a mode precedes an MTU that needs it and follows
 * one that it does not allow. 0, -ENOMEM. */
int plan_ipoib_want(struct plan_builder *b, const struct plan_leg *leg, bool after_mtu);

#endif
