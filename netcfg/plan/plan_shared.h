/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The feature `shared-ip`: legs on the host's own address, which management and data share. The
 * leg's network is the network of that address; different UDP ports distinguish the workers.
 */
#ifndef PLENUM_NETCFG_PLAN_SHARED_H
#define PLENUM_NETCFG_PLAN_SHARED_H

#include "netcfg/plan/planner.h"

/* Finds the host address that the leg uses, with its network: the address that `net` names or, if
 * `net` names none, the first permanent address of the link. Returns false and sets why if the link
 * has no such address. */
bool plan_shared_find(const struct plan_builder *b, const struct spec_net *net,
		      const struct inv_link *link, struct spec_network *ret, struct reason *why);
/* Returns the first device with shared-ip, or NULL if no device has it. */
const struct spec_net *plan_shared_net(const struct spec *spec);
/* Returns whether the device's driver can steer a worker's packets to DPDK while the kernel
 * receives all others. */
bool plan_shared_by_rules(const struct plan_leg *leg);
/* Returns the UDP port of the worker with that id. Workers have different ports if a leg shares the
 * host's address. A port above 65535 is an error in b->d. */
uint16_t plan_shared_port(struct plan_builder *b, uint32_t id);

#endif
