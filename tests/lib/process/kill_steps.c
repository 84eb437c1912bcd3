/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements kill_steps.h. */
#include "tests/lib/process/kill_steps.h"
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t kill_steps_start(void (*fn)(void *), void *arg)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
		_exit(2);
	raise(SIGSTOP);
	fn(arg);
	_exit(0);
}

int kill_steps_run(void (*fn)(void *), void *arg, unsigned n)
{
	pid_t pid = kill_steps_start(fn, arg);
	unsigned stops = 0;
	int status;

	if (pid < 0)
		return -errno;
	if (waitpid(pid, &status, 0) != pid)
		return -errno;
	if (!WIFSTOPPED(status))
		return -EPERM;
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD);
	for (;;) {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) < 0 || waitpid(pid, &status, 0) != pid)
			return -errno;
		if (WIFEXITED(status) || WIFSIGNALED(status))
			return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : -EIO;
		/* The process stops at the entry and at the exit of each system call. */
		if (WSTOPSIG(status) == (SIGTRAP | 0x80) && ++stops == 2 * n - 1)
			break;
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return 0;
}
