/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assigns the VFs of a leg to workers. A worker keeps its VF number when other workers are added or
 * removed. Some VFs may be used only after an operator has accepted their device; only an apply by
 * an operator assigns such a VF. The functions are pure. Only plan_vf.c uses it.
 */
#ifndef PLENUM_NETCFG_PLAN_VF_ASSIGN_H
#define PLENUM_NETCFG_PLAN_VF_ASSIGN_H

#include "netcfg/plan/planner.h"

#define PLAN_VFS_MAX 1024 /* larger than the limit of any PF */

/* Sets worker.vf of each worker that claims a VF to a number below `limit`. Workers that already
 * had a VF come first. */
void plan_vf_assign(struct plan_builder *b, const struct plan_leg *leg, uint32_t limit);
/* Returns the previous VF number of the worker on that leg. If it has none, returns the first free
 * number, unless had_only is set. A result of `limit` or more means that no number is free. */
uint32_t plan_vf_number(const struct plan_builder *b, const struct plan_leg *leg,
			const struct plan_worker *w, bool had_only, uint32_t limit);
/* Returns the highest VF number on the leg that a worker has been assigned, plus one: the number of
 * VFs that all workers need. With by_name, only workers whose entry names a transport count. */
uint32_t plan_vf_needed(const struct plan *p, const struct plan_leg *leg, bool by_name);

/* Returns whether workers with that transport can use VFs of the leg's device. */
bool plan_vf_fits(const struct plan_leg *leg, enum spec_transport t);
/* Returns whether this plan may move the worker to a transport that no apply has accepted. */
bool plan_vf_move_allowed(const struct plan_builder *b, const struct plan_worker *w);
/* Returns whether the worker's entry names a transport that uses VFs, or an apply has accepted VFs
 * of this device for the worker. */
bool plan_vf_is_accepted(const struct plan_builder *b, const struct plan_leg *leg,
			 const struct plan_worker *w);

#endif
