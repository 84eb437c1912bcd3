/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Holds a process before a system call of its, as a disk would that hangs there, so that a test can
 * do something meanwhile, and then let it go on or kill it: each point at which its world can
 * change, or it can die, is met by number.
 */
#ifndef PLENUM_TESTS_HAND_TRACE_H
#define PLENUM_TESTS_HAND_TRACE_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* From linux/ptrace.h, which does not go together with sys/ptrace.h. */
struct hand_trace_info {
	uint8_t op, pad[3];
	uint32_t arch;
	uint64_t instruction_pointer, stack_pointer;
	uint64_t nr, args[6];
};

/* It goes on until hand_trace_next(). 0; negative errno: nothing can be traced here. */
static inline int hand_trace_begin(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESYSGOOD) < 0)
		return -errno;
	if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0 || waitpid(pid, &status, __WALL) != pid)
		return -errno;
	return 0;
}

/* Lets it go on up to the entry of its next system call: its number; -1: it has ended. */
static inline long hand_trace_next(pid_t pid)
{
	int status;

	for (;;) {
		struct hand_trace_info info;

		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) < 0 ||
		    waitpid(pid, &status, __WALL) != pid || WIFEXITED(status) ||
		    WIFSIGNALED(status))
			return -1;
		if (WSTOPSIG(status) != (SIGTRAP | 0x80))
			continue;
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) > 0 && info.op == 1)
			return (long)info.nr;
	}
}

/* Up to the entry of this one. False: it has ended. */
static inline bool hand_trace_until(pid_t pid, long nr)
{
	long at;

	do
		at = hand_trace_next(pid);
	while (at >= 0 && at != nr);
	return at == nr;
}

static inline void hand_trace_end(pid_t pid)
{
	(void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

#endif
