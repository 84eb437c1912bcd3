/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens folders by their paths without following symbolic links of other users, identifies them and
 * removes them. */
#include "netcfg/base/os/folder.h"
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#define LINKS_MAX 40	      /* the kernel's limit of symbolic links in a path */
#define FULL_BYTES (1U << 20) /* the largest write of a client */
#define RAMFS_FS_MAGIC 0x858458f6
#define TMPFS_FS_MAGIC 0x01021994

/* The ioctl's argument, from include/uapi/linux/fs.h of Linux 6.9, because the kernel headers of
 * Debian 12 lack it. */
struct fs_uuid {
	uint8_t len, uuid[16];
};
#define FS_IOC_UUID _IOR(0x15, 0, struct fs_uuid)
/* The ioctl's argument, from fs/ext4/ext4.h since Linux 6.0. */
struct ext4_uuid {
	uint32_t len, flags;
	uint8_t uuid[16];
};
#define EXT4_IOC_UUID _IOW('f', 44, struct ext4_uuid)

/* ------------------------------------------------------------------ opening */

static int open_linkless(const char *path, uint64_t flags, uint64_t resolve)
{
	const struct open_how how = {.flags = flags | O_DIRECTORY | O_CLOEXEC,
				     .resolve = resolve | RESOLVE_NO_SYMLINKS};
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* A directory on the path, and whether users other than root could have created or replaced it. */
struct place {
	int fd;
	bool is_roots;	    /* root owns the directory and all its parents, and only root could
			       replace them */
	bool others_write;  /* users other than root may create names in the directory */
	bool others_rename; /* users other than root may rename or remove root's names in the
			       directory */
};

static int place_set(struct place *p, int fd, bool is_roots)
{
	struct stat st;

	if (fstatat(fd, "", &st, AT_EMPTY_PATH) < 0) {
		close(fd);
		return -errno;
	}
	cleanup_close(&p->fd);
	p->fd = fd;
	p->is_roots = is_roots && st.st_uid == 0;
	p->others_write = (st.st_mode & (S_IWGRP | S_IWOTH)) != 0;
	p->others_rename = p->others_write && !(st.st_mode & S_ISVTX);
	return 0;
}

/* Replaces the name of the symbolic link in `path` by the link's target. The name begins at `name`
 * and ends at `rest`. */
static int link_put(char path[static PATH_MAX], const char *name, const char *rest, int link_fd)
{
	char target[PATH_MAX], whole[2 * PATH_MAX];
	ssize_t n = readlinkat(link_fd, "", target, sizeof(target) - 1);
	int len;

	if (n < 0)
		return -errno;
	target[n] = '\0';
	len = snprintf(whole, sizeof(whole), "%.*s%s%s", *target == '/' ? 0 : (int)(name - path),
		       path, target, rest);
	if (len >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(path, whole, (size_t)len + 1);
	return 0;
}

/* Replaces the first symbolic link in the path by its target. Returns 0, even if the path has no
 * more links. Returns -ELOOP and sets `link` to the link's path if a user other than root could
 * have made the link. */
static int link_resolve(char path[static PATH_MAX], char *link)
{
	PLENUM_CLEANUP(cleanup_close) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct place at = {.fd = -1};
	int r = root < 0 ? -errno : place_set(&at, fd_take(root), true);

	for (char *name = path, *rest; r == 0; name = rest) {
		char one[NAME_MAX + 1];
		struct stat st;
		int fd;

		name += strspn(name, "/");
		rest = name + strcspn(name, "/");
		if (!*name)
			break;
		if (rest - name > NAME_MAX) {
			r = -ENAMETOOLONG;
			break;
		}
		snprintf(one, sizeof(one), "%.*s", (int)(rest - name), name);
		fd = openat(at.fd, one, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 || fstatat(fd, "", &st, AT_EMPTY_PATH) < 0) {
			r = -errno;
			cleanup_close(&fd);
			break;
		}
		if (!S_ISLNK(st.st_mode)) {
			r = place_set(&at, fd, at.is_roots && !at.others_rename);
			continue;
		}
		if (at.is_roots && !at.others_write && st.st_uid == 0) {
			r = link_put(path, name, rest, fd);
		} else {
			snprintf(link, FOLDER_LINK_MAX, "%.*s", (int)(rest - path), path);
			r = -ELOOP;
		}
		close(fd);
		break;
	}
	cleanup_close(&at.fd);
	return r;
}

int folder_open(const char *path, char *link)
{
	char real[PATH_MAX];
	int r, fd;

	*link = '\0';
	if ((size_t)snprintf(real, sizeof(real), "%s", path) >= sizeof(real))
		return -ENAMETOOLONG;
	/* If a link appears after this loop has checked its name, open_linkless() fails, so the
	 * link is never followed. */
	for (unsigned i = 0; i <= LINKS_MAX; i++) {
		fd = open_linkless(real, O_RDONLY, 0);
		if (fd != -ELOOP)
			return fd;
		r = link_resolve(real, link);
		if (r < 0)
			return r;
	}
	snprintf(link, FOLDER_LINK_MAX, "%s", path);
	return -ELOOP;
}

int folder_look(const char *path, uint64_t *ret_dev, uint64_t *ret_ino)
{
	autoclose int fd = open_linkless(path, O_PATH, RESOLVE_CACHED);
	struct statx st;

	if (fd < 0)
		return fd == -ELOOP ? -EAGAIN : fd;
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st) < 0)
		return -errno;
	*ret_dev = makedev(st.stx_dev_major, st.stx_dev_minor);
	*ret_ino = st.stx_ino;
	return 0;
}

