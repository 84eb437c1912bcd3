/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts child processes, workers and the roles of this binary, with exactly the descriptors that
 * the caller names. A child gets /dev/null as standard input, our standard error, a clean signal
 * state, and nothing else. No PR_SET_PDEATHSIG: workers outlive the agent. Keeps no state.
 */
#ifndef PLENUM_AGENT_SPAWN_H
#define PLENUM_AGENT_SPAWN_H

#include "netcfg/base/base.h"
#include <sys/types.h>

#define SPAWN_FD_FIRST 3
#define SPAWN_FDS_MAX 512
/* Exit status of a child that may not run on its core. */
#define SPAWN_EXIT_CORE 125

struct spawn_request {
	const char *path;
	/* O_PATH descriptor of the program: it is executed even if another file has replaced it at
	 * path. Negative: execute the file at path. */
	int program_fd;
	char *const *argv;
	const int *fds; /* become 3, 4, ... in the child, without close-on-exec */
	size_t n_fds;
	int core;      /* pin to this CPU; -1: leave as it is */
	int oom_score; /* /proc/PID/oom_score_adj; 0: inherit ours */
	/* Called before the child executes its program; may be NULL. If we are killed before it
	 * returns the child exits too, so that no unrecorded process runs. */
	void (*on_pid)(void *user, pid_t pid);
	void *user;
};

/* 0 with pid and pidfd (caller closes); negative errno if nothing was started. An error between
 * fork and exec is exit status 127 (exec), SPAWN_EXIT_CORE or 126 (anything else) of the child. */
int spawn_process(const struct spawn_request *rq, pid_t *ret_pid, int *ret_pidfd);
/* Reaps the child, waiting for its exit if necessary, and describes it: "exit status 1", "killed by
 * SIGSEGV, core dumped". *ret_status: exit status, or -1 for a signal. -ECHILD, also with a text,
 * for an adopted process: its own parent reaps it. */
int spawn_reap(int pidfd, int *ret_status, char *text, size_t size);
/* The pid of a pidfd's process; -1 if it has exited. */
pid_t spawn_pidfd_pid(int pidfd);

#endif
