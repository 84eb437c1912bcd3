/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Caches what devlink reports of the devices until devlink announces a change. A driver answers
 * devlink under its device's lock, which creating VFs or flashing firmware holds for seconds; the
 * agent collects an inventory at each notification and must not wait for that lock each time.
 * devlink does not announce a change of the embedded switch mode; where ports appear and disappear
 * with the mode, their notifications imply it. Where there are none (ice changes its mode only
 * without VFs), an explicit look (devlink_watch_forget) bypasses the cache. Used by kernel_linux
 * alone.
 */
#ifndef PLENUM_NETCFG_DEVLINK_WATCH_H
#define PLENUM_NETCFG_DEVLINK_WATCH_H

#include "netcfg/host/kernel.h"

struct nlmsghdr;

struct devlink_watch {
	int fd; /* -1: no socket listens, so nothing is cached */
	/* Reads everything from the kernel, as kernel_devlink_collect does. */
	int (*collect)(struct inventory *inv);
	struct inventory *known; /* devlink's part alone; NULL: not cached */
};
#define DEVLINK_WATCH_INIT                                  \
	{                                                   \
		.fd = -1, .collect = kernel_devlink_collect \
	}

/* Starts listening. 0; negative errno: this kernel has no devlink, or the caller lacks
 * permission. */
int devlink_watch_open(struct devlink_watch *w);
void devlink_watch_close(struct devlink_watch *w);
/* Drops the cache: the next collection reads everything from the kernel. */
void devlink_watch_forget(struct devlink_watch *w);
/* Reads pending notifications and drops the cache where they announce a change; calls cb (may be
 * NULL) once in that case. 0; negative errno. */
int devlink_watch_read(struct devlink_watch *w,
		       void (*cb)(void *user, const struct kernel_event *e), void *user);
/* Adds what all devices report. As kernel_devlink_collect. */
int devlink_watch_collect(struct devlink_watch *w, struct inventory *inv);

#endif