/* ------------------------------------------------------------------ identity */

bool folder_uuid(int fd, uint8_t ret[16])
{
	struct ext4_uuid ext4 = {.len = 16};
	struct fs_uuid fs = {};

	if (ioctl(fd, FS_IOC_UUID, &fs) == 0 && fs.len == 16) {
		memcpy(ret, fs.uuid, 16);
		return true;
	}
	if (ioctl(fd, EXT4_IOC_UUID, &ext4) != 0 || ext4.len != 16)
		return false;
	memcpy(ret, ext4.uuid, 16);
	return true;
}

int folder_identify(int fd, struct folder_id *ret)
{
	union {
		struct file_handle h;
		uint8_t space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} fh = {.h.handle_bytes = MAX_HANDLE_SZ};
	struct statfs fs;
	struct stat st;
	int mount_id;

	_Static_assert(FOLDER_HANDLE_MAX >= MAX_HANDLE_SZ, "every handle fits");
	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	memset(ret, 0, sizeof(*ret));
	ret->dev = st.st_dev;
	ret->ino = st.st_ino;
	ret->fs_type = (uint64_t)fs.f_type & UINT32_MAX;
	ret->has_uuid = folder_uuid(fd, ret->uuid);
	if (name_to_handle_at(fd, "", &fh.h, &mount_id, AT_EMPTY_PATH) < 0)
		return 0;
	ret->handle_type = fh.h.handle_type;
	ret->handle_len = fh.h.handle_bytes;
	memcpy(ret->handle, fh.h.f_handle, fh.h.handle_bytes);
	return 0;
}

/* Returns whether both folders are on one file system. The device number of a disk may change with
 * a reboot, and that of other file systems with each mount, but a UUID does not change. */
static bool is_same_fs(const struct folder_id *a, const struct folder_id *b, bool same_boot)
{
	if (a->fs_type != b->fs_type)
		return false;
	if (a->has_uuid && b->has_uuid)
		return memcmp(a->uuid, b->uuid, sizeof(a->uuid)) == 0;
	if (!same_boot || a->dev == b->dev)
		return true;
	return major(a->dev) == 0 && major(b->dev) == 0 && a->handle_len > 0;
}

bool folder_is_same(const struct folder_id *a, const struct folder_id *b, bool same_boot)
{
	if (a->ino != b->ino || !is_same_fs(a, b, same_boot))
		return false;
	/* Another kernel version may have identified one of the folders without a file handle. The
	 * other members decide then. */
	if (a->handle_len == 0 || b->handle_len == 0)
		return true;
	return a->handle_type == b->handle_type && a->handle_len == b->handle_len &&
	       memcmp(a->handle, b->handle, a->handle_len) == 0;
}

bool folder_is_in_memory(const struct folder_id *id)
{
	return id->fs_type == TMPFS_FS_MAGIC || id->fs_type == RAMFS_FS_MAGIC;
}

/* ------------------------------------------------------------------ room */

int folder_measure(int fd, struct folder_room *ret)
{
	struct statfs fs;
	uint64_t block;

	if (fstatfs(fd, &fs) < 0)
		return -errno;
	block = (uint64_t)(fs.f_frsize ? fs.f_frsize : fs.f_bsize);
	*ret = (struct folder_room){.bytes = fs.f_blocks * block,
				    .free_bytes = fs.f_bavail * block,
				    .inodes = fs.f_files,
				    .free_inodes = fs.f_ffree};
	return 0;
}

bool folder_is_full(const struct folder_room *room)
{
	return (room->free_bytes < FULL_BYTES && room->free_bytes < room->bytes / 100) ||
	       (room->inodes > 0 && room->free_inodes == 0);
}

const char *folder_text(uint64_t dev, uint64_t ino, char buf[static FOLDER_TEXT_MAX])
{
	snprintf(buf, FOLDER_TEXT_MAX, "device %u:%u, inode %" PRIu64, major(dev), minor(dev), ino);
	return buf;
}

/* ------------------------------------------------------------------ removal */

int folder_remove(const char *path)
{
	char *const paths[] = {(char *)path, NULL};
	/* nftw() with FTW_MOUNT would leave out files on overlayfs, which have another device
	 * number than its directories. */
	FTS *walk = fts_open(paths, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
	const FTSENT *e;
	int r = 0;

	if (!walk)
		return -errno;
	for (errno = 0; r == 0 && (e = fts_read(walk)); errno = 0) {
		if (e->fts_info == FTS_D) /* skip a directory before its entries, because it
					     comes again after them */
			continue;
		if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS)
			r = -e->fts_errno;
		else if (remove(e->fts_accpath) < 0)
			r = -errno;
		if (r == -ENOENT)
			r = 0;
	}
	if (r == 0 && errno)
		r = -errno;
	fts_close(walk);
	return r;
}
