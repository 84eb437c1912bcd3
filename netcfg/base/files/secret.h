/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file with the key that the hosts of a cluster share: one or two lines of 64 hexadecimal
 * digits, comments after '#'. A host uses the first key and accepts peers that use either key. A
 * file that other users could read is rejected. The agent reads the keys and passes them to
 * workers; the command line generates them.
 */
#ifndef PLENUM_NETCFG_SECRET_H
#define PLENUM_NETCFG_SECRET_H

#include "netcfg/base/reason.h"

#define SECRET_KEYS_MAX 2
#define SECRET_KEY_BYTES 32

struct secret {
	uint8_t keys[SECRET_KEYS_MAX][SECRET_KEY_BYTES];
	unsigned n; /* 1 or 2 */
};

/* Reads a file that no user but root may read or write. The text ends with a NUL; the caller wipes
 * and frees it. Returns 0, -EPERM if other users have access, -EINVAL if the path is not a regular
 * file, or another negative errno; on failure, `why` gets a text. */
int secret_read_file(const char *path, size_t bytes_max, char **ret_text, size_t *ret_len,
		     struct reason *why);
/* Reads and parses the key file. Returns 0, or negative errno with a text in `why` that names the
 * remedy. */
int secret_read(const char *path, struct secret *ret, struct reason *why);
/* Parses a text in memory. Returns 0 or -EINVAL. */
int secret_parse(const char *text, struct secret *ret);
/* Returns the file's text on the heap, which the caller wipes and frees, or NULL if out of
 * memory. */
char *secret_format(const struct secret *s);
/* Appends a key. Returns 0, -ENOSPC if there are two keys already, or -EIO if the kernel gave no
 * random numbers. */
int secret_add(struct secret *s);
/* Overwrites the keys in memory. */
void secret_wipe(struct secret *s);

#endif
