/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel settings of the host in memory. Part of kernel_fake. */
#ifndef PLENUM_TESTS_LIB_FAKE_SYSCTL_H
#define PLENUM_TESTS_LIB_FAKE_SYSCTL_H

#include "netcfg/host/kernel.h"

/* Implement change and read of struct kernel_ops for kernel settings. */
int fake_sysctl_change(struct inventory *inv, const struct kernel_sysctl *s);
int fake_sysctl_read(const struct inventory *inv, struct kernel_sysctl *s);
/* Removes the settings of a removed link. link_settings_add_new() has added them. */
void fake_settings_remove(struct inventory *inv, const char *ifname);

#endif
