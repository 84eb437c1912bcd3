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
static void meta_creds(struct back_req *q, fuse_req_t fr)
{
	back_creds_set(q->client->back, q->in->uid, q->in->gid, fuse_req_ctx(fr)->umask);
}

static void meta_entry(struct back_req *q, fuse_req_t fr, uint64_t parent, const char *name)
{
	struct fuse_entry_param e;
	int r = back_node_lookup(q->mount, parent, name, &e);

	if (r < 0)
		fuse_reply_err(fr, -r);
	else
		fuse_reply_entry(fr, &e);
}

void back_op_lookup(fuse_req_t fr, fuse_ino_t parent, const char *name)
{
	meta_entry(back_req_of(fr), fr, parent, name);
}

/* What was made is looked up by its name. A repeated request finds what its first run has made. */
static void meta_made(struct back_req *q, fuse_req_t fr, int r, uint64_t parent, const char *name)
{
	if (r == -EEXIST && q->redo)
		r = 0;
	if (r < 0)
		fuse_reply_err(fr, -r);
	else
		meta_entry(q, fr, parent, name);
}

void back_op_mknod(fuse_req_t fr, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	struct back_req *q = back_req_of(fr);
	int dirfd = back_node_fd(q->mount, parent), r = dirfd;

	if (dirfd >= 0) {
		meta_creds(q, fr);
		r = mknodat(dirfd, name, mode, rdev) < 0 ? -errno : 0;
	}
	meta_made(q, fr, r, parent, name);
}

void back_op_mkdir(fuse_req_t fr, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct back_req *q = back_req_of(fr);
	int dirfd = back_node_fd(q->mount, parent), r = dirfd;

	if (dirfd >= 0) {
		meta_creds(q, fr);
		r = mkdirat(dirfd, name, mode & 07777) < 0 ? -errno : 0;
	}
	meta_made(q, fr, r, parent, name);
}

void back_op_symlink(fuse_req_t fr, const char *target, fuse_ino_t parent, const char *name)
{
	struct back_req *q = back_req_of(fr);
	int dirfd = back_node_fd(q->mount, parent), r = dirfd;

	if (dirfd >= 0) {
		meta_creds(q, fr);
		r = symlinkat(target, dirfd, name) < 0 ? -errno : 0;
	}
	meta_made(q, fr, r, parent, name);
}

void back_op_link(fuse_req_t fr, fuse_ino_t nodeid, fuse_ino_t parent, const char *name)
{
	struct back_req *q = back_req_of(fr);
	int fd = back_node_fd(q->mount, nodeid), dirfd = back_node_fd(q->mount, parent), r = 0;
	char path[BACK_FD_PATH_MAX];

	/* Not by AT_EMPTY_PATH, which needs a privilege that only the keeper has. */
	if (fd < 0 || dirfd < 0)
		r = fd < 0 ? fd : dirfd;
	else if (linkat(AT_FDCWD, back_fd_path(fd, path), dirfd, name, AT_SYMLINK_FOLLOW) < 0)
		r = -errno;
	meta_made(q, fr, r, parent, name);
}

static void meta_remove(fuse_req_t fr, fuse_ino_t parent, const char *name, int flags)
{
	struct back_req *q = back_req_of(fr);
	int dirfd = back_node_fd(q->mount, parent), r = dirfd;

	if (dirfd >= 0) {
		if (flags == 0)
			back_hold_name(q->mount, dirfd, name);
		r = unlinkat(dirfd, name, flags) < 0 ? -errno : 0;
	}
	if (r == -ENOENT && q->redo)
		r = 0;
	fuse_reply_err(fr, -r);
}

void back_op_unlink(fuse_req_t fr, fuse_ino_t parent, const char *name)
{
	meta_remove(fr, parent, name, 0);
}

void back_op_rmdir(fuse_req_t fr, fuse_ino_t parent, const char *name)
{
	meta_remove(fr, parent, name, AT_REMOVEDIR);
}

