/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets the identity of requests: maps user and group, decides which privileges a helper may use,
 * and sets the identity with which this thread writes. fuse_rights.c does the mapping; the file
 * system checks the permissions.
 */
#include "dataplane/fuse/server/request/server_request.h"
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>

/* ------------------------------------------------------------------ the thread */

/* Sets the capabilities again after a change of the user id, which may have cleared some. */
static int caps_put(struct fuse_server *srv, bool writer)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {};

	for (unsigned i = 0; i < 2; i++)
		data[i].permitted = data[i].effective = srv->permitted[i];
	/* Drop CAP_SYS_RESOURCE, with which a write would exceed quotas and use reserved space. */
	data[CAP_SYS_RESOURCE / 32].effective &= ~(1U << CAP_SYS_RESOURCE % 32);
	/* Drop CAP_FSETID for a write, so that the write clears set-id bits. */
	if (writer)
		data[CAP_FSETID / 32].effective &= ~(1U << CAP_FSETID % 32);
	srv->caps_valid = syscall(SYS_capset, &head, data) == 0;
	srv->caps_of_writer = writer;
	return srv->caps_valid ? 0 : -errno;
}

int server_creds_init(struct fuse_server *srv)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {};

	if (syscall(SYS_capget, &head, data) < 0)
		return -errno;
	for (unsigned i = 0; i < 2; i++)
		srv->permitted[i] = data[i].permitted;
	fuse_ids_get(&srv->ids);
	return caps_put(srv, false);
}

bool server_creds_are(const struct fuse_server *srv, uint32_t uid, uint32_t gid)
{
	/* Compare the capabilities too: a client's user may have the ids of the worker, but must
	 * not get its privileges. */
	return uid == srv->ids.uid && gid == srv->ids.gid && srv->caps_valid &&
	       srv->caps_of_writer == (uid != 0);
}

int server_creds_set(struct fuse_server *srv, uint32_t uid, uint32_t gid)
{
	int r = fuse_ids_set(&srv->ids, uid, gid);

	return r < 0 ? r : caps_put(srv, uid != 0);
}

/* ------------------------------------------------------------------ requests */

/* Returns whether the request needs no permission check, because it uses an object that was opened
 * before, or only reads attributes of the object itself. */
static bool needs_no_check(uint32_t opcode)
{
	switch (opcode) {
	case FUSE_INIT:
	case FUSE_DESTROY:
	case FUSE_STATFS:
	case FUSE_GETATTR:
	case FUSE_READ:
	case FUSE_READDIR:
	case FUSE_FSYNC:
	case FUSE_FSYNCDIR:
	case FUSE_LSEEK:
	case FUSE_FLUSH:
	case FUSE_GETLK:
	case FUSE_SETLK:
	case FUSE_SETLKW:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		return true;
	default:
		return false;
	}
}

static bool is_data_op(uint32_t opcode)
{
	return opcode == FUSE_WRITE || opcode == FUSE_FALLOCATE || opcode == FUSE_COPY_FILE_RANGE;
}

/* Maps the users and groups in the arguments to ids of this host. */
static int map_args(struct server_req *q, const struct fuse_rights *rights)
{
	struct fuse_setattr_in *set = (void *)(q->in + 1);
	const struct { /* the short form of struct fuse_setxattr_in, because FUSE_SETXATTR_EXT is
			  never negotiated */
		uint32_t size, flags;
	} *in = server_req_arg(q);
	char *name;
	int r = 0;

	if (q->in->opcode == FUSE_SETATTR) {
		if (set->valid & FATTR_UID)
			r = fuse_rights_uid_in(rights, set->uid, &set->uid);
		if (r == 0 && set->valid & FATTR_GID)
			r = fuse_rights_gid_in(rights, set->gid, &set->gid);
	} else if (q->in->opcode == FUSE_SETXATTR) {
		name = (char *)(q->in + 1) + sizeof(*in);
		if (fuse_rights_is_acl(name))
			r = fuse_rights_acl_in(rights, name + strlen(name) + 1, in->size);
	}
	return r;
}

int server_rights_enter(struct server_req *q)
{
	const struct fuse_rights *rights = &q->client->rights;
	struct fuse_rights_ids ids;
	int r;

	if (q->ids_mapped)
		return 0;
	ids = fuse_rights_ids(rights, q->in->uid, q->in->gid);
	r = map_args(q, rights);
	if (r < 0)
		return r;
	q->ids_mapped = true;
	q->in->uid = ids.uid;
	q->in->gid = ids.gid;
	if (is_data_op(q->in->opcode)) {
		q->helper_flags = ids.uid == 0 ? 0 : HELPER_KILL_PRIV;
	} else if (ids.checked && !needs_no_check(q->in->opcode)) {
		q->helper_flags = HELPER_CHECK_PERMS | (ids.squashed ? 0 : HELPER_OBJECT_GROUPS);
		if (q->args.flags & FUSE_PROTO_REQ_REOPEN)
			q->helper_flags |= HELPER_OWNER_MAY_OPEN;
	}
	return 0;
}

void server_rights_attr(const struct server_req *q, const struct fuse_attr *from,
			struct fuse_attr *ret)
{
	const struct fuse_rights *rights = &q->client->rights;

	*ret = *from;
	ret->uid = fuse_rights_uid_out(rights, from->uid);
	ret->gid = fuse_rights_gid_out(rights, from->gid);
}
