/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates the memfds that one process passes to another. All kinds are in one file, where seals can
 * be reviewed together: a forgotten seal shows only when another process attacks.
 */
#include "netcfg/base/os/memfd.h"
#include "netcfg/base/file.h"
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define GROWING_SEALS (F_SEAL_SHRINK | F_SEAL_SEAL)

static int memfd_new(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd < 0 ? -errno : fd;
}

int memfd_new_sealed(const char *name, const void *data, size_t len)
{
	autoclose int fd = memfd_new(name);
	int r = fd < 0 ? fd : file_write_all(fd, data, len);

	if (r < 0)
		return r;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return -errno;
	/* Reset the offset, which the receiver shares and expects to be 0. */
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return fd_take(fd);
}

int memfd_new_shared(const char *name, size_t size)
{
	autoclose int fd = memfd_new(name);

	if (fd < 0)
		return fd;
	if (ftruncate(fd, (off_t)size) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW) < 0)
		return -errno;
	return fd_take(fd);
}

int memfd_new_empty(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int memfd_new_growing(const char *name)
{
	autoclose int fd = memfd_new(name);

	if (fd < 0)
		return fd;
	/* Seals the file before any other process has it, so that no process can shrink it between
	 * the receiver's check and its use. */
	if (fcntl(fd, F_ADD_SEALS, GROWING_SEALS) < 0)
		return -errno;
	return fd_take(fd);
}

int memfd_grow(int fd, size_t size)
{
	struct stat st;

	/* the memfd of an earlier agent version may have no seals */
	(void)fcntl(fd, F_ADD_SEALS, GROWING_SEALS);
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size >= (off_t)size || ftruncate(fd, (off_t)size) == 0)
		return 0;
	/* EPERM means that another process has made the file larger meanwhile, and the seal forbids
	 * shrinking it. */
	if (errno != EPERM || fstat(fd, &st) < 0)
		return -errno;
	return st.st_size >= (off_t)size ? 0 : -EPERM;
}

bool memfd_is_fixed(int fd)
{
	const int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;

	if (seals < 0 || (seals & GROWING_SEALS) != GROWING_SEALS ||
	    (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)))
		return false;
	/* A file in huge pages can have these seals too, but accessing one of its pages faults if
	 * no huge page is free. */
	return fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

bool memfd_is_fixed_at(int fd, size_t size)
{
	struct stat st;

	return memfd_is_fixed(fd) && fstat(fd, &st) == 0 && st.st_size == (off_t)size;
}

/* Finds the name by the symbolic link in /proc/self/fd, which is "/memfd:NAME (deleted)". */
bool memfd_has_name(int fd, const char *name)
{
	static const char head[] = "/memfd:", tail[] = " (deleted)";
	char path[40], target[300];
	size_t len = strlen(name);
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = '\0';
	return strncmp(target, head, strlen(head)) == 0 &&
	       strncmp(target + strlen(head), name, len) == 0 &&
	       strcmp(target + strlen(head) + len, tail) == 0;
}
