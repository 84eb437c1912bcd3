/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether others have the addresses that a plan is about to add. Between an apply's links and its
 * addresses (apply.h); called by the applier.
 */
#ifndef PLENUM_NETCFG_APPLY_PROBE_H
#define PLENUM_NETCFG_APPLY_PROBE_H

#include "netcfg/plan/plan_conflict.h"

/*
 * Asks for all addresses that p adds at once, when their links have a carrier: those that were just
 * brought up are waited for, for some seconds in all. What others have is added to c. Warnings say
 * what could not be asked for. 0; -ENOMEM.
 */
int apply_probe(struct kernel *k, const struct plan *p, struct plan_conflicts *c, struct diag *d);
/* What the kernel's own duplicate detection has found of the addresses that p adds, after they were
 * added. 0; -ENOMEM. */
int apply_probe_kernel(struct kernel *k, const struct plan *p, struct plan_conflicts *c);

#endif
