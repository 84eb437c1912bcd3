/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks by which link data packets leave the host. Even if all steps of a plan are done, they may
 * leave by another link, because a rule of another program precedes Plenum's. Only a route lookup
 * in the kernel shows this. Called after an apply has been verified.
 */
#ifndef PLENUM_NETCFG_ROUTE_CHECK_H
#define PLENUM_NETCFG_ROUTE_CHECK_H

#include "netcfg/plan/plan.h"

/*
 * Checks the legs that the plan calls usable. A leg without a carrier, such as one that was just
 * brought up, becomes degraded ("no-carrier"). For the other legs it looks up the route of each
 * data IP of UDP workers in the kernel. A leg whose data leave by another link becomes degraded
 * ("diverted"), and its reason names the responsible rule. Also sets mark and mark_rule of the
 * legs. inv: the host after the apply.
 */
void plan_check_routes(struct kernel *k, const struct inventory *inv, struct plan *p);

#endif
