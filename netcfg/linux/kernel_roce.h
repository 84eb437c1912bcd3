/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What rdma_cm takes for connections over RoCE where a program does not say, by configfs: a folder
 * for each device that somebody has asked about, which is only a view. What is made here to look is
 * taken away again; what others have made stays. Used by kernel_linux.
 */
#ifndef PLENUM_NETCFG_KERNEL_ROCE_H
#define PLENUM_NETCFG_KERNEL_ROCE_H

#include "netcfg/host/kernel.h"

/* A descriptor of the root of configfs; negative errno: it is not to be had, or rdma_cm is not
 * there (sysfs_root knows). load: have the module loaded, which needs every privilege. */
int kernel_roce_open(int sysfs_root, bool load);
/* Fills the RoCE ports of inv. Those that cannot be read stay as they are. */
void kernel_roce_fill(int configfs, struct inventory *inv);
/* As struct kernel_ops has change and read. -ENODEV: the link has no RDMA port any more. */
int kernel_roce_change(int configfs, const struct kernel_change *c, char *why);
int kernel_roce_read(int configfs, struct kernel_change *c);

#endif
