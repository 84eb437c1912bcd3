/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `fssilent DIR [until-signal|slow]`: mounts a file system on DIR that answers nothing, like one
 * whose server or disk is gone: opening the directory blocks. With until-signal it is an empty
 * directory before it gets SIGUSR1, and again after the next one. With slow it is the same, but
 * takes 300 ms to look up a name. It prints "ok", and serves until it is killed; the caller must
 * unmount.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static const struct timespec slow_lookup = {.tv_nsec = 300000000};
static volatile sig_atomic_t is_silent;
static int is_slow;

static void on_signal(int sig)
{
	is_silent = !is_silent;
}

static void reply(int fd, const struct fuse_in_header *in, int error, const void *data, size_t len)
{
	struct fuse_out_header out = {
		.len = (uint32_t)(sizeof(out) + len), .error = error, .unique = in->unique};
	struct iovec parts[] = {{&out, sizeof(out)}, {(void *)data, len}};

	if (writev(fd, parts, 2) < 0)
		perror("fssilent");
}

static void answer(int fd, const struct fuse_in_header *in)
{
	const struct fuse_init_out init = {
		.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 65536};
	const struct fuse_attr_out attr = {.attr = {.ino = 1, .mode = S_IFDIR | 0755, .nlink = 2}};
	const struct fuse_statfs_out room = {.st = {.blocks = 1 << 20,
						    .bfree = 1 << 19,
						    .bavail = 1 << 19,
						    .files = 1 << 10,
						    .ffree = 1 << 9,
						    .bsize = 4096,
						    .frsize = 4096}};
	const struct fuse_open_out opened = {.fh = 0};

	switch (in->opcode) {
	case FUSE_INIT:
		reply(fd, in, 0, &init, sizeof(init));
		break;
	case FUSE_GETATTR:
		reply(fd, in, 0, &attr, sizeof(attr));
		break;
	case FUSE_STATFS:
		reply(fd, in, 0, &room, sizeof(room));
		break;
	case FUSE_OPENDIR:
		reply(fd, in, 0, &opened, sizeof(opened));
		break;
	case FUSE_READDIR: /* its end */
	case FUSE_RELEASEDIR:
		reply(fd, in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	case FUSE_LOOKUP:
		if (is_slow)
			(void)ppoll(NULL, 0, &slow_lookup, NULL);
		reply(fd, in, -ENOENT, NULL, 0);
		break;
	default:
		reply(fd, in, -ENOSYS, NULL, 0);
		break;
	}
}

static void serve(int fd)
{
	static _Alignas(struct fuse_in_header) char message[1 << 17];
	struct sigaction act = {.sa_handler = on_signal};
	sigset_t usual, usr1;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, &usual);
	sigaction(SIGUSR1, &act, NULL);
	for (;;) {
		struct pollfd p = {.fd = is_silent ? -1 : fd, .events = POLLIN};

		if (ppoll(&p, 1, NULL, &usual) > 0 && read(fd, message, sizeof(message)) > 0)
			answer(fd, (const struct fuse_in_header *)message);
	}
}

int main(int argc, char **argv)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[96];

	snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other",
		 fd);
	if (argc < 2 || argc > 3 || fd < 0 || mount("silent", argv[1], "fuse", 0, options) < 0) {
		perror("fssilent");
		return 1;
	}
	is_slow = argc == 3 && strcmp(argv[2], "slow") == 0;
	puts("ok");
	fflush(stdout);
	if (argc == 3)
		serve(fd);
	for (;;)
		pause();
}
