/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Raises the soft limit of open descriptors to the hard limit. The agent holds a descriptor for
 * each mount, and a server worker one for each open file, so they need all that the hard limit
 * allows. The soft limit exists only for programs that use select(2). `plenum doctor` reports a
 * hard limit that is low.
 */
#ifndef PLENUM_NETCFG_LIMIT_H
#define PLENUM_NETCFG_LIMIT_H

#include <sys/resource.h>

/* Call this once at the start of a process. On failure the limit stays unchanged. */
static inline void limit_files_raise(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) < 0 || rl.rlim_cur >= rl.rlim_max)
		return;
	rl.rlim_cur = rl.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &rl);
}

#endif
