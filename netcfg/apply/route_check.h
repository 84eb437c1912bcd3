/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which way the data really leaves. A plan can be applied to the letter and yet not work, because a
 * rule that somebody else made comes before ours; only the kernel's own lookup tells. Called by who
 * applies plans, once the host is as wanted.
 */
#ifndef PLENUM_NETCFG_PLAN_WAY_H
#define PLENUM_NETCFG_PLAN_WAY_H

#include "netcfg/plan/plan.h"

/*
 * What only the host after the apply can tell of the legs that the plan calls usable. One without a
 * carrier, such as one that was just brought up, becomes degraded ("no-carrier"). For the others it
 * asks the kernel by which link each data IP of the plan's UDP workers leaves. A leg whose data are
 * diverted becomes degraded, with the rule that does it in its reason ("diverted"). inv: the host
 * after the plan was applied.
 */
void plan_check_routes(struct kernel *k, const struct inventory *inv, struct plan *p);

#endif
