/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that look up and change names. A call that changes names first locks the directories, so
 * that calls of other clients cannot invalidate its checks. Local users of the server still can.
 */
#include "dataplane/fuse/helper/fs_helper_internal.h"
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 4096
#define OPEN_FLAGS (O_ACCMODE | O_SYNC | O_DSYNC | O_APPEND)

static int name_open(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static bool is_root(const struct helper *self, const struct stat *st)
{
	return st->st_dev == self->root_dev && st->st_ino == self->root_ino;
}

/* Checks that the directory is still inside the export, by walking up to the export's root. Clients
 * get ".." only after this check, because a directory that was moved out of the export must not
 * reveal its parents. */
static int below_root_check(const struct helper *self, int fd)
{
	autoclose int up = -1;
	struct stat st, last = {};

	for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
		int next;

		if (fstatat(up < 0 ? fd : up, "", &st, AT_EMPTY_PATH) < 0)
			return -errno;
		if (is_root(self, &st))
			return 0;
		if (depth > 0 && st.st_dev == last.st_dev && st.st_ino == last.st_ino)
			return -ESTALE;
		last = st;
		next = name_open(up < 0 ? fd : up, "..");
		if (next < 0)
			return next;
		if (up >= 0)
			close(up);
		up = next;
	}
	return -ESTALE;
}

/* Opens the parent of the directory. The parent of the export's root is the root itself. */
static int parent_open(struct helper *self, int dirfd)
{
	autoclose int up = -1;
	struct stat st;
	int r;

	helper_creds_restore(self); /* walk up with the helper's privileges, because the walk may
				       pass directories that the user may not search */
	if (fstatat(dirfd, "", &st, AT_EMPTY_PATH) < 0)
		return -errno;
	if (is_root(self, &st))
		return name_open(dirfd, ".");
	r = below_root_check(self, dirfd);
	if (r < 0)
		return r;
	up = name_open(dirfd, "..");
	if (up < 0)
		return up;
	/* check again, because the directory may have moved meanwhile */
	r = below_root_check(self, up);
	return r < 0 ? r : fd_take(up);
}

int helper_op_lookup(struct helper *self, int a, int b)
{
	const char *name = self->call.name;
	int fd = strcmp(name, "..") == 0 ? parent_open(self, a) : name_open(a, name);

	if (fd < 0)
		return fd;
	self->fd = fd;
	return helper_answer_entry(self, fd);
}

/* ------------------------------------------------------------------ creating names */

/* Checks that the name does not exist, and records the evidence. Returns the same values as
 * helper_log_intent(), or returns a negative errno such as -EEXIST. */
