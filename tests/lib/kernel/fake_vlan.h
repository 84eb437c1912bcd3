/* SPDX-License-Identifier: BSD-3-Clause */
/* VLAN links of the host in memory. Part of kernel_fake. */
#ifndef PLENUM_TESTS_FAKE_VLAN_H
#define PLENUM_TESTS_FAKE_VLAN_H

#include "netcfg/host/kernel.h"

/* Change of struct kernel_ops for VLANs. */
int fake_vlan_add(struct kernel *k, struct inventory *inv, const struct kernel_change *c);
int fake_vlan_remove(struct kernel *k, struct inventory *inv, const struct kernel_change *c);
/* The index for a new link. */
uint32_t fake_next_ifindex(const struct inventory *inv);
/* Limits the MTU of VLANs to that of their parent. */
void fake_vlan_follow_mtu(struct inventory *inv, const struct inv_link *lower);

#endif
