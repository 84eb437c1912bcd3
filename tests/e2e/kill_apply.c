/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kills an agent, or its applier, or both, exactly before the n-th change of an apply. A separate
 * program because only a tracer stops a process between two system calls without support in the
 * traced program.
 *
 *	kill_apply AGENT COUNTED WHAT N[+M] VICTIM
 *
 * Follows process AGENT and its children, and prints `ready` when it does. COUNTED is the process
 * whose changes count, `agent` or `applier`; WHAT is `kernel` (messages that change something, and
 * settings) or `all` (files, names of files and messages to other processes, too); VICTIM is
 * `agent`, `applier` or `both`. With +M the next applier, which rolls back, is killed before its
 * M-th change. Prints which process was killed before which change, or, where SIGTERM ends it
 * first, how many changes there were.
 */
#include "netcfg/base/base.h"
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/rtnetlink.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#define TRACED_MAX 64
#define WHAT_MAX 160
#define STOP_OF_CALL (SIGTRAP | 0x80)

static struct {
	pid_t agent, applier;
	bool of_agent, all, kill_agent, kill_applier;
	unsigned n, next_n; /* the change to kill before; next_n of the next applier, 0: none */
	unsigned seen;
} task;

static bool read_memory(pid_t pid, uint64_t at, void *buf, size_t len)
{
	const struct iovec to = {buf, len}, from = {(void *)(uintptr_t)at, len};

	return process_vm_readv(pid, &to, 1, &from, 1, 0) == (ssize_t)len;
}

/* ---- the changes of a system call ---- */

/* Whether fd is a socket of rtnetlink. */
static bool is_rtnetlink(pid_t pid, int fd)
{
	autoclose int process = (int)syscall(SYS_pidfd_open, pid, 0);
	autoclose int copy = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	int domain = 0, protocol = -1;
	socklen_t len = sizeof(int);

	return copy >= 0 && getsockopt(copy, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 &&
	       getsockopt(copy, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) == 0 &&
	       domain == AF_NETLINK && protocol == NETLINK_ROUTE;
}

static bool is_of(pid_t pid, int fd, unsigned magic)
{
	struct statfs fs;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	return statfs(path, &fs) == 0 && (unsigned)fs.f_type == magic;
}

/* True for a message that changes something: for rtnetlink a request for a change, otherwise any
 * message. */
static bool message_changes(pid_t pid, const uint64_t *args, uint64_t text, char *ret_what)
{
	struct nlmsghdr h;

	if (!is_rtnetlink(pid, (int)args[0])) {
		snprintf(ret_what, WHAT_MAX, "a message to another process");
		return task.all;
	}
	if (!read_memory(pid, text, &h, sizeof(h)) || h.nlmsg_type < RTM_BASE)
		return false;
	snprintf(ret_what, WHAT_MAX, "message %u to the kernel", h.nlmsg_type);
	return (h.nlmsg_type & 3) != (RTM_GETLINK & 3);
}

static bool sendmsg_changes(pid_t pid, const uint64_t *args, char *ret_what)
{
	struct msghdr m;
	struct iovec v = {NULL, 0};

	return read_memory(pid, args[1], &m, sizeof(m)) && m.msg_iovlen > 0 &&
	       read_memory(pid, (uintptr_t)m.msg_iov, &v, sizeof(v)) &&
	       message_changes(pid, args, (uintptr_t)v.iov_base, ret_what);
}

static bool write_changes(pid_t pid, const uint64_t *args, char *ret_what)
{
	char text[33] = "";

	if (args[0] == STDERR_FILENO)
		return false;
	(void)read_memory(pid, args[1], text, MIN_OF(args[2], sizeof(text) - 1));
	text[strcspn(text, "\n")] = '\0';
	snprintf(ret_what, WHAT_MAX, "the write of '%s'", text);
	return task.all || is_of(pid, (int)args[0], PROC_SUPER_MAGIC) ||
	       is_of(pid, (int)args[0], SYSFS_MAGIC);
}

static bool name_changes(pid_t pid, uint64_t at, const char *verb, char *ret_what)
{
	char path[128] = "";

	for (size_t i = 0; i < sizeof(path) - 1; i++)
		if (!read_memory(pid, at + i, path + i, 1) || !path[i])
			break;
	snprintf(ret_what, WHAT_MAX, "%s of %.120s", verb, path);
	return task.all;
}

static bool changes(pid_t pid, uint64_t call, const uint64_t *args, char *ret_what)
{
	switch (call) {
	case SYS_sendmsg:
		return sendmsg_changes(pid, args, ret_what);
	case SYS_sendto:
		return message_changes(pid, args, args[1], ret_what);
	case SYS_write:
	case SYS_pwrite64:
		return write_changes(pid, args, ret_what);
	case SYS_openat:
		return (args[2] & O_CREAT) && name_changes(pid, args[1], "the making", ret_what);
#ifdef SYS_rename
	case SYS_rename:
		return name_changes(pid, args[0], "the renaming", ret_what);
	case SYS_unlink:
		return name_changes(pid, args[0], "the removal", ret_what);
#endif
	case SYS_renameat2:
		return name_changes(pid, args[1], "the renaming", ret_what);
	case SYS_unlinkat:
		return name_changes(pid, args[1], "the removal", ret_what);
	default:
		return false;
	}
}

/* ---- the processes ---- */

static bool is_applier(pid_t pid)
{
	char path[32], name[32] = "";
	FILE *in;

	if (pid == task.applier)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	in = fopen(path, "re");
	if (in) {
		if (fgets(name, sizeof(name), in) && strcmp(name, "plenumd-applier\n") == 0)
			task.applier = pid;
		fclose(in);
	}
	return pid == task.applier;
}

static void end(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	while (waitpid(pid, &status, __WALL) == pid && !WIFEXITED(status) && !WIFSIGNALED(status))
		;
}

/* The call about to be made is the n-th. True: that was the last death wanted. */
static bool kill_victims(pid_t pid, const char *what)
{
	printf("%s%s%s killed before change %u: %s\n", task.kill_agent ? "agent" : "",
	       task.kill_agent && task.kill_applier ? " and " : "",
	       task.kill_applier ? "applier" : "", task.n, what);
	if (task.kill_agent)
		end(task.agent);
	if (task.kill_applier && task.applier)
		end(task.applier);
	task.applier = 0;
	task.n = task.next_n;
	task.next_n = task.seen = 0;
	return task.n == 0;
}

/* True for processes whose calls are examined; a child counts from when it has the applier's
 * name. */
static bool is_looked_at(pid_t pid)
{
	return task.of_agent ? pid == task.agent : pid != task.agent;
}

static bool on_call(pid_t pid)
{
	struct __ptrace_syscall_info info;
	char what[WHAT_MAX] = "";

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0 ||
	    info.op != PTRACE_SYSCALL_INFO_ENTRY || (!task.of_agent && !is_applier(pid)))
		return false;
	if (!changes(pid, info.entry.nr, info.entry.args, what) || ++task.seen < task.n)
		return false;
	return kill_victims(pid, what);
}

