/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file with the key that the hosts of a cluster share: one or two lines of 64 hexadecimal
 * digits, comments after '#'. A host uses the first key and accepts peers that use either. Reads
 * and writes the file, and rejects it where other users could read it. Called by the agent, which
 * passes keys to workers, and by the command line, which generates them.
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

/* Reads a file that no user but root may read or write; the caller wipes and frees the text, which
 * has a NUL behind it. 0, or negative errno with a text in `why`: -EPERM: other users have access;
 * -EINVAL: it is not a regular file. */
int secret_read_file(const char *path, size_t bytes_max, char **ret_text, size_t *ret_len,
		     struct reason *why);
/* 0, or negative errno with a text in `why` that names the remedy. */
int secret_read(const char *path, struct secret *ret, struct reason *why);
/* The same from memory. -EINVAL. */
int secret_parse(const char *text, struct secret *ret);
/* The file's text; heap, the caller wipes and frees it. NULL: no memory. */
char *secret_format(const struct secret *s);
/* Appends a key. 0; -ENOSPC: there are two already; -EIO: no random numbers. */
int secret_add(struct secret *s);
/* Overwrites the keys in memory. */
void secret_wipe(struct secret *s);

#endif
