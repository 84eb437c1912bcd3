/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges messages with the monitor, in the process of a role. */
#include "agent/base/child/child_monitor.h"
#include "netcfg/base/log.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

int child_monitor_tell(enum privsep_role role, struct privsep_msg *m, int fd)
{
	struct pollfd p = {.fd = PRIVSEP_FD_CONTROL, .events = POLLOUT};
	int r;

	while ((r = privsep_send(PRIVSEP_FD_CONTROL, role, m, fd)) == -EAGAIN)
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			return -errno;
	return r;
}

static int on_message(void *user, int fd, uint32_t revents)
{
	const struct child_monitor *of = user;
	struct privsep_msg m, pong = {.type = PRIVSEP_PONG};
	const char *why = "";
	int passed = -1, r = privsep_recv(fd, PRIVSEP_MONITOR, &m, &passed, &why);

	(void)revents;
	if (r == -EAGAIN)
		return 0;
	if (r == 0) { /* the monitor has exited, so this process exits too */
		loop_exit(of->loop, 0);
		return 0;
	}
	if (r < 0) {
		log_err("invalid message from the monitor: %s", r == -EBADMSG ? why : strerror(-r));
		return r;
	}
	r = m.type == PRIVSEP_PING ? child_monitor_tell(of->role, &pong, -1)
				   : of->handle(of->user, &m, &passed);
	if (passed >= 0)
		close(passed);
	return r;
}

int child_monitor_watch(struct child_monitor *m)
{
	struct loop_source *source;

	return loop_add_fd(m->loop, PRIVSEP_FD_CONTROL, EPOLLIN, true, on_message, m, &source);
}
