/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kills a process right after one of its system calls has changed a name or a file, before the
 * process knows the result: the n-th such call from now. Random kills seldom hit these points.
 *
 *	fskill PID N
 */
#include "tests/lib/process/helper_trace.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static pid_t pid;

static bool changes(long nr)
{
	return nr == SYS_unlinkat || nr == SYS_renameat2 || nr == SYS_renameat ||
	       nr == SYS_pwritev2 || nr == SYS_linkat || nr == SYS_mkdirat;
}

static void on_alarm(int nr)
{
	kill(pid, SIGKILL);
}

int main(int argc, char **argv)
{
	long left;
	int status;

	if (argc != 3)
		return 2;
	pid = (pid_t)atol(argv[1]);
	left = atol(argv[2]);
	signal(SIGALRM, on_alarm);
	if (helper_trace_begin(pid) < 0)
		return 1;
	alarm(1); /* the process is idle: kill it at any point */
	for (;;) {
		long nr = helper_trace_next(pid);

		if (nr < 0)
			return 0;
		if (changes(nr) && --left <= 0)
			break;
	}
	ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
	waitpid(pid, &status, __WALL);
	kill(pid, SIGKILL);
	return 0;
}
