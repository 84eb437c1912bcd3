/* SPDX-License-Identifier: BSD-3-Clause */
/* The device settings of the host in memory. Used only by kernel_fake.c. */
#ifndef PLENUM_TESTS_FAKE_DEVICE_H
#define PLENUM_TESTS_FAKE_DEVICE_H

#include "netcfg/host/kernel.h"

/* Implement change and read of struct kernel_ops for device settings. */
int fake_device_change(struct inventory *inv, const struct kernel_change *c);
int fake_device_read(const struct inventory *inv, struct kernel_change *c);
/* Returns whether the link's IPoIB mode forbids the MTU. */
bool fake_device_refuses_mtu(const struct inv_link *l, uint32_t mtu);

#endif
