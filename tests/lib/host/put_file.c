/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements put_file.h. */
#include "tests/lib/host/put_file.h"
#include <stdio.h>
#include <sys/stat.h>

void put_path(const char *root, const char *path, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s", root, path);
	for (char *at = buf + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(buf, 0755);
		*at = '/';
	}
}

__attribute__((format(printf, 3, 0))) void put_file_v(const char *root, const char *path,
						      const char *fmt, va_list args)
{
	char full[512];
	FILE *f;

	put_path(root, path, full, sizeof(full));
	f = fopen(full, "we");
	assert_non_null(f);
	vfprintf(f, fmt, args);
	assert_int_equal(fclose(f), 0);
}
