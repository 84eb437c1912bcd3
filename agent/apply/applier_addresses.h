/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Detects address conflicts during an apply. Before the apply assigns addresses, this module finds
 * the addresses that other hosts use, and replaces the rest of the plan by a plan without them.
 * Called by the applier's process only.
 */
#ifndef PLENUM_AGENT_APPLIER_ADDRESSES_H
#define PLENUM_AGENT_APPLIER_ADDRESSES_H

#include "agent/apply/applier.h"
#include "netcfg/plan/plan_conflict.h"

/* The address checks of one apply. */
struct applier_addresses {
	struct plan_context ctx; /* the task's context with the conflicts added */
	struct plan_conflicts conflicts;
	size_t n_known; /* count of conflicts that the task already had */
};

/* Takes over the address conflicts that the task already knows. Returns 0 or -ENOMEM. */
int applier_addresses_init(struct applier_addresses *w, const struct applier_task *t);
void applier_addresses_done(struct applier_addresses *w);
/* Continues an apply whose next steps add addresses: probes the addresses and adds those that no
 * other host uses. Returns 0 or negative errno. On an error the apply is rolled back and freed,
 * *apply is NULL, and out has the result. */
int applier_addresses_add(struct applier_addresses *w, const struct applier_task *t,
			  struct kernel *k, struct apply **apply, struct apply_outcome *out,
			  struct diag *d);
/* Like apply_verify; also removes addresses for which the kernel itself has found a duplicate. If
 * *apply is NULL afterwards, the apply was rolled back. */
int applier_addresses_verify(struct applier_addresses *w, const struct applier_task *t,
			     struct kernel *k, struct apply **apply, struct apply_outcome *out,
			     struct diag *d);

#endif
