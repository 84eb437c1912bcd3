/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads what only procfs reports of a bond's ports: the switch that each port hears by LACP, and
 * the churn state of both ends. Only privileged processes may read it. Never writes; used by
 * kernel_linux alone.
 */
#ifndef PLENUM_NETCFG_PROC_BOND_H
#define PLENUM_NETCFG_PROC_BOND_H

#include "netcfg/host/inventory.h"

/* Fills in inv's ports from "bonding/NAME" below proc_net, a descriptor of /proc/net. */
void proc_bond_fill(int proc_net, struct inventory *inv);
/* The same from the text of one bond's file. */
void proc_bond_parse(const char *text, struct inventory *inv);

#endif
