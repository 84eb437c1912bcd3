/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * soft-RoCE from the spec: which link a leg's RDMA device is on, whether one is to be made, and the
 * GIDs that its addresses become. Owns nothing. Used by the makers of legs and by the verification.
 */
#ifndef PLENUM_NETCFG_PLAN_RXE_H
#define PLENUM_NETCFG_PLAN_RXE_H

#include "netcfg/plan/planner.h"

/* Where a link's RDMA device is, its own or soft-RoCE: a VLAN's is that of the link below. NULL:
 * that is not in this network namespace. */
const struct inv_link *plan_rxe_place(const struct inventory *inv, const struct inv_link *link);
/* Leg i becomes degraded where it cannot have the soft-RoCE device that it asks for. */
void plan_rxe_check_leg(struct plan_builder *b, size_t i, const struct plan_leg *leg);
/* The device, where the leg asks for one and has no RDMA device of its own. 0, -ENOMEM. */
int plan_rxe_want(struct plan_builder *b, const struct plan_leg *leg);
/* Whether an address on the link shall be a GID of a device of ours, and the kernel has not made it
 * one yet. */
bool plan_rxe_gid_is_coming(const struct inventory *inv, const struct inv_addr *a);

#endif