static int new_begin(struct helper *self, int dirfd)
{
	struct journal_object nothing = {}, dir;
	struct stat st;
	int r = helper_lock(self, dirfd, -1);

	if (r < 0)
		return r;
	if (fstatat(dirfd, self->call.name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	if (errno != ENOENT)
		return -errno;
	helper_evidence(self, dirfd, &dir);
	return helper_log_intent(self, &nothing, &dir);
}

/*
 * Makes the result for the object that this call has created. Finds the object by its name. If a
 * local user has removed the object since, the client must still learn that it was created. The
 * result then has a handle that is always stale, as if the object had been removed later.
 */
static int new_answer(struct helper *self, int dirfd, uint32_t fmt)
{
	const struct helper_call *c = &self->call;
	int r = helper_answer_name(self, dirfd, c->name);

	if (r < 0 || (self->result.attr.mode & S_IFMT) != fmt)
		helper_answer_removed(self, fmt);
	return 0;
}

int helper_op_mknod(struct helper *self, int a, int b)
{
	const struct helper_call *c = &self->call;
	int r = new_begin(self, a);

	if (r <= 0)
		return r;
	if (mknodat(a, c->name, c->mode, c->rdev) < 0)
		return -errno;
	return new_answer(self, a, c->mode & S_IFMT ? c->mode & S_IFMT : S_IFREG);
}

int helper_op_mkdir(struct helper *self, int a, int b)
{
	const struct helper_call *c = &self->call;
	int r = new_begin(self, a);

	if (r <= 0)
		return r;
	if (mkdirat(a, c->name, c->mode & 07777) < 0)
		return -errno;
	return new_answer(self, a, S_IFDIR);
}

int helper_op_symlink(struct helper *self, int a, int b)
{
	const struct helper_call *c = &self->call;
	size_t len = MIN_OF(c->data_size, sizeof(self->room) - 1);
	int r = new_begin(self, a);

	if (r <= 0)
		return r;
	memcpy(self->room, c->data, len);
	self->room[len] = '\0';
	if (symlinkat((const char *)self->room, a, c->name) < 0)
		return -errno;
	return new_answer(self, a, S_IFLNK);
}

int helper_op_link(struct helper *self, int a, int b)
{
	char from[HELPERS_FD_NAME_MAX];
	struct journal_object object;
	int r = helper_lock(self, a, -1);

	if (r < 0)
		return r;
	helper_evidence(self, b, &object);
	r = helper_log_intent(self, &object, NULL);
	if (r <= 0)
		return r;
	if (linkat(AT_FDCWD, helper_fd_name(b, from), a, self->call.name, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	return helper_answer_entry(self, b);
}

int helper_op_tmpfile(struct helper *self, int a, int b)
{
	const struct helper_call *c = &self->call;
	int fd = openat(a, ".", O_TMPFILE | O_CLOEXEC | (c->oflags & (OPEN_FLAGS | O_EXCL)),
			c->mode & 07777);

	if (fd < 0)
		return -errno;
	self->fd = fd;
	return helper_answer_entry(self, fd);
}

/* Opens an existing file for CREATE. */
static int create_open(struct helper *self, int path_fd)
{
	const struct helper_call *c = &self->call;
	struct journal_object object;
	int fd, r;

	if (c->oflags & O_EXCL)
		return -EEXIST;
	fd = helper_reopen(path_fd, c->oflags & OPEN_FLAGS);
	if (fd < 0)
		return fd;
	self->fd = fd;
	helper_evidence(self, path_fd, &object);
	r = helper_log_intent(self, &object, NULL);
	if (r > 0 && c->oflags & O_TRUNC)
		r = helper_truncate_open(self, fd);
	return r < 0 ? r : helper_answer_entry(self, path_fd);
}

static int create_new(struct helper *self, int dirfd)
{
	const struct helper_call *c = &self->call;
	struct journal_object nothing = {}, dir;
	int fd, r;

	helper_evidence(self, dirfd, &dir);
	r = helper_log_intent(self, &nothing, &dir);
	if (r <= 0)
		return r;
	fd = openat(dirfd, c->name,
		    O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC | (c->oflags & OPEN_FLAGS),
		    c->mode & 07777);
	if (fd < 0)
		return -errno;
	self->fd = fd;
	self->result.flags |= HELPER_RESULT_CREATED;
	return helper_answer_entry(self, fd);
}

int helper_op_create(struct helper *self, int a, int b)
{
	int r = helper_lock(self, a, -1);

	if ((self->call.oflags & O_ACCMODE) == O_ACCMODE)
		return -EINVAL;
	/* Try several times, because local users of the server may create and remove the file
	 * between these calls. */
	for (unsigned tries = 0; r == 0 && tries < 16; tries++) {
		autoclose int fd = name_open(a, self->call.name);

		if (fd < 0 && fd != -ENOENT)
			return fd;
		r = fd >= 0 ? create_open(self, fd) : create_new(self, a);
		if (r != -EEXIST || self->call.oflags & O_EXCL)
			return r;
		r = 0;
	}
	return r < 0 ? r : -EBUSY;
}

/* ------------------------------------------------------------------ removing names */

/* Checks that the name still refers to the object that the worker expects (HELPER_EXPECT). fd -1:
 * the name does not exist. */
static int expect_check(struct helper *self, int fd)
{
	const struct helper_call *c = &self->call;
	uint8_t handle[FUSE_PROTO_HANDLE_MAX], len = 0;

	if (!(c->flags & HELPER_EXPECT))
		return 0;
	if (fd >= 0)
		len = helper_sign(self, fd, "", handle);
	if (len == c->expect_len && memcmp(handle, c->expect, len) == 0)
		return 0;
	memcpy(self->result.handle, handle, len);
	self->result.handle_len = len;
	self->result.flags |= HELPER_RESULT_HANDLE;
	return -EAGAIN;
}

static int remove_name(struct helper *self, int a, int flags)
{
	autoclose int fd = -1;
	struct journal_object victim;
	int r = helper_lock(self, a, -1);

	if (r < 0)
		return r;
	fd = name_open(a, self->call.name);
	if (fd < 0)
		return fd;
	r = expect_check(self, fd);
	if (r < 0)
		return r;
	helper_evidence(self, fd, &victim);
	r = helper_log_intent(self, &victim, NULL);
	if (r <= 0)
		return r;
	if (unlinkat(a, self->call.name, flags) < 0)
		return -errno;
	(void)helper_answer_entry(self, fd);
	if (!(flags & AT_REMOVEDIR))
		self->fd = fd_take(fd);
	return 0;
}

int helper_op_unlink(struct helper *self, int a, int b)
{
	return remove_name(self, a, 0);
}

int helper_op_rmdir(struct helper *self, int a, int b)
{
	return remove_name(self, a, AT_REMOVEDIR);
}

int helper_op_rename(struct helper *self, int a, int b)
{
	const struct helper_call *c = &self->call;
	struct journal_object source, target;
	autoclose int from = -1, to = -1;
	int r = helper_lock(self, a, b);

	if (r < 0)
		return r;
	from = name_open(a, c->name);
	if (from < 0)
		return from;
	to = name_open(b, c->name2);
	if (to < 0 && to != -ENOENT)
		return to;
	r = expect_check(self, to);
	if (r < 0)
		return r;
	helper_evidence(self, from, &source);
	helper_evidence(self, to, &target);
	r = helper_log_intent(self, &source, &target);
	if (r <= 0)
		return r;
	if (renameat2(a, c->name, b, c->name2, c->rflags) < 0)
		return -errno;
	if (to >= 0 && !(c->rflags & RENAME_EXCHANGE)) {
		(void)helper_answer_entry(self, to);
		self->fd = fd_take(to);
	}
	return 0;
}
