/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent/spawn.h"
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

/* Variables that are meant for the agent alone. */
static const char *const spawn_env_dropped[] = {
	"NOTIFY_SOCKET=", "WATCHDOG_USEC=", "WATCHDOG_PID=",
	"LISTEN_FDS=",	  "LISTEN_PID=",    "LISTEN_FDNAMES="};

static bool spawn_env_keeps(const char *entry)
{
	for (size_t i = 0; i < ARRAY_SIZE(spawn_env_dropped); i++)
		if (strncmp(entry, spawn_env_dropped[i], strlen(spawn_env_dropped[i])) == 0)
			return false;
	return true;
}

static char **spawn_env_new(void)
{
	size_t n = 0, k = 0;
	char **env;

	while (environ[n])
		n++;
	env = calloc(n + 1, sizeof(*env));
	for (size_t i = 0; env && i < n; i++)
		if (spawn_env_keeps(environ[i]))
			env[k++] = environ[i];
	return env;
}

static void spawn_child_signals(void)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		sigaction(sig, &dfl, NULL); /* fails for SIGKILL, SIGSTOP and libc's own */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void spawn_child_oom(int score)
{
	char text[16];
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	int len = snprintf(text, sizeof(text), "%d", score);

	/* Lowering it needs CAP_SYS_RESOURCE; without it the child is as likely a victim as we. */
	if (fd >= 0 && write(fd, text, (size_t)len) < 0)
		(void)score;
	if (fd >= 0)
		close(fd);
}

/*
 * Lays the descriptors out as 3, 4, ...: first all are moved above the target range, so that no
 * target is overwritten while it is still a source.
 */
static int spawn_child_fds(const struct spawn_request *rq)
{
	int high[SPAWN_FDS_MAX];
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0)
		return -errno;
	for (size_t i = 0; i < rq->n_fds; i++) {
		high[i] = fcntl(rq->fds[i], F_DUPFD_CLOEXEC, SPAWN_FD_FIRST + SPAWN_FDS_MAX);
		if (high[i] < 0)
			return -errno;
	}
	for (size_t i = 0; i < rq->n_fds; i++)
		if (dup2(high[i], SPAWN_FD_FIRST + (int)i) < 0)
			return -errno;
	if (close_range(SPAWN_FD_FIRST + (unsigned)rq->n_fds, ~0U, 0) < 0)
		return -errno;
	return 0;
}

/* Between fork and exec: the parent has one thread, so the C library is in a sane state here. */
static void __attribute__((noreturn)) spawn_child(const struct spawn_request *rq, char **env)
{
	cpu_set_t set;

	spawn_child_signals();
	setsid(); /* a terminal's Ctrl-C is the agent's to handle */
	if (rq->oom_score)
		spawn_child_oom(rq->oom_score);
	if (rq->core >= 0) {
		CPU_ZERO(&set);
		CPU_SET((unsigned)rq->core, &set);
		if (sched_setaffinity(0, sizeof(set), &set) < 0)
			_exit(126);
	}
	if (spawn_child_fds(rq) < 0)
		_exit(126);
	execve(rq->path, rq->argv, env);
	_exit(127);
}

int spawn_process(const struct spawn_request *rq, pid_t *ret_pid, int *ret_pidfd)
{
	autofree char **env = spawn_env_new();
	int pidfd;
	pid_t pid;

	if (!env)
		return -ENOMEM;
	if (rq->n_fds > SPAWN_FDS_MAX || rq->core >= CPU_SETSIZE)
		return -EINVAL;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		spawn_child(rq, env);
	/* Not reaped yet, so the pid is still the child's. */
	pidfd = pidfd_open(pid, 0);
	if (pidfd < 0) {
		int r = -errno;

		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return r;
	}
	*ret_pid = pid;
	*ret_pidfd = pidfd;
	return 0;
}

int spawn_reap(int pidfd, int *ret_status, char *text, size_t size)
{
	siginfo_t si = {0};

	while (waitid(P_PIDFD, (id_t)pidfd, &si, WEXITED) < 0)
		if (errno != EINTR)
			return -errno;
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
