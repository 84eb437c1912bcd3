/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the process of one role: starts it, exchanges messages with it, pings it, reaps it and
 * restarts it. privsep.c defines the messages.
 */
#include "agent/base/child/child_role.h"
#include "agent/base/child/spawn.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>

#define PING_NS (2 * NSEC_PER_SEC)
#define PINGS_MISSED_MAX 3
/* Maximum number of messages that are queued for a process that does not read. */
#define QUEUE_MAX 1024
#define HEALTHY_NS (60 * NSEC_PER_SEC)
#define BACKOFF_MIN_NS (100 * NSEC_PER_MSEC)
#define BACKOFF_MAX_NS (10 * NSEC_PER_SEC)

struct queued {
	struct privsep_msg msg;
	int fd; /* duplicate of the descriptor to send; -1: none */
	struct queued *next;
};

struct child_role {
	struct child_role_setup setup;
	pid_t pid;
	int pidfd, sock;
	unsigned n_deaths;
	uint64_t started_ns;
	unsigned n_unanswered; /* unanswered pings in a row */
	struct queued *queue, **queue_end;
	size_t n_queued;
	struct loop_source *pid_source, *sock_source, *restart_timer, *ping_timer;
};

static int on_child_exit(void *user, int fd, uint32_t revents);
static int on_socket(void *user, int fd, uint32_t revents);

static const char *name_of(const struct child_role *r)
{
	return privsep_role_to_string(r->setup.role);
}

static uint64_t backoff_ns(unsigned n_deaths)
{
	return n_deaths < 8 ? MIN_OF(BACKOFF_MIN_NS << n_deaths, BACKOFF_MAX_NS) : BACKOFF_MAX_NS;
}

static void drop_queue(struct child_role *r)
{
	for (struct queued *q = r->queue, *next; q; q = next) {
		next = q->next;
		cleanup_close(&q->fd);
		free(q);
	}
	r->queue = NULL;
	r->queue_end = &r->queue;
	r->n_queued = 0;
}

static void forget(struct child_role *r)
{
	r->pid_source = loop_source_free(r->pid_source);
	r->sock_source = loop_source_free(r->sock_source);
	cleanup_close(&r->pidfd);
	cleanup_close(&r->sock);
	r->pidfd = r->sock = -1;
	r->pid = 0;
	drop_queue(r);
	if (r->ping_timer)
		loop_timer_disarm(r->ping_timer);
}

/* Kills and reaps a process that cannot be watched, then clears its data. */
static void end_and_forget(struct child_role *r)
{
	char how[96];
	int status;

	if (r->pidfd >= 0) {
		pidfd_send_signal(r->pidfd, SIGKILL, NULL, 0);
		spawn_reap(r->pidfd, &status, how, sizeof(how));
	}
	forget(r);
}

/* Kills the process; on_child_exit then reaps and restarts it. */
static void kill_child(struct child_role *r)
{
	r->sock_source = loop_source_free(r->sock_source);
	loop_timer_disarm(r->ping_timer);
	pidfd_send_signal(r->pidfd, SIGKILL, NULL, 0);
}

static int watch(struct child_role *r)
{
	int k = loop_add_fd(r->setup.loop, r->pidfd, EPOLLIN, false, on_child_exit, r,
			    &r->pid_source);

	if (k >= 0)
		k = loop_add_fd(r->setup.loop, r->sock, EPOLLIN, false, on_socket, r,
				&r->sock_source);
	if (k >= 0)
		k = loop_timer_arm(r->ping_timer, PING_NS);
	return k;
}

