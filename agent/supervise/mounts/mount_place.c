/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens mount points, and finds out why one cannot be used or reached. */
#include "agent/supervise/mounts/mount_place.h"
#include <stdio.h>
#include <string.h>

static int busy(const char *path, const struct mountinfo *mi, struct reason *why)
{
	reason_set_text(why,
			"mount point %.120s is busy: a %.20s file system is mounted there; unmount "
			"that file system, or change the path of the mount",
			path, mi->fstype);
	return -EBUSY;
}

static int refuse(const char *path, int error, struct reason *why)
{
	if (error == -ENOTEMPTY)
		reason_set_text(why,
				"mount point %.120s is busy: the directory is not empty; empty the "
				"directory, or change the path of the mount",
				path);
	else if (error == -ETIMEDOUT)
		reason_set_text(why, "mount point %.150s: its file system does not answer", path);
	else
		reason_set_text(why, "mount point %.150s: %s; make an empty directory there", path,
				strerror(-error));
	return error;
}

/*
 * A parent directory may belong to a file system that hangs, or to a mount whose worker has not
 * started yet, so a child process resolves the path. Mounts on the path are checked first, because
 * opening a FUSE mount without a server fails or blocks.
 */
int mount_place_open(struct async_open *dirs, const char *path, char *real, size_t size,
		     struct reason *why)
{
	char link[32];
	struct mountinfo mi;
	autoclose int fd = -1;
	ssize_t n;

	if (mountinfo_top(path, &mi) > 0)
		return busy(path, &mi, why);
	fd = async_open_open_empty(dirs, path);
	if (fd < 0)
		return refuse(path, fd, why);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, real, size - 1);
	if (n < 0 || (size_t)n >= size - 1)
		return refuse(path, n < 0 ? -errno : -ENAMETOOLONG, why);
	real[n] = '\0';
	if (mountinfo_top(real, &mi) > 0)
		return busy(path, &mi, why);
	return fd_take(fd);
}

bool mount_place_is_covered(const char *path, const char *real, const struct mountinfo *mi,
			    struct reason *why)
{
	struct mountinfo by;

	reason_clear(why);
	/* If the file system was unmounted, it is not hidden. So this also checks that it is still
	 * mounted. */
	if (mountinfo_leads_elsewhere(real, mi, &by) <= 0 || mountinfo_has(real, mi) <= 0)
		return false;
	reason_set_text(why,
			"another program has mounted a %.20s file system over the mount %.120s, so "
			"programs do not reach the mount; unmount that file system",
			by.fstype, path);
	return true;
}
