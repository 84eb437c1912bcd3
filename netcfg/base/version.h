/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares version numbers as driver and firmware vendors write them. */
#ifndef PLENUM_NETCFG_VERSION_H
#define PLENUM_NETCFG_VERSION_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether version a is older than b. It compares the numbers in the two versions and
 * ignores other characters. If one version has more numbers, it ignores the additional ones. */
static inline bool version_is_older(const char *a, const char *b)
{
	for (;;) {
		unsigned long x, y;

		a += strcspn(a, "0123456789");
		b += strcspn(b, "0123456789");
		if (!*a || !*b)
			return false;
		x = strtoul(a, (char **)&a, 10);
		y = strtoul(b, (char **)&b, 10);
		if (x != y)
			return x < y;
	}
}

#endif
