/* SPDX-License-Identifier: BSD-3-Clause */
/* How DPDK shares a kernel interface: AF_PACKET or AF_XDP. Owns nothing. Used by the workers. */
#ifndef PLENUM_NETCFG_PLAN_KERNEL_PORT_H
#define PLENUM_NETCFG_PLAN_KERNEL_PORT_H

#include "netcfg/plan/planner.h"

/* Decides for a port of b->plan->workers[worker], which is not among its ports yet. Where AF_XDP
 * was asked for and cannot be, the worker says why; under policy.on-fallback: refuse it is an
 * error. */
void plan_kernel_port_choose(struct plan_builder *b, const struct plan_leg *leg, size_t worker,
			     struct plan_port *port);

/* Whether the first worker that comes has AF_XDP on each leg, those that are not there yet too. */
bool plan_kernel_port_is_all_af_xdp(const struct plan_builder *b);

/* Why a worker on DPDK has no VF on the leg, and how it shares the interface. */
#define PLAN_KERNEL_PORT_SHARES "DPDK shares it"
void plan_kernel_port_note(struct reason *ret, const struct plan_leg *leg, const char *how);

#endif
