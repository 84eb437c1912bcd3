/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many descriptors a process may have. Those who hold what others have open, mounts and files,
 * take as many as they are allowed: the soft limit is for programs that use select(2). The hard one
 * is the operator's, and is left alone; `plenum doctor` says when it is low. Owns nothing.
 */
#ifndef PLENUM_NETCFG_LIMIT_H
#define PLENUM_NETCFG_LIMIT_H

#include <sys/resource.h>

/* Once, at the start. Where it fails things stay as they are. */
static inline void limit_files_raise(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) < 0 || rl.rlim_cur >= rl.rlim_max)
		return;
	rl.rlim_cur = rl.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &rl);
}

#endif
