/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of a request: check, replay from the journal if it ran before, dispatch to its
 * operation, reply.
 */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "dataplane/fuse/server/server_helper.h"
#include "dataplane/fuse/server/server_lease.h"
#include "dataplane/fuse/server/server_mount.h"
#include "dataplane/fuse/server/server_quota.h"
#include "dataplane/fuse/server/server_rdma.h"
#include "dataplane/fuse/server/server_reply.h"
#include "netcfg/base/log.h"
#include <string.h>

static struct fuse_out_header *req_header(struct server_req *q)
{
	return (struct fuse_out_header *)(server_req_data(q) - sizeof(struct fuse_out_header));
}

static void req_unlink(struct server_req *q)
{
	struct fuse_server *srv = q->client->server;

	*(q->prev ? &q->prev->next : &srv->active) = q->next;
	if (q->next)
		q->next->prev = q->prev;
	srv->n_active--;
}

/* Releases the request's files and buffer. */
static void req_release(struct server_req *q)
{
	if (q->file)
		server_file_put(q->file);
	if (q->file2)
		server_file_put(q->file2);
	buf_pool_put(&q->client->server->answers, q->temp);
	q->file = q->file2 = NULL;
	q->temp = NULL;
}

/* Logs only the first error of a session, because a failing disk fails often. */
static void log_first_error(struct fuse_server_client *c, uint32_t opcode)
{
	if (!c->failed)
		log_warning("%s: FUSE request (opcode %u) failed: Input/output error", c->host,
			    opcode);
	c->failed = true;
}

void server_req_finish(struct server_req *q, int error, size_t len, size_t tail_len)
{
	struct fuse_server_client *c = q->client;
	struct fuse_server *srv = c->server;

	*req_header(q) = (struct fuse_out_header){
		.len = (uint32_t)(sizeof(struct fuse_out_header) + len),
		.error = error,
		.unique = q->unique,
	};
	server_lease_changed(q);
	/* No helper has started the request, so its record is free again. */
	if (q->record && q->ticket && !q->submitted)
		journal_cancel(q->record, q->ticket);
	req_release(q);
	launch_stat_add(&srv->stats->responses, 1);
	if (error == -EIO) {
		launch_stat_add(&srv->stats->request_errors, 1);
		log_first_error(c, q->in->opcode);
	}
	req_unlink(q);
	buf_pool_put(&srv->requests, q->in);
	q->in = NULL;
	q->client = NULL;
	if (--c->n_reqs == 0 && c->gone) {
		c->next_dying = srv->dying;
		srv->dying = c;
	}
	if (q->call)
		rudp_respond(q->call, req_header(q), req_header(q)->len + tail_len, q);
	else
		fuse_server_sent(srv, q);
}

/* The features that this client may use. */
static uint32_t features_of(const struct fuse_server_client *c, uint32_t asked)
{
	const struct fuse_rights *r = &c->rights;
	bool judged = r->squash != LAUNCH_SQUASH_NONE || r->n_uids > 0 || r->n_gids > 0;

	return asked & FUSE_PROTO_FEATURES &
	       ~(judged || c->read_only ? FUSE_PROTO_FEATURE_TOUCH : 0U) &
	       ~(judged ? FUSE_PROTO_FEATURE_NAMES : 0U); /* every open needs a permission check */
}

/* Only valid as the first request of a session. The client already relies on the flags that it
 * sent; the check has ensured that the version and all flags are supported. */
static void op_init(struct server_req *q)
{
	const struct fuse_init_in *in = server_req_arg(q);

	if (q->client->init_done || q->client->number < q->mount->served_by) {
		server_reply_err(q, EIO);
		return;
	}
	q->client->init_done = true;
	server_mount_attach(q->mount, q->client);
	q->client->features = features_of(q->client, in->unused[0]);
	server_reply_init(q);
}

static void op_destroy(struct server_req *q)
{
	q->mount->gone = true;
	server_reply_err(q, 0);
}

/* The operations that pass the check and need a reply; server_check.c has a rule for each. */
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
	[FUSE_FALLOCATE] = server_op_fallocate,
	[FUSE_LSEEK] = server_op_lseek,
	[FUSE_COPY_FILE_RANGE] = server_op_copy,
};

/* Whether the request changes anything. */
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

