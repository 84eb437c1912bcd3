/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executes requests. If a request was executed before, replies with the recorded outcome. Otherwise
 * checks what the client may do, and calls the operation of the opcode.
 */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "dataplane/fuse/server/objects/server_lease.h"
#include "dataplane/fuse/server/objects/server_locks.h"
#include "dataplane/fuse/server/objects/server_mount.h"
#include "dataplane/fuse/server/objects/server_write_lease.h"
#include "dataplane/fuse/server/ops/server_ops.h"
#include "dataplane/fuse/server/request/server_fair.h"
#include "dataplane/fuse/server/request/server_quota.h"
#include "dataplane/fuse/server/request/server_reply.h"
#include "dataplane/fuse/server/request/server_source.h"

/* Maximum number of waiting requests that get a helper call in one turn. */
#define CALLS_PER_TURN 64U

/* Returns the features that this client may use. */
static uint32_t features_of(const struct fuse_server_client *c, uint32_t asked)
{
	const struct fuse_rights *r = &c->rights;
	bool judged = r->squash != LAUNCH_SQUASH_NONE || r->n_uids > 0 || r->n_gids > 0;

	return asked & FUSE_PROTO_FEATURES &
	       ~(judged || c->read_only ? FUSE_PROTO_FEATURE_TOUCH : 0U) &
	       /* A client whose permissions the server checks gets no leases on names, because it
		* must ask the server at each open. */
	       ~(judged ? FUSE_PROTO_FEATURE_NAMES : 0U);
}

/* Ends the session. The client sends the request again in its next session. */
static void session_end(struct server_req *q)
{
	if (q->client->session)
		rudp_session_close(q->client->session, clock_now_ns());
	server_reply_err(q, EIO);
}

/* INIT must be the first request of a session: the client already relies on the flags that it has
 * sent. fuse_server_check() has made sure that the server supports the version and all flags. */
static void op_init(struct server_req *q)
{
	const struct fuse_init_in *in = server_req_arg(q);
	int r = 0;

	if (q->client->init_done || q->client->number < q->mount->served_by) {
		server_reply_err(q, EIO);
		return;
	}
	q->client->features = features_of(q->client, in->unused[0]);
	if (!(q->client->features & FUSE_PROTO_FEATURE_LOCKS))
		q->client->features &= ~FUSE_PROTO_FEATURE_RECLAIM;
	if (q->client->features & FUSE_PROTO_FEATURE_LOCKS)
		r = server_locks_join(q->mount, q->client->features & FUSE_PROTO_FEATURE_RECLAIM);
	/* Retry instead of answering without this feature: the client would believe that its locks
	 * are lost. */
	if (r == -EBUSY) {
		server_req_requeue(q);
		return;
	}
	if (r < 0)
		q->client->features &= ~(FUSE_PROTO_FEATURE_LOCKS | FUSE_PROTO_FEATURE_RECLAIM);
	q->client->init_done = true;
	server_mount_attach(q->mount, q->client);
	server_reply_init(q);
}

static void op_destroy(struct server_req *q)
{
	q->mount->gone = true;
	server_locks_leave(q->mount);
	server_write_leases_drop(q->mount);
	server_reply_err(q, 0);
}

/* The operations that need a reply, by opcode; server_check.c has a rule for each. */
static void (*const req_ops[])(struct server_req *q) = {
	[FUSE_INIT] = op_init,
	[FUSE_DESTROY] = op_destroy,
	[FUSE_LOOKUP] = server_op_lookup,
	[FUSE_GETATTR] = server_op_getattr,
	[FUSE_SETATTR] = server_op_setattr,
	[FUSE_READLINK] = server_op_readlink,
	[FUSE_SYMLINK] = server_op_symlink,
	[FUSE_MKNOD] = server_op_mknod,
	[FUSE_MKDIR] = server_op_mkdir,
	[FUSE_UNLINK] = server_op_remove,
	[FUSE_RMDIR] = server_op_remove,
	[FUSE_RENAME] = server_op_remove,
	[FUSE_RENAME2] = server_op_remove,
	[FUSE_LINK] = server_op_link,
	[FUSE_OPEN] = server_op_open,
	[FUSE_READ] = server_op_read,
	[FUSE_WRITE] = server_op_write,
	[FUSE_STATFS] = server_op_statfs,
	[FUSE_RELEASE] = server_op_release,
	[FUSE_FSYNC] = server_op_fsync,
	[FUSE_SETXATTR] = server_op_setxattr,
	[FUSE_GETXATTR] = server_op_getxattr,
	[FUSE_LISTXATTR] = server_op_listxattr,
	[FUSE_REMOVEXATTR] = server_op_removexattr,
	[FUSE_OPENDIR] = server_op_open,
	[FUSE_READDIR] = server_op_readdir,
	[FUSE_READDIRPLUS] = server_op_readdirplus,
	[FUSE_RELEASEDIR] = server_op_release,
	[FUSE_FSYNCDIR] = server_op_fsyncdir,
	[FUSE_CREATE] = server_op_create,
	[FUSE_TMPFILE] = server_op_create,
	[FUSE_FLUSH] = server_op_flush,
	[FUSE_GETLK] = server_op_getlk,
	[FUSE_SETLK] = server_op_setlk,
	[FUSE_SETLKW] = server_op_setlk,
	[FUSE_FALLOCATE] = server_op_fallocate,
	[FUSE_LSEEK] = server_op_lseek,
	[FUSE_COPY_FILE_RANGE] = server_op_copy,
};

