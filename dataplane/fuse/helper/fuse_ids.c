/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets the user and group of a thread by setfsuid(2) and setfsgid(2), which do not report errors.
 * The server's thread and the helpers use it.
 */
#include "dataplane/fuse/helper/fuse_ids.h"
#include <sys/fsuid.h>

#define NONE                                                                                    \
	UINT32_MAX /* an id that the kernel refuses: a call with it changes nothing and returns \
		      the current id */

void fuse_ids_get(struct fuse_ids *ret)
{
	ret->uid = (uint32_t)setfsuid(NONE);
	ret->gid = (uint32_t)setfsgid(NONE);
}

/* setfsuid(2) and setfsgid(2) return the previous id. So a second call, with an invalid id, shows
 * whether the first call has succeeded. */
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
