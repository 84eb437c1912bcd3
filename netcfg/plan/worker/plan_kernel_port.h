/* SPDX-License-Identifier: BSD-3-Clause */
/* The feature `kernel-port`: whether DPDK uses AF_PACKET or AF_XDP on an interface that the kernel
 * keeps. */
#ifndef PLENUM_NETCFG_PLAN_KERNEL_PORT_H
#define PLENUM_NETCFG_PLAN_KERNEL_PORT_H

#include "netcfg/plan/planner.h"

/* Decides how a new port of b->plan->workers[worker], which n_ports does not count yet, accesses
 * its interface: sets port->kernel_port to PLAN_AF_XDP if that is asked for and possible, and
 * adjusts the worker's reason. If the spec asks for AF_XDP and that is impossible, the worker gets
 * the reason; with policy.on-fallback: refuse, the reason is an error. */
void plan_kernel_port_choose(struct plan_builder *b, const struct plan_leg *leg, size_t worker,
			     struct plan_port *port);

/* Returns whether the first worker gets AF_XDP on every leg, including absent legs. */
bool plan_kernel_port_is_all_af_xdp(const struct plan_builder *b);

/* The reason of a DPDK worker that has no VF on the leg begins with this text. */
#define PLAN_KERNEL_PORT_SHARES "DPDK shares the interface"
void plan_kernel_port_note(struct reason *ret, const struct plan_leg *leg, const char *how);

#endif
