/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assigns the VFs of a leg to workers: each worker keeps its VF number if other workers come or
 * go, and VFs that need an operator's apply are not assigned otherwise. Pure. Used only by
 * plan_vf.c.
 */
#ifndef PLENUM_NETCFG_PLAN_VF_ASSIGN_H
#define PLENUM_NETCFG_PLAN_VF_ASSIGN_H

#include "netcfg/plan/planner.h"

#define PLAN_VFS_MAX 1024 /* more than any PF has */

/* Sets worker.vf of each worker that claims a VF, below limit; workers that had one come first. */
void plan_vf_assign(struct plan_builder *b, const struct plan_leg *leg, uint32_t limit);
/* The previous VF number of the worker on that leg or, unless had_only, the first free one. At or
 * above limit: none. */
uint32_t plan_vf_number(const struct plan_builder *b, const struct plan_leg *leg,
			const struct plan_worker *w, bool had_only, uint32_t limit);
/* The number of VFs that all workers, or those that name a transport, need. */
uint32_t plan_vf_needed(const struct plan *p, const struct plan_leg *leg, bool by_name);

/* Whether workers with that transport can use VFs of the leg's device. */
bool plan_vf_fits(const struct plan_leg *leg, enum spec_transport t);
/* Whether this plan may move the worker to a transport that no apply has accepted. */
bool plan_vf_move_allowed(const struct plan_builder *b, const struct plan_worker *w);
/* Whether the worker names a VF transport, or an apply has accepted VFs of this device for it. */
bool plan_vf_is_agreed(const struct plan_builder *b, const struct plan_leg *leg,
		       const struct plan_worker *w);

#endif
