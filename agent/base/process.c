/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads information about other processes from /proc. */
#include "agent/base/process.h"
#include "netcfg/base/base.h"
#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>

int process_start(pid_t pid, uint64_t *ret)
{
	char path[40], text[1024];
	autoclose int fd = -1;
	const char *p;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ESRCH;
	n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return -ESRCH;
	text[n] = '\0';
	p = strrchr(text, ')'); /* the name in parentheses may contain any character, also ')' */
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p || sscanf(p, " %" SCNu64, ret) != 1)
		return -EIO;
	return 0;
}

bool process_name(pid_t pid, char ret[static PROCESS_NAME_MAX])
{
	char path[40];
	autoclose int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	n = fd < 0 ? -1 : read(fd, ret, PROCESS_NAME_MAX - 1);
	if (n <= 0)
		return false;
	ret[n] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	for (char *c = ret; *c; c++)
		if (!isgraph((unsigned char)*c) || *c == ',' || (unsigned char)*c >= 0x80)
			*c = '?';
	return ret[0] != '\0';
}

bool process_lives(pid_t pid)
{
	autoclose int pidfd = pid > 0 ? pidfd_open(pid, 0) : -1;
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	return pidfd >= 0 && poll(&p, 1, 0) == 0;
}
