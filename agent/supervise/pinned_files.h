/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors that workers have the agent hold over their death: while one is open, an open file
 * that has lost its last name stays in existence, and whoever serves its export next finds it by
 * its kernel file handle. The service manager holds them over the agent's own death. Only O_PATH
 * descriptors are taken: closing one of them never waits for a file system. One set an export.
 */
#ifndef PLENUM_AGENT_HOLDS_H
#define PLENUM_AGENT_HOLDS_H

#include "netcfg/base/base.h"

#define HOLDS_MAX 1024U /* an export */

struct pinned_file {
	uint64_t key;
	int fd;
	struct pinned_file *next;
};

struct pinned_files { /* zeroed: none */
	struct pinned_file *first;
	unsigned n;
};

/* Takes fd in any case; the former one of that key is closed. `owner` is the export's name.
 * -ENOSPC: it has enough; -EBADF: no O_PATH descriptor; -ENOMEM. */
int pinned_files_add(struct pinned_files *h, const char *owner, uint64_t key, int fd);
/* Whether it was held. */
bool pinned_files_drop(struct pinned_files *h, const char *owner, uint64_t key);
/* Lets go of all, for good; pinned_files_done leaves them to the service manager. */
void pinned_files_clear(struct pinned_files *h, const char *owner);
void pinned_files_done(struct pinned_files *h);
/* The key in the name under which the service manager kept a descriptor, and the owner (borrowed
 * from it); NULL: it is no hold's name. */
const char *pinned_files_parse_name(const char *name, uint64_t *ret_key);

#endif
