/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and sets rdma_cm's defaults for RoCE connections (RoCE version, traffic class) in configfs,
 * where a folder per device is a mere view of them. Folders created here for reading are removed
 * afterwards; existing ones stay. Used by kernel_linux.
 */
#ifndef PLENUM_NETCFG_KERNEL_ROCE_H
#define PLENUM_NETCFG_KERNEL_ROCE_H

#include "netcfg/host/kernel.h"

/* Opens configfs' root. Negative errno: configfs is unavailable, or rdma_cm is absent (checked
 * in sysfs_root). load: load the module first, which needs all privileges. */
int kernel_roce_open(int sysfs_root, bool load);
/* Fills in the RoCE ports of inv. Ports that cannot be read stay unchanged. */
void kernel_roce_fill(int configfs, struct inventory *inv);
/* The change and read operations of struct kernel_ops. -ENODEV: the link has no RDMA port any
 * more. */
int kernel_roce_change(int configfs, const struct kernel_change *c, struct reason *why);
int kernel_roce_read(int configfs, struct kernel_change *c);

#endif
