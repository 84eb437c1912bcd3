/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares names of hosts. Configurations, and the hosts that they name, may write a host's name
 * with or without its domain. Pure.
 */
#ifndef PLENUM_NETCFG_HOST_NAME_H
#define PLENUM_NETCFG_HOST_NAME_H

#include <stdbool.h>
#include <string.h>

/* Whether both names may refer to one host: equal, or equal except for a domain that one of them
 * omits. */
static inline bool host_name_matches(const char *a, const char *b)
{
	size_t n = strcspn(a, "."), k = strcspn(b, ".");

	if (a[n] && b[k]) /* both have a domain */
		return strcmp(a, b) == 0;
	return n > 0 && n == k && memcmp(a, b, n) == 0;
}

#endif