/* A process has stopped. True: all is done. */
static bool on_stop(pid_t pid, int status)
{
	const int event = status >> 16;
	int signal = WSTOPSIG(status);

	if (signal == STOP_OF_CALL) {
		if (on_call(pid))
			return true;
		signal = 0;
	} else if (event) {
		signal = 0;
	}
	if (event == PTRACE_EVENT_EXEC && pid != task.agent) { /* a worker */
		ptrace(PTRACE_DETACH, pid, NULL, NULL);
		return false;
	}
	ptrace(is_looked_at(pid) ? PTRACE_SYSCALL : PTRACE_CONT, pid, NULL, (void *)(long)signal);
	return false;
}

/* Runs until all is done, no process is left, or SIGTERM, which like SIGCHLD is blocked. */
static void follow(const sigset_t *news)
{
	int status, signal = SIGCHLD;
	pid_t pid;

	while (signal != SIGTERM) {
		while ((pid = waitpid(-1, &status, __WALL | WNOHANG)) > 0)
			if (WIFSTOPPED(status) && on_stop(pid, status))
				return;
		if (pid < 0)
			break;
		signal = sigwaitinfo(news, NULL);
	}
	printf("only %u changes\n", task.seen);
}

static int usage(void)
{
	fputs("kill_apply AGENT agent|applier kernel|all N[+M] agent|applier|both\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
			     PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
	sigset_t news;

	if (argc != 6 || sscanf(argv[4], "%u+%u", &task.n, &task.next_n) < 1 || task.n == 0)
		return usage();
	task.agent = (pid_t)atoi(argv[1]);
	task.of_agent = strcmp(argv[2], "agent") == 0;
	task.all = strcmp(argv[3], "all") == 0;
	task.kill_agent = strcmp(argv[5], "applier") != 0;
	task.kill_applier = strcmp(argv[5], "agent") != 0;
	sigemptyset(&news);
	sigaddset(&news, SIGCHLD);
	sigaddset(&news, SIGTERM);
	sigprocmask(SIG_BLOCK, &news, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (ptrace(PTRACE_SEIZE, task.agent, NULL, options) < 0 ||
	    ptrace(PTRACE_INTERRUPT, task.agent, NULL, NULL) < 0) {
		perror("kill_apply");
		return 2;
	}
	puts("ready");
	follow(&news);
	return 0;
}
