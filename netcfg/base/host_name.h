/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares host names. One configuration may write a host's name with the domain, and another
 * without the domain. The function is pure.
 */
#ifndef PLENUM_NETCFG_HOST_NAME_H
#define PLENUM_NETCFG_HOST_NAME_H

#include <stdbool.h>
#include <string.h>

/* Returns whether both names may refer to the same host: they are equal, or differ only in a domain
 * that one of them omits. */
static inline bool host_name_matches(const char *a, const char *b)
{
	size_t n = strcspn(a, "."), k = strcspn(b, ".");

	if (a[n] && b[k]) /* names that both have a domain must be equal */
		return strcmp(a, b) == 0;
	return n > 0 && n == k && memcmp(a, b, n) == 0;
}

#endif
