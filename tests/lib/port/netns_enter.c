/* SPDX-License-Identifier: BSD-3-Clause */
/* Implements netns_enter.h. */
#include "tests/lib/port/netns_enter.h"
#include "netcfg/base/base.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

int sh(const char *cmd)
{
	int r = system(cmd);

	return WIFEXITED(r) ? WEXITSTATUS(r) : -1;
}

int netns_enter(const char *name)
{
	char path[64];
	autoclose int fd = -1;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 || setns(fd, CLONE_NEWNET) != 0 ? -errno : 0;
}
