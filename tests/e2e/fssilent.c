/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `fssilent DIR`: mounts a file system on DIR that answers nothing, like one whose server or disk
 * is gone: opening the directory blocks. It prints "ok", and serves until it is killed; the caller
 * must unmount.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[96];

	snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other",
		 fd);
	if (argc != 2 || fd < 0 || mount("silent", argv[1], "fuse", 0, options) < 0) {
		perror("fssilent");
		return 1;
	}
	puts("ok");
	fflush(stdout);
	for (;;)
		pause();
}
