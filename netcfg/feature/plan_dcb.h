/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The feature `dcb`: priorities, flow control and traffic classes on the NIC ports of a leg.
 */
#ifndef PLENUM_NETCFG_PLAN_DCB_H
#define PLENUM_NETCFG_PLAN_DCB_H

#include "netcfg/plan/planner.h"

/* Degrades leg i if its ports cannot do what it asks for; it still carries data. */
void plan_dcb_check_leg(struct plan_builder *b, size_t i, const struct plan_leg *leg);
/* Adds the supported DCB values. 0, -ENOMEM. */
int plan_dcb_want(struct plan_builder *b, const struct plan_leg *leg);

#endif
