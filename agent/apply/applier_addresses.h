/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address conflict detection of an apply: finds addresses that other hosts use before assigning
 * them, and plans the rest again without these. Called by the applier's process only.
 */
#ifndef PLENUM_AGENT_APPLIER_ADDRESSES_H
#define PLENUM_AGENT_APPLIER_ADDRESSES_H

#include "agent/apply/applier.h"
#include "netcfg/plan/plan_conflict.h"

/* Owned by one apply. */
struct applier_addresses {
	struct plan_context ctx; /* the task's context plus the conflicts */
	struct plan_conflicts conflicts;
	size_t n_known; /* how many of them the task knew */
};

/* 0, -ENOMEM. */
int applier_addresses_init(struct applier_addresses *w, const struct applier_task *t);
void applier_addresses_done(struct applier_addresses *w);
/* Continues an apply that stopped before its addresses: probes them and adds those that are free.
 * 0; on errors *apply is rolled back, freed and NULL, with the outcome in out. */
int applier_addresses_add(struct applier_addresses *w, const struct applier_task *t,
			  struct kernel *k, struct apply **apply, struct apply_outcome *out,
			  struct diag *d);
/* As apply_verify; addresses for which the kernel itself detected a duplicate are removed again. If
 * *apply is NULL afterwards, it was rolled back. */
int applier_addresses_verify(struct applier_addresses *w, const struct applier_task *t,
			     struct kernel *k, struct apply **apply, struct apply_outcome *out,
			     struct diag *d);

#endif
