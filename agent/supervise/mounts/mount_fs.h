/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates the FUSE file system of a mount, which is attached later. Stateless. Called by
 * mounts.c. */
#ifndef PLENUM_AGENT_MOUNT_FS_H
#define PLENUM_AGENT_MOUNT_FS_H

#include "agent/supervise/mounts/mounts.h"

/* Creates a file system that is not attached to a path and that ends when its descriptor is closed.
 * Its device number is in *ret_major and *ret_minor. Returns its descriptor or negative errno. */
int mount_fs_new(const struct launch_mount *w, const struct mounts_rule *rule, int fuse_fd,
		 unsigned *ret_major, unsigned *ret_minor);

#endif
