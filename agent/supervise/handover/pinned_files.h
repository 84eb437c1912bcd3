/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors that the agent keeps open for a worker across the worker's restarts. While one is
 * open, a file that was deleted while in use continues to exist, and the export's next server finds
 * it by its kernel file handle. The descriptor store keeps the descriptors across a restart of the
 * agent. Only O_PATH descriptors are accepted, because closing one never blocks on a file system.
 * There is one set per export.
 */
#ifndef PLENUM_AGENT_PINNED_FILES_H
#define PLENUM_AGENT_PINNED_FILES_H

#include "netcfg/base/base.h"

#define PINNED_FILES_MAX 1024U /* maximum number of files per export */

struct pinned_file {
	uint64_t key;
	int fd;
	struct pinned_file *next;
};

struct pinned_files { /* zeroed: no files */
	struct pinned_file *first;
	unsigned n;
};

/* Pins fd, and closes an earlier descriptor of that key. Becomes the owner of fd, even after an
 * error. `owner` is the export's name. Returns 0, -ENOSPC if PINNED_FILES_MAX files are pinned,
 * -EBADF if fd is not an O_PATH descriptor, or -ENOMEM. */
int pinned_files_add(struct pinned_files *h, const char *owner, uint64_t key, int fd);
/* Releases a file. Returns whether it was pinned. */
bool pinned_files_drop(struct pinned_files *h, const char *owner, uint64_t key);
/* Releases all files and closes their descriptors. pinned_files_done(), in contrast, leaves their
 * descriptors in the descriptor store. */
void pinned_files_clear(struct pinned_files *h, const char *owner);
void pinned_files_done(struct pinned_files *h);
/* Parses the name of a stored descriptor. Returns the owner, which is a part of `name`, and the
 * key, or NULL if it is not the name of a pinned file. */
const char *pinned_files_parse_name(const char *name, uint64_t *ret_key);

#endif
