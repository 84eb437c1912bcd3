/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests on extended attributes. To read an attribute, a client's kernel sends two requests: one
 * for its size, one for its value.
 */
#include "dataplane/fuse/server/ops/server_ops.h"
#include "dataplane/fuse/server/request/server_helper.h"
#include "dataplane/fuse/server/request/server_reply.h"
#include "dataplane/fuse/server/request/server_request.h"
#include <string.h>

static void xattr_then(struct server_req *q, const struct helper_result *r, int fd)
{
	const struct fuse_getxattr_in *in = server_req_arg(q);
	struct fuse_getxattr_out *out = (void *)server_req_data(q);

	if (in->size > 0 && q->in->opcode == FUSE_GETXATTR &&
	    fuse_rights_is_acl(server_req_name(q, sizeof(*in))) &&
	    fuse_rights_acl_out(&q->client->rights, server_req_data(q), r->count) < 0) {
		server_reply_err(q, EIO);
		return;
	}
	if (in->size > 0) {
		server_reply_data(q, r->count);
		return;
	}
	*out = (struct fuse_getxattr_out){.size = (uint32_t)r->count};
	server_reply_data(q, sizeof(*out));
}

/* Makes a helper read the value into the space for the reply's data. */
static void xattr_read(struct server_req *q, enum helper_op op)
{
	const struct fuse_getxattr_in *in = server_req_arg(q);
	struct helper_call *call = server_helper_call(q, op, 0);

	if (!call)
		return;
	if (op == HELPER_GETXATTR)
		strcpy(call->name, server_req_name(q, sizeof(*in)));
	call->data = server_req_data(q);
	call->data_size = MIN_OF(in->size, q->out_max);
	server_helper_submit(q, call, HELPERS_QUICK, false, xattr_then);
}

void server_op_getxattr(struct server_req *q)
{
	xattr_read(q, HELPER_GETXATTR);
}

void server_op_listxattr(struct server_req *q)
{
	xattr_read(q, HELPER_LISTXATTR);
}

static void done_then(struct server_req *q, const struct helper_result *r, int fd)
{
	server_reply_err(q, 0);
}

/* Returns whether the client must not change the attribute. If so, replies with an error. */
static bool xattr_is_refused(struct server_req *q, const char *name)
{
	if (PLENUM_LIKELY(fuse_rights_may_set(name)))
		return false;
	server_reply_err(q, EOPNOTSUPP);
	return true;
}

void server_op_removexattr(struct server_req *q)
{
	struct helper_call *call;

	if (xattr_is_refused(q, server_req_name(q, 0)))
		return;
	call = server_helper_call(q, HELPER_REMOVEXATTR, 0);
	if (!call)
		return;
	strcpy(call->name, server_req_name(q, 0));
	server_helper_submit(q, call, HELPERS_QUICK, true, done_then);
}

void server_op_setxattr(struct server_req *q)
{
	const struct { /* the short form of struct fuse_setxattr_in, because FUSE_SETXATTR_EXT is
			  never negotiated */
		uint32_t size, flags;
	} *in = server_req_arg(q);
	const char *name = server_req_name(q, sizeof(*in));
	struct helper_call *call;

	if (xattr_is_refused(q, name))
		return;
	call = server_helper_call(q, HELPER_SETXATTR, 0);
	if (!call)
		return;
	strcpy(call->name, name);
	call->xflags = (int32_t)in->flags;
	call->data = (void *)(uintptr_t)(name + strlen(name) + 1);
	call->data_size = in->size;
	server_helper_submit(q, call, HELPERS_QUICK, true, done_then);
}
