/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host we run on, and how it changes and reads each kind of object in KERNEL_KINDS. A new kind
 * has its functions in a separate file.
 */
#ifndef PLENUM_NETCFG_KERNEL_LINUX_INTERNAL_H
#define PLENUM_NETCFG_KERNEL_LINUX_INTERNAL_H

#include "netcfg/host/kernel.h"
#include "netcfg/linux/netlink/devlink_watch.h"
#include "netcfg/linux/ping.h"
#include "netcfg/linux/probe.h"

struct kernel_linux {
	struct kernel kernel;
	struct rtnl *rtnl;
	struct netlink *diag;	  /* NULL: this kernel cannot list sockets */
	struct rtnl_watch *watch; /* NULL until the first watch_fd */
	int udev_watch;
	struct devlink_watch devlink;
	int watch_poll; /* becomes readable with any of them */
	int sysfs;
	int pci; /* -ENOENT: this machine has no PCI */
	int proc_sys;
	int proc_net;
	int configfs;	/* negative: rdma_cm is not loaded, or we may not */
	bool soft_roce; /* as the last look found it */
	struct probe_sockets probe;
	struct ping_sockets ping;
};

/* The change, as kernel_ops.change; reading, as kernel_ops.read. */
#define KERNEL_OBJECT(member, name)                                                            \
	int kernel_linux_change_##name(struct kernel_linux *kl, const struct kernel_change *c, \
				       struct reason *why);
#define KERNEL_VALUE(member, name)  \
	KERNEL_OBJECT(member, name) \
	int kernel_linux_read_##name(struct kernel_linux *kl, struct kernel_change *c);
KERNEL_KINDS(KERNEL_OBJECT, KERNEL_VALUE)

#endif
