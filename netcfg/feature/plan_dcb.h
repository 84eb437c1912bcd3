/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Priorities, flow control and traffic classes that legs ask for (`dcb`), on the ports of NICs that
 * they stand on. Used by plan_leg.c and plan_want.c alone.
 */
#ifndef PLENUM_NETCFG_PLAN_DCB_H
#define PLENUM_NETCFG_PLAN_DCB_H

#include "netcfg/plan/planner.h"

/* A leg that cannot have what it asks for is degraded: it carries data all the same. */
void plan_dcb_check_leg(struct plan_builder *b, size_t i, const struct plan_leg *leg);
/* What of it the drivers have. 0, -ENOMEM. */
int plan_dcb_want(struct plan_builder *b, const struct plan_leg *leg);

#endif
