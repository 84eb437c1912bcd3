/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests on names and attributes: lookup, create, remove, rename, link, attributes, statfs. */
#include "dataplane/fuse/server/objects/server_background.h"
#include "dataplane/fuse/server/objects/server_mount.h"
#include "dataplane/fuse/server/objects/server_node.h"
#include "dataplane/fuse/server/objects/server_pin.h"
#include "dataplane/fuse/server/objects/server_write_lease.h"
#include "dataplane/fuse/server/ops/server_ops.h"
#include "dataplane/fuse/server/request/server_helper.h"
#include "dataplane/fuse/server/request/server_reply.h"
#include "dataplane/fuse/server/request/server_request.h"
#include <string.h>
#include <sys/vfs.h>

#define EXPECT_TRIES_MAX 16 /* limit of tries while other clients keep changing the name */

static void done_then(struct server_req *q, const struct helper_result *r, int fd)
{
	server_reply_err(q, 0);
}

/* ------------------------------------------------------------------ finding names */

/* Returns whether a lookup must be executed again, because another client has acknowledged writes
 * to the file that are not at the server yet. */
static bool is_hidden(struct server_req *q, const struct server_node *n)
{
	return q->in->opcode == FUSE_LOOKUP &&
	       server_write_lease_awaits(q, n->handle.bytes, n->handle.len);
}

static void entry_then(struct server_req *q, const struct helper_result *r, int fd)
{
	struct server_entry e = {.attr = r->attr, .no_xattrs = r->flags & HELPER_RESULT_NO_XATTRS};

	/* A local user of this host has removed the new object before the helper could open it. So
	 * the reply has only a handle, which is always stale. */
	if (r->handle_len > 0 && r->handle[0] != FUSE_HANDLE_FILE) {
		cleanup_close(&fd);
		server_reply_err(q, ESTALE);
		return;
	}
	e.node = server_node_of(q->mount->export, r, fd);
	if (e.node && is_hidden(q, e.node))
		server_req_requeue(q);
	else if (e.node)
		server_reply_entry(q, &e);
	else
		server_reply_err(q, ENOMEM);
}

static void entry_lookup(struct server_req *q, const char *name)
{
	struct helper_call *call = server_helper_call(q, HELPER_LOOKUP, 0);

	if (!call)
		return;
	strcpy(call->name, name);
	server_helper_submit(q, call, HELPERS_QUICK, false, entry_then);
}

/* Handles the result of a call that has created an object. An object without a file handle is then
 * looked up, because the server needs its descriptor. */
static void made_then(struct server_req *q, const struct helper_result *r, int fd)
{
	if (r->handle_len > 0) {
		entry_then(q, r, fd);
		return;
	}
	cleanup_close(&fd);
	entry_lookup(q, server_req_name(q, q->name_at));
}

void server_op_lookup(struct server_req *q)
{
	struct server_node *dir = server_req_node(q, 0);
	const char *name = server_req_name(q, 0);
	struct helper_call *call;
	struct server_entry e;
	int r;

	if (strcmp(name, ".") == 0) {
		call = server_helper_call(q, HELPER_OPEN_PATH, 0);
		if (call)
			server_helper_submit(q, call, HELPERS_QUICK, false, entry_then);
		return;
	}
	r = dir && !(q->helper_flags & HELPER_CHECK_PERMS) && strcmp(name, "..") != 0
		    ? server_node_cached(dir, name, &e)
		    : -EAGAIN;
	if (r == 0 && is_hidden(q, e.node))
		server_req_requeue(q);
	else if (r == 0)
		server_reply_entry(q, &e);
	else if (r != -EAGAIN)
		server_reply_err(q, -r);
	else
		entry_lookup(q, name);
}

/* ------------------------------------------------------------------ creating names */

/* Makes a call that creates the name which follows arg_bytes of arguments. */
static struct helper_call *make_begin(struct server_req *q, enum helper_op op, size_t arg_bytes,
				      uint32_t mask)
{
	struct helper_call *call = server_helper_call(q, op, 0);

	if (!call)
		return NULL;
	q->name_at = (uint16_t)arg_bytes;
	strcpy(call->name, server_req_name(q, arg_bytes));
	call->umask = mask;
	return call;
}

void server_op_mknod(struct server_req *q)
{
	const struct fuse_mknod_in *in = server_req_arg(q);
	struct helper_call *call = make_begin(q, HELPER_MKNOD, sizeof(*in), in->umask);

	if (!call)
		return;
	call->mode = in->mode;
	call->rdev = in->rdev;
	server_helper_submit(q, call, HELPERS_QUICK, true, made_then);
}

void server_op_mkdir(struct server_req *q)
{
	const struct fuse_mkdir_in *in = server_req_arg(q);
	struct helper_call *call = make_begin(q, HELPER_MKDIR, sizeof(*in), in->umask);

	if (!call)
		return;
	call->mode = in->mode & 07777;
	server_helper_submit(q, call, HELPERS_QUICK, true, made_then);
}

