/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations on names and attributes. */
#include "dataplane/fuse/server/fuse_back_internal.h"
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#define EXPECT_TRIES_MAX 16 /* of a name that others change each time we look */

const char *back_fd_path(int fd, char path[BACK_FD_PATH_MAX])
{
	snprintf(path, BACK_FD_PATH_MAX, "/proc/self/fd/%d", fd);
	return path;
}

static void done_then(struct back_req *q, const struct hand_result *r, int fd)
{
	back_reply_err(q, 0);
}

/* ------------------------------------------------------------------ names that are found */

static void entry_then(struct back_req *q, const struct hand_result *r, int fd)
{
	struct back_entry e = {.attr = r->attr, .is_bare = r->flags & HAND_RESULT_BARE};

	/* Made, and gone again before it was seen: there is nothing to have a handle of. */
	if (r->handle_len > 0 && r->handle[0] != FUSE_HANDLE_FILE) {
		cleanup_close(&fd);
		back_reply_err(q, ESTALE);
		return;
	}
	e.node = back_node_of(q->mount->export, r, fd);
	if (e.node)
		back_reply_entry(q, &e);
	else
		back_reply_err(q, ENOMEM);
}

static void entry_lookup(struct back_req *q, const char *name)
{
	struct hand_call *call = back_hand_new(q, HAND_LOOKUP, 0);

	if (!call)
		return;
	strcpy(call->name, name);
	back_hand_go(q, call, HANDS_QUICK, false, entry_then);
}

/* What a request made: what has no handle is looked up for a descriptor. */
static void made_then(struct back_req *q, const struct hand_result *r, int fd)
{
	if (r->handle_len > 0) {
		entry_then(q, r, fd);
		return;
	}
	cleanup_close(&fd);
	entry_lookup(q, back_req_name(q, q->name_at));
}

void back_op_lookup(struct back_req *q)
{
	struct back_node *dir = back_req_node(q, 0);
	const char *name = back_req_name(q, 0);
	struct hand_call *call;
	struct back_entry e;
	int r;

	if (strcmp(name, ".") == 0) {
		call = back_hand_new(q, HAND_OPEN_PATH, 0);
		if (call)
			back_hand_go(q, call, HANDS_QUICK, false, entry_then);
		return;
	}
	r = dir && !(q->hand_flags & HAND_CHECKED) && strcmp(name, "..") != 0
		    ? back_node_cached(dir, name, &e)
		    : -EAGAIN;
	if (r == 0)
		back_reply_entry(q, &e);
	else if (r != -EAGAIN)
		back_reply_err(q, -r);
	else
		entry_lookup(q, name);
}

/* ------------------------------------------------------------------ names that are made */

/* A call that makes the name behind arg_bytes of arguments. */
static struct hand_call *make_begin(struct back_req *q, enum hand_op op, size_t arg_bytes,
				    uint32_t mask)
{
	struct hand_call *call = back_hand_new(q, op, 0);

	if (!call)
		return NULL;
	q->name_at = (uint16_t)arg_bytes;
	strcpy(call->name, back_req_name(q, arg_bytes));
	call->umask = mask;
	return call;
}

void back_op_mknod(struct back_req *q)
{
	const struct fuse_mknod_in *in = back_req_arg(q);
	struct hand_call *call = make_begin(q, HAND_MKNOD, sizeof(*in), in->umask);

	if (!call)
		return;
	call->mode = in->mode;
	call->rdev = in->rdev;
	back_hand_go(q, call, HANDS_QUICK, true, made_then);
}

void back_op_mkdir(struct back_req *q)
{
	const struct fuse_mkdir_in *in = back_req_arg(q);
	struct hand_call *call = make_begin(q, HAND_MKDIR, sizeof(*in), in->umask);

	if (!call)
		return;
	call->mode = in->mode & 07777;
	back_hand_go(q, call, HANDS_QUICK, true, made_then);
}

void back_op_symlink(struct back_req *q)
{
	const char *target = back_req_name(q, 0) + strlen(back_req_name(q, 0)) + 1;
	struct hand_call *call = make_begin(q, HAND_SYMLINK, 0, 0);

	if (!call)
		return;
	call->data = (void *)(uintptr_t)target;
	call->data_size = strlen(target);
	back_hand_go(q, call, HANDS_QUICK, true, made_then);
}

