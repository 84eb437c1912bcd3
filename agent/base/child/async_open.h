/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens directories of file systems that may hang, for example because of an unreachable server or
 * a failing disk. Each directory is opened in a child task, one task per directory at a time. The
 * monitor waits at most ASYNC_OPEN_LIMIT_MS for a directory. After two timeouts within ten seconds
 * it waits only 5 ms for each further directory. After a timeout it does not wait for that
 * directory again until the task has answered. The caller owns the struct.
 */
#ifndef PLENUM_AGENT_ASYNC_OPEN_H
#define PLENUM_AGENT_ASYNC_OPEN_H

#include "agent/base/loop.h"
#include "netcfg/base/os/folder.h"

#define ASYNC_OPEN_LIMIT_MS 1000

struct dir;
struct async_open { /* zeroed except for the loop: no tasks */
	struct loop *loop;
	struct dir *first;
	unsigned n_late; /* count of timeouts since late_ns */
	uint64_t late_ns;
};

struct async_folder {
	struct folder_id id;
	struct folder_room room;
	/* If the result is -ELOOP: the symbolic link that is not followed. */
	char link[FOLDER_LINK_MAX];
};

/* Starts to open the directory without waiting. A caller that needs several directories starts all
 * of them first. */
void async_open_ask(struct async_open *d, const char *path);
/* Waits for the directory. Returns a descriptor, which is the caller's; -ETIMEDOUT if the file
 * system does not answer; or another negative errno as from folder_open(). */
int async_open_open(struct async_open *d, const char *path, struct async_folder *ret);
/* Like async_open_open(), for a mount point and in a separate task. The last component must not be
 * a symbolic link (-ENOTDIR), and the directory must be empty (-ENOTEMPTY). */
int async_open_open_empty(struct async_open *d, const char *path);
/* Returns the result of the last completed attempt, 0 or negative errno. Returns -EAGAIN if no
 * attempt has been completed yet; one is then running. Never waits. */
int async_open_look(struct async_open *d, const char *path, struct async_folder *ret);
/* Returns how long the current attempt has been running, or 0 if no attempt is running. */
uint64_t async_open_waits_ns(const struct async_open *d, const char *path);
void async_open_done(struct async_open *d);

#endif
