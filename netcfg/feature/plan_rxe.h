/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions of the feature `soft-roce`: find the link of a leg's RDMA device, decide whether to
 * create a device, and compute the GIDs of its addresses.
 */
#ifndef PLENUM_NETCFG_PLAN_RXE_H
#define PLENUM_NETCFG_PLAN_RXE_H

#include "netcfg/plan/planner.h"

/* Returns the link that has the RDMA device, hardware or soft-RoCE, of a leg on `link`. If `link`
 * is a VLAN, this is its parent, or NULL if the parent is in another network namespace. */
const struct inv_link *plan_rxe_place(const struct inventory *inv, const struct inv_link *link);

#endif
