/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens the directory where a mount is attached, and finds out whether another file system hides
 * the mount there. Never enters a mount. Keeps no state: the caller has the tasks that open
 * directories (struct async_open).
 */
#ifndef PLENUM_AGENT_MOUNT_PLACE_H
#define PLENUM_AGENT_MOUNT_PLACE_H

#include "agent/base/child/async_open.h"
#include "agent/supervise/mounts/mountinfo.h"
#include "netcfg/base/reason.h"

/* Opens the directory and writes its path, as in mountinfo(5), to `real`. Returns a descriptor,
 * which is the caller's, or negative errno with why: the directory is missing, in use or not empty,
 * or its file system does not answer. */
int mount_place_open(struct async_open *dirs, const char *path, char *real, size_t size,
		     struct reason *why);
/* Returns whether another file system hides `mi`, which is mounted at `real`, because it was
 * mounted later over the same path or over a parent directory. If so, why has a sentence with the
 * configured path. */
bool mount_place_is_covered(const char *path, const char *real, const struct mountinfo *mi,
			    struct reason *why);

#endif
