/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls on open files and directories, and calls on attributes. Each change is a single system
 * call, so no lock is necessary.
 */
#include "dataplane/fuse/helper/fs_helper_internal.h"
#include <dirent.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

/* Maximum number of bytes that one call copies. The limit bounds how long the next calls in the
 * queue wait. */
#define COPY_BYTES_MAX (4U << 20)
#define DIR_LIST_BYTES 4096U /* bytes of names that are looked up when a directory is opened */
#define DIR_MORE_BYTES 512U  /* space for one more entry with a name of any length */

/* Records the evidence for a change of the file. Returns the same values as helper_log_intent(). */
static int file_log_intent(struct helper *self, int fd)
{
	struct journal_object file;

	helper_evidence(self, fd, &file);
	return helper_log_intent(self, &file, NULL);
}

/* ------------------------------------------------------------------ opening */

int helper_reopen(int path_fd, int oflags)
{
	char name[HELPERS_FD_NAME_MAX];
	struct stat st;
	int fd;

	if (fstatat(path_fd, "", &st, AT_EMPTY_PATH) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	if (S_ISDIR(st.st_mode) && !(oflags & O_DIRECTORY))
		return -EISDIR;
	/* Do not open pipes and devices, because opening them may block or have side effects. */
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return -EINVAL;
	helper_fd_name(path_fd, name);
	fd = openat(AT_FDCWD, name, oflags | O_NOCTTY | O_CLOEXEC);
	/* EPERM: the file may be append-only, so retry with O_APPEND. */
	if (fd < 0 && errno == EPERM && !(oflags & O_APPEND))
		fd = openat(AT_FDCWD, name, oflags | O_APPEND | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int helper_op_open_path(struct helper *self, int a, int b)
{
	self->fd = fcntl(a, F_DUPFD_CLOEXEC, 0);
	return self->fd < 0 ? -errno : helper_answer_entry(self, self->fd);
}

static void dir_list(struct helper *self, int fd);

int helper_op_open(struct helper *self, int a, int b)
{
	const struct helper_call *c = &self->call;
	int r = helper_answer_attr(self, a), fd;

	if (r < 0)
		return r;
	if ((c->oflags & O_ACCMODE) == O_ACCMODE)
		return -EINVAL;
	/* After ESTALE the client's kernel looks the name up again and finds the current object. */
	if (self->result.attr.nlink == 0 && !(c->flags & HELPER_ALLOW_UNLINKED))
		return -ESTALE;
	fd = helper_reopen(a, c->oflags & (O_ACCMODE | O_SYNC | O_DSYNC | O_DIRECTORY));
	/* The owner may open a file that the client already had open again, even if the file's mode
	 * does not allow that any more. */
	if (fd == -EACCES && c->flags & HELPER_OWNER_MAY_OPEN && self->result.attr.uid == c->uid) {
		helper_creds_restore(self);
		fd = helper_reopen(a, c->oflags & (O_ACCMODE | O_SYNC | O_DSYNC));
	}
	if (fd < 0)
		return fd;
	self->fd = fd;
	if (c->oflags & O_TRUNC) {
		r = file_log_intent(self, fd);
		if (r > 0)
			r = helper_truncate_open(self, fd);
		if (r < 0)
			return r;
	}
	if (c->oflags & O_DIRECTORY && c->data_size > 0)
		dir_list(self, fd);
	return helper_answer_attr(self, fd);
}

int helper_op_close(struct helper *self, int a, int b)
{
	return close(a) < 0 ? -errno : 0;
}

/* ------------------------------------------------------------------ attributes */

int helper_op_getattr(struct helper *self, int a, int b)
{
	return helper_answer_entry(self, a);
}

int helper_truncate(int fd, uint64_t size)
{
	char name[HELPERS_FD_NAME_MAX];

	if (size > INT64_MAX)
		return -EFBIG;
	if (ftruncate(fd, (off_t)size) == 0)
		return 0;
	/* The descriptor is O_PATH, or not open for writing. Truncate by path, because the client's
	 * kernel has checked the permission. */
	if (errno != EBADF && errno != EINVAL)
		return -errno;
	return truncate(helper_fd_name(fd, name), (off_t)size) < 0 ? -errno : 0;
}

/*
 * Returns the set-id bits of a file with these attributes that a change by this user clears, as
 * should_remove_suid() and similar functions in the kernel's fs/attr.c decide. The set-group-id bit
 * of a file that the group cannot execute stays only for members of the group. The helper knows
 * only the user's first group, because the groups that helper_groups_set() assumes apply only to
 * permissions.
 */
static mode_t priv_to_kill(const struct helper *self, const struct fuse_attr *attr)
{
	const struct helper_call *c = &self->call;
	mode_t kill = S_ISUID;

	if (!S_ISREG(attr->mode))
		return 0;
	if (attr->mode & S_IXGRP || (c->gid != attr->gid && c->uid != 0))
		kill |= S_ISGID;
	return attr->mode & kill;
}

/* Clears these set-id bits with the helper's privilege, because the user may not own the file. */
static int priv_kill(struct helper *self, int fd, mode_t kill)
{
	char name[HELPERS_FD_NAME_MAX];
	struct stat st;

	if (kill == 0)
		return 0;
	if (fstatat(fd, "", &st, AT_EMPTY_PATH) < 0)
		return -errno;
	if (!(st.st_mode & kill))
		return 0;
	helper_creds_restore(self);
	return fchmodat(AT_FDCWD, helper_fd_name(fd, name), st.st_mode & 07777 & ~kill, 0) < 0
		       ? -errno
		       : 0;
}

int helper_truncate_open(struct helper *self, int fd)
{
	struct fuse_attr attr;
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	fs_helper_attr(&st, self->root_dev, &attr);
	helper_work_set(self, attr.blocks * 512);
	r = helper_truncate(fd, 0);
	if (r < 0 || !(self->call.flags & (HELPER_KILL_PRIV | HELPER_CHECK_PERMS)))
		return r;
	return priv_kill(self, fd, priv_to_kill(self, &attr));
}

static int set_times(int fd, const struct helper_setattr *s)
{
	struct timespec ts[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_OMIT}};
	char name[HELPERS_FD_NAME_MAX];

	if (s->valid & FATTR_ATIME_NOW)
		ts[0].tv_nsec = UTIME_NOW;
	else if (s->valid & FATTR_ATIME)
		ts[0] = (struct timespec){(time_t)s->atime, s->atimensec};
	if (s->valid & FATTR_MTIME_NOW)
		ts[1].tv_nsec = UTIME_NOW;
	else if (s->valid & FATTR_MTIME)
		ts[1] = (struct timespec){(time_t)s->mtime, s->mtimensec};
	/* Refuse invalid nanoseconds: utimensat(2) would take some values for UTIME_NOW or
	 * UTIME_OMIT. */
	if ((s->valid & FATTR_ATIME && s->atimensec >= NSEC_PER_SEC) ||
	    (s->valid & FATTR_MTIME && s->mtimensec >= NSEC_PER_SEC))
		return -EINVAL;
	return utimensat(AT_FDCWD, helper_fd_name(fd, name), ts, 0) < 0 ? -errno : 0;
}

/* Updates only the ctime. No system call does only that, so this function sets a timestamp to its
 * current value.
 */
static int touch(int fd)
{
	struct timespec ts[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_OMIT}};
	char name[HELPERS_FD_NAME_MAX];
	struct stat st;

	if (fstatat(fd, "", &st, AT_EMPTY_PATH) < 0)
		return -errno;
	ts[0] = st.st_atim;
	return utimensat(AT_FDCWD, helper_fd_name(fd, name), ts, 0) < 0 ? -errno : 0;
}

/* Returns whether the change must clear set-id bits. The client's kernel requests this
 * (FATTR_KILL_SUIDGID) if the user has no privilege to keep them. A truncation with
 * HELPER_CHECK_PERMS clears them too, because the call may then run as another user. A request that
 * sets the mode itself decides which bits remain. */
static bool kills_priv(const struct helper *self)
{
	const struct helper_setattr *s = &self->call.set;

	if (s->valid & FATTR_MODE)
		return false;
	return s->valid & FATTR_KILL_SUIDGID ||
	       (s->valid & FATTR_SIZE && self->call.flags & HELPER_CHECK_PERMS);
}

static int set_attr(struct helper *self, int fd)
{
	const struct helper_setattr *s = &self->call.set;
	const mode_t kill = kills_priv(self) ? priv_to_kill(self, &self->result.attr) : 0;
	char name[HELPERS_FD_NAME_MAX];
	int r = 0;

	if (s->valid == FATTR_CTIME)
		return touch(fd);
	helper_fd_name(fd, name);
	/* Set the owner first: that may clear mode bits, which setting the mode then restores.
	 */
	if (s->valid & (FATTR_UID | FATTR_GID)) {
		uid_t uid = s->valid & FATTR_UID ? s->uid : (uid_t)-1;
		gid_t gid = s->valid & FATTR_GID ? s->gid : (gid_t)-1;

		if (fchownat(fd, "", uid, gid, AT_EMPTY_PATH) < 0)
			return -errno;
	}
	if (s->valid & FATTR_MODE && fchmodat(AT_FDCWD, name, s->mode & 07777, 0) < 0)
		return -errno;
	if (s->valid & FATTR_SIZE) {
		if (!S_ISREG(self->result.attr.mode))
			return S_ISDIR(self->result.attr.mode) ? -EISDIR : -EINVAL;
		helper_work_set(self, self->result.attr.blocks * 512);
		r = helper_truncate(fd, s->size);
	}
	if (r == 0 && s->valid & (FATTR_ATIME | FATTR_MTIME | FATTR_ATIME_NOW | FATTR_MTIME_NOW))
		r = set_times(fd, s);
	/* This must come last, because it changes the privileges of this thread. */
	return r == 0 ? priv_kill(self, fd, kill) : r;
}

int helper_op_setattr(struct helper *self, int a, int b)
{
	int r = helper_answer_attr(self, a);

	if (r == 0)
		r = file_log_intent(self, a);
	if (r > 0)
		r = set_attr(self, a);
	return r < 0 ? r : helper_answer_attr(self, a);
}

int helper_op_readlink(struct helper *self, int a, int b)
{
	ssize_t n = readlinkat(a, "", self->call.data, self->call.data_size);

	/* ENOENT: the object is not a symbolic link. */
	if (n < 0)
		return errno == ENOENT ? -EINVAL : -errno;
	self->result.count = (uint64_t)n;
	return 0;
}

int helper_op_statfs(struct helper *self, int a, int b)
{
	struct statfs st;

	if (self->call.data_size < sizeof(st))
		return -EFAULT;
	if (fstatfs(a, &st) < 0)
		return -errno;
	memcpy(self->call.data, &st, sizeof(st));
	return 0;
}

/* ------------------------------------------------------------------ extended attributes */

/* Makes the result of an operation on extended attributes. These operations use system calls with a
 * path, because the calls with a descriptor reject O_PATH. ENOSYS is replaced: after ENOSYS, a
 * client's kernel would never request attributes again, for any file. */
static int xattr_answer(struct helper *self, ssize_t n)
{
	if (n < 0)
		return errno == ENOSYS ? -EOPNOTSUPP : -errno;
	self->result.count = (uint64_t)n;
	return 0;
}

int helper_op_getxattr(struct helper *self, int a, int b)
{
	const struct helper_call *c = &self->call;
	char name[HELPERS_FD_NAME_MAX];

	return xattr_answer(self, getxattr(helper_fd_name(a, name), c->name,
					   c->data_size ? c->data : NULL, c->data_size));
}

int helper_op_listxattr(struct helper *self, int a, int b)
{
	const struct helper_call *c = &self->call;
	char name[HELPERS_FD_NAME_MAX];

	return xattr_answer(self, listxattr(helper_fd_name(a, name), c->data_size ? c->data : NULL,
					    c->data_size));
}

/* Clears the set-group-id bit if an owner who is not in the group sets an access list, also of a
 * directory, as posix_acl_update_mode() of the kernel does. */
static int acl_kill_priv(struct helper *self, int fd)
{
	const struct helper_call *c = &self->call;
	struct stat st;

	if (strcmp(c->name, "system.posix_acl_access") != 0 || c->uid == 0)
		return 0;
	if (fstatat(fd, "", &st, AT_EMPTY_PATH) < 0)
		return -errno;
	return c->gid == st.st_gid ? 0 : priv_kill(self, fd, S_ISGID);
}

int helper_op_setxattr(struct helper *self, int a, int b)
{
	const struct helper_call *c = &self->call;
	char name[HELPERS_FD_NAME_MAX];
	int r = file_log_intent(self, a);

	if (r <= 0)
		return r;
	r = xattr_answer(
		self, setxattr(helper_fd_name(a, name), c->name, c->data, c->data_size, c->xflags));
	return r < 0 ? r : acl_kill_priv(self, a);
}

int helper_op_removexattr(struct helper *self, int a, int b)
{
	char name[HELPERS_FD_NAME_MAX];
	int r = file_log_intent(self, a);

	if (r <= 0)
		return r;
	return xattr_answer(self, removexattr(helper_fd_name(a, name), self->call.name));
}

/* ------------------------------------------------------------------ directories */

/* Adds attributes and handle of the object with this name, if it still exists. */
static void entry_look(struct helper *self, int dirfd, const char *name, struct helper_dirent *out,
		       uint8_t handle[FUSE_PROTO_HANDLE_MAX])
{
	autoclose int fd = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstatat(fd, "", &st, AT_EMPTY_PATH) < 0)
		return;
	out->handle_len = helper_sign(self, fd, "", handle);
	fs_helper_attr(&st, self->root_dev, &out->attr);
	out->has_attr = 1;
	out->no_xattrs = helper_has_no_xattrs(fd);
}

