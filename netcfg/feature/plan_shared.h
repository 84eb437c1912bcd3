/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Legs on the host's own address: one IP for management and data. The host says which network that
 * is; workers are told apart by their ports. Used by the makers of legs and workers alone.
 */
#ifndef PLENUM_NETCFG_PLAN_SHARED_H
#define PLENUM_NETCFG_PLAN_SHARED_H

#include "netcfg/plan/planner.h"

/* The address of the link that the leg uses, as a network of its own: what net names, else the
 * first that is there to stay. False: there is none, and why. */
bool plan_shared_find(const struct plan_builder *b, const struct spec_net *net,
		      const struct inv_link *link, struct spec_network *ret, struct reason *why);
/* The first device that shares the host's address; NULL: none does. */
const struct spec_net *plan_shared_net(const struct spec *spec);
/* Whether the driver of the leg's device gives DPDK what is for a worker, and leaves the address
 * and all else to the kernel. */
bool plan_shared_by_rules(const struct plan_leg *leg);
/* The UDP port of the worker of that number: its own where a leg's address is not. One that does
 * not exist is an error in b->d. */
uint16_t plan_shared_port(struct plan_builder *b, uint32_t id);

#endif
