/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * VFs of the host in memory: change and read of struct kernel_ops for KERNEL_PCI and KERNEL_VF. k
 * is the host, whose links change with its VFs. Used only by kernel_fake.c.
 */
#ifndef PLENUM_TESTS_LIB_FAKE_SRIOV_H
#define PLENUM_TESTS_LIB_FAKE_SRIOV_H

#include "netcfg/host/kernel.h"

int fake_sriov_pci_change(struct kernel *k, struct inventory *inv, const struct kernel_change *c);
int fake_sriov_pci_read(const struct inventory *inv, struct kernel_change *c);
int fake_sriov_vf_change(struct inventory *inv, const struct kernel_change *c);
int fake_sriov_vf_read(const struct inventory *inv, struct kernel_change *c);

#endif
