/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starting child processes with exactly the descriptors they shall have: workers, and the roles of
 * this binary. A child gets /dev/null as standard input, our standard error, a clean signal state,
 * and nothing else that was not named. No PR_SET_PDEATHSIG: workers outlive the agent. Owns
 * nothing.
 */
#ifndef PLENUM_AGENT_SPAWN_H
#define PLENUM_AGENT_SPAWN_H

#include "netcfg/base/base.h"
#include <sys/types.h>

#define SPAWN_FD_FIRST 3
#define SPAWN_FDS_MAX 512

struct spawn_request {
	const char *path;
	/* Opened by whom it is to be of, O_PATH: it is executed also where another file is at path
	 * by now. Negative: what is there is. */
	int program_fd;
	char *const *argv;
	const int *fds; /* become 3, 4, ... in the child, without close-on-exec */
	size_t n_fds;
	int core;      /* pin to this CPU; -1: leave as it is */
	int oom_score; /* /proc/PID/oom_score_adj; 0: inherit ours */
	/* Called before the child goes on to its program; may be NULL. Where we are killed before
	 * it returns the child ends too, so that none runs that was not recorded. */
	void (*on_pid)(void *user, pid_t pid);
	void *user;
};

/* 0 with pid and pidfd (caller closes); negative errno where nothing was started. An error between
 * fork and exec is exit status 127 (exec) or 126 (anything else) of the child. */
int spawn_process(const struct spawn_request *rq, pid_t *ret_pid, int *ret_pidfd);
/* Waits for the child (which has ended, or is waited for) and says how it went: "exit status 1",
 * "killed by SIGSEGV, core dumped". *ret_status: exit status, or -1 for a signal. -ECHILD with a
 * text of its own for an adopted process, which its own parent reaps. */
int spawn_reap(int pidfd, int *ret_status, char *text, size_t size);
/* The process of a pidfd, -1 where it has ended. */
pid_t spawn_pidfd_pid(int pidfd);

#endif
