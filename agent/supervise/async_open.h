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

#define ASYNC_OPEN_LIMIT_MS 1000

struct dir;
struct async_open { /* zeroed except for the loop: no task */
	struct loop *loop;
	struct dir *first;
	unsigned n_late; /* timeouts since late_ns */
	uint64_t late_ns;
};

/* Starts opening the directory, so that a caller can wait for several at once. */
void async_open_ask(struct async_open *d, const char *path);
/* A descriptor, the caller's; negative errno; -ETIMEDOUT: the file system does not answer. */
int async_open_open(struct async_open *d, const char *path);
/* The same for a mount point, in a separate task: its last component must not be a link (-ENOTDIR),
 * and it must be empty (-ENOTEMPTY). */
int async_open_open_empty(struct async_open *d, const char *path);
/* Whether the previous attempt could open it; starts the next attempt. Never waits, so the first
 * answer is false. */
bool async_open_is_there(struct async_open *d, const char *path);
void async_open_done(struct async_open *d);

#endif