void back_op_link(struct back_req *q)
{
	struct hand_call *call = make_begin(q, HAND_LINK, sizeof(struct fuse_link_in), 0);

	if (call && back_hand_second(q, call, 1))
		back_hand_go(q, call, HANDS_QUICK, true, made_then);
}

/* ------------------------------------------------------------------ names that go */

/* The victim's descriptor is not the last: closing it may take as long as the file is big. */
static void removed_then(struct back_req *q, const struct hand_result *r, int fd)
{
	struct back_export *e = q->mount->export;

	if (r->error == -EAGAIN && q->tries < EXPECT_TRIES_MAX) {
		q->tries++;
		cleanup_close(&fd);
		q->ops_again(q);
		return;
	}
	if (r->error < 0) {
		cleanup_close(&fd);
		back_reply_err(q, r->error == -EAGAIN ? EBUSY : -r->error);
		return;
	}
	if (r->flags & HAND_RESULT_ATTR) {
		back_hold_gone(e, r, fd);
		back_node_removed(e, r, fd);
	} else if (fd >= 0)
		back_hand_close(e, fd);
	if (q->in->opcode == FUSE_UNLINK || q->in->opcode == FUSE_RMDIR)
		back_reply_names(q);
	else
		back_reply_err(q, 0);
}

/* The names that a request changes, from which place of its arguments. */
static void names_fill(const struct back_req *q, struct hand_call *call)
{
	const char *name = back_req_name(q, q->name_at);

	strcpy(call->name, name);
	if (call->op == HAND_RENAME)
		strcpy(call->name2, name + strlen(name) + 1);
}

/* What is removed or replaced is known: nobody has it open, or it is held. NULL: it does not
 * matter, for nobody has anything open. */
static void remove_go(struct back_req *q, const struct hand_result *victim)
{
	const struct fuse_rename2_in *in = back_req_arg(q);
	bool rename = q->in->opcode == FUSE_RENAME || q->in->opcode == FUSE_RENAME2;
	enum hand_op op = rename			 ? HAND_RENAME
			  : q->in->opcode == FUSE_UNLINK ? HAND_UNLINK
							 : HAND_RMDIR;
	struct hand_call *call = back_hand_new(q, op, 0);

	if (!call)
		return;
	names_fill(q, call);
	if (rename && !back_hand_second(q, call, 1))
		return;
	if (q->in->opcode == FUSE_RENAME2)
		call->rflags = in->flags;
	if (victim) {
		call->flags |= HAND_EXPECT;
		call->expect_len = victim->handle_len;
		memcpy(call->expect, victim->handle, victim->handle_len);
	}
	back_hand_try(q, call, HANDS_QUICK, true, removed_then);
}

static void victim_then(struct back_req *q, const struct hand_result *r, int fd)
{
	static const struct hand_result nothing;

	if (r->error < 0 && r->error != -ENOENT) {
		back_reply_err(q, -r->error);
		return;
	}
	if (r->error == 0 && r->handle_len > 0 && r->attr.nlink == 1)
		back_hold_victim(q->mount->export, r, fd);
	cleanup_close(&fd);
	if (r->error == 0 && r->handle_len == 0)
		remove_go(q, NULL); /* what has no handle ends with us in any case */
	else
		remove_go(q, r->error < 0 ? &nothing : r);
}

/* What may lose its last name is looked at before, if anybody has, or may have, anything open. */
static void remove_begin(struct back_req *q)
{
	const struct back_export *e = q->mount->export;
	bool rename = q->in->opcode == FUSE_RENAME || q->in->opcode == FUSE_RENAME2;
	const char *name = back_req_name(q, q->name_at);
	struct hand_call *call;

	if ((e->n_open == 0 && !back_hold_suspects(e) && !back_hold_any_elsewhere(e)) ||
	    q->in->opcode == FUSE_RMDIR || q->no_victim) {
		remove_go(q, NULL);
		return;
	}
	call = back_hand_new(q, HAND_LOOKUP, rename ? 1 : 0);
	if (!call)
		return;
	strcpy(call->name, rename ? name + strlen(name) + 1 : name);
	back_hand_try(q, call, HANDS_QUICK, false, victim_then);
}

