/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds mounts in mountinfo(5) and nowhere else: no call here enters a mount, so none can block on
 * a mount without a server. Stateless.
 */
#ifndef PLENUM_AGENT_MOUNTINFO_H
#define PLENUM_AGENT_MOUNTINFO_H

struct mountinfo {
	char fstype[32];
	unsigned major, minor; /* of the mounted file system */
};

/* The topmost mount at exactly this path. 1; 0: nothing is mounted there; negative errno. */
int mountinfo_top(const char *path, struct mountinfo *ret);
/* Whether `want` is mounted there, possibly below other mounts. 1, 0, negative errno. */
int mountinfo_has(const char *path, const struct mountinfo *want);
/* Whether a program that follows the path enters another mount than `want`, which was mounted over
 * it or over one of its parents, and is returned. 1; 0: the path leads to `want`; negative errno.
 */
int mountinfo_leads_elsewhere(const char *path, const struct mountinfo *want,
			      struct mountinfo *ret);

#endif
