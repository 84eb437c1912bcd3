/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads data about a bond's ports that only procfs has: the switch that each port reaches by LACP,
 * and the LACP churn state of both sides. Only privileged processes may read it. Never writes;
 * kernel_linux alone uses it.
 */
#ifndef PLENUM_NETCFG_PROC_BOND_H
#define PLENUM_NETCFG_PROC_BOND_H

#include "netcfg/host/inventory.h"

/* Sets partner_mac and churned of the bond ports that inv already has, from the files bonding/NAME
 * below proc_net, a descriptor of /proc/net. */
void proc_bond_fill(int proc_net, struct inventory *inv);
/* Parses the text of one such file, and sets the same members. */
void proc_bond_parse(const char *text, struct inventory *inv);

#endif
