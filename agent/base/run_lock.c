/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes the lock of the run directory. An unprivileged process cannot prevent this, or delay it for
 * long. Agents of earlier versions respect the lock. */
#include "agent/base/run_lock.h"
#include "agent/base/path.h"
#include "agent/base/process.h"
#include "netcfg/base/log.h"
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define LOCK_NAME "plenumd.lock"
#define PID_NAME "plenumd.pid"
#define TRY_AGAIN_MS 20
/* How long to wait for a child that a killed agent has just forked. The child holds the lock until
 * it has closed its inherited descriptors. */
#define LOCK_PATIENCE_NS (20 * NSEC_PER_SEC)
/* How long to wait for the lock of plenumd.pid, which any user may hold. An agent that holds it
 * writes its pid within this time. */
#define PID_PATIENCE_NS (2 * NSEC_PER_SEC)

/* ---- the holder of a lock ---- */

static bool belongs_to_us(pid_t pid)
{
	char path[40];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return stat(path, &st) == 0 && st.st_uid == geteuid();
}

/* Returns whether the process has the file open. Reads only the links in /proc, because stat() of
 * their targets could block on a file system that hangs. */
static bool has_open(pid_t pid, const char *name)
{
	char path[40], target[4096];
	const struct dirent *e;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	while (dir && !found && (e = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), e->d_name, target, sizeof(target) - 1);

		if (n <= 0)
			continue;
		target[n] = '\0';
		found = strstr(target, name) != NULL;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Reads the pid in the file. Only root can write the file. */
static pid_t pid_read(int fd)
{
	char text[24] = "";

	return pread(fd, text, sizeof(text) - 1, 0) > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
}

/* Returns whether the process is an agent. The pid may have been reused by an unrelated process. */
static bool is_agent(pid_t pid)
{
	return process_lives(pid) && belongs_to_us(pid) && has_open(pid, "/" PID_NAME);
}

static int pid_write(int fd)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%d\n", getpid());

	if (ftruncate(fd, 0) < 0)
		return -errno;
	return pwrite(fd, text, (size_t)len, 0) == len ? 0 : -EIO;
}

/* Locks the file. Returns 0, or -EBUSY if it is locked; *ret_owner is then the pid of the agent
 * that holds the lock, or 0 if another program holds it. */
static int lock(int fd, uint64_t patience_ns, pid_t *ret_owner)
{
	uint64_t until = clock_now_ns() + patience_ns;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		pid_t owner;
		bool lives;

		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		owner = pid_read(fd);
		lives = is_agent(owner);
		if (lives || clock_now_ns() > until) {
			*ret_owner = lives ? owner : 0;
			return -EBUSY;
		}
		poll(NULL, 0, TRY_AGAIN_MS);
	}
	return 0;
}

/* ---- plenumd.lock ---- */

static bool is_private(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & 0077);
}

/* Opens and locks plenumd.lock. *ret_fd is the caller's. */
static int take_lock(const char *path, uint64_t patience_ns, int *ret_fd, pid_t *ret_owner)
{
	autoclose int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r;

	if (fd < 0)
		return -errno;
	if (!is_private(fd))
		return -EPERM;
	r = lock(fd, patience_ns, ret_owner);
	if (r >= 0)
		r = pid_write(fd);
	if (r < 0)
		return r;
	*ret_fd = fd_take(fd);
	return 0;
}

/* ---- plenumd.pid; the caller has locked plenumd.lock ---- */

/* Creates a locked plenumd.pid with this agent's pid, in place of an existing one. *ret_fd is the
 * caller's. */
