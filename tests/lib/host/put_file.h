/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes files to a folder that stands for the root or the sysfs of a host. */
#ifndef PLENUM_TESTS_PUT_FILE_H
#define PLENUM_TESTS_PUT_FILE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Writes the path of a file below root to buf, and creates its parent folders. */
void put_path(const char *root, const char *path, char *buf, size_t size);

/* Writes a file below root. `path` begins with a slash. */
__attribute__((format(printf, 3, 0))) void put_file_v(const char *root, const char *path,
						      const char *fmt, va_list args);

#endif
