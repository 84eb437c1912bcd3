/* SPDX-License-Identifier: BSD-3-Clause */
/* Unmounts in a child process that inherits no descriptor of the monitor. A FUSE descriptor that
 * stays open in a child that hangs would keep the mount alive for ever. */
#include "agent/supervise/mounts/unmount.h"
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct unmount {
	pid_t pid;
	int pidfd;
	unmount_cb cb;
	void *user;
	struct loop_source *exit_source, *timer;
};

/* Returns whether the file system with that device number is mounted at the path. Sends no request
 * to its server, which may not answer. */
static bool is_device(const char *path, unsigned major, unsigned minor)
{
	struct statx st;

	return statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, 0,
		     &st) == 0 &&
	       st.stx_dev_major == major && st.stx_dev_minor == minor;
}

/*
 * Runs in the child. After a lazy unmount, programs with open files keep the FUSE connection until
 * the worker exits, and the server then keeps their files for a successor. MNT_FORCE ends the
 * connection: programs get errors, and the worker reports the end to the server. It is not used if
 * another file system is mounted there now.
 */
static void __attribute__((noreturn)) run_child(const char *path, unsigned major, unsigned minor)
{
	int r;

	close_range(3, ~0U, 0);
	r = umount2(path, UMOUNT_NOFOLLOW);
	if (r < 0 && errno == EBUSY)
		r = umount2(path, UMOUNT_NOFOLLOW | MNT_DETACH |
					  (is_device(path, major, minor) ? MNT_FORCE : 0));
	_exit(r < 0 && errno != EINVAL ? 1 : 0);
}

static int on_exit_child(void *user, int fd, uint32_t revents)
{
	struct unmount *u = user;
	siginfo_t si = {0};
	int r = waitid(P_PIDFD, (id_t)fd, &si, WEXITED);

	u->exit_source = loop_source_free(u->exit_source);
	loop_timer_disarm(u->timer);
	u->cb(u->user, r == 0 && si.si_code == CLD_EXITED && si.si_status == 0 ? UNMOUNT_DONE
									       : UNMOUNT_FAILED);
	return 0;
}

static int on_late(void *user)
{
	struct unmount *u = user;

	u->cb(u->user, UNMOUNT_LATE);
	return 0;
}

static int watch(struct unmount *u, struct loop *l, uint64_t late_ns)
{
	int r;

	u->pidfd = pidfd_open(u->pid, 0);
	if (u->pidfd < 0)
		return -errno;
	r = loop_add_fd(l, u->pidfd, EPOLLIN, false, on_exit_child, u, &u->exit_source);
	if (r >= 0)
		r = loop_add_timer(l, NSEC_PER_MSEC, on_late, u, &u->timer);
	return r < 0 ? r : loop_timer_arm(u->timer, late_ns);
}

int unmount_new(struct loop *l, const char *path, unsigned major, unsigned minor, uint64_t late_ns,
		unmount_cb cb, void *user, struct unmount **ret)
{
	struct unmount *u = calloc(1, sizeof(*u));
	int r;

	if (!u)
		return -ENOMEM;
	*u = (struct unmount){.pidfd = -1, .cb = cb, .user = user, .pid = fork()};
	if (u->pid == 0)
		run_child(path, major, minor);
	r = u->pid < 0 ? -errno : watch(u, l, late_ns);
	if (r < 0) {
		unmount_free(u);
		return r;
	}
	*ret = u;
	return 0;
}

struct unmount *unmount_free(struct unmount *u)
{
	if (!u)
		return NULL;
	loop_source_free(u->exit_source);
	loop_source_free(u->timer);
	cleanup_close(&u->pidfd);
	free(u);
	return NULL;
}
