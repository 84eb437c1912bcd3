/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fssetid DIR FILES [UID:GID]: carries out each call that may clear set-id bits, as users with
 * different relations to a file, on files of different modes in DIR, and prints the mode before and
 * after. FILES is the same folder, where root makes the files. The output for a folder on a local
 * file system is the reference for the same on a mount. With UID:GID all users of the reference are
 * that one, as an export that squashes them makes them. Runs as root.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/falloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define OWNER 1000
#define GROUP 500
#define OTHER 1001
#define FILE_BYTES 8192

struct user {
	const char *name;
	uid_t uid;
	gid_t gid, more; /* more: a supplementary group; 0: none */
};
static const struct user users[] = {
	{"root", 0, 0, 0},
	{"owner-in-group", OWNER, GROUP, 0},
	{"owner-outside", OWNER, OWNER, 0},
	{"other", OTHER, OTHER, 0},
	{"other-in-group", OTHER, GROUP, 0},
	{"owner-by-list", OWNER, OWNER, GROUP},
	{"other-by-list", OTHER, OTHER, GROUP},
};
static const mode_t modes[] = {04766, 02766, 06766, 06777, 04777, 02777, 02666, 06666, 00666};

/* Each returns 0 or -1 with errno. */

static int on_open_file(const char *path, int flags, int (*op)(int fd))
{
	int fd = open(path, flags | O_CLOEXEC);
	int r = fd < 0 ? -1 : op(fd), error = errno;

	if (fd >= 0)
		close(fd);
	errno = error;
	return r;
}

static int write_one(int fd)
{
	return write(fd, "x", 1) == 1 ? 0 : -1;
}

static int write_zero(int fd)
{
	return write(fd, "", 0) == 0 ? 0 : -1;
}

static int truncate_open(int fd)
{
	return ftruncate(fd, FILE_BYTES / 2);
}

static int truncate_same(int fd)
{
	return ftruncate(fd, FILE_BYTES);
}

static int allocate(int fd)
{
	return fallocate(fd, 0, 0, 2 * FILE_BYTES);
}

static int punch(int fd)
{
	return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096);
}

static int zero(int fd)
{
	return fallocate(fd, FALLOC_FL_ZERO_RANGE, 0, 4096);
}

static int nothing(int fd)
{
	return 0;
}

static int copy(int fd)
{
	off_t from = 0, to = 4096;

	return copy_file_range(fd, &from, fd, &to, 512, 0) == 512 ? 0 : -1;
}

static int op_write(const char *path)
{
	return on_open_file(path, O_WRONLY, write_one);
}

static int op_write_nothing(const char *path)
{
	return on_open_file(path, O_WRONLY, write_zero);
}

static int op_append(const char *path)
{
	return on_open_file(path, O_WRONLY | O_APPEND, write_one);
}

static int op_sync_write(const char *path)
{
	return on_open_file(path, O_WRONLY | O_SYNC, write_one);
}

static int op_open_truncate(const char *path)
{
	return on_open_file(path, O_WRONLY | O_TRUNC, nothing);
}

static int op_truncate(const char *path)
{
	return truncate(path, FILE_BYTES / 2);
}

static int op_ftruncate(const char *path)
{
	return on_open_file(path, O_WRONLY, truncate_open);
}

static int op_ftruncate_same(const char *path)
{
	return on_open_file(path, O_WRONLY, truncate_same);
}

static int op_fallocate(const char *path)
{
	return on_open_file(path, O_WRONLY, allocate);
}

static int op_punch(const char *path)
{
	return on_open_file(path, O_WRONLY, punch);
}

static int op_zero(const char *path)
{
	return on_open_file(path, O_WRONLY, zero);
}

static int op_copy(const char *path)
{
	return on_open_file(path, O_RDWR, copy);
}

static int op_chmod(const char *path)
{
	return chmod(path, 07755);
}

static int op_chgrp(const char *path)
{
	return chown(path, (uid_t)-1, OWNER);
}

static int op_chown_same(const char *path)
{
	return chown(path, OWNER, GROUP);
}

static int op_acl(const char *path)
{
	/* user::rwx user:1002:rw- group::rw- mask::rwx other::rw- */
	static const struct {
		uint32_t version;
		struct {
			uint16_t tag, perm;
			uint32_t id;
		} entries[5];
	} acl = {2, {{1, 7, -1U}, {2, 6, 1002}, {4, 6, -1U}, {16, 7, -1U}, {32, 6, -1U}}};

	return setxattr(path, "system.posix_acl_access", &acl, sizeof(acl), 0);
}

static int op_utimes(const char *path)
{
	return utimensat(AT_FDCWD, path, NULL, 0);
}

static const struct {
	const char *name;
	int (*run)(const char *path);
} ops[] = {
	{"write", op_write},
	{"write-nothing", op_write_nothing},
	{"append", op_append},
	{"sync-write", op_sync_write},
	{"open-truncate", op_open_truncate},
	{"truncate", op_truncate},
	{"ftruncate", op_ftruncate},
	{"ftruncate-same", op_ftruncate_same},
	{"fallocate", op_fallocate},
	{"punch", op_punch},
	{"zero", op_zero},
	{"copy", op_copy},
	{"chmod", op_chmod},
	{"chgrp", op_chgrp},
	{"chown-same", op_chown_same},
	{"acl", op_acl},
	{"utimes", op_utimes},
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void make(const char *path, mode_t mode)
{
	static const char bytes[FILE_BYTES];
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, bytes, sizeof(bytes)) != sizeof(bytes) ||
	    fchown(fd, OWNER, GROUP) < 0 || fchmod(fd, mode) < 0)
		fail(path);
	close(fd);
}

/* In a child, as the user. Returns the error. */
static int run_as(const struct user *u, int (*run)(const char *), const char *path)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		if (setgroups(u->more != 0, &u->more) < 0 ||
		    setresgid(u->gid, u->gid, u->gid) < 0 || setresuid(u->uid, u->uid, u->uid) < 0)
			_exit(255);
		_exit(run(path) < 0 ? errno : 0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		fail("child");
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	struct user all = {.name = NULL};
	bool squashed = argc > 3 && sscanf(argv[3], "%u:%u", &all.uid, &all.gid) == 2;
	char path[512], file[512];
	struct stat st;

	if (argc < 3) {
		fprintf(stderr, "fssetid DIR FILES [UID:GID]\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		for (size_t j = 0; j < sizeof(users) / sizeof(users[0]); j++)
			for (size_t k = 0; k < sizeof(modes) / sizeof(modes[0]); k++) {
				int error;

				snprintf(path, sizeof(path), "%s/%s.%s.%o", argv[1], ops[i].name,
					 users[j].name, modes[k]);
				snprintf(file, sizeof(file), "%s/%s.%s.%o", argv[2], ops[i].name,
					 users[j].name, modes[k]);
				make(file, modes[k]);
				error = run_as(squashed ? &all : &users[j], ops[i].run, path);
				if (stat(path, &st) < 0)
					fail(path);
				printf("%s by %s: %04o -> %04o %s\n", ops[i].name, users[j].name,
				       modes[k], st.st_mode & 07777, error ? strerror(error) : "");
			}
	return 0;
}
