/* SPDX-License-Identifier: BSD-3-Clause */
/* The lock that allows one agent per network namespace. The lock of the run directory (run_lock.h)
 * in addition keeps two agents from using the same files. */
#include "agent/base/host_lock.h"
#include "agent/base/process.h"
#include "netcfg/base/log.h"
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#define TRY_AGAIN_MS 20
/* How long to wait if the process that holds the lock refuses connections. An agent listens right
 * after it has bound the name, so such a process is not an agent. Any user can bind the name, and
 * must not delay the agent's start. */
#define SILENT_WAIT_NS NSEC_PER_SEC
/* The loop handles its other events after this many connections, because any user can connect again
 * and again. */
#define ANSWERS_AT_ONCE 16

/* Opens a socket, and writes the socket address for the name to *sun and *len. */
static int open_for(const char *name, struct sockaddr_un *sun, socklen_t *len)
{
	size_t n = strlen(name);
	int fd;

	*sun = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (n + 1 > sizeof(sun->sun_path))
		return -ENAMETOOLONG;
	/* The zero byte before the name makes the address abstract: it is not a file. */
	memcpy(sun->sun_path + 1, name, n);
	*len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return fd < 0 ? -errno : fd;
}

static int take(const char *name, int *ret_fd)
{
	struct sockaddr_un sun;
	socklen_t len = 0;
	autoclose int fd = open_for(name, &sun, &len);

	if (fd < 0)
		return fd;
	if (bind(fd, (struct sockaddr *)&sun, len) < 0)
		return errno == EADDRINUSE ? -EBUSY : -errno;
	if (listen(fd, SOMAXCONN) < 0)
		return -errno;
	*ret_fd = fd_take(fd);
	return 0;
}

/* Gets the credentials of the listening process. Returns -EAGAIN if no process listens, or its
 * backlog is full. */
static int ask(const char *name, struct ucred *ret)
{
	struct sockaddr_un sun;
	socklen_t len = 0, size = sizeof(*ret);
	autoclose int fd = open_for(name, &sun, &len);

	if (fd < 0)
		return fd;
	if (connect(fd, (struct sockaddr *)&sun, len) < 0)
		return errno == ECONNREFUSED ? -EAGAIN : -errno;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &size) < 0 ? -errno : 0;
}

/* Tries to take the lock. waited_ns: time since the first try. Returns 0 if the lock was taken or
 * is held by a process that cannot be an agent, -EBUSY if an agent holds it, -EAGAIN if it may
 * become free soon, or another negative errno. */
static int try(const char *name, uint64_t waited_ns, uint64_t wait_ns, int *ret_fd,
	       pid_t *ret_owner)
{
	const bool is_last = waited_ns > wait_ns;
	struct ucred owner = {0};
	int r = take(name, ret_fd);

	if (r != -EBUSY)
		return r;
	r = ask(name, &owner);
	if (r == -EAGAIN && waited_ns <= MIN_OF(wait_ns, SILENT_WAIT_NS))
		return r;
	if (r < 0 && r != -EAGAIN)
		return r;
	if (r == -EAGAIN || owner.uid != geteuid()) {
		char who[64] = "a process that does not answer";

		if (r == 0)
			snprintf(who, sizeof(who), "process %d of user %u", owner.pid, owner.uid);
		log_warning("'@%s', the lock that detects a second plenumd, is held by %s; "
			    "starting without the lock",
			    name, who);
		*ret_fd = -1;
		return 0;
	}
	if (!is_last && owner.pid != 0 && !process_lives(owner.pid))
		return -EAGAIN;
	*ret_owner = owner.pid;
	return -EBUSY;
}

int host_lock_take(const char *name, uint64_t wait_ns, int *ret_fd, pid_t *ret_owner)
{
	const uint64_t began = clock_now_ns();
	int r;

	while ((r = try(name, clock_now_ns() - began, wait_ns, ret_fd, ret_owner)) == -EAGAIN)
		poll(NULL, 0, TRY_AGAIN_MS);
	return r;
}

bool host_lock_answer(int fd)
{
	for (unsigned i = 0; i < ANSWERS_AT_ONCE; i++) {
		int asker = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (asker < 0)
			return true;
		close(asker);
	}
	return false;
}
