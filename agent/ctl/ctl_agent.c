/* SPDX-License-Identifier: BSD-3-Clause */
/* Explains why the agent does not answer: not running, killed, stopped, hung, without its socket,
 * or not permitted. Each needs something else of the operator. */
#include "agent/ctl/ctl.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* The process that listens on the address; 0: none does, or it cannot be learned. */
static pid_t listener_of(const struct sockaddr_un *sun, socklen_t len, uid_t *ret_uid)
{
	/* Without blocking: the queue may be full. */
	autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred cred = {0};
	socklen_t size = sizeof(cred);

	if (fd < 0 || connect(fd, (const struct sockaddr *)sun, len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) < 0)
		return 0;
	*ret_uid = cred.uid;
	return cred.pid;
}

static pid_t listener_at(const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	uid_t uid;

	if (strlen(path) >= sizeof(sun.sun_path))
		return 0;
	strcpy(sun.sun_path, path);
	return listener_of(&sun, sizeof(sun), &uid);
}

/* The agent of this network namespace, by the lock that admits one. Any user could hold the name.
 */
static pid_t agent_of_host(void)
{
	static const char name[] = PLENUM_HOST_LOCK;
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	uid_t uid = (uid_t)-1;
	pid_t pid;

	memcpy(sun.sun_path + 1, name, sizeof(name) - 1);
	pid = listener_of(&sun, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(name)),
			  &uid);
	return uid == 0 || uid == geteuid() ? pid : 0;
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
	state = strrchr(text, ')'); /* the name in parentheses may contain anything */
	return state && state[1] == ' ' && (state[2] == 'T' || state[2] == 't');
}

bool ctl_agent_is_stopped(const char *socket)
{
	pid_t pid = listener_at(socket);

	return pid > 0 && is_stopped(pid);
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
		snprintf(remedy, sizeof(remedy), "'kill -CONT %d' continues it", pid);
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

void ctl_explain_silence(const char *socket, int error, struct ctl_silence *ret)
{
	pid_t pid = error == -ENOENT ? agent_of_host() : 0;

	switch (error) {
	case -ENOENT:
		if (pid > 0)
			set(ret, CTL_AGENT_NO_SOCKET,
			    "plenumd creates removed sockets again within a second; with another "
			    "--run-dir, give its socket with --socket",
			    "no agent answers on %.108s: plenumd (process %d) runs, but this "
			    "socket "
			    "does not exist",
			    socket, pid);
		else
			set(ret, CTL_AGENT_NONE,
			    "start it with 'systemctl start plenumd', or give its socket with "
			    "--socket",
			    "no agent answers on %.108s: none runs", socket);
		break;
	case -ECONNREFUSED:
		set(ret, CTL_AGENT_DEAD,
		    "'systemctl status plenumd' shows why, 'systemctl start plenumd' starts it",
		    "no agent answers on %.108s: the plenumd that made this socket was killed or "
		    "crashed",
		    socket);
		break;
	case -EACCES:
	case -EPERM:
		set(ret, CTL_AGENT_FORBIDDEN, "run this as root or as a member of group plenum",
		    "no permission to use %.108s", socket);
		break;
	case -ETIMEDOUT:
		explain_timeout(socket, ret);
		break;
	default:
		set(ret, CTL_AGENT_OTHER, "systemctl status plenumd",
		    "cannot ask the agent on %.108s: %s", socket, strerror(-error));
	}
}
