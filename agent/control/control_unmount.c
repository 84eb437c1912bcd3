/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unmounts a mount that no program uses, in a child process, because umount(2) may wait for the
 * server. If programs use the mount, a search finds out which (mount_users.h). The monitor notices
 * the unmount in the same way as an unmount by umount(8) (mounts.c).
 */
#include "agent/base/child/child_task.h"
#include "agent/control/control_internal.h"
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

struct control_unmount {
	struct agent *agent;
	struct child_task *child;
	struct mount_search *search;
	char path[PRIVSEP_PATH_MAX], real[PRIVSEP_PATH_MAX];
	control_unmount_done done;
	int error;
};

/* ---- in the child ---- */

static int work(void *user, int channel)
{
	const struct control_unmount *u = user;
	int error = umount2(u->real, UMOUNT_NOFOLLOW) < 0 ? -errno : 0;

	child_task_send(channel, &error, sizeof(error), -1);
	return 0;
}

/* ---- in the monitor ---- */

static void on_message(void *user, const void *msg, size_t len, int fd)
{
	struct control_unmount *u = user;

	if (len == sizeof(u->error))
		memcpy(&u->error, msg, len);
}

static void on_found(void *user, int error, const struct mount_users *found,
		     const char *const *paths)
{
	struct control_unmount *u = user;

	u->search = NULL;
	/* The callback frees u. */
	u->done(u->agent, u->path, u->error, error == 0 ? found : NULL, paths);
}

static void on_end(void *user, int status, const char *how)
{
	struct control_unmount *u = user;
	const char *paths[] = {u->real};

	u->child = NULL; /* the child task frees itself */
	if (u->error == -EBUSY &&
	    mount_search_start(u->agent->loop, paths, 1, on_found, u, &u->search) >= 0)
		return;
	u->done(u->agent, u->path, u->error, NULL, NULL);
}

struct control_unmount *control_unmount_start(struct agent *a, const char *path, const char *real,
					      control_unmount_done done)
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
	u->error = -EIO; /* result if the child exits without sending one */
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
	mount_search_cancel(u->search);
	free(u);
	return NULL;
}