/* Writes an entry and returns its length; returns 0 if it does not fit. dev: device of the
 * directory. */
static size_t entry_put(struct helper *self, int dirfd, uint64_t dev,
			const struct helper_kernel_dirent *de, bool plus, uint8_t *to, size_t room)
{
	bool dots = strcmp(de->name, ".") == 0 || strcmp(de->name, "..") == 0;
	struct helper_dirent out = {.ino = fs_helper_ino(dev, self->root_dev, de->ino),
				    .off = (uint64_t)de->off,
				    .type = de->type};
	uint8_t handle[FUSE_PROTO_HANDLE_MAX];
	size_t need;

	out.name_len = (uint16_t)strnlen(de->name, HELPERS_NAME_MAX - 1);
	/* Assume the longest possible handle, so that no object is looked up whose entry then does
	 * not fit. */
	if (HELPER_DIRENT_BYTES(out.name_len, plus ? FUSE_PROTO_HANDLE_MAX : 0) > room)
		return 0;
	if (plus && !dots)
		entry_look(self, dirfd, de->name, &out, handle);
	/* At a mount point, use the inode number of the mounted root instead of that of the covered
	 * directory. */
	if (out.has_attr)
		out.ino = out.attr.ino;
	need = HELPER_DIRENT_BYTES(out.name_len, out.handle_len);
	memcpy(to, &out, sizeof(out));
	memcpy(to + sizeof(out), de->name, out.name_len);
	memcpy(to + sizeof(out) + out.name_len, handle, out.handle_len);
	return need;
}

