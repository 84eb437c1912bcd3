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

#endif
