/* SPDX-License-Identifier: BSD-3-Clause */
/* VLAN links of the host in memory. Part of kernel_fake. */
#ifndef PLENUM_TESTS_FAKE_VLAN_H
#define PLENUM_TESTS_FAKE_VLAN_H

#include "netcfg/host/kernel.h"

/* Implement change of struct kernel_ops for VLANs. */
int fake_vlan_add(struct kernel *k, struct inventory *inv, const struct kernel_change *c);
int fake_vlan_remove(struct kernel *k, struct inventory *inv, const struct kernel_change *c);
/* Returns the ifindex for a new link. */
uint32_t fake_next_ifindex(const struct inventory *inv);
/* Reduces the MTU of the VLANs on `lower` to the MTU of `lower`. */
void fake_vlan_follow_mtu(struct inventory *inv, const struct inv_link *lower);

#endif
