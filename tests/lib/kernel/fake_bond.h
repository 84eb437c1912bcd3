/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bonds of the host in memory: change and read of struct kernel_ops for KERNEL_BOND,
 * KERNEL_BOND_VALUE and KERNEL_MASTER. k is the host, whose links change with its bonds. Used only
 * by kernel_fake.c.
 */
#ifndef PLENUM_TESTS_LIB_FAKE_BOND_H
#define PLENUM_TESTS_LIB_FAKE_BOND_H

#include "netcfg/host/kernel.h"

int fake_bond_change(struct kernel *k, struct inventory *inv, const struct kernel_change *c);
int fake_bond_value_change(struct inventory *inv, const struct kernel_change *c);
int fake_bond_value_read(const struct inventory *inv, struct kernel_change *c);
/* Changes the master of a link, and with it the link's MAC and MTU. Returns 1 if the link had to go
 * down for this (*ret_up: whether it comes up again), 0 if it had this master already, or negative
 * errno. */
int fake_master_change(struct inventory *inv, const struct kernel_change *c, bool *ret_up);
int fake_master_read(const struct inventory *inv, struct kernel_change *c);
/* Gives the ports the MTU of their bond. */
void fake_bond_spread_mtu(struct inventory *inv, const struct inv_link *bond);
/* Updates the carriers of bonds, and of VLANs on them, after a change of any link. */
void fake_bonds_follow(struct inventory *inv);
/* Returns whether a port of the bond has a carrier. */
bool fake_bond_carrier(const struct inventory *inv, const struct inv_link *bond);

#endif
