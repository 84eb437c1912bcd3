/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations on names and attributes. They are done at once: there is no asynchronous form of most
 * of them, and what they touch is in memory.
 */
#include "dataplane/fuse/fuse_back_internal.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

const char *back_fd_path(int fd, char path[BACK_FD_PATH_MAX])
{
	snprintf(path, BACK_FD_PATH_MAX, "/proc/self/fd/%d", fd);
	return path;
}

int back_kill_suidgid(int fd)
{
	char path[BACK_FD_PATH_MAX];
	struct stat st;
	mode_t kill = S_ISUID;

	if (fstatat(fd, "", &st, AT_EMPTY_PATH) < 0)
		return -errno;
	if (st.st_mode & S_IXGRP)
		kill |= S_ISGID; /* without it the bit once meant mandatory locks */
	if (!S_ISREG(st.st_mode) || !(st.st_mode & kill))
		return 0;
	return chmod(back_fd_path(fd, path), st.st_mode & 07777 & ~kill) < 0 ? -errno : 0;
}

int back_truncate(int fd, off_t size)
{
	char path[BACK_FD_PATH_MAX];

	if (ftruncate(fd, size) == 0)
		return 0;
	/* O_PATH, or not open for writing: the client's kernel has made that check. */
	if (errno != EBADF && errno != EINVAL)
		return -errno;
	return truncate(back_fd_path(fd, path), size) < 0 ? -errno : 0;
}

/* As the user who asked. */
static void meta_creds(struct back_req *q, uint32_t umask)
{
	back_creds_set(q->client->back, q->in->uid, q->in->gid, umask);
}

static void meta_entry(struct back_req *q, const char *name)
{
	struct back_node *parent;
	struct back_entry e;
	int r = back_req_node(q, 0, &parent);

	if (r == 0)
		r = back_node_lookup(parent, name, &e);

	if (r < 0)
		back_reply_err(q, -r);
	else
		back_reply_entry(q, &e);
}

void back_op_lookup(struct back_req *q)
{
	meta_entry(q, back_req_name(q, 0));
}

/* What was made is looked up by its name. A repeated request finds what its first run has made. */
static void meta_made(struct back_req *q, int r, const char *name)
{
	if (r == -EEXIST && q->redo)
		r = 0;
	if (r < 0)
		back_reply_err(q, -r);
	else
		meta_entry(q, name);
}

void back_op_mknod(struct back_req *q)
{
	const struct fuse_mknod_in *in = back_req_arg(q);
	const char *name = back_req_name(q, sizeof(*in));
	int dirfd = back_req_fd(q, 0), r = dirfd;

	if (dirfd >= 0) {
		meta_creds(q, in->umask);
		r = mknodat(dirfd, name, in->mode, in->rdev) < 0 ? -errno : 0;
	}
	meta_made(q, r, name);
}

void back_op_mkdir(struct back_req *q)
{
	const struct fuse_mkdir_in *in = back_req_arg(q);
	const char *name = back_req_name(q, sizeof(*in));
	int dirfd = back_req_fd(q, 0), r = dirfd;

	if (dirfd >= 0) {
		meta_creds(q, in->umask);
		r = mkdirat(dirfd, name, in->mode & 07777) < 0 ? -errno : 0;
	}
	meta_made(q, r, name);
}

void back_op_symlink(struct back_req *q)
{
	const char *name = back_req_name(q, 0), *target = name + strlen(name) + 1;
	int dirfd = back_req_fd(q, 0), r = dirfd;

	if (dirfd >= 0) {
		meta_creds(q, 0);
		r = symlinkat(target, dirfd, name) < 0 ? -errno : 0;
	}
	meta_made(q, r, name);
}

void back_op_link(struct back_req *q)
{
	const struct fuse_link_in *in = back_req_arg(q);
	const char *name = back_req_name(q, sizeof(*in));
	int dirfd = back_req_fd(q, 0), fd = back_req_fd(q, 1), r = 0;
	char path[BACK_FD_PATH_MAX];

	/* Not by AT_EMPTY_PATH, which needs a privilege that only the keeper has. */
	if (fd < 0 || dirfd < 0)
		r = fd < 0 ? fd : dirfd;
	else if (linkat(AT_FDCWD, back_fd_path(fd, path), dirfd, name, AT_SYMLINK_FOLLOW) < 0)
		r = -errno;
	meta_made(q, r, name);
}

static void meta_remove(struct back_req *q, int flags)
{
	int dirfd = back_req_fd(q, 0), r = dirfd;
	const char *name = back_req_name(q, 0);

	if (dirfd >= 0) {
		struct back_node *victim = back_hold_name(q->mount->export, dirfd, name);

		r = unlinkat(dirfd, name, flags) < 0 ? -errno : 0;
		if (r == 0)
			back_node_removed(victim);
	}
	if (r == -ENOENT && q->redo)
		r = 0;
	back_reply_err(q, -r);
}

void back_op_unlink(struct back_req *q)
{
	meta_remove(q, 0);
}

void back_op_rmdir(struct back_req *q)
{
	meta_remove(q, AT_REMOVEDIR);
}

static void meta_rename(struct back_req *q, size_t arg_bytes, unsigned flags)
{
	const char *name = back_req_name(q, arg_bytes), *to_name = name + strlen(name) + 1;
	int from = back_req_fd(q, 0), to = back_req_fd(q, 1), r = 0;

	if (from < 0 || to < 0) {
		r = from < 0 ? from : to;
	} else {
		struct back_node *victim = NULL;

		if (!(flags & (RENAME_EXCHANGE | RENAME_NOREPLACE)))
			victim = back_hold_name(q->mount->export, to, to_name);
		meta_creds(q, 0); /* RENAME_WHITEOUT makes a node */
		if (renameat2(from, name, to, to_name, flags) < 0)
			r = -errno;
		else
			back_node_removed(victim);
	}
	/* An exchange that ran is not to be undone by running again, but cannot be told from one
	 * that did not; the others leave no source behind. */
	if (r == -ENOENT && q->redo)
		r = 0;
	back_reply_err(q, -r);
}

