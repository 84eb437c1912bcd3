/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How each worker sends: what it asked for where that can be had, else what comes next, and why.
 * The ways themselves are tables (backend.h). Pure, as the plan is. Used by the workers alone.
 */
#ifndef PLENUM_NETCFG_PLAN_TRANSPORT_H
#define PLENUM_NETCFG_PLAN_TRANSPORT_H

#include "netcfg/plan/planner.h"

/* Once the workers have numbers: how many hugepages each needs for what it asks for. */
void plan_transport_count(struct plan_builder *b);
/* Free 2 MiB pages; what our own running workers hold will be free for their successors. */
uint64_t plan_transport_hugepages(const struct plan_builder *b);
/* The worker's effective transport, and why it is not a better one; takes its hugepages off those
 * that are left. entry: its place in the spec's workers. What may not be so is an error in b->d. */
void plan_transport_choose(struct plan_builder *b, size_t entry, struct plan_worker *w,
			   uint64_t *hugepages);
/* Why a worker on DPDK has no VF on that leg. */
void plan_transport_explain_sharing(struct plan_worker *w, const struct plan_leg *leg);

#endif
