/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How each worker sends: what it asked for where that can be had, else what comes next, and why.
 * The ways themselves are tables (backend.h). Pure, as the plan is. Used by the workers alone.
 */
#ifndef PLENUM_NETCFG_PLAN_TRANSPORT_H
#define PLENUM_NETCFG_PLAN_TRANSPORT_H

#include "netcfg/plan/planner.h"

/* Once the workers have numbers: for what each claims VFs, which are its own, and how many each leg
 * has by that; under auto also why it is not better. */
void plan_transport_claim(struct plan_builder *b);
/* Each worker's effective transport, and why it is less than its claim. What may not be so is an
 * error in b->d. */
void plan_transport_choose(struct plan_builder *b);
/* Why a worker on DPDK has no VF on that leg. */
void plan_transport_explain_sharing(const struct plan_builder *b, const struct plan_worker *w,
				    const struct plan_leg *leg, struct reason *why);

#endif
