/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The user and group as whom a thread accesses files. The file system checks permissions for them,
 * and makes them the owner of new files. A change of the user may change capabilities, see
 * capabilities(7); this module does not handle that. Each thread has one struct fuse_ids, which
 * caches its current identity.
 */
#ifndef PLENUM_DATAPLANE_FUSE_IDS_H
#define PLENUM_DATAPLANE_FUSE_IDS_H

#include "netcfg/base/base.h"

struct fuse_ids {
	uint32_t uid, gid;
};

/* Reads the thread's current ids. */
void fuse_ids_get(struct fuse_ids *ret);
/* Switches the thread to this user and group, and updates *now. Makes no system call if they are
 * the current ids. Returns 0 or -EINVAL. After an error only one of the ids may be changed, so the
 * caller must not access files. */
int fuse_ids_set(struct fuse_ids *now, uint32_t uid, uint32_t gid);

#endif
