/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extended attributes: by path through the worker's own descriptors, because the calls that take a
 * descriptor refuse O_PATH ones.
 */
#include "dataplane/fuse/fuse_back_internal.h"
#include <string.h>
#include <sys/xattr.h>

/* Where a symbolic link is shown, the path leads to the link itself. */
static int xattr_path(struct back_req *q, uint64_t nodeid, char path[BACK_FD_PATH_MAX])
{
	int fd = back_node_fd(q->mount, nodeid);

	if (fd < 0)
		return fd;
	back_fd_path(fd, path);
	return 0;
}

/* ENOSYS would make the client's kernel stop asking, for all files. */
static int xattr_errno(void)
{
	return errno == ENOSYS ? EOPNOTSUPP : errno;
}

static void xattr_reply(struct back_req *q, fuse_req_t fr, ssize_t n, size_t size)
{
	if (n < 0)
		fuse_reply_err(fr, xattr_errno());
	else if (size == 0)
		fuse_reply_xattr(fr, (size_t)n);
	else
		back_reply_data(q, (size_t)n);
}

void back_op_getxattr(fuse_req_t fr, fuse_ino_t nodeid, const char *name, size_t size)
{
	struct back_req *q = back_req_of(fr);
	char path[BACK_FD_PATH_MAX];
	int r = xattr_path(q, nodeid, path);

	if (r < 0)
		fuse_reply_err(fr, -r);
	else
		xattr_reply(q, fr,
			    getxattr(path, name, size ? back_req_data(q) : NULL,
				     MIN_OF(size, q->out_max)),
			    size);
}

void back_op_listxattr(fuse_req_t fr, fuse_ino_t nodeid, size_t size)
{
	struct back_req *q = back_req_of(fr);
	char path[BACK_FD_PATH_MAX];
	int r = xattr_path(q, nodeid, path);

	if (r < 0)
		fuse_reply_err(fr, -r);
	else
		xattr_reply(q, fr,
			    listxattr(path, size ? (char *)back_req_data(q) : NULL,
				      MIN_OF(size, q->out_max)),
			    size);
}

void back_op_removexattr(fuse_req_t fr, fuse_ino_t nodeid, const char *name)
{
	struct back_req *q = back_req_of(fr);
	char path[BACK_FD_PATH_MAX];
	int r = xattr_path(q, nodeid, path);

	if (r == 0 && removexattr(path, name) < 0)
		r = -xattr_errno();
	if (r == -ENODATA && q->redo)
		r = 0;
	fuse_reply_err(fr, -r);
}

void back_setxattr(struct back_req *q)
{
	const struct { /* without FUSE_SETXATTR_EXT it is this short */
		uint32_t size, flags;
	} *in = back_req_arg(q);
	const char *name = (const char *)(in + 1);
	char path[BACK_FD_PATH_MAX];
	int r = xattr_path(q, q->in->nodeid, path);

	if (r == 0 && setxattr(path, name, name + strlen(name) + 1, in->size, (int)in->flags) < 0)
		r = -xattr_errno();
	if (q->redo && ((r == -EEXIST && in->flags & XATTR_CREATE)))
		r = 0;
	back_reply_err(q, -r);
}
