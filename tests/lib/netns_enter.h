/* SPDX-License-Identifier: BSD-3-Clause */
/* Network namespaces that tests make by commands, and enter. */
#ifndef PLENUM_TESTS_LIB_NETNS_ENTER_H
#define PLENUM_TESTS_LIB_NETNS_ENTER_H

#include "netcfg/base/base.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

/* The command's exit status; -1: it was killed. */
static inline int sh(const char *cmd)
{
	int r = system(cmd);

	return WIFEXITED(r) ? WEXITSTATUS(r) : -1;
}

/* By its name. 0 or negative errno. */
static inline int netns_enter(const char *name)
{
	char path[64];
	autoclose int fd = -1;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 || setns(fd, CLONE_NEWNET) != 0 ? -errno : 0;
}

#endif
