/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the processes that use mounts: by their open files, mapped files, and current and root
 * directories, in all mount namespaces. A child process reads only links and lists in /proc, and
 * never enters a mount, so mounts without a server and stopped processes do not block it. The
 * memory of a process can be locked by the kernel, so the search has a time limit; then the result
 * has what was found so far. Owns the child and the result.
 */
#ifndef PLENUM_AGENT_MOUNT_USERS_H
#define PLENUM_AGENT_MOUNT_USERS_H

#include "agent/base/loop.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The search ends after this time. */
#define MOUNT_USERS_LIMIT_NS (4 * NSEC_PER_SEC)
/* Maximum number of processes, and of files of each, that the result names. */
#define MOUNT_USERS_MAX 64U
#define MOUNT_USER_FILES 4U
#define MOUNT_USER_FILE_MAX 256U
/* Maximum number of mounts that one search looks for. */
#define MOUNT_USERS_MOUNTS 4096U

struct mount_user {
	uint32_t mount; /* index of the first mount that the process uses */
	pid_t pid;
	char program[20]; /* printable ASCII */
	uint32_t n_files; /* number of its files and directories on mounts, also those not named */
	char files[MOUNT_USER_FILES][MOUNT_USER_FILE_MAX];
};

struct mount_users {
	uint32_t n;	   /* number of processes, also those that the list does not name */
	uint32_t n_denied; /* processes that the kernel does not let the agent examine */
	pid_t denied;	   /* the first of these processes, and the errno */
	int denied_error;
	/* The search did not end in time; `busy`: the process whose memory could not be read. */
	bool incomplete;
	pid_t busy;
	struct mount_user list[MOUNT_USERS_MAX];
};

struct mount_search;
/* error: 0 or negative errno. paths: those of mount_search_start(). All are valid during the
 * call. */
typedef void (*mount_search_done)(void *user, int error, const struct mount_users *found,
				  const char *const *paths);

/* Starts the search for processes that use one of these n mounts, whose paths are as mountinfo(5)
 * shows them. Calls done once, after which the search no longer exists. Returns 0 or negative
 * errno. */
int mount_search_start(struct loop *loop, const char *const *paths, size_t n,
		       mount_search_done done, void *user, struct mount_search **ret);
/* Ends the search without a result. Accepts NULL, returns NULL. */
struct mount_search *mount_search_cancel(struct mount_search *s);

/* Returns whether a process uses one of the mounts, or the search could not find that out. */
bool mount_users_any(const struct mount_users *u);
/* Writes the processes, such as "process 42 (tail), process 43 (bash) and 3 more". */
void mount_users_describe(const struct mount_users *u, char *buf, size_t size);
/* Writes the i-th line about the result: the mount, a process and its files. Returns false if the
 * result has fewer lines. */
bool mount_users_line(const struct mount_users *u, const char *const *paths, uint32_t i, char *buf,
		      size_t size);
/* Lists the processes, such as {"mount": "/mnt/a", "pid": 42, "program": "tail", "files":
 * ["/mnt/a/log"]}. Returns NULL if memory is short. */
json_t *mount_users_to_json(const struct mount_users *u, const char *const *paths);

#endif
