/* SPDX-License-Identifier: BSD-3-Clause */
/* The FUSE file system of a mount, before it is attached. Stateless. Called by mounts.c. */
#ifndef PLENUM_AGENT_MOUNT_FS_H
#define PLENUM_AGENT_MOUNT_FS_H

#include "dataplane/launch.h"

/* Creates a file system that is attached nowhere yet and ends with its descriptor. Its device
 * number in *ret_major and *ret_minor. A descriptor; negative errno. */
int mount_fs_new(const struct launch_mount *w, int fuse_fd, unsigned *ret_major,
		 unsigned *ret_minor);

#endif
