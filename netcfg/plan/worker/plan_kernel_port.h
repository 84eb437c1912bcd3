/* SPDX-License-Identifier: BSD-3-Clause */
/* The feature `kernel-port`: how DPDK shares a kernel interface, by AF_PACKET or AF_XDP. */
#ifndef PLENUM_NETCFG_PLAN_KERNEL_PORT_H
#define PLENUM_NETCFG_PLAN_KERNEL_PORT_H

#include "netcfg/plan/planner.h"

/* Decides for a new port of b->plan->workers[worker], before it is counted in n_ports. If AF_XDP
 * was asked for and is impossible, the worker gets the reason; with policy.on-fallback: refuse it
 * is an error. */
void plan_kernel_port_choose(struct plan_builder *b, const struct plan_leg *leg, size_t worker,
			     struct plan_port *port);

/* Whether the first worker gets AF_XDP on every leg, including absent ones. */
bool plan_kernel_port_is_all_af_xdp(const struct plan_builder *b);

/* Reason of a DPDK worker without a VF on the leg, and how it shares the interface. */
#define PLAN_KERNEL_PORT_SHARES "DPDK shares the interface"
void plan_kernel_port_note(struct reason *ret, const struct plan_leg *leg, const char *how);

#endif
