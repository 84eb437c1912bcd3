/* SPDX-License-Identifier: BSD-3-Clause */
/* Forks a child task and reads its messages. The callers define the work. */
#include "agent/base/child/child_task.h"
#include "agent/base/child/spawn.h"
#include "netcfg/base/log.h"
#include "netcfg/base/os/fdpass.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define CHANNEL_FD 3 /* descriptor of the channel in the child */

struct child_task {
	struct child_task_setup setup;
	pid_t pid;
	int pidfd, channel;
	struct loop_source *pid_source, *channel_source;
};

/* ---- in the child ---- */

/*
 * Only SIGKILL may end the task before its work is done. So it ignores Ctrl-C in a terminal and a
 * service manager that signals all processes of the unit. A write to a closed socket must not end
 * it either.
 */
static void child_signals(void)
{
	sigset_t none;

	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int child_descriptors(int channel, int kept)
{
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0)
		return -errno;
	if (kept) /* the kept descriptor must not have the channel's number */
		kept = fcntl(kept, F_DUPFD_CLOEXEC, CHILD_TASK_KEPT_FD + 1);
	if (kept < 0 || (channel != CHANNEL_FD && dup2(channel, CHANNEL_FD) < 0))
		return -errno;
	if (kept && dup3(kept, CHILD_TASK_KEPT_FD, O_CLOEXEC) < 0)
		return -errno;
	return close_range(kept ? CHILD_TASK_KEPT_FD + 1 : CHANNEL_FD + 1, ~0U, 0) < 0 ? -errno : 0;
}

static void __attribute__((noreturn)) run_child(const struct child_task_setup *setup, int channel)
{
	child_signals();
	setsid();
	prctl(PR_SET_NAME, setup->name);
	if (child_descriptors(channel, setup->kept) < 0)
		_exit(126);
	_exit(setup->work(setup->user, CHANNEL_FD));
}

void child_task_send(int channel, const void *msg, size_t len, int fd)
{
	struct pollfd room = {.fd = channel, .events = POLLOUT};
	int r = fdpass_send(channel, msg, len, fd);

	while (r == -EAGAIN || r == -EINTR) {
		/* returns when the socket has room, or when the other side was closed */
		(void)poll(&room, 1, -1);
		r = fdpass_send(channel, msg, len, fd);
	}
	if (r < 0)
		log_debug("the agent no longer reads the task's messages: %s", strerror(-r));
}

void child_task_mention(int channel, const void *msg, size_t len)
{
	(void)fdpass_send(channel, msg, len, -1);
}

/* ---- in the monitor ---- */

static void read_messages(struct child_task *t)
{
	uint8_t msg[CHILD_TASK_MESSAGE_MAX];

	for (;;) {
		autoclose int fd = -1;
		bool whole = false;
		ssize_t n = fdpass_recv(t->channel, msg, sizeof(msg), &fd, &whole);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			break;
		if (whole && t->setup.on_message)
			t->setup.on_message(t->setup.user, msg, (size_t)n, fd);
	}
}

static int on_channel(void *user, int fd, uint32_t revents)
{
	struct child_task *t = user;

	read_messages(t);
	/* At end of file, the pidfd reports the exit. */
	if (revents & (EPOLLHUP | EPOLLERR))
		t->channel_source = loop_source_free(t->channel_source);
	return 0;
}

static int on_exit_of_child(void *user, int fd, uint32_t revents)
{
	struct child_task *t = user;
	struct child_task_setup setup = t->setup;
	char how[96] = "gone";
	int status = -1;

	read_messages(t);
	spawn_reap(fd, &status, how, sizeof(how));
	child_task_forget(t);
	setup.on_end(setup.user, status, how);
	return 0;
}

static int watch(struct child_task *t)
{
	struct loop *l = t->setup.loop;
	int r;

	if (!l)
		return 0;
	r = loop_add_fd(l, t->channel, EPOLLIN, false, on_channel, t, &t->channel_source);

	return r < 0 ? r
		     : loop_add_fd(l, t->pidfd, EPOLLIN, false, on_exit_of_child, t,
				   &t->pid_source);
}

struct child_task *child_task_forget(struct child_task *t)
{
	if (!t)
		return NULL;
	loop_source_free(t->channel_source);
	loop_source_free(t->pid_source);
	cleanup_close(&t->channel);
	cleanup_close(&t->pidfd);
	free(t);
	return NULL;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int child_task_start(const struct child_task_setup *setup, struct child_task **ret)
{
	struct child_task *t = calloc(1, sizeof(*t));
	autoclose int theirs = -1;
	int pair[2], r;

	if (!t)
		return -ENOMEM;
	*t = (struct child_task){.setup = *setup, .pidfd = -1, .channel = -1};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		r = -errno;
		goto fail;
	}
	t->channel = pair[0];
	theirs = pair[1];
	/* The child may wait until the monitor reads, but the monitor must never wait for the
	 * child. */
	if (fcntl(t->channel, F_SETFL, O_NONBLOCK) < 0) {
		r = -errno;
		goto fail;
	}
	t->pid = fork();
	if (t->pid < 0) {
		r = -errno;
		goto fail;
	}
	if (t->pid == 0)
		run_child(setup, theirs);
	/* The child was not reaped yet, so no other process can have its pid. */
	t->pidfd = pidfd_open(t->pid, 0);
	r = t->pidfd < 0 ? -errno : watch(t);
	if (r < 0) {
		end_child(t->pid);
		goto fail;
	}
	*ret = t;
	return 0;
fail:
	child_task_forget(t);
	return r;
}

bool child_task_await(struct child_task *t, unsigned ms)
{
	struct pollfd end = {.fd = t->pidfd, .events = POLLIN};
	int r;

	do
		r = poll(&end, 1, (int)ms);
	while (r < 0 && errno == EINTR);
	if (r <= 0)
		return false;
	on_exit_of_child(t, t->pidfd, POLLIN);
	return true;
}

int child_task_tell(const struct child_task *t, const void *msg, size_t len)
{
	return fdpass_send(t->channel, msg, len, -1);
}

pid_t child_task_pid(const struct child_task *t)
{
	return t->pid;
}