/* Returns whether the request changes anything. */
static bool req_changes(const struct server_req *q)
{
	const struct fuse_open_in *open = server_req_arg(q);

	switch (q->in->opcode) {
	case FUSE_WRITE:
		return true;
	case FUSE_OPEN:
		return (open->flags & O_ACCMODE) != O_RDONLY || open->flags & O_TRUNC;
	default:
		return fuse_server_check_is_non_idempotent(q->in);
	}
}

/* Handles requests that must not be executed twice, and repeated opens. Returns true if the caller
 * must not execute the request: a reply was sent, or the request was queued. */
static bool req_once(struct server_req *q)
{
	struct server_file *f = q->resent && server_req_opens(q) ? server_file_opened(q) : NULL;
	struct helper_result kept;

	if (f) {
		server_open_reply(q, f);
		return true;
	}
	if (!fuse_server_check_is_non_idempotent(q->in) || q->args.flags & FUSE_PROTO_REQ_REOPEN ||
	    q->record)
		return false;
	switch (journal_begin(q->mount->export->journal, q->mount->journal, q->unique,
			      q->in->opcode, q->resent, &q->record, &q->ticket)) {
	case JOURNAL_RUN:
		return false;
	case JOURNAL_ANSWER:
		q->ticket = 0;
		if (!journal_result_get(q->record, &kept)) {
			server_reply_err(q, EIO);
			return true;
		}
		/* A helper may have executed the request after its worker had ended. From then on,
		 * the worker did not prevent new leases on the objects that the request changes. So
		 * wait for these leases too. */
		if (!server_lease_change(q)) {
			q->record = NULL;
			server_req_requeue(q);
			return true;
		}
		server_op_replay(q, &kept);
		return true;
	case JOURNAL_WAIT:
	case JOURNAL_FULL:
		q->record = NULL;
		server_req_requeue(q);
		return true;
	case JOURNAL_MISMATCH:
		break;
	}
	q->record = NULL;
	server_reply_err(q, EINVAL);
	return true;
}

/* Returns whether the mount still has its locks, or never had any. If not, the request ends or is
 * retried. */
static bool keeps_locks(struct server_req *q)
{
	int r;

	if (!(q->client->features & FUSE_PROTO_FEATURE_LOCKS) || q->in->opcode == FUSE_INIT)
		return true;
	r = server_locks_check(q->mount, q->client->server->now_ns);
	if (r == -EAGAIN)
		server_req_requeue(q);
	else if (r < 0)
		session_end(q);
	return r == 0;
}

static void req_run(struct server_req *q)
{
	struct fuse_server_client *c = q->client;
	uint32_t opcode = q->in->opcode;
	int r;

	if (!c->init_done && opcode != FUSE_INIT) {
		server_reply_err(q, EIO);
		return;
	}
	if (c->read_only && req_changes(q)) {
		server_reply_err(q, EROFS);
		return;
	}
	if (!keeps_locks(q))
		return;
	if (opcode != FUSE_INIT && !(q->args.flags & FUSE_PROTO_REQ_REOPEN))
		server_mount_reclaimed(q->mount);
	if (server_write_lease_waits(q)) {
		server_req_requeue(q);
		return;
	}
	if (req_once(q))
		return;
	if (!server_lease_change(q)) {
		server_req_requeue(q);
		return;
	}
	if (server_req_opens(q) && !server_quota_allows(q))
		return;
	r = server_rights_enter(q);
	if (r < 0)
		server_reply_err(q, -r);
	else if (opcode >= ARRAY_SIZE(req_ops) || !req_ops[opcode])
		server_reply_err(q, ENOSYS);
	else
		req_ops[opcode](q);
}

void server_retry_run(struct fuse_server *srv)
{
	struct server_req *q = srv->retry_head, *next;

	srv->retry_head = NULL;
	srv->retry_tail = &srv->retry_head;
	for (; q; q = next) {
		next = q->retry;
		req_run(q);
	}
	for (unsigned n = 0; n < CALLS_PER_TURN && (q = server_fair_next(srv)); n++)
		req_run(q);
}

void server_req_start(struct fuse_server_client *c, struct rudp_call *call,
		      struct fuse_in_header *in, size_t len, const struct fuse_server_args *args,
		      uint8_t *data, size_t out_max)
{
	struct fuse_server *srv = c->server;
	struct server_req *q = (struct server_req *)(data - BUF_HEADROOM_BYTES);
	unsigned n_slots;

	*q = (struct server_req){
		.next = srv->active,
		.client = c,
		.mount = c->mount,
		.from = c->from,
		.class = (uint8_t)buf_pool_class(out_max, &n_slots),
		.call = call,
		.in = in,
		.in_len = len,
		.args = *args,
		.resent = in->unique & FUSE_PROTO_UNIQUE_RESEND,
		.out_max = out_max,
		.unique = in->unique & ~FUSE_PROTO_UNIQUE_RESEND,
		.client_uid = in->uid,
	};
	in->unique = q->unique;
	if (q->next)
		q->next->prev = q;
	srv->active = q;
	srv->n_active++;
	c->n_reqs++;
	c->from->n_running[server_export_index(c->mount->export)]++;
	c->mount->n_refs++;
	server_source_reply_take(q->from, q->class);
	rudp_call_set_user(call, q);
	req_run(q);
}
