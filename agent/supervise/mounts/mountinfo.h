/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds mounts by reading mountinfo(5) only. No function enters a mount, so none can block on a
 * mount without a server. Stateless.
 */
#ifndef PLENUM_AGENT_MOUNTINFO_H
#define PLENUM_AGENT_MOUNTINFO_H

#include <stddef.h>

struct mountinfo {
	char fstype[32];
	unsigned major, minor; /* device number of the mounted file system */
};

/* Finds the topmost mount at exactly this path. Returns 1 if there is one, 0 if nothing is mounted
 * there, or negative errno. */
int mountinfo_top(const char *path, struct mountinfo *ret);
/* Returns 1 if `want` is mounted at this path, even if later mounts hide it, 0 if it is not, or
 * negative errno. */
int mountinfo_has(const char *path, const struct mountinfo *want);
/* Finds the first path at which `want` is mounted. Returns 1, 0 if it is not mounted in this mount
 * namespace, or negative errno. */
int mountinfo_find(const struct mountinfo *want, char *path, size_t size);
/* Returns 1 if a program that follows the path reaches another mount than `want`, because that
 * mount was made later at the path or at a parent directory; *ret is that mount. Returns 0 if the
 * path leads to `want`, or negative errno. */
int mountinfo_leads_elsewhere(const char *path, const struct mountinfo *want,
			      struct mountinfo *ret);
/* Calls cb for each mount in this file of mountinfo(5), until cb returns true or a negative errno.
 * Returns what cb returned last, or negative errno. */
int mountinfo_each(const char *file,
		   int (*cb)(void *user, const char *point, const struct mountinfo *is),
		   void *user);

#endif
