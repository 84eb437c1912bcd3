/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens directories of file systems that may hang (an unreachable server, a failing disk), each in
 * a child task: the monitor waits at most ASYNC_OPEN_LIMIT_MS for one, and if several hang only for
 * the first ones. After a timeout it does not wait for the same directory again until the task has
 * answered. One task per directory at a time. The caller owns the struct.
 */
#ifndef PLENUM_AGENT_ASYNC_OPEN_H
#define PLENUM_AGENT_ASYNC_OPEN_H

#include "agent/base/loop.h"
#include "netcfg/base/os/folder.h"

#define ASYNC_OPEN_LIMIT_MS 1000

struct dir;
struct async_open { /* zeroed except for the loop: no task */
	struct loop *loop;
	struct dir *first;
	unsigned n_late; /* timeouts since late_ns */
	uint64_t late_ns;
};

struct async_folder {
	struct folder_id id;
	struct folder_room room;
	char link[FOLDER_LINK_MAX]; /* with -ELOOP: the link that is not followed */
};

/* Starts opening the directory, so that a caller can wait for several at once. */
void async_open_ask(struct async_open *d, const char *path);
/* A descriptor, the caller's; negative errno as folder_open(); -ETIMEDOUT: the file system does not
 * answer. */
int async_open_open(struct async_open *d, const char *path, struct async_folder *ret);
/* The same for a mount point, in a separate task: its last component must not be a link (-ENOTDIR),
 * and it must be empty (-ENOTEMPTY). */
int async_open_open_empty(struct async_open *d, const char *path);
/* The result of the previous attempt to open it: 0 or negative errno; -EAGAIN: none has ended, so
 * one was started. Never waits. */
int async_open_look(struct async_open *d, const char *path, struct async_folder *ret);
/* How long the attempt to open it has been under way. 0: none is. */
uint64_t async_open_waits_ns(const struct async_open *d, const char *path);
void async_open_done(struct async_open *d);

#endif