void server_op_symlink(struct server_req *q)
{
	const char *target = server_req_name(q, 0) + strlen(server_req_name(q, 0)) + 1;
	struct helper_call *call = make_begin(q, HELPER_SYMLINK, 0, 0);

	if (!call)
		return;
	call->data = (void *)(uintptr_t)target;
	call->data_size = strlen(target);
	server_helper_submit(q, call, HELPERS_QUICK, true, made_then);
}

void server_op_link(struct server_req *q)
{
	struct helper_call *call = make_begin(q, HELPER_LINK, sizeof(struct fuse_link_in), 0);

	if (call && server_helper_add_object(q, call, 1))
		server_helper_submit(q, call, HELPERS_QUICK, true, made_then);
}

/* ------------------------------------------------------------------ removing names */

/* Ends a removal. A helper closes the descriptor of the removed object, because closing the last
 * descriptor of a large file takes long. */
static void removed_then(struct server_req *q, const struct helper_result *r, int fd)
{
	struct server_export *e = q->mount->export;

	if (r->error == -EAGAIN && q->tries < EXPECT_TRIES_MAX) {
		q->tries++;
		cleanup_close(&fd);
		q->retry_op(q);
		return;
	}
	if (r->error < 0) {
		cleanup_close(&fd);
		server_reply_err(q, r->error == -EAGAIN ? EBUSY : -r->error);
		return;
	}
	if (r->flags & HELPER_RESULT_ATTR) {
		server_pin_unlinked(e, r, fd);
		server_node_removed(e, r, fd);
	} else if (fd >= 0)
		server_helper_close(e, fd);
	if (q->in->opcode == FUSE_UNLINK || q->in->opcode == FUSE_RMDIR)
		server_reply_names(q);
	else
		server_reply_err(q, 0);
}

/* Copies the names that the request changes into the call. */
static void names_fill(const struct server_req *q, struct helper_call *call)
{
	const char *name = server_req_name(q, q->name_at);

	strcpy(call->name, name);
	if (call->op == HELPER_RENAME)
		strcpy(call->name2, name + strlen(name) + 1);
}

/* Submits a removal or rename. victim: the object that may lose its name. If this may be the
 * object's last name and a client has the object open, the caller has pinned the object. If the
 * name belongs to another object by now, the helper changes nothing, and the request is tried
 * again. NULL: no pin is necessary, so the name may belong to any object. */
static void remove_submit(struct server_req *q, const struct helper_result *victim)
{
	const struct fuse_rename2_in *in = server_req_arg(q);
	bool rename = q->in->opcode == FUSE_RENAME || q->in->opcode == FUSE_RENAME2;
	enum helper_op op = rename			   ? HELPER_RENAME
			    : q->in->opcode == FUSE_UNLINK ? HELPER_UNLINK
							   : HELPER_RMDIR;
	struct helper_call *call = server_helper_call(q, op, 0);

	if (!call)
		return;
	names_fill(q, call);
	if (rename && !server_helper_add_object(q, call, 1))
		return;
	if (q->in->opcode == FUSE_RENAME2)
		call->rflags = in->flags;
	if (victim) {
		call->flags |= HELPER_EXPECT;
		call->expect_len = victim->handle_len;
		memcpy(call->expect, victim->handle, victim->handle_len);
	}
	server_helper_submit_raw(q, call, HELPERS_QUICK, true, removed_then);
}

static void victim_then(struct server_req *q, const struct helper_result *r, int fd)
{
	static const struct helper_result nothing;

	if (r->error < 0 && r->error != -ENOENT) {
		server_reply_err(q, -r->error);
		return;
	}
	if (r->error == 0 && r->handle_len > 0 && r->attr.nlink == 1)
		server_pin_victim(q->mount->export, r, fd);
	cleanup_close(&fd);
	if (r->error == 0 && r->handle_len == 0)
		remove_submit(q, NULL); /* without file handles, clients can use a removed file only
					   as long as this process lives, so no pin is needed */
	else
		remove_submit(q, r->error < 0 ? &nothing : r);
}

/* Begins a removal. If any client may have a file open, the server first looks up the object that
 * may lose its last name. */
static void remove_begin(struct server_req *q)
{
	const struct server_export *e = q->mount->export;
	bool rename = q->in->opcode == FUSE_RENAME || q->in->opcode == FUSE_RENAME2;
	const char *name = server_req_name(q, q->name_at);
	struct helper_call *call;

	if ((e->n_open == 0 && !server_pin_in_grace(e) && !server_pin_any_open_elsewhere(e)) ||
	    q->in->opcode == FUSE_RMDIR || q->no_victim) {
		remove_submit(q, NULL);
		return;
	}
	call = server_helper_call(q, HELPER_LOOKUP, rename ? 1 : 0);
	if (!call)
		return;
	strcpy(call->name, rename ? name + strlen(name) + 1 : name);
	server_helper_submit_raw(q, call, HELPERS_QUICK, false, victim_then);
}

void server_op_remove(struct server_req *q)
{
	const struct fuse_rename2_in *in = server_req_arg(q);

	q->retry_op = remove_begin;
	q->name_at = q->in->opcode == FUSE_RENAME    ? sizeof(struct fuse_rename_in)
		     : q->in->opcode == FUSE_RENAME2 ? sizeof(*in)
						     : 0;
	q->no_victim =
		q->in->opcode == FUSE_RENAME2 && in->flags & (RENAME_EXCHANGE | RENAME_NOREPLACE);
	remove_begin(q);
}

