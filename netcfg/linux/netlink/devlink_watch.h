/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Caches what devlink reports about devices until devlink announces a change. A driver answers
 * devlink queries only while it holds the lock of its device. It also holds this lock for seconds
 * while it creates VFs or flashes firmware. The agent collects an inventory at each notification
 * and must not wait for that lock each time. devlink does not announce a change of the embedded
 * switch mode. With most drivers, ports appear or disappear when the mode changes, and devlink
 * announces the ports. With other drivers (such as ice, which changes its mode only without VFs),
 * only devlink_watch_forget() makes the new mode visible. kernel_linux alone uses this.
 */
#ifndef PLENUM_NETCFG_DEVLINK_WATCH_H
#define PLENUM_NETCFG_DEVLINK_WATCH_H

#include "netcfg/host/kernel.h"

struct nlmsghdr;

struct devlink_watch {
	int fd; /* socket for notifications; -1: no socket listens, so nothing is cached */
	/* Reads everything from the kernel, as kernel_devlink_collect does. */
	int (*collect)(struct inventory *inv);
	struct inventory *known; /* contains only the data of devlink; NULL: nothing is cached */
};
#define DEVLINK_WATCH_INIT                                  \
	{                                                   \
		.fd = -1, .collect = kernel_devlink_collect \
	}

/* Starts listening. Returns 0, or negative errno if this kernel has no devlink or the caller lacks
 * permission. */
int devlink_watch_open(struct devlink_watch *w);
void devlink_watch_close(struct devlink_watch *w);
/* Drops the cache, so that the next collection reads everything from the kernel. */
void devlink_watch_forget(struct devlink_watch *w);
/* Reads pending notifications. If they announce a change, drops the cache and calls cb (may be
 * NULL) once. Returns 0 or negative errno. */
int devlink_watch_read(struct devlink_watch *w,
		       void (*cb)(void *user, const struct kernel_event *e), void *user);
/* Adds the data of all devices, from the cache or, without a cache, as kernel_devlink_collect
 * does. */
int devlink_watch_collect(struct devlink_watch *w, struct inventory *inv);

#endif