/* Appends the entries in n bytes from getdents64(2). Returns false if not all fit. */
static bool entries_put(struct helper *self, int fd, dev_t dev, const uint8_t *from, long n,
			bool plus)
{
	const struct helper_call *c = &self->call;

	for (long pos = 0; pos < n;) {
		const struct helper_kernel_dirent *de = (const void *)(from + pos);
		size_t used = self->result.count;
		size_t need = entry_put(self, fd, dev, de, plus, (uint8_t *)c->data + used,
					c->data_size - used);

		if (need == 0)
			return false;
		self->result.count += need;
		pos += de->reclen;
	}
	return true;
}

/* Reads entries of the directory. Takes a lock, because the read position belongs to the
 * descriptor, so only one helper may read at a time. */
static int dir_read(struct helper *self, int fd, bool plus)
{
	const struct helper_call *c = &self->call;
	struct stat st = {};
	int r = helper_lock(self, fd, -1);
	bool room = true;

	if (r == 0 && fstat(fd, &st) < 0)
		r = -errno;
	if (r == 0 && lseek(fd, (off_t)c->offset, SEEK_SET) < 0)
		r = -errno;
	self->result.count = 0;
	while (r == 0 && room) {
		long n = syscall(SYS_getdents64, fd, self->room,
				 MIN_OF(sizeof(self->room), MAX_OF(c->data_size, 1024U)));

		if (n == 0)
			self->result.flags |= HELPER_RESULT_END;
		if (n < 0 && self->result.count == 0)
			r = -errno;
		if (n <= 0)
			break;
		room = entries_put(self, fd, st.st_dev, self->room, n, plus);
	}
	/* Return -EINVAL if not even one entry fits. */
	return r == 0 && self->result.count == 0 && !room ? -EINVAL : r;
}

