/* SPDX-License-Identifier: BSD-3-Clause */
/* The applier's connections: to the monitor that started the applier and, through a socket, to
 * later monitors. The applier may outlive its monitor. */
#include "agent/apply/applier_internal.h"
#include "agent/base/child/child_task.h"
#include "netcfg/base/log.h"
#include "netcfg/base/os/fdpass.h"
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>

static int open_listener(const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	autoclose int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t old;
	int r;

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	strcpy(addr.sun_path, path);
	/* If a socket exists, a killed applier left it: an applier that still runs would own the
	 * journal. */
	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	old = umask(0177);
	r = bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ? -errno : 0;
	umask(old);
	if (r == 0 && listen(fd, APPLIER_SUBSCRIBERS_MAX) < 0)
		r = -errno;
	return r < 0 ? r : fd_take(fd);
}

int applier_channel_listen(const char *path)
{
	int fd = open_listener(path);

	if (fd >= 0)
		return fd;
	log_warning("cannot create %s: %s; a restarted agent cannot adopt this apply", path,
		    strerror(-fd));
	return -1;
}

void applier_channel_open(struct applier_channel *l, int monitor, int listener, const char *path)
{
	*l = (struct applier_channel){.monitor = monitor, .listener = listener, .path = path};
}

static void forget(struct applier_channel *l, size_t i)
{
	close(l->subscribers[i]);
	l->subscribers[i] = l->subscribers[--l->n];
}

static void send_current(const struct applier_channel *l, int fd)
{
	for (size_t i = 0; l->conflicts && i < l->conflicts->n; i++) {
		const struct applier_message m = {.type = APPLIER_CONFLICT,
						  .conflict = l->conflicts->entries[i]};

		child_task_mention(fd, &m, sizeof(m));
	}
	child_task_mention(fd, &l->current, sizeof(l->current));
}

/* Accepts new connections; only processes of the same user are allowed. */
static void accept_subscribers(struct applier_channel *l)
{
	int fd;

	while (l->listener >= 0 && l->n < APPLIER_SUBSCRIBERS_MAX &&
	       (fd = accept4(l->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		struct ucred peer = {.uid = (uid_t)-1};
		socklen_t len = sizeof(peer);

		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
		    peer.uid != geteuid()) {
			close(fd);
			continue;
		}
		l->subscribers[l->n++] = fd;
		send_current(l, fd);
	}
}

void applier_channel_close(struct applier_channel *l)
{
	/* The socket is removed before the end is reported, because the monitor may then start
	 * another applier at once. */
	if (l->listener >= 0) {
		unlink(l->path);
		close(l->listener);
	}
	l->listener = -1;
	while (l->n > 0)
		forget(l, l->n - 1);
}

void applier_channel_stage(struct applier_channel *l, enum applier_stage stage, uint64_t until_ns)
{
	l->current = (struct applier_message){
		.type = APPLIER_STAGE, .stage = stage, .until_ns = until_ns};
	for (size_t i = 0; i < l->n; i++)
		child_task_mention(l->subscribers[i], &l->current, sizeof(l->current));
	if (l->monitor >= 0)
		child_task_mention(l->monitor, &l->current, sizeof(l->current));
	accept_subscribers(l);
}

void applier_channel_try_send(struct applier_channel *l, const struct applier_message *m)
{
	accept_subscribers(l);
	for (size_t i = 0; i < l->n; i++)
		child_task_mention(l->subscribers[i], m, sizeof(*m));
	if (l->monitor >= 0)
		child_task_mention(l->monitor, m, sizeof(*m));
}

void applier_channel_send(struct applier_channel *l, const struct applier_message *m)
{
	accept_subscribers(l);
	for (size_t i = 0; i < l->n; i++)
		child_task_send(l->subscribers[i], m, sizeof(*m), -1);
	if (l->monitor >= 0)
		child_task_send(l->monitor, m, sizeof(*m), -1);
}

/* Reads a message. Returns the order if the message is an order, 0 if it is another message, or
 * negative errno if the peer has closed the connection. */
static int read_order(int fd, char by[static REQUESTER_MAX])
{
	struct applier_message m;
	autoclose int passed = -1;
	bool whole = false;
	ssize_t n = fdpass_recv(fd, &m, sizeof(m), &passed, &whole);

	if (n == -EAGAIN || n == -EINTR)
		return 0;
	if (n <= 0)
		return n < 0 ? (int)n : -ECONNRESET;
	if (!whole || n != sizeof(m) || (m.type != APPLIER_CONFIRM && m.type != APPLIER_ROLL_BACK))
		return 0;
	m.by[sizeof(m.by) - 1] = '\0';
	memcpy(by, m.by, sizeof(m.by));
	return (int)m.type;
}

/* Reads from the connections that are readable or closed, until one has an order. Returns the
 * order, or 0 if none has arrived. */
static int read_orders(struct applier_channel *l, const struct pollfd *fds, size_t n,
		       char by[static REQUESTER_MAX])
{
	int order = 0;

	for (size_t i = n;
	     /* backwards, because forget() moves the last entry into the gap */
	     i-- > 0 && order <= 0;) {
		if (!fds[i].revents)
			continue;
		order = read_order(l->subscribers[i], by);
		if (order < 0)
			forget(l, i);
	}
	return MAX_OF(order, 0);
}

/* Waits for one event. Returns an order, or 0 if no order has arrived, or negative errno. */
static int wait_once(struct applier_channel *l, int timer, char by[static REQUESTER_MAX])
{
	struct pollfd fds[APPLIER_SUBSCRIBERS_MAX + 3];
	const size_t n = l->n;
	int order = 0;

	for (size_t i = 0; i < n; i++)
		fds[i] = (struct pollfd){.fd = l->subscribers[i], .events = POLLIN};
	fds[n] = (struct pollfd){.fd = timer, .events = POLLIN};
	fds[n + 1] = (struct pollfd){.fd = l->listener, .events = POLLIN};
	fds[n + 2] = (struct pollfd){.fd = l->monitor, .events = POLLIN};
	if (poll(fds, n + 3, -1) < 0)
		return errno == EINTR ? 0 : -errno;
	/* An order that has arrived in time is valid, even if the timer has expired meanwhile. */
	order = read_orders(l, fds, n, by);
	if (order == 0 && fds[n + 2].revents) {
		order = read_order(l->monitor, by);
		if (order < 0) /* the monitor has exited */
			l->monitor = -1;
	}
	if (order > 0)
		return order;
	accept_subscribers(l);
	return fds[n].revents ? -ETIMEDOUT : 0;
}

int applier_channel_wait(struct applier_channel *l, uint64_t until_ns, uint64_t wake_ns,
			 char by[static REQUESTER_MAX])
{
	const uint64_t at_ns = MIN_OF(until_ns, wake_ns);
	const struct itimerspec at = {
		.it_value = {(time_t)(at_ns / NSEC_PER_SEC), (long)(at_ns % NSEC_PER_SEC)}};
	autoclose int timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	int r = 0;

	if (timer < 0 || timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL) < 0)
		return -errno;
	if (l->current.stage != APPLIER_WAITING)
		applier_channel_stage(l, APPLIER_WAITING, until_ns);
	while (r == 0)
		r = wait_once(l, timer, by);
	return r == -ETIMEDOUT && wake_ns < until_ns ? 0 : r;
}
