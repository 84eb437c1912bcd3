/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a function in a child that is killed before its n-th system call: with n from 1 up, every
 * state that a SIGKILL can leave behind is met once. For what must be whole whenever that happens.
 */
#ifndef PLENUM_TESTS_KILL_STEPS_H
#define PLENUM_TESTS_KILL_STEPS_H

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static inline pid_t kill_steps_start(void (*fn)(void *), void *arg)
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

/* 1: fn ended before its n-th system call; 0: it was killed there; -EPERM: nothing can be traced
 * here. */
static inline int kill_steps_run(void (*fn)(void *), void *arg, unsigned n)
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
		/* A system call stops on its way in and on its way out. */
		if (WSTOPSIG(status) == (SIGTRAP | 0x80) && ++stops == 2 * n - 1)
			break;
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return 0;
}

#endif