/* Adds all entries to the result of an OPEN if there are only a few; adds none if there are many,
 * because the client may not need them. Needs no lock, because no other process uses the new
 * descriptor yet. */
static void dir_list(struct helper *self, int fd)
{
	uint8_t *more = self->room + DIR_LIST_BYTES;
	long n = syscall(SYS_getdents64, fd, self->room, DIR_LIST_BYTES);
	struct stat st;

	if (n <= 0 || fstat(fd, &st) < 0 || syscall(SYS_getdents64, fd, more, DIR_MORE_BYTES) != 0)
		return;
	self->result.count = 0;
	if (entries_put(self, fd, st.st_dev, self->room, n, true))
		self->result.flags |= HELPER_RESULT_END;
	else
		self->result.count = 0;
}

int helper_op_readdir(struct helper *self, int a, int b)
{
	return dir_read(self, a, false);
}

int helper_op_readdirplus(struct helper *self, int a, int b)
{
	return dir_read(self, a, true);
}

/* ------------------------------------------------------------------ data */

int helper_op_append(struct helper *self, int a, int b)
{
	struct iovec iov = {.iov_base = self->call.data, .iov_len = self->call.data_size};
	int r = file_log_intent(self, a);
	ssize_t n;

	if (r <= 0)
		return r;
	/* Append by one system call, so that no data of another client comes in between. */
	n = pwritev2(a, &iov, 1, 0, RWF_APPEND);
	if (n < 0)
		return -errno;
	self->result.count = (uint64_t)n;
	return helper_answer_attr(self, a);
}

