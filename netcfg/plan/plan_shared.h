/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The feature `shared-ip`: legs on the host's own address, with one IP for management and data.
 * The host determines the network; UDP ports identify the workers.
 */
#ifndef PLENUM_NETCFG_PLAN_SHARED_H
#define PLENUM_NETCFG_PLAN_SHARED_H

#include "netcfg/plan/planner.h"

/* The address that the leg uses, as its own network: the one that net names, else the first
 * permanent one. False: none, and why. */
bool plan_shared_find(const struct plan_builder *b, const struct spec_net *net,
		      const struct inv_link *link, struct spec_network *ret, struct reason *why);
/* The first device with shared-ip; NULL: none. */
const struct spec_net *plan_shared_net(const struct spec *spec);
/* Whether the device's driver steers a worker's packets to DPDK and leaves everything else to the
 * kernel. */
bool plan_shared_by_rules(const struct plan_leg *leg);
/* The UDP port of the worker with that id: its own if a leg shares the host's address. A port
 * above 65535 is an error in b->d. */
uint16_t plan_shared_port(struct plan_builder *b, uint32_t id);

#endif
