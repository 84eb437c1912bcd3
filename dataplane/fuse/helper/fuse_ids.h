/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * As whom a thread uses files: the user and group that the file system judges and that what it
 * makes belongs to. Of capabilities it knows nothing: they may go with the user, see
 * capabilities(7). Each thread that takes others' identities has one of these, by which it knows
 * who it is without asking.
 */
#ifndef PLENUM_DATAPLANE_FUSE_IDS_H
#define PLENUM_DATAPLANE_FUSE_IDS_H

#include "netcfg/base/base.h"

struct fuse_ids {
	uint32_t uid, gid;
};

/* The thread's, as it is. */
void fuse_ids_get(struct fuse_ids *ret);
/* The thread becomes this user and group; *now is kept true to it, and costs it nothing where it is
 * so already. 0; -EINVAL: it cannot, and is neither to be taken for them nor wholly for who it was:
 * whatever was to be done in their name must not be. */
int fuse_ids_set(struct fuse_ids *now, uint32_t uid, uint32_t gid);

#endif
