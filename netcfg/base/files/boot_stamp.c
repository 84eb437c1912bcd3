/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the boot id and the network namespace of this process for the first line of state files. */
#include "netcfg/base/files/boot_stamp.h"
#include "netcfg/base/base.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const char *boot_stamp_text(char *buf, size_t size)
{
	autoclose int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	uintmax_t netns = 0;
	char boot[40] = "-";
	struct stat st;
	ssize_t n = fd >= 0 ? read(fd, boot, sizeof(boot) - 1) : 0;

	boot[n > 0 ? n : 1] = '\0';
	boot[strcspn(boot, "\n")] = '\0';
	if (stat("/proc/self/ns/net", &st) == 0)
		netns = st.st_ino;
	snprintf(buf, size, "boot %s netns %ju", boot, netns);
	return buf;
}

int boot_stamp_parse(const char *line, const char *name, int version, bool *ret_stale)
{
	char here[BOOT_STAMP_TEXT_MAX], word[32];
	int has = 0, at = 0;

	if (sscanf(line, "%31s %d %n", word, &has, &at) != 2 || strcmp(word, name) != 0 ||
	    has != version || strncmp(line + at, "boot ", 5) != 0)
		return -EBADMSG;
	*ret_stale = strcmp(line + at, boot_stamp_text(here, sizeof(here))) != 0;
	return 0;
}
