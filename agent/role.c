/* SPDX-License-Identifier: BSD-3-Clause */
#include "agent/role.h"
#include "agent/spawn.h"
#include "agent/supervise.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>

struct role {
	struct role_setup setup;
	pid_t pid;
	int pidfd, sock;
	unsigned n_deaths;
	uint64_t started_ns;
	struct loop_source *pid_source, *sock_source, *timer;
};

static int role_on_exit(void *user, int fd, uint32_t revents);
static int role_on_message(void *user, int fd, uint32_t revents);

static const char *role_name(const struct role *r)
{
	return privsep_role_to_string(r->setup.role);
}

static void role_forget(struct role *r)
{
	r->pid_source = loop_source_free(r->pid_source);
	r->sock_source = loop_source_free(r->sock_source);
	cleanup_close(&r->pidfd);
	cleanup_close(&r->sock);
	r->pidfd = r->sock = -1;
	r->pid = 0;
}

static int role_spawn(struct role *r)
{
	char name[32], level[8];
	char *argv[] = {
		(char *)"plenumd", (char *)"--role", name, (char *)"--log-level", level, NULL};
	autoclose int ours = -1, theirs = -1;
	int pair[2], ret;

	snprintf(name, sizeof(name), "%s", role_name(r));
	snprintf(level, sizeof(level), "%d", (int)r->setup.log_level);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	int fds[] = {theirs, r->setup.listen_fd};
	struct spawn_request rq = {.path = "/proc/self/exe",
				   .argv = argv,
				   .fds = fds,
				   .n_fds = ARRAY_SIZE(fds),
				   .core = -1};

	ret = spawn_process(&rq, &r->pid, &r->pidfd);
	if (ret < 0)
		return ret;
	r->sock = fd_take(ours);
	r->started_ns = clock_now_ns();
	ret = loop_add_fd(r->setup.loop, r->pidfd, EPOLLIN, false, role_on_exit, r, &r->pid_source);
	if (ret >= 0)
		ret = loop_add_fd(r->setup.loop, r->sock, EPOLLIN, false, role_on_message, r,
				  &r->sock_source);
	if (ret >= 0 && r->setup.on_start)
		r->setup.on_start(r->setup.user);
	return ret;
}

static int role_on_timer(void *user)
{
	struct role *r = user;
	int ret = role_spawn(r);

	if (ret < 0) {
		events_add(r->setup.events, LOG_LEVEL_ERR, "agent",
			   "the %s process cannot start: %s", role_name(r), strerror(-ret));
		role_forget(r);
		loop_timer_arm(r->timer, sup_backoff_ns(++r->n_deaths));
	}
	return 0;
}

static int role_on_exit(void *user, int fd, uint32_t revents)
{
	struct role *r = user;
	char how[96] = "gone";
	int status;

	spawn_reap(fd, &status, how, sizeof(how));
	role_forget(r);
	if (clock_now_ns() - r->started_ns > SUP_HEALTHY_NS)
		r->n_deaths = 0;
	events_add(r->setup.events, LOG_LEVEL_ERR, "agent", "the %s process ended: %s",
		   role_name(r), how);
	loop_timer_arm(r->timer, sup_backoff_ns(++r->n_deaths));
	return 0;
}

static int role_on_message(void *user, int fd, uint32_t revents)
{
	struct role *r = user;
	struct privsep_msg m;
	const char *why = "";
	int passed = -1, ret;

	ret = privsep_recv(fd, r->setup.role, &m, &passed, &why);
	if (ret == -EAGAIN)
		return 0;
	if (ret <= 0) {
		/* End of file: it dies. A broken rule: it is not what we started any more. */
		r->sock_source = loop_source_free(r->sock_source);
		if (ret < 0) {
			events_add(r->setup.events, LOG_LEVEL_ERR, "agent",
				   "the %s process sent a forbidden message (%s); ending it",
				   role_name(r), why);
			pidfd_send_signal(r->pidfd, SIGKILL, NULL, 0);
		}
		return 0;
	}
	r->setup.on_message(r->setup.user, &m, passed);
	cleanup_close(&passed);
	return 0;
}

int role_new(const struct role_setup *setup, struct role **ret)
{
	struct role *r = calloc(1, sizeof(*r));
	int k;

	if (!r)
		return -ENOMEM;
	r->setup = *setup;
	r->pidfd = r->sock = -1;
	k = loop_add_timer(setup->loop, NSEC_PER_MSEC, role_on_timer, r, &r->timer);
	if (k >= 0)
		k = role_spawn(r);
	if (k < 0) {
		role_free(r);
		return k;
	}
	*ret = r;
	return 0;
}

struct role *role_free(struct role *r)
{
	char how[96];
	int status;

	if (!r)
		return NULL;
	if (r->pidfd >= 0) {
		pidfd_send_signal(r->pidfd, SIGKILL, NULL, 0);
		spawn_reap(r->pidfd, &status, how, sizeof(how));
	}
	role_forget(r);
	loop_source_free(r->timer);
	free(r);
	return NULL;
}

int role_send(struct role *r, struct privsep_msg *m, int fd)
{
	if (!r || r->sock < 0)
		return -ENOTCONN;
	return privsep_send(r->sock, PRIVSEP_MONITOR, m, fd);
}

pid_t role_pid(const struct role *r)
{
	return r ? r->pid : 0;
}
