/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file with the key that the hosts of a cluster share: one or two lines of 64 hexadecimal
 * digits, comments after '#'. The first key is the one that a host uses, both are good for whoever
 * comes with one. Reads and writes it, refuses it where others could; knows nothing of what keys
 * are for. Called by the agent, which hands keys to workers, and the command line, which makes
 * them.
 */
#ifndef PLENUM_NETCFG_SECRET_H
#define PLENUM_NETCFG_SECRET_H

#include "netcfg/base/base.h"

#define SECRET_KEYS_MAX 2
#define SECRET_KEY_BYTES 32

struct secret {
	uint8_t keys[SECRET_KEYS_MAX][SECRET_KEY_BYTES];
	unsigned n; /* 1 or 2 */
};

/* 0; negative errno, and in `why` a sentence that names what to do. */
int secret_read(const char *path, struct secret *ret, char *why, size_t size);
/* The same from memory. -EINVAL. */
int secret_parse(const char *text, struct secret *ret);
/* The file's text; heap, the caller wipes and frees it. NULL: no memory. */
char *secret_format(const struct secret *s);
/* One more key, behind the others. 0; -ENOSPC: there are two already; -EIO: no random numbers. */
int secret_add(struct secret *s);
/* Overwrites it. */
void secret_wipe(struct secret *s);

#endif
