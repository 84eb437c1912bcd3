/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Raises the limit of open descriptors. Processes that hold the mounts and open files of others use
 * all that they are allowed: the soft limit exists for programs that use select(2). The hard limit
 * is the operator's and stays; `plenum doctor` reports when it is low. Owns nothing.
 */
#ifndef PLENUM_NETCFG_LIMIT_H
#define PLENUM_NETCFG_LIMIT_H

#include <sys/resource.h>

/* Call once at start. On failure the limit stays as it was. */
static inline void limit_files_raise(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) < 0 || rl.rlim_cur >= rl.rlim_max)
		return;
	rl.rlim_cur = rl.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &rl);
}

#endif
