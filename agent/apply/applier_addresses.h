/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of an apply that is about addresses: others who have them are found before they are
 * used, and the rest is planned anew without those. In the applier's process; called by it alone.
 */
#ifndef PLENUM_AGENT_APPLIER_ADDRESSES_H
#define PLENUM_AGENT_APPLIER_ADDRESSES_H

#include "agent/apply/applier.h"
#include "netcfg/plan/plan_conflict.h"

/* Owned by one apply. */
struct applier_addresses {
	struct plan_context ctx; /* the task's, with the conflicts */
	struct plan_conflicts conflicts;
	size_t n_known; /* of the conflicts, those that the task knew */
};

/* 0, -ENOMEM. */
int applier_addresses_init(struct applier_addresses *w, const struct applier_task *t);
void applier_addresses_done(struct applier_addresses *w);
/* Goes on with an apply that stopped before its addresses: asks who has them, and adds those that
 * nobody has. 0; else *apply is rolled back, freed and NULL, with the outcome in out. */
int applier_addresses_add(struct applier_addresses *w, const struct applier_task *t,
			  struct kernel *k, struct apply **apply, struct apply_outcome *out,
			  struct diag *d);
/* The host as wanted but for what another host has by the kernel's own detection, which is taken
 * back. As apply_verify; where *apply is NULL afterwards it was rolled back. */
int applier_addresses_verify(struct applier_addresses *w, const struct applier_task *t,
			     struct kernel *k, struct apply **apply, struct apply_outcome *out,
			     struct diag *d);

#endif
