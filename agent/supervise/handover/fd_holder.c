/* SPDX-License-Identifier: BSD-3-Clause */
/* The descriptor holder's process, and the messages that it exchanges with the agent. */
#include "agent/supervise/handover/fd_holder.h"
#include "agent/base/child/sandbox.h"
#include "dataplane/launch.h"
#include "netcfg/base/vec.h"
#include <linux/capability.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

/* Maximum number of connections: that of the current agent, and those of earlier agents that are
 * about to exit. */
#define CONNECTIONS_MAX 4
#define SEND_LIMIT_S 2 /* an agent that takes longer to read its list is disconnected */

/* ---- messages ---- */

int fd_holder_send(int sock, const struct fd_holder_msg *m, int fd, int flags)
{
	union {
		struct cmsghdr head;
		char buf[CMSG_SPACE(sizeof(int))];
	} control = {.buf = {0}};
	struct iovec iov = {.iov_base = (void *)m, .iov_len = sizeof(*m)};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		h.msg_control = &control;
		h.msg_controllen = sizeof(control.buf);
		control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
						.cmsg_level = SOL_SOCKET,
						.cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	}
	while (sendmsg(sock, &h, flags | MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

int fd_holder_receive(int sock, struct fd_holder_msg *m, int *ret_fd, int flags)
{
	union {
		struct cmsghdr head;
		char buf[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = m, .iov_len = sizeof(*m)};
	struct msghdr h = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   /* The buffer has room for one descriptor only, so the kernel closes
			    * further descriptors. */
			   .msg_controllen = CMSG_LEN(sizeof(int))};
	struct cmsghdr *c;
	ssize_t n;

	*ret_fd = -1;
	do
		n = recvmsg(sock, &h, flags | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	c = CMSG_FIRSTHDR(&h);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
	if (n == 0)
		return 0;
	if (n == sizeof(*m) && m->magic == FD_HOLDER_MAGIC &&
	    memchr(m->name, '\0', sizeof(m->name)))
		return 1;
	cleanup_close(ret_fd);
	*ret_fd = -1;
	return -EPROTO;
}

/* ---- the process ---- */

struct held {
	char name[FD_HOLDER_NAME_MAX];
	int fd;
};

struct holder {
	struct held *held;
	size_t n_held;
	int connections[CONNECTIONS_MAX]; /* in the order in which they were opened */
	size_t n_connections;
	uint64_t alone_since_ns;
	bool quits;
};

static struct held *held_find(const struct holder *h, const char *name)
{
	for (size_t i = 0; i < h->n_held; i++)
		if (strcmp(h->held[i].name, name) == 0)
			return &h->held[i];
	return NULL;
}

static void put(struct holder *h, const struct fd_holder_msg *m, int fd)
{
	struct held *e = held_find(h, m->name);

	if (fd < 0)
		return;
	if (!e) {
		e = h->n_held < FD_HOLDER_FDS_MAX ? vec_add(&h->held, &h->n_held, sizeof(*e))
						  : NULL;
		if (!e) {
			close(fd);
			return;
		}
		e->fd = -1;
		memcpy(e->name, m->name, sizeof(e->name));
	}
	cleanup_close(&e->fd);
	e->fd = fd;
}

static void drop(struct holder *h, const char *name)
{
	struct held *e = held_find(h, name);

	if (!e)
		return;
	close(e->fd);
	*e = h->held[--h->n_held];
}

static int list(const struct holder *h, int sock)
{
	struct fd_holder_msg m = {
		.magic = FD_HOLDER_MAGIC, .version = FD_HOLDER_VERSION, .type = FD_HOLDER_ITEM};
	int r = 0;

	for (size_t i = 0; i < h->n_held && r >= 0; i++) {
		memcpy(m.name, h->held[i].name, sizeof(m.name));
		r = fd_holder_send(sock, &m, h->held[i].fd, 0);
	}
	if (r < 0)
		return r;
	m.type = FD_HOLDER_LISTED;
	m.pid = (int32_t)getpid();
	memset(m.name, 0, sizeof(m.name));
	return fd_holder_send(sock, &m, -1, 0);
}

/* Handles a message. Returns 1 if it handled one, 0 if no further message has arrived, -ECONNRESET
 * at the end of the connection, or another negative errno. */
static int handle_one(struct holder *h, int sock)
{
	struct fd_holder_msg m;
	int fd, r = fd_holder_receive(sock, &m, &fd, MSG_DONTWAIT);

	if (r <= 0)
		return r == -EAGAIN ? 0 : r < 0 ? r : -ECONNRESET;
	if (m.type == FD_HOLDER_PUT) {
		put(h, &m, fd);
		return 1;
	}
	cleanup_close(&fd);
	if (m.type == FD_HOLDER_DROP)
		drop(h, m.name);
	else if (m.type == FD_HOLDER_LIST)
		return list(h, sock) < 0 ? -ECONNRESET : 1;
	else if (m.type == FD_HOLDER_QUIT)
		h->quits = true;
	return 1;
}

/* Handles all messages that have arrived. The messages of an agent that has died are handled before
 * its successor gets its list. Returns whether the connection remains. */
static bool handle(struct holder *h, int sock)
{
	int r;

	do
		r = handle_one(h, sock);
	while (r > 0);
	return r == 0;
}

static void disconnect(struct holder *h, size_t i)
{
	close(h->connections[i]);
	memmove(&h->connections[i], &h->connections[i + 1],
		(--h->n_connections - i) * sizeof(h->connections[0]));
	if (h->n_connections == 0)
		h->alone_since_ns = clock_now_ns();
}

static void accept_one(struct holder *h, int listen_fd)
{
	const struct timeval limit = {.tv_sec = SEND_LIMIT_S};
	autoclose int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
	    peer.uid != geteuid() ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
		return;
	if (h->n_connections == CONNECTIONS_MAX)
		disconnect(h, 0);
	h->connections[h->n_connections++] = fd_take(fd);
}

/* Returns the time limit for poll() in ms; -1: no limit. 0 means that no agent has been connected
 * for alone_ns. */
static int wait_ms(const struct holder *h, uint64_t alone_ns)
{
	uint64_t alone;

	if (h->n_connections)
		return -1;
	alone = clock_now_ns() - h->alone_since_ns;
	return alone >= alone_ns ? 0 : (int)((alone_ns - alone) / NSEC_PER_MSEC) + 1;
}

static void close_all(struct holder *h)
{
	for (size_t i = 0; i < h->n_held; i++)
		close(h->held[i].fd);
	free(h->held);
	for (size_t i = 0; i < h->n_connections; i++)
		close(h->connections[i]);
}

int fd_holder_serve(int listen_fd, uint64_t alone_ns)
{
	struct holder h = {.alone_since_ns = clock_now_ns()};
	struct pollfd p[1 + CONNECTIONS_MAX];
	int ms, n;

	while (!h.quits && (ms = wait_ms(&h, alone_ns)) != 0) {
		p[0] = (struct pollfd){.fd = listen_fd, .events = POLLIN};
		for (size_t i = 0; i < h.n_connections; i++)
			p[1 + i] = (struct pollfd){.fd = h.connections[i], .events = POLLIN};
		n = poll(p, 1 + h.n_connections, ms);
		if (n < 0 && errno != EINTR)
			break;
		if (n <= 0)
			continue;
		for (size_t i = 0; i < h.n_connections;)
			if (handle(&h, h.connections[i]))
				i++;
			else
				disconnect(&h, i);
		if (p[0].revents)
			accept_one(&h, listen_fd);
	}
	close_all(&h);
	return 0;
}

/* Drops all capabilities. The process stays root, so that a process of another user cannot signal
 * it. */
static int enter_sandbox(void)
{
	static const int calls[] = {SYS_accept4,    SYS_sendmsg, SYS_close, SYS_getsockopt,
				    SYS_setsockopt, SYS_geteuid, SYS_write};
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}, {0}};

	tzset(); /* reads its file now, because the sandbox forbids it later */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || chdir("/") < 0)
		return -errno;
	/* EINVAL marks the end of the capabilities that the kernel knows. */
	for (unsigned cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
	if (syscall(SYS_capset, &head, none) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return sandbox_seal(calls, ARRAY_SIZE(calls), NULL, 0);
}

int fd_holder_main(enum log_level level)
{
	int r;

	log_open("plenumd", level);
	/* Name for ps(1), which would otherwise show /proc/self/exe's. */
	prctl(PR_SET_NAME, "plenum-holder");
	r = enter_sandbox();
	if (r < 0) {
		log_err("the descriptor holder cannot drop its privileges: %s", strerror(-r));
		return 1;
	}
	return fd_holder_serve(FD_HOLDER_FD, LAUNCH_ORPHAN_S * NSEC_PER_SEC);
}
