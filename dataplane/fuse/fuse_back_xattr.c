/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extended attributes: by path through the worker's own descriptors, because the calls that take a
 * descriptor refuse O_PATH ones.
 */
#include "dataplane/fuse/fuse_back_internal.h"
#include <string.h>
#include <sys/xattr.h>

/* Where a symbolic link is shown, the path leads to the link itself. */
static int xattr_path(struct back_req *q, char path[BACK_FD_PATH_MAX])
{
	int fd = back_req_fd(q, 0);

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

/* n: the call's result, its data where the answer's shall stand. */
static void xattr_reply(struct back_req *q, ssize_t n, size_t size)
{
	struct fuse_getxattr_out *out = (void *)back_req_data(q);

	if (n < 0) {
		back_reply_err(q, xattr_errno());
	} else if (size == 0) {
		*out = (struct fuse_getxattr_out){.size = (uint32_t)n};
		back_reply_data(q, sizeof(*out));
	} else {
		back_reply_data(q, (size_t)n);
	}
}

void back_op_getxattr(struct back_req *q)
{
	const struct fuse_getxattr_in *in = back_req_arg(q);
	char path[BACK_FD_PATH_MAX];
	int r = xattr_path(q, path);

	if (r < 0)
		back_reply_err(q, -r);
	else
		xattr_reply(q,
			    getxattr(path, back_req_name(q, sizeof(*in)),
				     in->size ? back_req_data(q) : NULL,
				     MIN_OF(in->size, q->out_max)),
			    in->size);
}

void back_op_listxattr(struct back_req *q)
{
	const struct fuse_getxattr_in *in = back_req_arg(q);
	char path[BACK_FD_PATH_MAX];
	int r = xattr_path(q, path);

	if (r < 0)
		back_reply_err(q, -r);
	else
		xattr_reply(q,
			    listxattr(path, in->size ? (char *)back_req_data(q) : NULL,
				      MIN_OF(in->size, q->out_max)),
			    in->size);
}

void back_op_removexattr(struct back_req *q)
{
	char path[BACK_FD_PATH_MAX];
	int r = xattr_path(q, path);

	if (r == 0 && removexattr(path, back_req_name(q, 0)) < 0)
		r = -xattr_errno();
	if (r == -ENODATA && q->redo)
		r = 0;
	back_reply_err(q, -r);
}

void back_op_setxattr(struct back_req *q)
{
	const struct { /* without FUSE_SETXATTR_EXT it is this short */
		uint32_t size, flags;
	} *in = back_req_arg(q);
	const char *name = back_req_name(q, sizeof(*in));
	char path[BACK_FD_PATH_MAX];
	int r = xattr_path(q, path);

	if (r == 0 && setxattr(path, name, name + strlen(name) + 1, in->size, (int)in->flags) < 0)
		r = -xattr_errno();
	if (q->redo && ((r == -EEXIST && in->flags & XATTR_CREATE)))
		r = 0;
	back_reply_err(q, -r);
}
