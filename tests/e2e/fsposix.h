/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The harness of fsposix: a failing check reports where and ends there. A check is a function
 * check_NAME, run in a fresh folder, and has a line in the list below.
 */
#ifndef PLENUM_TESTS_FSPOSIX_H
#define PLENUM_TESTS_FSPOSIX_H

#include "netcfg/base/base.h"
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define OTHER_UID 12345
#define OTHER_GID 12346

#define FSPOSIX_CHECKS(X)       \
	X(create_exclusive)     \
	X(umask)                \
	X(read_write)           \
	X(large_write)          \
	X(direct_io)            \
	X(direct_and_cached)    \
	X(append)               \
	X(truncate)             \
	X(open_unlinked)        \
	X(rename_over_open)     \
	X(rename_rules)         \
	X(rename_flags)         \
	X(links)                \
	X(symlinks)             \
	X(names)                \
	X(dirs)                 \
	X(big_dir)              \
	X(seekdir)              \
	X(remove_while_reading) \
	X(special_files)        \
	X(chmod_chown)          \
	X(permissions)          \
	X(other_users_files)    \
	X(create_read_only)     \
	X(setgid_dir)           \
	X(write_clears_suid)    \
	X(times)                \
	X(xattrs)               \
	X(large_xattr)          \
	X(acl)                  \
	X(sparse)               \
	X(fallocate)            \
	X(mmap)                 \
	X(readers_and_writers)  \
	X(locks)                \
	X(tmpfile)              \
	X(copy_file_range)      \
	X(statfs)               \
	X(sync)                 \
	X(deep_path)            \
	X(cwd_moves)            \
	X(exec)

#define FSPOSIX_DECLARE(name) void check_##name(void);
FSPOSIX_CHECKS(FSPOSIX_DECLARE)

extern jmp_buf fsposix_failed;
extern char fsposix_message[256];

#define CHECK(cond)                                                                            \
	do {                                                                                   \
		if (!(cond)) {                                                                 \
			snprintf(fsposix_message, sizeof(fsposix_message), "line %d: %s (%s)", \
				 __LINE__, #cond, strerror(errno));                            \
			longjmp(fsposix_failed, 1);                                            \
		}                                                                              \
	} while (0)
#define CHECK_ERRNO(call, want)         \
	do {                            \
		errno = 0;              \
		CHECK((call) == -1);    \
		CHECK(errno == (want)); \
	} while (0)

/* Open for reading and writing, holding text. */
int make_file(const char *name, const char *text);
struct stat st_of(const char *name);
void expect_text(const char *name, const char *text);
/* Runs fn as another user in a child, and passes its message on. */
void as_other(void (*fn)(void));

#endif