void back_op_rename(fuse_req_t fr, fuse_ino_t parent, const char *name, fuse_ino_t to_parent,
		    const char *to_name, unsigned flags)
{
	struct back_req *q = back_req_of(fr);
	int from = back_node_fd(q->mount, parent), to = back_node_fd(q->mount, to_parent), r = 0;

	if (from < 0 || to < 0) {
		r = from < 0 ? from : to;
	} else {
		if (!(flags & (RENAME_EXCHANGE | RENAME_NOREPLACE)))
			back_hold_name(q->mount, to, to_name);
		meta_creds(q, fr); /* RENAME_WHITEOUT makes a node */
		if (renameat2(from, name, to, to_name, flags) < 0)
			r = -errno;
	}
	/* An exchange that ran is not to be undone by running again, but cannot be told from one
	 * that did not; the others leave no source behind. */
	if (r == -ENOENT && q->redo)
		r = 0;
	fuse_reply_err(fr, -r);
}

void back_op_readlink(fuse_req_t fr, fuse_ino_t nodeid)
{
	struct back_req *q = back_req_of(fr);
	int fd = back_node_fd(q->mount, nodeid);
	ssize_t n;

	if (fd < 0) {
		fuse_reply_err(fr, -fd);
		return;
	}
	n = readlinkat(fd, "", (char *)back_req_data(q), q->out_max);
	if (n < 0)
		fuse_reply_err(fr, errno == ENOENT ? EINVAL : errno);
	else
		back_reply_data(q, (size_t)n);
}

/* By the open file where there is one: it may have no name any more. */
static int meta_fd(struct back_req *q, uint64_t nodeid, const struct fuse_file_info *fi)
{
	struct back_file *f;

	if (fi && back_file_get(q->mount, fi->fh, nodeid, false, &f, NULL) == 0)
		return f->fd;
	return back_node_fd(q->mount, nodeid);
}

static void meta_reply_attr(fuse_req_t fr, int fd)
{
	struct stat st;

	if (fstatat(fd, "", &st, AT_EMPTY_PATH) < 0)
		fuse_reply_err(fr, errno);
	else
		fuse_reply_attr(fr, &st, back_attr_timeout_s);
}

void back_op_getattr(fuse_req_t fr, fuse_ino_t nodeid, struct fuse_file_info *fi)
{
	int fd = meta_fd(back_req_of(fr), nodeid, fi);

	if (fd < 0)
		fuse_reply_err(fr, -fd);
	else
		meta_reply_attr(fr, fd);
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

static int set_attr(struct back_req *q, uint64_t nodeid, int fd)
{
	const struct fuse_setattr_in *in = back_req_arg(q);
	const struct state_node *rec = back_node_get(q->mount, nodeid, NULL);
	char path[BACK_FD_PATH_MAX];
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
		if (!rec || rec->fmt != S_IFREG)
			return rec && rec->fmt == S_IFDIR ? -EISDIR : -EINVAL;
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

void back_op_setattr(fuse_req_t fr, fuse_ino_t nodeid, struct stat *st, int valid,
		     struct fuse_file_info *fi)
{
	struct back_req *q = back_req_of(fr);
	int fd = meta_fd(q, nodeid, fi), r = fd;

	if (fd >= 0)
		r = set_attr(q, nodeid, fd);
	if (r < 0)
		fuse_reply_err(fr, -r);
	else
		meta_reply_attr(fr, fd);
}

void back_op_statfs(fuse_req_t fr, fuse_ino_t nodeid)
{
	int fd = back_node_fd(back_req_of(fr)->mount, nodeid);
	struct statvfs st;

	if (fd < 0)
		fuse_reply_err(fr, -fd);
	else if (fstatvfs(fd, &st) < 0)
		fuse_reply_err(fr, errno);
	else
		fuse_reply_statfs(fr, &st);
}
