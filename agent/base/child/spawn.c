/* SPDX-License-Identifier: BSD-3-Clause */
/* The only code that starts programs. It decides which descriptors, signals and variables a program
 * inherits. */
#include "agent/base/child/spawn.h"
#include "netcfg/base/log.h"
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

/* Environment variables that only the agent may have. */
static const char *const env_dropped[] = {"NOTIFY_SOCKET=", "WATCHDOG_USEC=", "WATCHDOG_PID=",
					  "LISTEN_FDS=",    "LISTEN_PID=",    "LISTEN_FDNAMES="};

static bool env_keeps(const char *entry)
{
	for (size_t i = 0; i < ARRAY_SIZE(env_dropped); i++)
		if (strncmp(entry, env_dropped[i], strlen(env_dropped[i])) == 0)
			return false;
	return true;
}

static char **env_new(void)
{
	size_t n = 0, k = 0;
	char **env;

	while (environ[n])
		n++;
	env = calloc(n + 1, sizeof(*env));
	for (size_t i = 0; env && i < n; i++)
		if (env_keeps(environ[i]))
			env[k++] = environ[i];
	return env;
}

static void child_signals(void)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		/* Fails for SIGKILL, SIGSTOP and signals that libc uses internally. */
		sigaction(sig, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void child_oom(int score)
{
	char text[16];
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	int len = snprintf(text, sizeof(text), "%d", score);

	/* Lowering the score needs CAP_SYS_RESOURCE. If this fails, the kernel is as likely to kill
	 * the child as the agent. */
	if (fd >= 0 && write(fd, text, (size_t)len) < 0)
		(void)score;
	if (fd >= 0)
		close(fd);
}

/*
 * Gives the descriptors the numbers 3, 4, ... First moves all of them above these numbers, so that
 * none is overwritten before it was moved.
 */
static int child_fds(const struct spawn_request *rq)
{
	int high[SPAWN_FDS_MAX];
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0)
		return -errno;
	for (size_t i = 0; i < rq->n_fds; i++) {
		high[i] = fcntl(rq->fds[i], F_DUPFD_CLOEXEC, SPAWN_FD_FIRST + (int)rq->n_fds);
		if (high[i] < 0)
			return -errno;
	}
	for (size_t i = 0; i < rq->n_fds; i++)
		if (dup2(high[i], SPAWN_FD_FIRST + (int)i) < 0)
			return -errno;
	return 0;
}

/* Makes exec close all other descriptors. */
static int child_fds_close(const struct spawn_request *rq)
{
	return close_range(SPAWN_FD_FIRST + (unsigned)rq->n_fds, ~0U, CLOSE_RANGE_CLOEXEC) < 0
		       ? -errno
		       : 0;
}

/* Moves the program's descriptor above the numbers that child_fds() uses. */
static int child_program(const struct spawn_request *rq)
{
	if (rq->program_fd < 0)
		return -1;
	return fcntl(rq->program_fd, F_DUPFD_CLOEXEC, SPAWN_FD_FIRST + (int)rq->n_fds);
}

/* Waits until the parent has recorded the child. If the parent ends before that, the pipe is closed
 * without a byte. */
static void child_wait(int go[2])
{
	char byte;

	close(go[1]);
	while (read(go[0], &byte, 1) != 1)
		if (errno != EINTR)
			_exit(126);
}

/* Runs between fork and exec. The parent has one thread, so the C library is in a consistent
 * state. */
static void __attribute__((noreturn))
run_child(const struct spawn_request *rq, char **env, int go[2])
{
	cpu_set_t set;
	int program;

	child_wait(go);
	child_signals();
	setsid(); /* Ctrl-C in a terminal then signals only the agent */
	if (rq->oom_score)
		child_oom(rq->oom_score);
	if (rq->core >= 0) {
		CPU_ZERO(&set);
		CPU_SET((unsigned)rq->core, &set);
		if (sched_setaffinity(0, sizeof(set), &set) < 0)
			_exit(SPAWN_EXIT_CORE);
	}
	program = child_program(rq);
	if (child_fds(rq) < 0 || child_fds_close(rq) < 0)
		_exit(126);
	if (program >= 0)
		execveat(program, "", rq->argv, env, AT_EMPTY_PATH);
	/* A script is executed by its path: its interpreter could not read it through a
	 * close-on-exec descriptor. */
	if (program < 0 || errno == ENOENT)
		execve(rq->path, rq->argv, env);
	_exit(127);
}

int spawn_process(const struct spawn_request *rq, pid_t *ret_pid, int *ret_pidfd)
{
	autofree char **env = env_new();
	autoclose int go_read = -1, go_write = -1;
	int pidfd, go[2];
	pid_t pid;

	if (!env)
		return -ENOMEM;
	if (rq->n_fds > SPAWN_FDS_MAX || rq->core >= CPU_SETSIZE)
		return -EINVAL;
	if (pipe2(go, O_CLOEXEC) < 0)
		return -errno;
	go_read = go[0];
	go_write = go[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		run_child(rq, env, go);
	/* The child was not reaped yet, so no other process can have its pid. */
	pidfd = pidfd_open(pid, 0);
	if (pidfd < 0) {
		int r = -errno;

		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return r;
	}
	if (rq->on_pid)
		rq->on_pid(rq->user, pid);
	if (write(go_write, "", 1) != 1)
		log_debug("cannot let process %d start: %s", pid, strerror(errno));
	*ret_pid = pid;
	*ret_pidfd = pidfd;
	return 0;
}

pid_t spawn_pidfd_pid(int pidfd)
{
	char path[40], line[64];
	int pid = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Pid: %d", &pid) == 1)
			break;
	if (f)
		fclose(f);
	return pid > 0 ? pid : -1;
}

int spawn_reap(int pidfd, int *ret_status, char *text, size_t size)
{
	siginfo_t si = {0};

	while (waitid(P_PIDFD, (id_t)pidfd, &si, WEXITED) < 0) {
		if (errno == EINTR)
			continue;
		*ret_status = -1;
		snprintf(text, size, "its exit status is unknown, since a former agent started it");
		return -errno;
	}
	if (si.si_code == CLD_EXITED) {
		*ret_status = si.si_status;
		if (si.si_status == 127)
			snprintf(text, size, "its program could not be executed");
		else
			snprintf(text, size, "exit status %d", si.si_status);
		return 0;
	}
	const char *abbrev = sigabbrev_np(si.si_status);

	*ret_status = -1;
	snprintf(text, size, "killed by SIG%s%s", abbrev ? abbrev : "?",
		 si.si_code == CLD_DUMPED ? ", core dumped" : "");
	return 0;
}
