/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * setfsuid(2) and setfsgid(2), of which neither says whether it did anything. Apart because the
 * server's thread and its hands take users' identities by the same rules.
 */
#include "dataplane/fuse/helper/fuse_ids.h"
#include <sys/fsuid.h>

#define NONE UINT32_MAX /* no user and no group has that number: asks, and changes nothing */

void fuse_ids_get(struct fuse_ids *ret)
{
	ret->uid = (uint32_t)setfsuid(NONE);
	ret->gid = (uint32_t)setfsgid(NONE);
}

/* Each call tells what it was before: the second, of nobody, what it is now. */
int fuse_ids_set(struct fuse_ids *now, uint32_t uid, uint32_t gid)
{
	if (uid == NONE || gid == NONE)
		return -EINVAL;
	if (gid != now->gid) {
		setfsgid(gid);
		if ((uint32_t)setfsgid(NONE) != gid)
			return -EINVAL;
		now->gid = gid;
	}
	if (uid != now->uid) {
		setfsuid(uid);
		if ((uint32_t)setfsuid(NONE) != uid)
			return -EINVAL;
		now->uid = uid;
	}
	return 0;
}
