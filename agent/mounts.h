/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The FUSE mounts of this host. The monitor opens /dev/fuse, mounts, and keeps the descriptor for
 * as long as the mount exists, so that a worker's death does not end it: requests wait in the
 * kernel until the successor serves the same descriptor. Never reads or writes a FUSE descriptor,
 * and never looks into a mount, which could wait for ever.
 */
#ifndef PLENUM_AGENT_MOUNTS_H
#define PLENUM_AGENT_MOUNTS_H

#include "agent/rundir.h"
#include "dataplane/launch.h"

#define MOUNTS_SUBTYPE "plenum"
#define MOUNTS_FSTYPE "fuse." MOUNTS_SUBTYPE
#define MOUNTS_MAX_READ 1048576
#define MOUNTS_WHY_MAX (LAUNCH_REASON_MAX * 2)

struct mounts;

int mounts_new(struct rundir *rd, struct mounts **ret);
/* Closes the descriptors without unmounting; see mounts_keep. Accepts NULL, returns NULL. */
struct mounts *mounts_free(struct mounts *m);
/*
 * The descriptor (borrowed) and id of the mount that `want` names; mounts it where that has not
 * been done. The mount point must be an existing, empty directory that is no mount point. Negative
 * errno with one sentence in why (MOUNTS_WHY_MAX bytes).
 */
int mounts_get(struct mounts *m, struct launch_mount *want, char *why);
/* Takes over a mount of the record whose descriptor came from a predecessor, if it is still mounted
 * there. name as mounts_fd_name gives it. 0: fd is ours; -ENOENT: it is no mount's, still the
 * caller's. */
int mounts_adopt(struct mounts *m, int fd, const char *name);
/* Unmounts those that are in none of the n configurations. Waits at most a few seconds for each. */
void mounts_keep(struct mounts *m, const struct launch_config *configs, size_t n);
/* Unmounts one; whoever still uses it gets errors. */
void mounts_drop(struct mounts *m, const char *path);
/* umount(2) in a child of its own, lazily where it is in use. 0; -ETIMEDOUT where it hangs. */
int mounts_unmount(const char *path);
/* What is mounted at exactly this path: type into fstype, device into major and minor. 1; 0:
 * nothing; negative errno. */
int mounts_lookup(const char *path, char *fstype, size_t size, unsigned *ret_major,
		  unsigned *ret_minor);

#endif
