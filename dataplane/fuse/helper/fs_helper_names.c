/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that find and change names. Each change is made under the lock of its directories, so that
 * what was looked at before it is what it is made to, whatever other clients do; only users of the
 * server itself can come between.
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

static bool is_root(const struct helper *hd, const struct stat *st)
{
	return st->st_dev == hd->root_dev && st->st_ino == hd->root_ino;
}

/* A directory that was moved out of the export has parents that are none of the client's business:
 * only one from which the root can be reached upwards is shown. */
static int below_root_check(const struct helper *hd, int fd)
{
	autoclose int up = -1;
	struct stat st, last = {};

	for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
		int next;

		if (fstatat(up < 0 ? fd : up, "", &st, AT_EMPTY_PATH) < 0)
			return -errno;
		if (is_root(hd, &st))
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

/* What is above the root is the root. */
static int parent_open(struct helper *hd, int dirfd)
{
	autoclose int up = -1;
	struct stat st;
	int r;

	helper_trust(hd); /* for directories that nobody asked for */
	if (fstatat(dirfd, "", &st, AT_EMPTY_PATH) < 0)
		return -errno;
	if (is_root(hd, &st))
		return name_open(dirfd, ".");
	r = below_root_check(hd, dirfd);
	if (r < 0)
		return r;
	up = name_open(dirfd, "..");
	if (up < 0)
		return up;
	/* Once more: it may have moved between the two. */
	r = below_root_check(hd, up);
	return r < 0 ? r : fd_take(up);
}

int helper_op_lookup(struct helper *hd, int a, int b)
{
	const char *name = hd->call.name;
	int fd = strcmp(name, "..") == 0 ? parent_open(hd, a) : name_open(a, name);

	if (fd < 0)
		return fd;
	hd->fd = fd;
	return helper_answer_entry(hd, fd);
}

/* ------------------------------------------------------------------ something new */

/* Whether the name is free, and the proof. 1: go on; 0 and errors as helper_log_intent(). */
static int new_begin(struct helper *hd, int dirfd)
{
	struct journal_object nothing = {}, dir;
	struct stat st;
	int r = helper_lock(hd, dirfd, -1);

	if (r < 0)
		return r;
	if (fstatat(dirfd, hd->call.name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	if (errno != ENOENT)
		return -errno;
	helper_object(hd, dirfd, &dir);
	return helper_log_intent(hd, &nothing, &dir);
}

/*
 * What was made, by its name. Where a user of the server has taken it away meanwhile the client
 * must still hear that it was made: it gets a handle that was never any object's, and so is stale,
 * as that of a removed one is.
 */
static int new_answer(struct helper *hd, int dirfd, uint32_t fmt)
{
	const struct helper_call *c = &hd->call;
	int r = helper_answer_name(hd, dirfd, c->name);

	if (r < 0 || (hd->result.attr.mode & S_IFMT) != fmt)
		helper_answer_gone(hd, fmt);
	return 0;
}

int helper_op_mknod(struct helper *hd, int a, int b)
{
	const struct helper_call *c = &hd->call;
	int r = new_begin(hd, a);

	if (r <= 0)
		return r;
	if (mknodat(a, c->name, c->mode, c->rdev) < 0)
		return -errno;
	return new_answer(hd, a, c->mode & S_IFMT ? c->mode & S_IFMT : S_IFREG);
}

int helper_op_mkdir(struct helper *hd, int a, int b)
{
	const struct helper_call *c = &hd->call;
	int r = new_begin(hd, a);

	if (r <= 0)
		return r;
	if (mkdirat(a, c->name, c->mode & 07777) < 0)
		return -errno;
	return new_answer(hd, a, S_IFDIR);
}

int helper_op_symlink(struct helper *hd, int a, int b)
{
	const struct helper_call *c = &hd->call;
	size_t len = MIN_OF(c->data_size, sizeof(hd->room) - 1);
	int r = new_begin(hd, a);

	if (r <= 0)
		return r;
	memcpy(hd->room, c->data, len);
	hd->room[len] = '\0';
	if (symlinkat((const char *)hd->room, a, c->name) < 0)
		return -errno;
	return new_answer(hd, a, S_IFLNK);
}

int helper_op_link(struct helper *hd, int a, int b)
{
	char from[HELPERS_FD_NAME_MAX];
	struct journal_object object;
	int r = helper_lock(hd, a, -1);

	if (r < 0)
		return r;
	helper_object(hd, b, &object);
	r = helper_log_intent(hd, &object, NULL);
	if (r <= 0)
		return r;
	if (linkat(AT_FDCWD, helper_fd_name(b, from), a, hd->call.name, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	return helper_answer_entry(hd, b);
}

int helper_op_tmpfile(struct helper *hd, int a, int b)
{
	const struct helper_call *c = &hd->call;
	int fd = openat(a, ".", O_TMPFILE | O_CLOEXEC | (c->oflags & (OPEN_FLAGS | O_EXCL)),
			c->mode & 07777);

	if (fd < 0)
		return -errno;
	hd->fd = fd;
	return helper_answer_entry(hd, fd);
}

/* The file that stands there already. */
static int create_open(struct helper *hd, int path_fd)
{
	const struct helper_call *c = &hd->call;
	struct journal_object object;
	int fd, r;

	if (c->oflags & O_EXCL)
		return -EEXIST;
	fd = helper_reopen(path_fd, c->oflags & OPEN_FLAGS);
	if (fd < 0)
		return fd;
	hd->fd = fd;
	helper_object(hd, path_fd, &object);
	r = helper_log_intent(hd, &object, NULL);
	if (r > 0 && c->oflags & O_TRUNC)
		r = helper_truncate(fd, 0);
	return r < 0 ? r : helper_answer_entry(hd, path_fd);
}

static int create_new(struct helper *hd, int dirfd)
{
	const struct helper_call *c = &hd->call;
	struct journal_object nothing = {}, dir;
	int fd, r;

	helper_object(hd, dirfd, &dir);
	r = helper_log_intent(hd, &nothing, &dir);
	if (r <= 0)
		return r;
	fd = openat(dirfd, c->name,
		    O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC | (c->oflags & OPEN_FLAGS),
		    c->mode & 07777);
	if (fd < 0)
		return -errno;
	hd->fd = fd;
	hd->result.flags |= HELPER_RESULT_CREATED;
	return helper_answer_entry(hd, fd);
}

int helper_op_create(struct helper *hd, int a, int b)
{
	int r = helper_lock(hd, a, -1);

	if ((hd->call.oflags & O_ACCMODE) == O_ACCMODE)
		return -EINVAL;
	/* Users of the server itself may make and remove it meanwhile. */
	for (unsigned tries = 0; r == 0 && tries < 16; tries++) {
		autoclose int fd = name_open(a, hd->call.name);

		if (fd < 0 && fd != -ENOENT)
			return fd;
		r = fd >= 0 ? create_open(hd, fd) : create_new(hd, a);
		if (r != -EEXIST || hd->call.oflags & O_EXCL)
			return r;
		r = 0;
	}
	return r < 0 ? r : -EBUSY;
}

/* ------------------------------------------------------------------ what goes */

/* What a name shows is what the caller has provided for. fd -1: nothing. */
static int expect_check(struct helper *hd, int fd)
{
	const struct helper_call *c = &hd->call;
	uint8_t handle[FUSE_PROTO_HANDLE_MAX], len = 0;

	if (!(c->flags & HELPER_EXPECT))
		return 0;
	if (fd >= 0)
		len = helper_sign(hd, fd, "", handle);
	if (len == c->expect_len && memcmp(handle, c->expect, len) == 0)
		return 0;
	memcpy(hd->result.handle, handle, len);
	hd->result.handle_len = len;
	hd->result.flags |= HELPER_RESULT_HANDLE;
	return -EAGAIN;
}

static int remove_name(struct helper *hd, int a, int flags)
{
	autoclose int fd = -1;
	struct journal_object victim;
	int r = helper_lock(hd, a, -1);

	if (r < 0)
		return r;
	fd = name_open(a, hd->call.name);
	if (fd < 0)
		return fd;
	r = expect_check(hd, fd);
	if (r < 0)
		return r;
	helper_object(hd, fd, &victim);
	r = helper_log_intent(hd, &victim, NULL);
	if (r <= 0)
		return r;
	if (unlinkat(a, hd->call.name, flags) < 0)
		return -errno;
	(void)helper_answer_entry(hd, fd);
	if (!(flags & AT_REMOVEDIR))
		hd->fd = fd_take(fd);
	return 0;
}

int helper_op_unlink(struct helper *hd, int a, int b)
{
	return remove_name(hd, a, 0);
}

int helper_op_rmdir(struct helper *hd, int a, int b)
{
	return remove_name(hd, a, AT_REMOVEDIR);
}

int helper_op_rename(struct helper *hd, int a, int b)
{
	const struct helper_call *c = &hd->call;
	struct journal_object source, target;
	autoclose int from = -1, to = -1;
	int r = helper_lock(hd, a, b);

	if (r < 0)
		return r;
	from = name_open(a, c->name);
	if (from < 0)
		return from;
	to = name_open(b, c->name2);
	if (to < 0 && to != -ENOENT)
		return to;
	r = expect_check(hd, to);
	if (r < 0)
		return r;
	helper_object(hd, from, &source);
	helper_object(hd, to, &target);
	r = helper_log_intent(hd, &source, &target);
	if (r <= 0)
		return r;
	if (renameat2(a, c->name, b, c->name2, c->rflags) < 0)
		return -errno;
	if (to >= 0 && !(c->rflags & RENAME_EXCHANGE)) {
		(void)helper_answer_entry(hd, to);
		hd->fd = fd_take(to);
	}
	return 0;
}
