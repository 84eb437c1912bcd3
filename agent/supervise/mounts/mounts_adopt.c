/* SPDX-License-Identifier: BSD-3-Clause */
/* Adopts the mounts of an earlier agent, with the descriptors that the service manager, the
 * descriptor holder or the workers kept. */
#include "agent/supervise/handover/fd_store.h"
#include "agent/supervise/mounts/mounts_internal.h"
#include "netcfg/base/os/memfd.h"
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* Returns whether the file system of this FUSE descriptor exists. */
static bool is_connected(int fd)
{
	struct pollfd pfd = {.fd = fd};

	return poll(&pfd, 1, 0) == 0;
}

/* Returns whether the recorded mount exists at its path. A mount that a command made is adopted
 * even if only its file system still exists. */
static bool exists(const struct mounts *m, const struct rundir_mount *rm, int fd)
{
	return mount_point_is_recorded(rm) ||
	       (mounts_rule_of(m, rm->what.path).by_command && is_connected(fd));
}

static bool is_fuse_device(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(10, 229);
}

int mounts_adopt(struct mounts *m, int fd, const uint8_t id[16])
{
	struct rundir_mount *rm = mount_point_record(m, id);
	char name[MOUNT_FD_NAME_MAX];
	struct mount_point *p;

	if (!rm || mounts_has(m, id) || !is_fuse_device(fd) || !exists(m, rm, fd) ||
	    strlen(rm->path) >= sizeof(p->real))
		return -ENOENT;
	p = mount_point_new();
	if (!p)
		return -ENOMEM;
	p->what = rm->what; /* includes the descriptor of its state, if that was adopted before */
	rm->what.state_fd = -1;
	p->what.fuse_fd = fd;
	p->major = rm->major;
	p->minor = rm->minor;
	strcpy(p->real, rm->path);
	mount_point_add(m, p);
	rm->adopted = true;
	loop_timer_arm(m->look_timer,
		       MOUNTS_LOOK_NS); /* another mount may hide this mount, so look again later */
	mount_point_ask_spare(p);
	/* The descriptor is stored even if it came from the store. That is harmless, because the
	 * service manager keeps only one copy. */
	fd_store_put(fd, mount_point_fd_name(&p->what, name));
	return 0;
}

static int adopt_state(struct mounts *m, int fd, const uint8_t id[16])
{
	struct rundir_mount *rm = mount_point_record(m, id);
	struct mount_point *p = mount_point_find(m, id);
	struct launch_mount *what = p ? &p->what : rm ? &rm->what : NULL;
	char name[MOUNT_FD_NAME_MAX];

	if (!what || what->state_fd >= 0 || !memfd_has_name(fd, mount_point_state_name(what, name)))
		return -ENOENT;
	what->state_fd = fd;
	fd_store_put(fd, name);
	return 0;
}

/* The file of a state from a worker must have seals. Without seals, the worker could pass a file
 * and shrink it while the mount's other workers use it. A stored state was created by an agent; an
 * earlier version may have created it without seals. */
int mounts_adopt_state(struct mounts *m, int fd, const uint8_t id[16])
{
	return memfd_is_fixed(fd) ? adopt_state(m, fd, id) : -ENOENT;
}

int mounts_adopt_stored(struct mounts *m, int fd, const char *name)
{
	struct rundir *rd = m->setup.rundir;

	for (size_t i = 0; i < rd->n_mounts; i++) {
		const struct launch_mount *what = &rd->mounts[i].what;
		char own_name[MOUNT_FD_NAME_MAX];

		if (strcmp(mount_point_fd_name(what, own_name), name) == 0)
			return mounts_adopt(m, fd, what->id);
		if (strcmp(mount_point_state_name(what, own_name), name) == 0)
			return adopt_state(m, fd, what->id);
	}
	return -ENOENT;
}

int mounts_adopt_bell(struct mounts *m, int fd, const uint8_t id[16])
{
	static const char kind[] = "anon_inode:[eventfd]";
	struct mount_point *p = mount_point_find(m, id);
	char path[40], target[sizeof(kind)] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!p || p->bell_fd >= 0 || readlink(path, target, sizeof(target)) != sizeof(kind) - 1 ||
	    memcmp(target, kind, sizeof(kind) - 1) != 0)
		return -ENOENT;
	p->bell_fd = fd;
	return 0;
}
