/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices by the kernel's devlink: who they are, their firmware, ports and parameters. Drivers that
 * do not speak it have none of it. Used by kernel_linux.
 */
#ifndef PLENUM_NETCFG_KERNEL_DEVLINK_H
#define PLENUM_NETCFG_KERNEL_DEVLINK_H

#include "netcfg/host/kernel.h"
#include <linux/netlink.h>

/* Adds what all devices tell. That there is none is no error. 0; negative errno. */
int kernel_devlink_collect(struct inventory *inv);
/* As struct kernel_ops has change and read, for a parameter. */
int kernel_devlink_change(const struct kernel_change *c, char *why);
int kernel_devlink_read(struct kernel_change *c);

/* The same of any device, as inv_devlink names it. */
int kernel_devlink_set(const char *device, const struct kernel_devlink *v, char *why);
int kernel_devlink_get(const char *device, struct kernel_devlink *v);

/* One message of an answer, by what it says: a device, its versions, parameters, a port, the mode
 * of its switch. 0, also where it says nothing of the kind; -ENOMEM. */
int kernel_devlink_parse(struct inventory *inv, const struct nlmsghdr *h);
/* The request that sets a parameter of that type, into buf; how many bytes; -EINVAL: the value is
 * none of the type. */
#define DEVLINK_REQUEST_BYTES_MAX 512
int kernel_devlink_request(uint16_t family, const char *device, const struct kernel_devlink *v,
			   const char *type, char buf[static DEVLINK_REQUEST_BYTES_MAX]);

#endif
