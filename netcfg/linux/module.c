/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs modprobe(8) in a child process, or has the service manager run it. */
#include "netcfg/linux/module.h"
#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* The cast is safe: posix_spawn(3) does not change the arguments. */
static bool run(const char *program, const char *const argv[])
{
	char *const envp[] = {NULL};
	int status = -1;
	pid_t pid;

	if (posix_spawn(&pid, program, NULL, NULL, (char *const *)argv, envp) != 0)
		return false;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void module_load(const char *name)
{
	const char *const modprobe[] = {"/sbin/modprobe", "-q", "--", name, NULL};
	char unit[80];
	const char *const systemctl[] = {"/bin/systemctl", "--quiet", "start", unit, NULL};
	char *c;

	if (run(modprobe[0], modprobe) || access("/run/systemd/system", F_OK) < 0)
		return;
	/* plenumd.service may not load modules itself, so systemd does it. systemd would convert a
	 * hyphen in the instance name to a slash, so an underscore replaces it; modprobe(8) treats
	 * both alike. */
	snprintf(unit, sizeof(unit), "modprobe@%.48s.service", name);
	for (c = unit; *c; c++)
		if (*c == '-')
			*c = '_';
	(void)run(systemctl[0], systemctl);
}