void back_op_remove(struct back_req *q)
{
	const struct fuse_rename2_in *in = back_req_arg(q);

	q->ops_again = remove_begin;
	q->name_at = q->in->opcode == FUSE_RENAME    ? sizeof(struct fuse_rename_in)
		     : q->in->opcode == FUSE_RENAME2 ? sizeof(*in)
						     : 0;
	q->no_victim =
		q->in->opcode == FUSE_RENAME2 && in->flags & (RENAME_EXCHANGE | RENAME_NOREPLACE);
	remove_begin(q);
}

/* ------------------------------------------------------------------ attributes */

static void readlink_then(struct back_req *q, const struct hand_result *r, int fd)
{
	back_reply_data(q, r->count);
}

void back_op_readlink(struct back_req *q)
{
	struct hand_call *call = back_hand_new(q, HAND_READLINK, 0);

	if (!call)
		return;
	call->data = back_req_data(q);
	call->data_size = q->out_max;
	back_hand_go(q, call, HANDS_QUICK, false, readlink_then);
}

static void attr_then(struct back_req *q, const struct hand_result *r, int fd)
{
	if (fd >= 0) /* a descriptor for the next time */
		(void)back_node_of(q->mount->export, r, fd);
	back_reply_attr(q, &r->attr, r->flags & HAND_RESULT_BARE);
}

/* Where it is open already that costs no hand. Of an open file it must be by that: it may have no
 * name any more. */
void back_op_getattr(struct back_req *q)
{
	const struct fuse_getattr_in *in = back_req_arg(q);
	struct hand_call *call;
	struct fuse_attr attr;
	struct back_file *f;
	struct stat st;
	int fd;

	if (in->getattr_flags & FUSE_GETATTR_FH && back_file_get(q, 0, in->fh, false, &f) == 0)
		fd = f->fd;
	else
		fd = back_req_fd(q, 0);
	if (fd >= 0 && fstatat(fd, "", &st, AT_EMPTY_PATH) == 0) {
		fuse_hands_attr(&st, q->mount->export->root_dev, &attr);
		back_reply_attr(q, &attr, back_is_bare(q->mount->export, fd));
		return;
	}
	call = back_hand_new(q, HAND_OPEN_PATH, 0);
	if (call)
		back_hand_go(q, call, HANDS_QUICK, false, attr_then);
}

void back_op_setattr(struct back_req *q)
{
	const struct fuse_setattr_in *in = back_req_arg(q);
	struct hand_call *call = back_hand_new(q, HAND_SETATTR, 0);
	struct back_file *f;

	if (!call)
		return;
	if (in->valid & FATTR_FH && back_file_get(q, 0, in->fh, false, &f) == 0)
		back_hand_file(q, &call->a, f);
	call->set = (struct hand_setattr){
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
	back_hand_go(q, call, in->valid & FATTR_SIZE ? HANDS_SLOW : HANDS_QUICK, true, attr_then);
}

static void statfs_then(struct back_req *q, const struct hand_result *r, int fd)
{
	struct statfs st;

	memcpy(&st, back_req_data(q), sizeof(st));
	*(struct fuse_statfs_out *)back_req_data(q) = (struct fuse_statfs_out){
		.st = {.blocks = st.f_blocks,
		       .bfree = st.f_bfree,
		       .bavail = st.f_bavail,
		       .files = st.f_files,
		       .ffree = st.f_ffree,
		       .bsize = (uint32_t)st.f_bsize,
		       .namelen = (uint32_t)st.f_namelen,
		       .frsize = (uint32_t)(st.f_frsize ? st.f_frsize : st.f_bsize)},
	};
	back_reply_data(q, sizeof(struct fuse_statfs_out));
}

void back_op_statfs(struct back_req *q)
{
	struct hand_call *call = back_hand_new(q, HAND_STATFS, 0);

	if (!call)
		return;
	call->data = back_req_data(q);
	call->data_size = sizeof(struct statfs);
	back_hand_go(q, call, HANDS_QUICK, false, statfs_then);
}

/* ------------------------------------------------------------------ once more */

void back_op_again(struct back_req *q, const struct hand_result *r)
{
	if (r->error < 0) {
		back_reply_err(q, -r->error);
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
		back_open_again(q, r);
		break;
	case FUSE_SETATTR:
		attr_then(q, r, -1);
		break;
	case FUSE_WRITE:
	case FUSE_COPY_FILE_RANGE:
		back_reply_write(q, (uint32_t)r->count, NULL);
		break;
	default:
		done_then(q, r, -1);
		break;
	}
}
