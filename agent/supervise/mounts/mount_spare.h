/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A second, detached mount of a file system that is mounted on this host. While it exists, the
 * connection of the FUSE mount survives `umount -l` by another program. Attaching it restores the
 * mount for programs that still use it. Called by mounts.c.
 */
#ifndef PLENUM_AGENT_MOUNT_SPARE_H
#define PLENUM_AGENT_MOUNT_SPARE_H

#include "agent/base/loop.h"

/* Makes a spare mount from a descriptor of the attached mount. Returns its descriptor, which is the
 * caller's, or negative errno. Does not block. */
int mount_spare_new(int mnt_fd);

/* Closes a spare mount without blocking. If it is the last mount of its file system, the kernel may
 * wait for the server, so a child process closes it. Accepts -1. */
void mount_spare_drop(int fd);

struct mount_spare_request;
/* Makes a spare mount from a path, in a child task, because a parent directory may belong to a file
 * system that hangs. cb gets the descriptor and owns it. cb is not called if this fails or if
 * another file system is mounted at the path. */
int mount_spare_ask(struct loop *l, const char *path, unsigned major, unsigned minor,
		    void (*cb)(void *user, int fd), void *user, struct mount_spare_request **ret);
/* Cancels the request. Accepts NULL, returns NULL. */
struct mount_spare_request *mount_spare_forget(struct mount_spare_request *r);

#endif
