/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts child processes, which are workers and roles of this binary, with exactly the descriptors
 * that the caller lists. A child gets /dev/null as standard input, the agent's standard error and a
 * clean signal state, and inherits nothing else. PR_SET_PDEATHSIG is not set, because workers
 * outlive the agent. Keeps no state.
 */
#ifndef PLENUM_AGENT_SPAWN_H
#define PLENUM_AGENT_SPAWN_H

#include "netcfg/base/base.h"
#include <sys/types.h>

#define SPAWN_FD_FIRST 3
#define SPAWN_FDS_MAX 512
/* Exit status of a child that is not allowed to run on its core. */
#define SPAWN_EXIT_CORE 125

struct spawn_request {
	const char *path;
	/* O_PATH descriptor of the program to execute, even if another file has replaced it at
	 * `path`. Negative: execute the file at `path`. */
	int program_fd;
	char *const *argv;
	/* Descriptors that become 3, 4, ... in the child and stay open across exec. */
	const int *fds;
	size_t n_fds;
	int core;      /* CPU to which the child is pinned; -1: not pinned */
	int oom_score; /* value for /proc/PID/oom_score_adj; 0: inherit the agent's */
	/* Called before the child executes its program; may be NULL. If the agent is killed before
	 * this returns, the child exits too, so that no unrecorded process runs. */
	void (*on_pid)(void *user, pid_t pid);
	void *user;
};

/* Starts the child. Returns 0 with pid and pidfd, which the caller closes, or negative errno if
 * nothing was started. If the child fails between fork and exec, its exit status is 127 (exec
 * failed), SPAWN_EXIT_CORE, or 126 (any other error). */
int spawn_process(const struct spawn_request *rq, pid_t *ret_pid, int *ret_pidfd);
/* Reaps the child, waiting for its exit if necessary, and describes how it ended: "exit status 1"
 * or "killed by SIGSEGV, core dumped". *ret_status is the exit status, or -1 if a signal killed it.
 * Returns 0, or -ECHILD, also with a text, for an adopted process, which its own parent reaps. */
int spawn_reap(int pidfd, int *ret_status, char *text, size_t size);
/* Returns the pid of a pidfd's process, or -1 if it has exited. */
pid_t spawn_pidfd_pid(int pidfd);

#endif
