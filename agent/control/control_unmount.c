/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unmounts a mount that no program uses, in a child process, because umount(2) may wait for the
 * server. If programs use the mount, the child finds out which. The monitor notices the unmount in
 * the same way as an unmount by umount(8) (mounts.c).
 */
#include "agent/base/child/child_task.h"
#include "agent/control/control_internal.h"
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#define USERS_MAX 5 /* maximum number of programs that the answer names */

struct result {
	int error;
	char users[REASON_TEXT_MAX / 2];
};

struct control_unmount {
	struct agent *agent;
	struct child_task *child;
	char path[PRIVSEP_PATH_MAX], real[PRIVSEP_PATH_MAX];
	void (*done)(struct agent *a, const char *path, int error, const char *users);
	struct result result;
};

/* ---- in the child ---- */

/* Returns whether the link in /proc leads to the mount. Reading the link enters no file system. */
static bool leads_to(const char *link, const char *real)
{
	char target[PATH_MAX];
	const ssize_t n = readlink(link, target, sizeof(target) - 1);
	const size_t len = strlen(real);

	if (n < 0)
		return false;
	target[n] = '\0';
	return strncmp(target, real, len) == 0 && (target[len] == '/' || target[len] == '\0');
}

/* Returns whether a link in that folder of the process leads to the mount. */
static bool has_link(const char *pid, const char *folder, const char *real)
{
	char path[300];
	struct dirent *e;
	bool found = false;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%.20s/%s", pid, folder);
	d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		snprintf(path, sizeof(path), "/proc/%.20s/%s/%.60s", pid, folder, e->d_name);
		found = e->d_name[0] != '.' && leads_to(path, real);
	}
	if (d)
		closedir(d);
	return found;
}

/* Returns whether a thread of the process has its current or root directory on the mount. Each
 * thread may have its own directories. */
static bool has_directory(const char *pid, const char *real)
{
	static const char *const links[] = {"cwd", "root"};
	char path[100];
	struct dirent *e;
	bool found = false;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%.20s/task", pid);
	d = opendir(path);
	while (d && !found && (e = readdir(d)))
		for (size_t i = 0; e->d_name[0] != '.' && i < ARRAY_SIZE(links); i++) {
			snprintf(path, sizeof(path), "/proc/%.20s/task/%.20s/%s", pid, e->d_name,
				 links[i]);
			found |= leads_to(path, real);
		}
	if (d)
		closedir(d);
	return found;
}

static bool uses(const char *pid, const char *real)
{
	/* A program may have mapped a file and closed its descriptor. */
	return has_directory(pid, real) || has_link(pid, "fd", real) ||
	       has_link(pid, "map_files", real);
}

/* Reads the name of a program; other characters than printable ASCII become '?'. */
static void name_of(const char *pid, char *buf, size_t size)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.20s/comm", pid);
	f = fopen(path, "re");
	if (!f || !fgets(buf, (int)size, f))
		snprintf(buf, size, "?");
	if (f)
		fclose(f);
	buf[strcspn(buf, "\n")] = '\0';
	for (char *c = buf; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

/* Lists the programs that use the mount, such as "process 42 (tail), process 43 (bash)". */
static void find_users(const char *real, char *buf, size_t size)
{
	unsigned n = 0;
	size_t len = 0;
	struct dirent *e;
	char name[32];
	DIR *d = opendir("/proc");

	buf[0] = '\0';
	while (d && (e = readdir(d))) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9' || !uses(e->d_name, real))
			continue;
		if (n++ >= USERS_MAX)
			continue;
		name_of(e->d_name, name, sizeof(name));
		len += (size_t)snprintf(buf + len, size - len, "%sprocess %.10s (%s)",
					len ? ", " : "", e->d_name, name);
	}
	if (d)
		closedir(d);
	if (n > USERS_MAX)
		snprintf(buf + len, size - len, " and %u more", n - USERS_MAX);
}

static int work(void *user, int channel)
{
	struct control_unmount *u = user;
	struct result res = {.error = 0};

	if (umount2(u->real, UMOUNT_NOFOLLOW) < 0)
		res.error = -errno;
	if (res.error == -EBUSY)
		find_users(u->real, res.users, sizeof(res.users));
	child_task_send(channel, &res, sizeof(res), -1);
	return 0;
}

/* ---- in the monitor ---- */

static void on_message(void *user, const void *msg, size_t len, int fd)
{
	struct control_unmount *u = user;

	if (len == sizeof(u->result))
		memcpy(&u->result, msg, len);
	u->result.users[sizeof(u->result.users) - 1] = '\0';
}

static void on_end(void *user, int status, const char *how)
{
	struct control_unmount *u = user;
	const struct control_unmount copy = *u;

	u->child = NULL; /* the child task frees itself */
	/* The callback frees u. */
	u->done(copy.agent, copy.path, copy.result.error, copy.result.users);
}

struct control_unmount *control_unmount_start(struct agent *a, const char *path, const char *real,
					      void (*done)(struct agent *a, const char *path,
							   int error, const char *users))
{
	struct control_unmount *u = calloc(1, sizeof(*u));
	const struct child_task_setup setup = {.loop = a->loop,
					       .name = "plenumd-umount",
					       .work = work,
					       .on_message = on_message,
					       .on_end = on_end,
					       .user = u};

	if (!u)
		return NULL;
	u->agent = a;
	u->done = done;
	u->result.error = -EIO; /* result if the child exits without sending one */
	snprintf(u->path, sizeof(u->path), "%s", path);
	snprintf(u->real, sizeof(u->real), "%s", real);
	if (child_task_start(&setup, &u->child) < 0) {
		free(u);
		return NULL;
	}
	return u;
}

struct control_unmount *control_unmount_forget(struct control_unmount *u)
{
	if (!u)
		return NULL;
	child_task_forget(u->child);
	free(u);
	return NULL;
}
