/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is mounted where, read from mountinfo(5) and from nowhere else: no call here enters a mount,
 * so none can wait for one that nobody serves. Stateless.
 */
#ifndef PLENUM_AGENT_MOUNTINFO_H
#define PLENUM_AGENT_MOUNTINFO_H

struct mountinfo {
	char fstype[32];
	unsigned major, minor; /* of the mounted file system */
};

/* The topmost mount at exactly this path. 1; 0: nothing is mounted there; negative errno. */
int mountinfo_top(const char *path, struct mountinfo *ret);
/* Whether `want` is mounted there, also below others. 1, 0, negative errno. */
int mountinfo_has(const char *path, const struct mountinfo *want);

#endif