static int start(struct child_role *r)
{
	char name[32], level[8];
	char *argv[] = {
		(char *)"plenumd", (char *)"--role", name, (char *)"--log-level", level, NULL};
	autoclose int ours = -1, theirs = -1;
	int pair[2], k;

	snprintf(name, sizeof(name), "%s", name_of(r));
	snprintf(level, sizeof(level), "%d", (int)r->setup.log_level);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	struct spawn_request rq = {.path = "/proc/self/exe",
				   .program_fd = -1,
				   .argv = argv,
				   .fds = &theirs,
				   .n_fds = 1,
				   .core = -1};

	k = spawn_process(&rq, &r->pid, &r->pidfd);
	if (k < 0)
		return k;
	r->sock = fd_take(ours);
	r->started_ns = clock_now_ns();
	r->n_unanswered = 0;
	k = watch(r);
	if (k < 0)
		end_and_forget(r);
	else if (r->setup.on_start)
		r->setup.on_start(r->setup.user, r);
	return k;
}

static void restart_later(struct child_role *r)
{
	loop_timer_arm(r->restart_timer, backoff_ns(r->n_deaths++));
}

static int on_restart(void *user)
{
	struct child_role *r = user;
	int k = start(r);

	if (k < 0) {
		events_add(r->setup.events, LOG_LEVEL_ERR, "agent",
			   "the %s process cannot start: %s", name_of(r), strerror(-k));
		restart_later(r);
	}
	return 0;
}

static int on_child_exit(void *user, int fd, uint32_t revents)
{
	struct child_role *r = user;
	char how[96] = "gone";
	int status;

	spawn_reap(fd, &status, how, sizeof(how));
	forget(r);
	if (clock_now_ns() - r->started_ns > HEALTHY_NS)
		r->n_deaths = 0;
	events_add(r->setup.events, LOG_LEVEL_ERR, "agent", "the %s process ended: %s", name_of(r),
		   how);
	if (r->setup.on_end)
		r->setup.on_end(r->setup.user, r);
	restart_later(r);
	return 0;
}

/* ---- liveness ---- */

/*
 * A process that is stopped or in an endless loop keeps its socket and its pid, so only an answer
 * shows that it works. The limit counts pings instead of time: if the monitor itself was delayed,
 * the answers are already in the socket and are read before the next ping.
 */
static int on_ping_timer(void *user)
{
	struct child_role *r = user;
	struct privsep_msg m = {.type = PRIVSEP_PING};

	if (r->n_unanswered >= PINGS_MISSED_MAX) {
		kill_child(r);
		events_add(r->setup.events, LOG_LEVEL_ERR, "agent",
			   "the %s process (pid %d) does not answer; ending it", name_of(r),
			   (int)r->pid);
		return 0;
	}
	r->n_unanswered++;
	child_role_send(r, &m, -1);
	return loop_timer_arm(r->ping_timer, PING_NS);
}

/* ---- messages ---- */

static void forbid(struct child_role *r, const char *why)
{
	kill_child(r);
	events_add(r->setup.events, LOG_LEVEL_ERR, "agent",
		   "the %s process sent a forbidden message (%s); ending it", name_of(r), why);
}

static const char *take(struct child_role *r, const struct privsep_msg *m, int fd)
{
	char call[40];

	if (m->type == PRIVSEP_PONG) {
		r->n_unanswered = 0;
		return NULL;
	}
	if (m->type == PRIVSEP_VIOLATION) {
		events_add(r->setup.events, LOG_LEVEL_ERR, "agent",
			   "the %s process tried the system call %s, which it may not make",
			   name_of(r),
			   privsep_syscall_to_string(m->violation.number, call, sizeof(call)));
		/* The system call filter has usually ended the process already. If the process has
		 * no filter, it is killed here. */
		kill_child(r);
		return NULL;
	}
	return r->setup.on_message(r->setup.user, r, m, fd);
}

static void receive(struct child_role *r)
{
	struct privsep_msg m;
	const char *why = "";
	int passed = -1;
	int k = privsep_recv(r->sock, r->setup.role, &m, &passed, &why);

	if (k == -EAGAIN)
		return;
	if (k == 0) { /* the process is exiting, and on_child_exit follows */
		r->sock_source = loop_source_free(r->sock_source);
		return;
	}
	if (k < 0) {
		forbid(r, k == -EBADMSG ? why : strerror(-k));
		return;
	}
	why = take(r, &m, passed);
	cleanup_close(&passed);
	if (why)
		forbid(r, why);
}

