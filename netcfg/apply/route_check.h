/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks how data actually leave the host. A plan can be applied exactly and still fail, because
 * another program's rule precedes ours; only a route lookup in the kernel shows this. Called after
 * an apply, once the host is as desired.
 */
#ifndef PLENUM_NETCFG_ROUTE_CHECK_H
#define PLENUM_NETCFG_ROUTE_CHECK_H

#include "netcfg/plan/plan.h"

/*
 * Checks the legs that the plan calls usable on the host after the apply. A leg without carrier,
 * such as one just brought up, becomes degraded ("no-carrier"). For the others it looks up the
 * route of each data IP of UDP workers in the kernel. A leg whose data leave elsewhere becomes
 * degraded ("diverted"), with the responsible rule in its reason. inv: the host after the apply.
 */
void plan_check_routes(struct kernel *k, const struct inventory *inv, struct plan *p);

#endif
