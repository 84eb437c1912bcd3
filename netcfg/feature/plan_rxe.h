/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The feature `soft-roce`: the link of a leg's RDMA device, whether to create one, and the GIDs of
 * its addresses.
 */
#ifndef PLENUM_NETCFG_PLAN_RXE_H
#define PLENUM_NETCFG_PLAN_RXE_H

#include "netcfg/plan/planner.h"

/* The link with the RDMA device, its own or soft-RoCE: for a VLAN its parent. NULL: the parent is
 * in another network namespace. */
const struct inv_link *plan_rxe_place(const struct inventory *inv, const struct inv_link *link);
/* Degrades leg i if it cannot have the soft-RoCE device that it asks for. */
void plan_rxe_check_leg(struct plan_builder *b, size_t i, const struct plan_leg *leg);
/* Adds the device if the leg asks for one and has no RDMA device. 0, -ENOMEM. */
int plan_rxe_want(struct plan_builder *b, const struct plan_leg *leg);
/* Whether an address becomes a GID of our soft-RoCE device, but the kernel has not created the GID
 * yet. */
bool plan_rxe_gid_is_coming(const struct inventory *inv, const struct inv_addr *a);

#endif
