/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What only procfs tells of a bond's ports: the switch that each hears by LACP, and whether the two
 * come to terms. The kernel shows it to the privileged; nobody else learns more than netlink tells.
 * Never writes; used by kernel_linux alone.
 */
#ifndef PLENUM_NETCFG_PROC_BOND_H
#define PLENUM_NETCFG_PROC_BOND_H

#include "netcfg/host/inventory.h"

/* Fills in inv's ports from "bonding/NAME" below proc_net, a descriptor of /proc/net. */
void proc_bond_fill(int proc_net, struct inventory *inv);
/* The same from the text of the file of one bond. */
void proc_bond_parse(const char *text, struct inventory *inv);

#endif