int helper_op_write(struct helper *self, int a, int b)
{
	const struct helper_call *c = &self->call;
	uint64_t done = 0;
	ssize_t n = 1;
	int r;

	while (n > 0 && done < c->data_size) {
		struct iovec iov = {.iov_base = (uint8_t *)c->data + done,
				    .iov_len = c->data_size - done};

		n = pwritev2(a, &iov, 1, (off_t)(c->offset + done), 0);
		done += n > 0 ? (uint64_t)n : 0;
	}
	r = n < 0 ? -errno : 0;
	/* After a partial write, return the count together with the error. */
	self->result.count = done;
	if (c->flags & HELPER_ATTR)
		helper_answer_stat(self, a);
	return r;
}

int helper_op_fallocate(struct helper *self, int a, int b)
{
	const struct helper_call *c = &self->call;
	int r = file_log_intent(self, a);

	if (r <= 0)
		return r;
	helper_work_set(self, c->length);
	if (fallocate(a, (int)c->mode, (off_t)c->offset, (off_t)c->length) < 0)
		return -errno;
	return helper_answer_attr(self, a);
}

int helper_op_copy(struct helper *self, int a, int b)
{
	const struct helper_call *c = &self->call;
	off_t from = (off_t)c->offset, to = (off_t)c->offset2;
	int r = file_log_intent(self, b);
	ssize_t n;

	if (r <= 0)
		return r;
	helper_work_set(self, MIN_OF(c->length, COPY_BYTES_MAX));
	n = copy_file_range(a, &from, b, &to, MIN_OF(c->length, COPY_BYTES_MAX), 0);
	if (n < 0)
		return -errno;
	self->result.count = (uint64_t)n;
	return 0;
}

int helper_op_lseek(struct helper *self, int a, int b)
{
	const struct helper_call *c = &self->call;
	off_t at;

	if (c->mode != SEEK_DATA && c->mode != SEEK_HOLE)
		return -EINVAL; /* the client's kernel handles the other modes */
	at = lseek(a, (off_t)c->offset, (int)c->mode);
	if (at < 0)
		return -errno;
	self->result.count = (uint64_t)at;
	return 0;
}

int helper_op_fsync(struct helper *self, int a, int b)
{
	return (self->call.mode & 1 ? fdatasync(a) : fsync(a)) < 0 ? -errno : 0;
}
