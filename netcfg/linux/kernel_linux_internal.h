/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of the Linux implementation of struct kernel_ops, and the functions that change and
 * read each kind in KERNEL_KINDS. The functions of a new kind belong in a separate file.
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
	struct netlink *diag;	  /* socket for socket diagnostics; NULL: this kernel cannot
				     list sockets */
	struct rtnl_watch *watch; /* NULL until the first call of watch_fd */
	int udev_watch;
	struct devlink_watch devlink;
	int watch_poll; /* descriptor that is readable when one of the notification sockets is
			   readable */
	int sysfs;
	int pci; /* descriptor of /sys/bus/pci; -ENOENT: this machine has no PCI bus */
	int proc_sys;
	int proc_net;
	/* descriptor of configfs; negative: rdma_cm is not loaded, or this process may not access
	 * configfs */
	int configfs;
	bool soft_roce; /* whether the last collection found the driver of soft-RoCE */
	struct probe_sockets probe;
	struct ping_sockets ping;
};

/* A change function does what kernel_ops.change does for its kind, and a read function what
 * kernel_ops.read does. */
#define KERNEL_OBJECT(member, name)                                                            \
	int kernel_linux_change_##name(struct kernel_linux *kl, const struct kernel_change *c, \
				       struct reason *why);
#define KERNEL_VALUE(member, name)  \
	KERNEL_OBJECT(member, name) \
	int kernel_linux_read_##name(struct kernel_linux *kl, struct kernel_change *c);
KERNEL_KINDS(KERNEL_OBJECT, KERNEL_VALUE)

#endif
