/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the transport of each worker: the requested transport if it is available, otherwise the
 * next best transport, with the reason. Each transport is a table (backend.h). The functions are
 * pure. Only plan_worker.c uses it.
 */
#ifndef PLENUM_NETCFG_PLAN_TRANSPORT_H
#define PLENUM_NETCFG_PLAN_TRANSPORT_H

#include "netcfg/plan/planner.h"

/* Called after workers have ids. Decides for which transport each worker reserves VFs, which VFs it
 * gets and how many each leg needs. With transport: auto it also gives the reasons why better
 * transports are unavailable. */
void plan_transport_claim(struct plan_builder *b);
/* Sets each worker's effective transport, and the reason if this is not the transport that
 * plan_transport_claim reserved for. Adds an error to b->d if that violates policy.on-fallback. */
void plan_transport_choose(struct plan_builder *b);
/* Sets why to the reason why a DPDK worker has no VF on that leg. */
void plan_transport_explain_sharing(const struct plan_builder *b, const struct plan_worker *w,
				    const struct plan_leg *leg, struct reason *why);

#endif
