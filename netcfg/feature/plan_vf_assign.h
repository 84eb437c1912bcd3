/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gives the VFs of a leg to the workers: each keeps the number that it has had, whoever else comes
 * or goes, and what an apply has to ask somebody for goes to nobody otherwise. Pure, as the plan
 * is. Used by plan_vf.c alone.
 */
#ifndef PLENUM_NETCFG_PLAN_VF_DEAL_H
#define PLENUM_NETCFG_PLAN_VF_DEAL_H

#include "netcfg/plan/planner.h"

#define PLAN_VFS_MAX 1024 /* no PF has as many */

/* To each worker that claims one the number of its VF, below limit, into worker.vf; those who have
 * had one first. */
void plan_vf_assign(struct plan_builder *b, const struct plan_leg *leg, uint32_t limit);
/* The one that the worker has had on that leg, or else, unless had_only, the first that is
 * nobody's. At or beyond limit: there is none. */
uint32_t plan_vf_number(const struct plan_builder *b, const struct plan_leg *leg,
			const struct plan_worker *w, bool had_only, uint32_t limit);
/* The VFs that there have to be for all of them to have theirs, or for those who ask by name. */
uint32_t plan_vf_needed(const struct plan *p, const struct plan_leg *leg, bool by_name);

#endif
