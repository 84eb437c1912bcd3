/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and sets the defaults that rdma_cm uses for RoCE connections (RoCE version, traffic class).
 * configfs shows them in one folder for each device. A reader must create this folder, and removes
 * it again if it created it; neither affects the settings. kernel_linux uses this.
 */
#ifndef PLENUM_NETCFG_KERNEL_ROCE_H
#define PLENUM_NETCFG_KERNEL_ROCE_H

#include "netcfg/host/kernel.h"

/* Opens the root of configfs. If `load` is set, it first loads the module rdma_cm, which needs full
 * privileges. Returns a descriptor, or negative errno if configfs is unavailable or rdma_cm is
 * absent (checked in sysfs_root). */
int kernel_roce_open(int sysfs_root, bool load);
/* Sets roce_mode and roce_tos of RoCE ports in inv. A port that cannot be read stays unchanged. */
void kernel_roce_fill(int configfs, struct inventory *inv);
/* Implement change and read of struct kernel_ops for these settings. Return -ENODEV if the link no
 * longer has an RDMA port. */
int kernel_roce_change(int configfs, const struct kernel_change *c, struct reason *why);
int kernel_roce_read(int configfs, struct kernel_change *c);

#endif
