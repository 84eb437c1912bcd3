/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors that the agent keeps open for workers across their restarts. While one is open, a
 * file that was deleted while open continues to exist, and the export's next server finds it by its
 * kernel file handle. The descriptor store keeps them across a restart of the agent. Only
 * O_PATH descriptors are accepted: closing one never blocks on a file system. One set per export.
 */
#ifndef PLENUM_AGENT_PINNED_FILES_H
#define PLENUM_AGENT_PINNED_FILES_H

#include "netcfg/base/base.h"

#define PINNED_FILES_MAX 1024U /* per export */

struct pinned_file {
	uint64_t key;
	int fd;
	struct pinned_file *next;
};

struct pinned_files { /* zeroed: empty */
	struct pinned_file *first;
	unsigned n;
};

/* Takes fd in any case and closes an earlier one of that key. `owner` is the export's name.
 * -ENOSPC: PINNED_FILES_MAX reached; -EBADF: not an O_PATH descriptor; -ENOMEM. */
int pinned_files_add(struct pinned_files *h, const char *owner, uint64_t key, int fd);
/* Whether the file was pinned. */
bool pinned_files_drop(struct pinned_files *h, const char *owner, uint64_t key);
/* Releases all for good; pinned_files_done leaves them in the descriptor store. */
void pinned_files_clear(struct pinned_files *h, const char *owner);
void pinned_files_done(struct pinned_files *h);
/* The key in the name under which a descriptor was stored, and the owner (borrowed
 * from it); NULL: not the name of a pinned file. */
const char *pinned_files_parse_name(const char *name, uint64_t *ret_key);

#endif
