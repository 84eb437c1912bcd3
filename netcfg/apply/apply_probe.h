/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Detects other hosts that use the addresses that a plan is about to add. The applier calls it
 * after the links of an apply are configured and before addresses are added (apply.h).
 */
#ifndef PLENUM_NETCFG_APPLY_PROBE_H
#define PLENUM_NETCFG_APPLY_PROBE_H

#include "netcfg/plan/plan_conflict.h"

/*
 * Probes at the same time all addresses that p adds. It first waits a few seconds for the carriers
 * of links that were just brought up. Adds conflicts to c, and warnings to d for addresses that
 * could not be probed. Returns 0 or -ENOMEM.
 */
int apply_probe(struct kernel *k, const struct plan *p, struct plan_conflicts *c, struct diag *d);
/* Adds to c the conflicts that the kernel's duplicate address detection found after the addresses
 * of p were added. Returns 0 or -ENOMEM. */
int apply_probe_kernel(struct kernel *k, const struct plan *p, struct plan_conflicts *c);

#endif
