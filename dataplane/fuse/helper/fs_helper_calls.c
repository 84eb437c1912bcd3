/* SPDX-License-Identifier: BSD-3-Clause */
/* Executes one call in a helper: first copies the call from shared memory, then checks the copy,
 * executes its operation with the user's identity, and stores the result. */
#include "dataplane/fuse/helper/fs_helper_internal.h"
#include <string.h>

enum {
	OP_NAME = 1,   /* the call needs a name, which must be a single path component */
	OP_NAME2 = 2,  /* the call needs a second name */
	OP_DATA = 4,   /* the call needs data in the arena */
	OP_B = 8,      /* the call needs a second object */
	OP_XNAME = 16, /* the name in the call names an extended attribute */
};

static const struct {
	helper_op_fn *fn;
	unsigned needs;
} ops[HELPER_OP_MAX] = {
	[HELPER_LOOKUP] = {helper_op_lookup, OP_NAME},
	[HELPER_OPEN_PATH] = {helper_op_open_path, 0},
	[HELPER_OPEN] = {helper_op_open, OP_DATA},
	[HELPER_CREATE] = {helper_op_create, OP_NAME},
	[HELPER_TMPFILE] = {helper_op_tmpfile, 0},
	[HELPER_MKNOD] = {helper_op_mknod, OP_NAME},
	[HELPER_MKDIR] = {helper_op_mkdir, OP_NAME},
	[HELPER_SYMLINK] = {helper_op_symlink, OP_NAME | OP_DATA},
	[HELPER_LINK] = {helper_op_link, OP_NAME | OP_B},
	[HELPER_UNLINK] = {helper_op_unlink, OP_NAME},
	[HELPER_RMDIR] = {helper_op_rmdir, OP_NAME},
	[HELPER_RENAME] = {helper_op_rename, OP_NAME | OP_NAME2 | OP_B},
	[HELPER_SETATTR] = {helper_op_setattr, 0},
	[HELPER_GETATTR] = {helper_op_getattr, 0},
	[HELPER_READLINK] = {helper_op_readlink, OP_DATA},
	[HELPER_GETXATTR] = {helper_op_getxattr, OP_XNAME | OP_DATA},
	[HELPER_LISTXATTR] = {helper_op_listxattr, OP_DATA},
	[HELPER_SETXATTR] = {helper_op_setxattr, OP_XNAME | OP_DATA},
	[HELPER_REMOVEXATTR] = {helper_op_removexattr, OP_XNAME},
	[HELPER_READDIR] = {helper_op_readdir, OP_DATA},
	[HELPER_READDIRPLUS] = {helper_op_readdirplus, OP_DATA},
	[HELPER_STATFS] = {helper_op_statfs, OP_DATA},
	[HELPER_APPEND] = {helper_op_append, OP_DATA},
	[HELPER_WRITE] = {helper_op_write, OP_DATA},
	[HELPER_FALLOCATE] = {helper_op_fallocate, 0},
	[HELPER_COPY] = {helper_op_copy, OP_B},
	[HELPER_LSEEK] = {helper_op_lseek, 0},
	[HELPER_FSYNC] = {helper_op_fsync, 0},
	[HELPER_CLOSE] = {helper_op_close, 0},
};

static bool name_is_one(const char *name, bool xattr)
{
	size_t len = strnlen(name, HELPERS_NAME_MAX);

	if (len == 0 || len >= HELPERS_NAME_MAX)
		return false;
	return xattr || !memchr(name, '/', len);
}

/* Returns whether the name is "." or "..", which cannot be created or removed. Only LOOKUP accepts
 * "..". */
static bool name_is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int call_check(const struct helper *self)
{
	const struct helper_call *c = &self->call;
	uintptr_t at = (uintptr_t)c->data - self->arena;
	unsigned needs;

	if ((unsigned)c->op >= HELPER_OP_MAX || !ops[c->op].fn)
		return -ENOSYS;
	needs = ops[c->op].needs;
	if (needs & (OP_NAME | OP_XNAME) && !name_is_one(c->name, needs & OP_XNAME))
		return -EINVAL;
	if (needs & OP_NAME2 && !name_is_one(c->name2, false))
		return -EINVAL;
	if (needs & OP_NAME && c->op != HELPER_LOOKUP &&
	    (name_is_dots(c->name) || (needs & OP_NAME2 && name_is_dots(c->name2))))
		return -EINVAL;
	if (needs & OP_DATA && c->data_size > 0 &&
	    (at > self->arena_bytes || c->data_size > self->arena_bytes - at))
		return -EFAULT;
	return 0;
}

/* Returns a descriptor for the object: the descriptor in the reference, or one that this function
 * opens for the call and also stores in *ret_own. */
static int ref_open(struct helper *self, const struct helper_ref *ref, int *ret_own)
{
	if (ref->fd >= 0)
		return ref->fd;
	/* Open the handle with the helper's privilege, because the user may have no right to look
	 * up the object. */
	helper_creds_restore(self);
	*ret_own = helper_open_signed(self, ref->handle, ref->len);
	return *ret_own;
}

static int call_do(struct helper *self)
{
	const struct helper_call *c = &self->call;
	autoclose int own_a = -1, own_b = -1;
	int a, b = -1, r;

	a = ref_open(self, &c->a, &own_a);
	if (a < 0)
		return a;
	if (ops[c->op].needs & OP_B) {
		b = ref_open(self, &c->b, &own_b);
		if (b < 0)
			return b;
	}
	r = helper_groups_set(self, a, b);
	if (r == 0)
		r = helper_creds(self);
	if (r < 0)
		return r; /* do not continue, because the call would run as another user */
	r = ops[c->op].fn(self, a, b);
	helper_locks_drop(self);
	return r;
}

static int call_claim_and_run(struct helper *self)
{
	const struct helper_call *c = &self->call;
	int r = 0;

	if (c->record) {
		if (!journal_contains(&self->journal, c->record))
			return -EFAULT;
		r = journal_claim(&self->claim, c->record, c->ticket, self->owner);
		if (r < 0)
			return r;
		self->suspect = r == 1;
	}
	r = call_check(self);
	if (r == 0)
		r = call_do(self);
	/* After these errors the call has made no change, because the kernel allocates a descriptor
	 * before any change. But if an earlier run of the call has an unknown outcome (suspect),
	 * the earlier run may have made the change. */
	if ((r == -EAGAIN && c->flags & HELPER_EXPECT) ||
	    ((r == -EMFILE || r == -ENFILE) && !self->suspect)) {
		if (self->claim.rec) /* the worker will retry */
			journal_return(&self->claim, c->ticket);
		return r;
	}
	/* An earlier attempt of this request may have made the change, and this attempt has failed
	 * before it could find out. */
	if (self->suspect)
		self->result.flags |= HELPER_RESULT_UNKNOWN;
	return self->result.flags & HELPER_RESULT_UNKNOWN ? -EIO : r;
}

void helper_call_run(struct helper *self, struct helper_call *shared)
{
	self->call = *shared;
	self->shared = shared;
	self->result = (struct helper_result){};
	self->fd = -1;
	self->claim = (struct journal_claim){};
	self->suspect = false;
	self->result.error = call_claim_and_run(self);
	if (self->claim.rec)
		journal_done(&self->claim, &self->result);
	shared->result = self->result;
	shared->fd = self->fd;
}