/* Handles requests that must not run twice, and repeated opens. True: replied or queued. */
static bool req_once(struct server_req *q)
{
	struct server_file *f = q->resent && server_req_opens(q) ? server_file_opened(q) : NULL;

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
		/* A helper may have executed it after its worker's end, when the worker no
		 * longer prevented leases on what the request changes. */
		if (!server_lease_change(q)) {
			q->record = NULL;
			server_req_requeue(q);
			return true;
		}
		server_op_replay(q, &q->record->result);
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
	if (opcode != FUSE_INIT && !(q->args.flags & FUSE_PROTO_REQ_REOPEN))
		server_mount_reclaimed(q->mount);
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

void server_req_requeue(struct server_req *q)
{
	struct fuse_server *srv = q->client->server;

	q->retry = NULL;
	*srv->retry_tail = q;
	srv->retry_tail = &q->retry;
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
}

bool server_req_start(struct fuse_server_client *c, struct rudp_call *call,
		      struct fuse_in_header *in, size_t len, const struct fuse_server_args *args)
{
	struct fuse_server *srv = c->server;
	size_t out_max = fuse_server_check_reply_bytes(in);
	uint8_t *data = server_wait_buffer(c, out_max);
	struct server_req *q;

	if (!data)
		return false;
	q = (struct server_req *)(data - BUF_HEADROOM_BYTES);
	*q = (struct server_req){
		.next = srv->active,
		.client = c,
		.mount = c->mount,
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
	c->mount->n_refs++;
	rudp_call_set_user(call, q);
	req_run(q);
	return true;
}

static const uint8_t nothing[1];

void server_req_refuse(struct fuse_server *srv, struct rudp_call *call, const void *buf, size_t len,
		       int err)
{
	struct fuse_out_header *out = buf_pool_get(&srv->answers, sizeof(*out));
	struct fuse_in_header in = {};
	struct server_req *q;

	memcpy(&in, buf, MIN_OF(len, sizeof(in)));
	if (!out) {
		rudp_respond(call, nothing, 0, NULL);
		return;
	}
	*out = (struct fuse_out_header){
		.len = sizeof(*out),
		.error = err,
		.unique = in.unique & ~FUSE_PROTO_UNIQUE_RESEND,
	};
	q = (struct server_req *)((uint8_t *)out - BUF_HEADROOM_BYTES);
	*q = (struct server_req){};
	rudp_respond(call, out, sizeof(*out), q);
}

/* A repetition of a request that is still running takes over its reply. */
static bool req_adopt(struct fuse_server_client *c, struct rudp_call *call,
		      const struct fuse_in_header *in)
{
	struct fuse_server *srv = c->server;
	uint64_t unique = in->unique & ~FUSE_PROTO_UNIQUE_RESEND;
	struct rudp_call *former;

	for (struct server_req *q = srv->active; q; q = q->next) {
		if (q->mount != c->mount || q->unique != unique)
			continue;
		if (q->call)
			rudp_respond(q->call, nothing, 0, NULL);
		q->call = call;
		q->bulk_stale = true;
		rudp_call_set_user(call, q);
		return true;
	}
	if (!server_wait_move(c, call, unique, &former))
		return false;
	rudp_respond(former, nothing, 0, NULL);
	rudp_call_set_user(call, NULL);
	return true;
}

/* Cancels the request if no helper has started it. */
static void req_interrupt(struct fuse_server_client *c, const struct fuse_in_header *in)
{
	const struct fuse_interrupt_in *arg = (const void *)(in + 1);
	struct fuse_server *srv = c->server;
	struct server_wait w;
	void *buf;

	for (struct server_req *q = srv->active; q; q = q->next)
		if (q->mount == c->mount && q->unique == arg->unique && q->helper_call) {
			server_helper_interrupt(q);
			return;
		}
	buf = server_wait_take(c->mount, arg->unique, &w);
	if (!buf)
		return;
	server_req_refuse(srv, w.call, buf, w.len, -EINTR);
	buf_pool_put(&srv->requests, buf);
}

void fuse_server_request(struct fuse_server_client *c, struct rudp_call *call, void *buf,
			 size_t len)
{
	struct fuse_server *srv = c->server;
	struct fuse_in_header *in = buf;
	struct fuse_server_args args;
	int r;

	launch_stat_add(&srv->stats->requests, 1);
	rudp_call_set_user(call, NULL);
	/* The mount's client has opened a newer session and sends its unanswered requests there,
	 * so a request that still arrives here would run twice. */
	if (PLENUM_UNLIKELY(c->number < c->mount->served_by)) {
		rudp_respond(call, nothing, 0, NULL);
		buf_pool_put(&srv->requests, buf);
		return;
	}
	if (len >= sizeof(*in) && in->opcode == FUSE_PROTO_RDMA) {
		server_rdma_ask(c, call, buf, len);
		return;
	}
	if (len >= sizeof(*in) && in->opcode == FUSE_PROTO_RDMA_PING) {
		server_ping_ask(c, call, buf, len);
		return;
	}
	r = fuse_server_check(buf, len, &args);
	if (r == 0 && c->mount->gone)
		r = -EIO;
	if (r < 0) {
		if (r == -EBADMSG)
			launch_stat_add(&srv->stats->request_errors, 1);
		server_req_refuse(srv, call, buf, len, r == -EBADMSG ? -EIO : r);
		buf_pool_put(&srv->requests, buf);
		return;
	}
	if (in->opcode == FUSE_INTERRUPT) {
		req_interrupt(c, in);
		rudp_respond(call, nothing, 0, NULL);
		buf_pool_put(&srv->requests, buf);
		return;
	}
	if (args.flags & FUSE_PROTO_REQ_BULK && in->opcode == FUSE_WRITE)
		server_rdma_fetch(c, call, buf, len, &args);
	else
		server_req_take(c, call, buf, len, &args);
}

void server_req_take(struct fuse_server_client *c, struct rudp_call *call, void *buf, size_t len,
		     const struct fuse_server_args *args)
{
	struct fuse_server *srv = c->server;
	struct fuse_in_header *in = buf;

	if (in->unique & FUSE_PROTO_UNIQUE_RESEND && req_adopt(c, call, in)) {
		buf_pool_put(&srv->requests, buf);
		return;
	}
	if (!server_req_start(c, call, in, len, args))
		server_wait_add(c, call, buf, len);
}

void fuse_server_call_cancelled(struct fuse_server_client *c, struct rudp_call *call)
{
	struct server_req *q = rudp_call_user(call);

	if (q) {
		q->call = NULL;
		return;
	}
	server_wait_drop(c->server, c, call);
	server_rdma_call_gone(c->server, call);
	server_ping_call_gone(c->server, call);
}

void fuse_server_sent(struct fuse_server *srv, void *token)
{
	struct server_req *q = token;

	if (!q)
		return;
	if (q->record && q->call && q->record->unique == q->unique)
		journal_ack(q->record);
	if (q->mount) {
		q->mount->n_refs--;
		server_mount_put(q->mount);
	}
	buf_pool_put(&srv->answers, server_req_data(q));
	srv->wait_due = true;
}
