/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements helper_trace.h. */
#include "tests/lib/process/helper_trace.h"
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

/* Copied from linux/ptrace.h, which conflicts with sys/ptrace.h. */
struct helper_trace_info {
	uint8_t op, pad[3];
	uint32_t arch;
	uint64_t instruction_pointer, stack_pointer;
	uint64_t nr, args[6];
};

int helper_trace_begin(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESYSGOOD) < 0)
		return -errno;
	if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0 || waitpid(pid, &status, __WALL) != pid)
		return -errno;
	return 0;
}

long helper_trace_next(pid_t pid)
{
	int status;

	for (;;) {
		struct helper_trace_info info;

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

bool helper_trace_until(pid_t pid, long nr)
{
	long at;

	do
		at = helper_trace_next(pid);
	while (at >= 0 && at != nr);
	return at == nr;
}

void helper_trace_end(pid_t pid)
{
	(void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

#if HELPER_TRACE_INJECTS
long helper_trace_inject(pid_t pid, long nr, const long args[6])
{
	struct user_regs_struct own, regs;
	long r;
	int status;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &own) < 0)
		return -ESRCH;
	regs = own;
	regs.orig_rax = (unsigned long)nr;
	regs.rdi = (unsigned long)args[0];
	regs.rsi = (unsigned long)args[1];
	regs.rdx = (unsigned long)args[2];
	regs.r10 = (unsigned long)args[3];
	regs.r8 = (unsigned long)args[4];
	regs.r9 = (unsigned long)args[5];
	if (ptrace(PTRACE_SETREGS, pid, NULL, &regs) < 0 ||
	    ptrace(PTRACE_SYSCALL, pid, NULL, NULL) < 0 || waitpid(pid, &status, __WALL) != pid ||
	    !WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, pid, NULL, &regs) < 0)
		return -ESRCH;
	r = (long)regs.rax;
	own.rax = own.orig_rax;
	own.rip -= 2; /* executes the system call instruction again */
	if (ptrace(PTRACE_SETREGS, pid, NULL, &own) < 0)
		return -ESRCH;
	return r;
}
#else
long helper_trace_inject(pid_t pid, long nr, const long args[6])
{
	return -ENOSYS;
}
#endif
