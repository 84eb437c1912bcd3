/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What devlink tells of the devices, kept until devlink itself says that it changed: a driver
 * answers under its device's lock, which making VFs or writing firmware holds for seconds, and who
 * looks at the host at every notification must not wait for that each time. Of the mode of an
 * embedded switch the ports that come and go with it tell; where there are none, as with ice, whose
 * mode changes without VFs alone, nobody does: who is asked to look has it forgotten first. Used by
 * kernel_linux alone.
 */
#ifndef PLENUM_NETCFG_DEVLINK_WATCH_H
#define PLENUM_NETCFG_DEVLINK_WATCH_H

#include "netcfg/host/kernel.h"

struct nlmsghdr;

struct devlink_watch {
	int fd; /* -1: nobody listens, so nothing is kept */
	/* Reads it all anew, as kernel_devlink_collect does. */
	int (*collect)(struct inventory *inv);
	struct inventory *known; /* devlink's part alone; NULL: to be read */
};
#define DEVLINK_WATCH_INIT                                  \
	{                                                   \
		.fd = -1, .collect = kernel_devlink_collect \
	}

/* Listens from now on. 0; negative errno: this kernel has no devlink, or we may not. */
int devlink_watch_open(struct devlink_watch *w);
void devlink_watch_close(struct devlink_watch *w);
/* The next look reads it all anew. */
void devlink_watch_forget(struct devlink_watch *w);
/* Takes what came, and forgets what is known where that is about it; cb (NULL: nobody wants to
 * know) hears of it once. 0; negative errno. */
int devlink_watch_read(struct devlink_watch *w,
		       void (*cb)(void *user, const struct kernel_event *e), void *user);
/* Adds what all devices tell. As kernel_devlink_collect. */
int devlink_watch_collect(struct devlink_watch *w, struct inventory *inv);

#endif
