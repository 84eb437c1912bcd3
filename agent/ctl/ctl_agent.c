/* SPDX-License-Identifier: BSD-3-Clause */
/* Explains why the agent does not answer: it does not run, was killed, is stopped, hangs, lacks its
 * socket, or does not allow the user. Each case has its own remedy. */
#include "agent/ctl/ctl.h"

#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Returns whether a process listens on the address. *ret has the credentials of that process. If
 * its queue is full, they are unknown: pid 0, uid -1. pid 0 with another uid: the process is in
 * another PID namespace. */
static bool find_listener(const struct sockaddr_un *sun, socklen_t len, struct ucred *ret)
{
	/* Non-blocking, because the queue of the socket may be full. */
	autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t size = sizeof(*ret);

	*ret = (struct ucred){.uid = (uid_t)-1};
	if (fd < 0)
		return false;
	if (connect(fd, (const struct sockaddr *)sun, len) < 0)
		return errno == EAGAIN;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &size) == 0;
}

static pid_t listener_at(const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	struct ucred cred;

	if (strlen(path) >= sizeof(sun.sun_path))
		return 0;
	strcpy(sun.sun_path, path);
	return find_listener(&sun, sizeof(sun), &cred) ? cred.pid : 0;
}

/*
 * Returns whether an agent runs in this network namespace. It then listens on the socket name that
 * serves as the lock against a second agent. Only a listener of root or of this user counts,
 * because any user can take the name. *ret_pid is 0 if the pid is unknown, because the agent is in
 * another PID namespace, such as that of a container, or because its queue is full.
 */
static bool host_has_agent(pid_t *ret_pid)
{
	static const char name[] = PLENUM_HOST_LOCK;
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	struct ucred cred;
	bool found;

	memcpy(sun.sun_path + 1, name, sizeof(name) - 1);
	found = find_listener(
		&sun, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(name)), &cred);
	*ret_pid = cred.pid;
	return found && (cred.uid == 0 || cred.uid == geteuid() || cred.uid == (uid_t)-1);
}

static bool is_stopped(pid_t pid)
{
	char path[40], text[512];
	autoclose int fd = -1;
	const char *state;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	/* The name in parentheses may contain any character, also ')'. */
	state = strrchr(text, ')');
	return state && state[1] == ' ' && (state[2] == 'T' || state[2] == 't');
}

bool ctl_agent_is_stopped(const char *socket)
{
	pid_t pid = listener_at(socket);

	return pid > 0 && is_stopped(pid);
}

int ctl_agent_open(const char *socket)
{
	pid_t pid = listener_at(socket);

	return pid > 0 ? pidfd_open(pid, 0) : -1;
}

bool ctl_agent_wait(int pidfd, uint64_t wait_ns)
{
	const uint64_t end_ns = clock_now_ns() + wait_ns;
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	for (uint64_t now_ns = clock_now_ns(); now_ns < end_ns; now_ns = clock_now_ns())
		if (poll(&p, 1, (int)((end_ns - now_ns) / NSEC_PER_MSEC) + 1) > 0)
			return true;
	return false;
}

static void set(struct ctl_silence *s, enum ctl_agent_state state, const char *remedy,
		const char *fmt, ...) PLENUM_PRINTF(4, 5);

static void set(struct ctl_silence *s, enum ctl_agent_state state, const char *remedy,
		const char *fmt, ...)
{
	va_list ap;

	s->state = state;
	snprintf(s->remedy, sizeof(s->remedy), "%s", remedy);
	va_start(ap, fmt);
	vsnprintf(s->text, sizeof(s->text), fmt, ap);
	va_end(ap);
}

static void explain_timeout(const char *socket, struct ctl_silence *s)
{
	pid_t pid = listener_at(socket);
	char remedy[sizeof(s->remedy)];

	if (pid > 0 && is_stopped(pid)) {
		snprintf(remedy, sizeof(remedy), "'kill -CONT %d' continues the process", pid);
		set(s, CTL_AGENT_STOPPED, remedy,
		    "the agent on %.108s does not answer: process %d is stopped, by SIGSTOP or a "
		    "debugger",
		    socket, pid);
	} else {
		set(s, CTL_AGENT_HUNG,
		    "'systemctl restart plenumd' keeps workers and mounts running",
		    "the agent on %.108s does not answer in time: its process runs, but is busy or "
		    "hangs",
		    socket);
	}
}

/* An agent holds the lock, but the socket does not exist. */
static void explain_no_socket(const char *socket, pid_t pid, struct ctl_silence *s)
{
	char who[48];

	if (pid > 0)
		snprintf(who, sizeof(who), "process %d", pid);
	else
		snprintf(who, sizeof(who), "perhaps in a container");
	set(s, CTL_AGENT_NO_SOCKET,
	    "plenumd creates removed sockets again within a second; with another --run-dir, give "
	    "its socket with --socket",
	    "no agent answers on %.108s: plenumd (%s) runs in this network namespace, but this "
	    "socket does not exist",
	    socket, who);
}

void ctl_explain_silence(const char *socket, int error, struct ctl_silence *ret)
{
	pid_t pid;
	const bool found = host_has_agent(&pid);

	switch (error) {
	case -ENOENT:
		if (found)
			explain_no_socket(socket, pid, ret);
		else
			set(ret, CTL_AGENT_NONE,
			    "start plenumd with 'systemctl start plenumd', or give its socket with "
			    "--socket",
			    "no agent answers on %.108s: none runs", socket);
		break;
	case -ECONNREFUSED:
		set(ret, CTL_AGENT_DEAD,
		    "'systemctl status plenumd' shows why, 'systemctl start plenumd' starts "
		    "plenumd again",
		    "no agent answers on %.108s: the plenumd that made this socket was killed or "
		    "crashed",
		    socket);
		break;
	case -EACCES:
	case -EPERM:
		/* The lock is a socket to which any user may connect. Only a running agent holds
		 * it. */
		if (found)
			set(ret, CTL_AGENT_FORBIDDEN,
			    "run this as root or as a member of group plenum",
			    "no permission to use %.108s", socket);
		else
			set(ret, CTL_AGENT_DEAD,
			    "'systemctl status plenumd' shows why; only root can start it",
			    "no agent runs in this network namespace, and this user may not use "
			    "%.108s",
			    socket);
		break;
	case -ETIMEDOUT:
		explain_timeout(socket, ret);
		break;
	default:
		set(ret, CTL_AGENT_OTHER, "systemctl status plenumd",
		    "cannot ask the agent on %.108s: %s", socket, strerror(-error));
	}
}
