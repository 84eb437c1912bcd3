/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens listening sockets of the agent. They have their final mode before any client can
 * connect. */
#include "agent/clients/clients.h"
#include <grp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* Replaces a socket that an earlier agent left. No other agent serves it, because this agent has
 * the lock of the run directory. */
int listen_open(const char *path, mode_t mode, const char *group, int *ret)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	const struct group *gr = group ? getgrnam(group) : NULL;
	autoclose int fd = -1;
	mode_t old;
	int r;

	if (strlen(path) >= sizeof(sun.sun_path))
		return -ENAMETOOLONG;
	strcpy(sun.sun_path, path);
	unlink(path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	old = umask(0777 & ~mode);
	r = bind(fd, (struct sockaddr *)&sun, sizeof(sun)) < 0 ? -errno : 0;
	umask(old);
	if (r < 0)
		return r;
	if (gr && chown(path, (uid_t)-1, gr->gr_gid) < 0)
		log_debug("%s: %s", path, strerror(errno));
	if (listen(fd, 128) < 0)
		return -errno;
	*ret = fd_take(fd);
	return 0;
}
