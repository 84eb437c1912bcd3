/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings of devices of the host in memory. Used only by kernel_fake.c. */
#ifndef PLENUM_TESTS_FAKE_DEVICE_H
#define PLENUM_TESTS_FAKE_DEVICE_H

#include "netcfg/host/kernel.h"

/* Change and read of struct kernel_ops. */
int fake_device_change(struct inventory *inv, const struct kernel_change *c);
int fake_device_read(const struct inventory *inv, struct kernel_change *c);
/* Whether the link's IPoIB mode does not allow the MTU. */
bool fake_device_refuses_mtu(const struct inv_link *l, uint32_t mtu);

#endif
