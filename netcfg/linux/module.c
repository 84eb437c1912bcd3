/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs modprobe(8) in a child process. */
#include "netcfg/linux/module.h"
#include <errno.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/wait.h>

#define MODPROBE "/sbin/modprobe"

void module_load(const char *name)
{
	/* posix_spawn(3) changes none of them. */
	char *const argv[] = {(char *)MODPROBE, (char *)"-q", (char *)"--", (char *)name, NULL};
	char *const envp[] = {NULL};
	pid_t pid;

	if (posix_spawn(&pid, MODPROBE, NULL, NULL, argv, envp) != 0)
		return;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}
