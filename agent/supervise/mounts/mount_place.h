/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The place of a mount: opens its directory, and finds what keeps programs from a mount there.
 * Never enters a mount. Stateless, but for the caller's tasks that open directories.
 */
#ifndef PLENUM_AGENT_MOUNT_PLACE_H
#define PLENUM_AGENT_MOUNT_PLACE_H

#include "agent/base/child/async_open.h"
#include "agent/supervise/mounts/mountinfo.h"
#include "netcfg/base/reason.h"

/* Opens the directory and writes its path as in mountinfo(5) to `real`. A descriptor, the caller's;
 * negative errno with why: it is missing, in use or not empty, or its file system does not
 * answer. */
int mount_place_open(struct async_open *dirs, const char *path, char *real, size_t size,
		     struct reason *why);
/* Whether `mi`, mounted at `real`, is below another file system, mounted over it or over one of its
 * parents later. why: then the sentence, with the configured path; else unset. */
bool mount_place_is_covered(const char *path, const char *real, const struct mountinfo *mi,
			    struct reason *why);

#endif