static int watch_socket(struct child_role *r, uint32_t events)
{
	r->sock_source = loop_source_free(r->sock_source);
	return loop_add_fd(r->setup.loop, r->sock, events, false, on_socket, r, &r->sock_source);
}

static int flush(struct child_role *r)
{
	while (r->queue) {
		struct queued *q = r->queue;
		int k = privsep_send(r->sock, PRIVSEP_MONITOR, &q->msg, q->fd);

		if (k < 0)
			return k == -EAGAIN ? 0 : k;
		r->queue = q->next;
		r->n_queued--;
		cleanup_close(&q->fd);
		free(q);
	}
	r->queue_end = &r->queue;
	return watch_socket(r, EPOLLIN);
}

static int on_socket(void *user, int fd, uint32_t revents)
{
	struct child_role *r = user;

	if ((revents & EPOLLOUT) && flush(r) < 0)
		kill_child(r);
	if (r->sock_source && (revents & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		receive(r);
	return 0;
}

/* Queues a message because the socket is full. If it were lost, a client would get no answer. */
static int enqueue(struct child_role *r, const struct privsep_msg *m, int fd)
{
	struct queued *q;
	int k = 0;

	if (r->n_queued >= QUEUE_MAX)
		return -ENOBUFS;
	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->msg = *m;
	q->fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0 && q->fd < 0)
		k = -errno;
	if (k >= 0 && !r->queue)
		k = watch_socket(r, EPOLLIN | EPOLLOUT);
	if (k < 0) {
		cleanup_close(&q->fd);
		free(q);
		return k;
	}
	*r->queue_end = q;
	r->queue_end = &q->next;
	r->n_queued++;
	return 0;
}

int child_role_send(struct child_role *r, struct privsep_msg *m, int fd)
{
	int k;

	if (!r || !r->sock_source)
		return -ENOTCONN;
	k = r->queue ? -EAGAIN : privsep_send(r->sock, PRIVSEP_MONITOR, m, fd);
	if (k != -EAGAIN)
		return k;
	k = enqueue(r, m, fd);
	if (k < 0) {
		/* Kills the process first, because otherwise the note about this event would be
		 * sent to it. */
		kill_child(r);
		events_add(r->setup.events, LOG_LEVEL_ERR, "agent",
			   "the %s process does not read its messages (%s); ending it", name_of(r),
			   strerror(-k));
	}
	return k;
}

/* ---- lifetime ---- */

int child_role_new(const struct child_role_setup *setup, struct child_role **ret)
{
	struct child_role *r = calloc(1, sizeof(*r));
	int k;

	if (!r)
		return -ENOMEM;
	r->setup = *setup;
	r->pidfd = r->sock = -1;
	r->queue_end = &r->queue;
	k = loop_add_timer(setup->loop, NSEC_PER_MSEC, on_restart, r, &r->restart_timer);
	if (k >= 0)
		k = loop_add_timer(setup->loop, 100 * NSEC_PER_MSEC, on_ping_timer, r,
				   &r->ping_timer);
	if (k >= 0)
		k = start(r);
	if (k < 0) {
		child_role_free(r);
		return k;
	}
	*ret = r;
	return 0;
}

struct child_role *child_role_free(struct child_role *r)
{
	if (!r)
		return NULL;
	end_and_forget(r);
	loop_source_free(r->restart_timer);
	loop_source_free(r->ping_timer);
	free(r);
	return NULL;
}

void child_role_end(struct child_role *r, const char *why)
{
	if (!child_role_is_up(r))
		return;
	kill_child(r);
	events_add(r->setup.events, LOG_LEVEL_ERR, "agent", "the %s process %s; ending it",
		   name_of(r), why);
}

bool child_role_is_up(const struct child_role *r)
{
	return r && r->sock_source;
}

enum privsep_role child_role_kind(const struct child_role *r)
{
	return r->setup.role;
}

pid_t child_role_pid(const struct child_role *r)
{
	return r ? r->pid : 0;
}
