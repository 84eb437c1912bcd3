/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of a folder that plays a host's, or its sysfs. */
#ifndef PLENUM_TESTS_PUT_FILE_H
#define PLENUM_TESTS_PUT_FILE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

/* The file below root, whose parents are made, into buf. */
static inline void put_path(const char *root, const char *path, char *buf, size_t size)
{
	snprintf(buf, size, "%s%s", root, path);
	for (char *at = buf + strlen(root) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(buf, 0755);
		*at = '/';
	}
}

/* path begins with a slash. */
__attribute__((format(printf, 3, 0))) static inline void put_file_v(const char *root,
								    const char *path,
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

#endif
