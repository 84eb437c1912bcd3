/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads devices' data from devlink (identity, firmware versions, ports and parameters), and sets
 * parameters. Drivers without devlink report none of it. kernel_linux uses it.
 */
#ifndef PLENUM_NETCFG_KERNEL_DEVLINK_H
#define PLENUM_NETCFG_KERNEL_DEVLINK_H

#include "netcfg/host/kernel.h"
#include <linux/netlink.h>

/* Adds the data of all devices. A host without devlink devices is not an error. Returns 0 or
 * negative errno. */
int kernel_devlink_collect(struct inventory *inv);
/* Implement change and read of struct kernel_ops for devlink parameters. */
int kernel_devlink_change(const struct kernel_change *c, struct reason *why);
int kernel_devlink_read(struct kernel_change *c);

/* Set and read a parameter of any device, which is named as in inv_devlink. */
int kernel_devlink_set(const char *device, const struct kernel_devlink *v, struct reason *why);
int kernel_devlink_get(const char *device, struct kernel_devlink *v);

/* Parses one message of an answer: a device, its versions or parameters, a port, or the mode of its
 * embedded switch. Other messages are ignored. Returns 0 or -ENOMEM. */
int kernel_devlink_parse(struct inventory *inv, const struct nlmsghdr *h);
/* Writes the request that sets a parameter of the given type into buf. Returns its length, or
 * -EINVAL if the value does not fit the type. */
#define DEVLINK_REQUEST_BYTES_MAX 512
int kernel_devlink_request(uint16_t family, const char *device, const struct kernel_devlink *v,
			   const char *type, char buf[static DEVLINK_REQUEST_BYTES_MAX]);

#endif
