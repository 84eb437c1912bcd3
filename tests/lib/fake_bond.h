/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bonding part of the host in memory, over its inventory: struct kernel_ops' change and read of
 * KERNEL_BOND, KERNEL_BOND_VALUE and KERNEL_MASTER. k: where bonds come and go. Used by kernel_fake
 * alone.
 */
#ifndef PLENUM_TESTS_LIB_FAKE_BOND_H
#define PLENUM_TESTS_LIB_FAKE_BOND_H

#include "netcfg/host/kernel.h"

int fake_bond_change(struct kernel *k, struct inventory *inv, const struct kernel_change *c);
int fake_bond_value_change(struct inventory *inv, const struct kernel_change *c);
int fake_bond_value_read(const struct inventory *inv, struct kernel_change *c);
/* The link's own part: who is whose port, the bond's MAC and MTU. 1: it goes down over it, and is
 * then as ret_up says; 0: it was so already. */
int fake_master_change(struct inventory *inv, const struct kernel_change *c, bool *ret_up);
int fake_master_read(const struct inventory *inv, struct kernel_change *c);
/* A bond's MTU is that of its ports. */
void fake_bond_spread_mtu(struct inventory *inv, const struct inv_link *bond);
/* The bonds' carriers, and those of the VLANs on them, after a change of any link. */
void fake_bonds_follow(struct inventory *inv);
/* Whether a port of the bond has a carrier. */
bool fake_bond_carrier(const struct inventory *inv, const struct inv_link *bond);

#endif
