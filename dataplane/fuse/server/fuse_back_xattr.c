/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extended attributes. Apart because no other operation has their two-step protocol: the size
 * first, then the value.
 */
#include "dataplane/fuse/server/fuse_back_internal.h"
#include <string.h>

static void xattr_then(struct back_req *q, const struct hand_result *r, int fd)
{
	const struct fuse_getxattr_in *in = back_req_arg(q);
	struct fuse_getxattr_out *out = (void *)back_req_data(q);

	if (in->size > 0 && q->in->opcode == FUSE_GETXATTR &&
	    fuse_rights_is_acl(back_req_name(q, sizeof(*in))) &&
	    fuse_rights_acl_out(&q->client->rights, back_req_data(q), r->count) < 0) {
		back_reply_err(q, EIO);
		return;
	}
	if (in->size > 0) {
		back_reply_data(q, r->count);
		return;
	}
	*out = (struct fuse_getxattr_out){.size = (uint32_t)r->count};
	back_reply_data(q, sizeof(*out));
}

/* The value comes where the answer's data stands. */
static void xattr_read(struct back_req *q, enum hand_op op)
{
	const struct fuse_getxattr_in *in = back_req_arg(q);
	struct hand_call *call = back_hand_new(q, op, 0);

	if (!call)
		return;
	if (op == HAND_GETXATTR)
		strcpy(call->name, back_req_name(q, sizeof(*in)));
	call->data = back_req_data(q);
	call->data_size = MIN_OF(in->size, q->out_max);
	back_hand_go(q, call, HANDS_QUICK, false, xattr_then);
}

void back_op_getxattr(struct back_req *q)
{
	xattr_read(q, HAND_GETXATTR);
}

void back_op_listxattr(struct back_req *q)
{
	xattr_read(q, HAND_LISTXATTR);
}

static void done_then(struct back_req *q, const struct hand_result *r, int fd)
{
	back_reply_err(q, 0);
}

void back_op_removexattr(struct back_req *q)
{
	struct hand_call *call = back_hand_new(q, HAND_REMOVEXATTR, 0);

	if (!call)
		return;
	strcpy(call->name, back_req_name(q, 0));
	back_hand_go(q, call, HANDS_QUICK, true, done_then);
}

void back_op_setxattr(struct back_req *q)
{
	const struct { /* without FUSE_SETXATTR_EXT it is this short */
		uint32_t size, flags;
	} *in = back_req_arg(q);
	const char *name = back_req_name(q, sizeof(*in));
	struct hand_call *call = back_hand_new(q, HAND_SETXATTR, 0);

	if (!call)
		return;
	strcpy(call->name, name);
	call->xflags = (int32_t)in->flags;
	call->data = (void *)(uintptr_t)(name + strlen(name) + 1);
	call->data_size = in->size;
	back_hand_go(q, call, HANDS_QUICK, true, done_then);
}
