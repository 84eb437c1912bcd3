/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Detects other hosts that use the addresses a plan is about to add. The applier calls it between
 * the links and the addresses of an apply (apply.h).
 */
#ifndef PLENUM_NETCFG_APPLY_PROBE_H
#define PLENUM_NETCFG_APPLY_PROBE_H

#include "netcfg/plan/plan_conflict.h"

/*
 * Probes all addresses that p adds at once, when their links have a carrier; waits a few seconds
 * in total for links that were just brought up. Adds conflicts to c. Warnings in d name addresses
 * that could not be probed. 0; -ENOMEM.
 */
int apply_probe(struct kernel *k, const struct plan *p, struct plan_conflicts *c, struct diag *d);
/* Adds conflicts that the kernel's duplicate address detection found for the addresses of p, after
 * they were added. 0; -ENOMEM. */
int apply_probe_kernel(struct kernel *k, const struct plan *p, struct plan_conflicts *c);

#endif
