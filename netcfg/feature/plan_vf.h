/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans the VFs of a leg: how many the leg has, why VFs are unavailable, and their desired state. A
 * DPDK worker has its own VF on each leg whose device offers VFs for its transport. The functions
 * are pure.
 */
#ifndef PLENUM_NETCFG_PLAN_VF_H
#define PLENUM_NETCFG_PLAN_VF_H

#include "netcfg/plan/planner.h"

/* Writes the PCI addresses of the PFs whose VFs the plan creates to `made`, as for
 * plan_context.made, and returns their number. */
size_t plan_vf_made(const struct plan *p, char made[static PLAN_PORTS_MAX][16]);

#endif