void back_op_rename(struct back_req *q)
{
	meta_rename(q, sizeof(struct fuse_rename_in), 0);
}

void back_op_rename2(struct back_req *q)
{
	const struct fuse_rename2_in *in = back_req_arg(q);

	meta_rename(q, sizeof(*in), in->flags);
}

void back_op_readlink(struct back_req *q)
{
	int fd = back_req_fd(q, 0);
	ssize_t n;

	if (fd < 0) {
		back_reply_err(q, -fd);
		return;
	}
	n = readlinkat(fd, "", (char *)back_req_data(q), q->out_max);
	if (n < 0)
		back_reply_err(q, errno == ENOENT ? EINVAL : errno);
	else
		back_reply_data(q, (size_t)n);
}

/* By the open file where there is one: it may have no name any more. */
static int meta_fd(struct back_req *q, bool has_fh, uint64_t fh)
{
	struct back_file *f;

	if (has_fh && back_file_get(q, 0, fh, false, &f) == 0)
		return f->fd;
	return back_req_fd(q, 0);
}

static void meta_reply_attr(struct back_req *q, int fd)
{
	struct stat st;

	if (fstatat(fd, "", &st, AT_EMPTY_PATH) < 0)
		back_reply_err(q, errno);
	else
		back_reply_attr(q, &st);
}

void back_op_getattr(struct back_req *q)
{
	const struct fuse_getattr_in *in = back_req_arg(q);
	int fd = meta_fd(q, in->getattr_flags & FUSE_GETATTR_FH, in->fh);

	if (fd < 0)
		back_reply_err(q, -fd);
	else
		meta_reply_attr(q, fd);
}

static int set_times(const char *path, const struct fuse_setattr_in *in)
{
	struct timespec ts[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_OMIT}};

	if (in->valid & FATTR_ATIME_NOW)
		ts[0].tv_nsec = UTIME_NOW;
	else if (in->valid & FATTR_ATIME)
		ts[0] = (struct timespec){(time_t)in->atime, in->atimensec};
	if (in->valid & FATTR_MTIME_NOW)
		ts[1].tv_nsec = UTIME_NOW;
	else if (in->valid & FATTR_MTIME)
		ts[1] = (struct timespec){(time_t)in->mtime, in->mtimensec};
	/* A client's nanoseconds must not be able to mean UTIME_NOW. */
	if ((in->valid & FATTR_ATIME && in->atimensec >= NSEC_PER_SEC) ||
	    (in->valid & FATTR_MTIME && in->mtimensec >= NSEC_PER_SEC))
		return -EINVAL;
	return utimensat(AT_FDCWD, path, ts, 0) < 0 ? -errno : 0;
}

static int set_attr(struct back_req *q, int fd)
{
	const struct fuse_setattr_in *in = back_req_arg(q);
	char path[BACK_FD_PATH_MAX];
	struct stat st;
	int r;

	back_fd_path(fd, path);
	/* The owner first: changing it may clear bits that the mode then sets. */
	if (in->valid & (FATTR_UID | FATTR_GID)) {
		uid_t uid = in->valid & FATTR_UID ? in->uid : (uid_t)-1;
		gid_t gid = in->valid & FATTR_GID ? in->gid : (gid_t)-1;

		if (fchownat(fd, "", uid, gid, AT_EMPTY_PATH) < 0)
			return -errno;
	}
	if (in->valid & FATTR_MODE && chmod(path, in->mode & 07777) < 0)
		return -errno;
	if (in->valid & FATTR_SIZE) {
		if (fstatat(fd, "", &st, AT_EMPTY_PATH) < 0)
			return -errno;
		if (!S_ISREG(st.st_mode))
			return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
		if (in->size > INT64_MAX)
			return -EFBIG;
		r = back_truncate(fd, (off_t)in->size);
		if (r < 0)
			return r;
	}
	if (in->valid & FATTR_KILL_SUIDGID && !(in->valid & FATTR_MODE)) {
		r = back_kill_suidgid(fd);
		if (r < 0)
			return r;
	}
	if (in->valid & (FATTR_ATIME | FATTR_MTIME | FATTR_ATIME_NOW | FATTR_MTIME_NOW))
		return set_times(path, in);
	return 0;
}

void back_op_setattr(struct back_req *q)
{
	const struct fuse_setattr_in *in = back_req_arg(q);
	int fd = meta_fd(q, in->valid & FATTR_FH, in->fh), r = fd;

	if (fd >= 0)
		r = set_attr(q, fd);
	if (r < 0)
		back_reply_err(q, -r);
	else
		meta_reply_attr(q, fd);
}

void back_op_statfs(struct back_req *q)
{
	struct fuse_statfs_out *out = (void *)back_req_data(q);
	int fd = back_req_fd(q, 0);
	struct statvfs st;

	if (fd < 0 || fstatvfs(fd, &st) < 0) {
		back_reply_err(q, fd < 0 ? -fd : errno);
		return;
	}
	*out = (struct fuse_statfs_out){
		.st = {.blocks = st.f_blocks,
		       .bfree = st.f_bfree,
		       .bavail = st.f_bavail,
		       .files = st.f_files,
		       .ffree = st.f_ffree,
		       .bsize = (uint32_t)st.f_bsize,
		       .namelen = (uint32_t)st.f_namemax,
		       .frsize = (uint32_t)st.f_frsize},
	};
	back_reply_data(q, sizeof(*out));
}