static int replace_pid(const char *path, int *ret_fd)
{
	autofree char *new = NULL;
	autoclose int fd = -1;
	int r;

	if (asprintf(&new, "%s.new", path) < 0)
		return -ENOMEM;
	if (unlink(new) < 0 && errno != ENOENT)
		return -errno;
	fd = open(new, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	r = pid_write(fd);
	if (r >= 0 && rename(new, path) < 0)
		r = -errno;
	if (r < 0)
		return r;
	*ret_fd = fd_take(fd);
	return 0;
}

static int take_pid(const char *path, uint64_t patience_ns, struct run_lock *l, pid_t *ret_owner)
{
	autoclose int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	int r;

	if (fd < 0)
		return errno == ENOENT ? replace_pid(path, &l->pid_fd) : -errno;
	r = lock(fd, patience_ns, ret_owner);
	if (r == -EBUSY && *ret_owner)
		return r;
	if (r == -EBUSY) {
		log_warning("%s is locked by a process other than plenumd; replacing the file",
			    path);
		return replace_pid(path, &l->pid_fd);
	}
	if (r >= 0)
		r = pid_write(fd);
	if (r < 0)
		return r;
	if (is_private(fd)) {
		l->pid_fd = fd_take(fd);
		return 0;
	}
	/* Keeps the lock of the replaced file, too. Any user may have that file open and could lock
	 * it. */
	l->former_fd = fd_take(fd);
	return replace_pid(path, &l->pid_fd);
}

/* ---- functions for rundir.c ---- */

int run_lock_take(const char *dir, struct run_lock *ret, pid_t *ret_owner, struct reason *why)
{
	autofree char *lock_path = path_join(dir, LOCK_NAME), *pid_path = path_join(dir, PID_NAME);
	struct run_lock l = RUN_LOCK_NONE;
	int r;

	if (!lock_path || !pid_path)
		return -ENOMEM;
	*ret_owner = 0;
	r = take_lock(lock_path, LOCK_PATIENCE_NS, &l.fd, ret_owner);
	if (r == -EPERM)
		reason_set_text(
			why,
			"%s must belong to the user of plenumd and have mode 0600; remove the file",
			lock_path);
	else if (r < 0)
		reason_set_text(why, "%s: %s", lock_path, r == -EBUSY ? "is locked" : strerror(-r));
	if (r < 0)
		return r;
	r = take_pid(pid_path, PID_PATIENCE_NS, &l, ret_owner);
	if (r < 0) {
		reason_set_text(why, "%s: %s", pid_path, r == -EBUSY ? "is locked" : strerror(-r));
		run_lock_done(&l);
		return r;
	}
	*ret = l;
	return 0;
}

/* Returns whether the path still names the open file. */
static bool is_there(const char *path, int fd)
{
	struct stat named, open;

	return stat(path, &named) == 0 && fstat(fd, &open) == 0 && named.st_dev == open.st_dev &&
	       named.st_ino == open.st_ino;
}

static void move_fd(int *from, int *to)
{
	if (*from < 0)
		return;
	cleanup_close(to);
	*to = fd_take(*from);
}

int run_lock_restore(struct run_lock *l, const char *dir)
{
	autofree char *lock_path = path_join(dir, LOCK_NAME), *pid_path = path_join(dir, PID_NAME);
	struct run_lock new = RUN_LOCK_NONE;
	pid_t owner = 0;
	int r = 0;

	if (!lock_path || !pid_path)
		return -ENOMEM;
	if (!is_there(lock_path, l->fd))
		r = take_lock(lock_path, 0, &new.fd, &owner);
	if (r >= 0 && !is_there(pid_path, l->pid_fd))
		r = take_pid(pid_path, 0, &new, &owner);
	if (r >= 0)
		r = new.fd >= 0 || new.pid_fd >= 0;
	move_fd(&new.fd, &l->fd);
	move_fd(&new.pid_fd, &l->pid_fd);
	move_fd(&new.former_fd, &l->former_fd);
	return r;
}

void run_lock_done(struct run_lock *l)
{
	cleanup_close(&l->former_fd);
	cleanup_close(&l->pid_fd);
	cleanup_close(&l->fd);
	*l = RUN_LOCK_NONE;
}
