/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes detached mounts. For an adopted mount, a child task makes one from its path. */
#include "agent/supervise/mounts/mount_spare.h"
#include "agent/base/child/child_task.h"
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define CLONE_FLAGS (OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)

struct mount_spare_request {
	struct child_task *task;
	char path[4096];
	unsigned major, minor;
	void (*cb)(void *user, int fd);
	void *user;
};

int mount_spare_new(int mnt_fd)
{
	int fd = open_tree(mnt_fd, "", CLONE_FLAGS | AT_EMPTY_PATH);

	return fd < 0 ? -errno : fd;
}

/* Keeps only the descriptors fd and gate, waits until the agent has closed its own fd, and exits.
 */
static void __attribute__((noreturn)) close_last(int fd, int gate)
{
	char byte;

	fd = fcntl(fd, F_DUPFD, 5); /* a number that the two calls of dup2 do not use */
	gate = fcntl(gate, F_DUPFD, 5);
	if (fd < 0 || gate < 0 || dup2(fd, 3) < 0 || dup2(gate, 4) < 0)
		_exit(1);
	close_range(5, ~0U, 0);
	_exit(read(4, &byte, 1) < 0 ? 1 : 0);
}

static void __attribute__((noreturn)) drop_in_child(int fd, int gate)
{
	if (fork() == 0)
		close_last(fd, gate);
	_exit(0);
}

void mount_spare_drop(int fd)
{
	int gate[2];
	pid_t pid;

	if (fd < 0)
		return;
	if (pipe2(gate, O_CLOEXEC) < 0) {
		close(fd);
		return;
	}
	pid = fork();
	/* The child forks the process that closes the mount, and exits at once. So the agent does
	 * not wait for that process. */
	if (pid == 0)
		drop_in_child(fd, gate[0]);
	if (pid > 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	close(fd);
	close(gate[0]);
	close(gate[1]);
}

/* Runs in the child. Sends no request to the file system, because its server may not run. */
static int work(void *user, int channel)
{
	const struct mount_spare_request *r = user;
	const char done = 1;
	autoclose int fd = open_tree(AT_FDCWD, r->path, CLONE_FLAGS | AT_SYMLINK_NOFOLLOW);
	struct statx st;

	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st) < 0 ||
	    st.stx_dev_major != r->major || st.stx_dev_minor != r->minor)
		return 1;
	child_task_send(channel, &done, sizeof(done), fd);
	return 0;
}

/* cb gets a duplicate, because the task closes the descriptor of a message. */
static void on_message(void *user, const void *msg, size_t len, int fd)
{
	struct mount_spare_request *r = user;
	int own = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (own >= 0)
		r->cb(r->user, own);
}

static void on_end(void *user, int status, const char *how)
{
	struct mount_spare_request *r = user;

	r->task = NULL; /* the task has freed itself */
}

int mount_spare_ask(struct loop *l, const char *path, unsigned major, unsigned minor,
		    void (*cb)(void *user, int fd), void *user, struct mount_spare_request **ret)
{
	struct mount_spare_request *r = calloc(1, sizeof(*r));
	struct child_task_setup setup = {.loop = l,
					 .name = "plenumd-mount",
					 .work = work,
					 .on_message = on_message,
					 .on_end = on_end,
					 .user = r};
	int e;

	if (!r)
		return -ENOMEM;
	*r = (struct mount_spare_request){.major = major, .minor = minor, .cb = cb, .user = user};
	snprintf(r->path, sizeof(r->path), "%s", path);
	e = child_task_start(&setup, &r->task);
	if (e < 0) {
		free(r);
		return e;
	}
	*ret = r;
	return 0;
}

struct mount_spare_request *mount_spare_forget(struct mount_spare_request *r)
{
	if (r)
		child_task_forget(r->task);
	free(r);
	return NULL;
}
