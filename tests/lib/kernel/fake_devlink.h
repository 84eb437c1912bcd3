/* SPDX-License-Identifier: BSD-3-Clause */
/* Driver parameters and RoCE defaults of the host in memory; used by fake_device.c. */
#ifndef PLENUM_NETCFG_FAKE_DEVLINK_H
#define PLENUM_NETCFG_FAKE_DEVLINK_H

#include "netcfg/host/kernel.h"

/* Implement change and read of struct kernel_ops for KERNEL_DEVLINK. */
int fake_devlink_change(struct inventory *inv, const struct kernel_change *c);
int fake_devlink_read(const struct inventory *inv, struct kernel_change *c);
/* Implement change and read of struct kernel_ops for DEVICE_ROCE_MODE and DEVICE_ROCE_TOS. */
int fake_roce_change(struct inventory *inv, const struct kernel_change *c);
int fake_roce_read(const struct inventory *inv, struct kernel_change *c);

#endif