/* ------------------------------------------------------------------ attributes */

static void readlink_then(struct server_req *q, const struct helper_result *r, int fd)
{
	server_reply_data(q, r->count);
}

void server_op_readlink(struct server_req *q)
{
	struct helper_call *call = server_helper_call(q, HELPER_READLINK, 0);

	if (!call)
		return;
	call->data = server_req_data(q);
	call->data_size = q->out_max;
	server_helper_submit(q, call, HELPERS_QUICK, false, readlink_then);
}

static void attr_then(struct server_req *q, const struct helper_result *r, int fd)
{
	if (fd >= 0) /* keep the descriptor in the node, for the next request */
		(void)server_node_of(q->mount->export, r, fd);
	server_reply_attr(q, &r->attr, r->flags & HELPER_RESULT_NO_XATTRS);
}

/* Answers without a helper if the node has a descriptor. For an open file, uses the descriptor of
 * the open file, because the file may have been unlinked. */
void server_op_getattr(struct server_req *q)
{
	const struct fuse_getattr_in *in = server_req_arg(q);
	struct helper_call *call;
	struct fuse_attr attr;
	struct server_file *f;
	struct stat st;
	int fd;

	if (in->getattr_flags & FUSE_GETATTR_FH && server_file_get(q, 0, in->fh, false, &f) == 0)
		fd = f->fd;
	else
		fd = server_req_fd(q, 0);
	if (fd >= 0 && fstatat(fd, "", &st, AT_EMPTY_PATH) == 0) {
		fs_helper_attr(&st, q->mount->export->root_dev, &attr);
		server_reply_attr(q, &attr, server_has_no_xattrs(q->mount->export, fd));
		return;
	}
	call = server_helper_call(q, HELPER_OPEN_PATH, 0);
	if (call)
		server_helper_submit(q, call, HELPERS_QUICK, false, attr_then);
}

void server_op_setattr(struct server_req *q)
{
	const struct fuse_setattr_in *in = server_req_arg(q);
	struct server_file *f = NULL;
	struct helper_call *call;

	if (in->valid & FATTR_FH && server_file_get(q, 0, in->fh, false, &f) == -EIO) {
		server_reply_err(q, EIO);
		return;
	}
	call = server_helper_call(q, HELPER_SETATTR, 0);
	if (!call)
		return;
	if (f)
		server_helper_use_file(q, &call->a, f);
	call->set = (struct helper_setattr){
		.valid = in->valid,
		.mode = in->mode,
		.uid = in->uid,
		.gid = in->gid,
		.size = in->size,
		.atime = in->atime,
		.mtime = in->mtime,
		.atimensec = in->atimensec,
		.mtimensec = in->mtimensec,
	};
	server_helper_submit(q, call, in->valid & FATTR_SIZE ? HELPERS_SLOW : HELPERS_QUICK, true,
			     attr_then);
}

static void statfs_then(struct server_req *q, const struct helper_result *r, int fd)
{
	struct statfs st;

	memcpy(&st, server_req_data(q), sizeof(st));
	*(struct fuse_statfs_out *)server_req_data(q) = (struct fuse_statfs_out){
		.st = {.blocks = st.f_blocks,
		       .bfree = st.f_bfree,
		       .bavail = st.f_bavail,
		       .files = st.f_files,
		       .ffree = st.f_ffree,
		       .bsize = (uint32_t)st.f_bsize,
		       .namelen = (uint32_t)st.f_namelen,
		       .frsize = (uint32_t)(st.f_frsize ? st.f_frsize : st.f_bsize)},
	};
	server_reply_data(q, sizeof(struct fuse_statfs_out));
}

void server_op_statfs(struct server_req *q)
{
	struct helper_call *call = server_helper_call(q, HELPER_STATFS, 0);

	if (!call)
		return;
	call->data = server_req_data(q);
	call->data_size = sizeof(struct statfs);
	server_helper_submit(q, call, HELPERS_QUICK, false, statfs_then);
}

/* ------------------------------------------------------------------ repeated requests */

void server_op_replay(struct server_req *q, const struct helper_result *r)
{
	if (r->error < 0) {
		server_reply_err(q, -r->error);
		return;
	}
	switch (q->in->opcode) {
	case FUSE_MKNOD:
	case FUSE_MKDIR:
	case FUSE_SYMLINK:
	case FUSE_LINK:
		entry_then(q, r, -1);
		break;
	case FUSE_OPEN:
	case FUSE_CREATE:
	case FUSE_TMPFILE:
		server_open_replay(q, r);
		break;
	case FUSE_SETATTR:
		attr_then(q, r, -1);
		break;
	case FUSE_WRITE:
	case FUSE_COPY_FILE_RANGE:
		server_reply_write(q, (uint32_t)r->count, NULL);
		break;
	default:
		done_then(q, r, -1);
		break;
	}
}
