/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operations on file locks: SETLK, SETLKW, GETLK and FLUSH. None of them blocks this
 * worker. In the grace period after a reboot of the host, SETLK and GETLK are retried until it
 * ends.
 */
#include "dataplane/fuse/server/objects/server_locks.h"
#include "dataplane/fuse/server/objects/server_mount.h"
#include "dataplane/fuse/server/objects/server_node.h"
#include "dataplane/fuse/server/ops/server_ops.h"
#include "dataplane/fuse/server/request/server_reply.h"
#include "dataplane/fuse/server/request/server_request.h"

/* How long a lock request is retried while another process keeps the lock table reserved. */
#define RETRY_NS (5 * NSEC_PER_SEC)
/* Interval at which a request is tried again in a grace period. */
#define GRACE_RETRY_NS (20 * NSEC_PER_MSEC)

/* Converts the client's request into a request to the lock table. If the client's request is
 * invalid, replies with an error and returns the error. */
static int lock_begin(struct server_req *q, struct lock_request *ret)
{
	const struct fuse_lk_in *in = server_req_arg(q);
	struct server_file *f;
	int r = q->client->features & FUSE_PROTO_FEATURE_LOCKS ? 0 : -ENOLCK;

	if (r == 0)
		r = server_file_get(q, 0, in->fh, false, &f);
	if (r == 0 && in->padding == 0)
		r = -EINVAL;
	if (r < 0) {
		server_reply_err(q, -r);
		return r;
	}
	*ret = (struct lock_request){
		.dev = f->node->dev,
		.ino = f->node->ino,
		.owner = in->owner,
		.flock = in->lk_flags & FUSE_LK_FLOCK,
		.write = in->lk.type == F_WRLCK,
		.start = in->lk.start,
		.end = in->lk.end,
		.pid = in->lk.pid,
		.opener = in->padding,
		.unique = q->unique,
		.fd = f->fd,
	};
	return 0;
}

/*
 * Replies with the result of the lock table. If the mount's lease has expired, ends the session,
 * because the client must learn that before it sends another request. If another process keeps the
 * table reserved, retries the request: for RETRY_NS or, if the request frees a lock, until it
 * succeeds, because the lock would otherwise remain.
 */
static void lock_end(struct server_req *q, int r, bool frees, bool unlocked)
{
	if (r == -EBUSY && (frees || q->client->server->now_ns < q->args.arrived_ns + RETRY_NS)) {
		server_req_requeue(q);
		return;
	}
	if (r == -EBUSY)
		r = -ENOLCK;
	if (r == -ESTALE && q->client->session) {
		rudp_session_close(q->client->session, clock_now_ns());
		r = -EIO;
	}
	if (r < 0)
		server_reply_err(q, -r);
	else
		server_reply_lock(q, unlocked);
}

/* Tries the request again after a pause, because the table cannot grant it now. Retries for
 * RETRY_NS at most, so that waiting requests do not occupy all slots of the mount; the request then
 * fails with `error`. A request whose program got a signal fails at once. */
static void retry(struct server_req *q, int error)
{
	const uint64_t now_ns = q->client->server->now_ns;

	q->lock_try_ns = now_ns + GRACE_RETRY_NS;
	if (q->interrupted)
		server_reply_err(q, EINTR);
	else if (now_ns < q->args.arrived_ns + RETRY_NS)
		server_req_requeue(q);
	else
		lock_end(q, error, false, false);
}

static void set(struct server_req *q, const struct lock_request *ask)
{
	const struct fuse_lk_in *in = server_req_arg(q);
	struct lock_table *t = q->client->server->locks;
	const struct lock_mount_ref *m = &q->mount->locks;
	int r;

	if (in->lk_flags & FUSE_PROTO_LK_RECLAIM) {
		lock_end(q, lock_reclaim(t, m, ask), true, false);
		return;
	}
	if (!q->call) {
		/* The session has ended. The client has sent the request again in another session,
		 * and its program may have freed the lock since. */
		server_reply_err(q, EIO);
		return;
	}
	if (q->client->server->now_ns < q->lock_try_ns) {
		server_req_requeue(q);
		return;
	}
	if (!server_locks_recorded(q->mount)) {
		retry(q, -ENOLCK);
		return;
	}
	r = lock_set(t, m, ask, q->in->opcode == FUSE_SETLKW);
	if (r == -EALREADY)
		retry(q, -EAGAIN); /* the lock may belong to a client that has not reconnected
				      yet */
	else
		lock_end(q, r, false, false);
}

void server_op_setlk(struct server_req *q)
{
	const struct fuse_lk_in *in = server_req_arg(q);
	struct lock_table *t = q->client->server->locks;
	const struct lock_mount_ref *m = &q->mount->locks;
	struct lock_request ask;
	int r;

	if (in->lk_flags & FUSE_PROTO_LK_CANCEL) {
		lock_end(q, lock_cancel(t, m, in->owner), true, false);
		return;
	}
	if (in->lk_flags & FUSE_PROTO_LK_RECLAIMED) {
		lock_end(q, lock_reclaim_end(t, m), true, false);
		return;
	}
	if (lock_begin(q, &ask) < 0)
		return;
	if (in->lk.type != F_UNLCK) {
		set(q, &ask);
		return;
	}
	r = lock_free(t, m, &ask);
	lock_end(q, r, true, r == 0 && !lock_mount_has(t, m, ask.dev, ask.ino));
}

void server_op_getlk(struct server_req *q)
{
	const struct fuse_lk_in *in = server_req_arg(q);
	struct fuse_lk_out *out = (void *)server_req_data(q);
	struct lock_conflict c;
	struct lock_request ask;
	int r;

	if (lock_begin(q, &ask) < 0)
		return;
	if (lock_in_grace(q->client->server->locks)) { /* the holder of the lock may not have
							  reclaimed it yet */
		retry(q, -ENOLCK);
		return;
	}
	r = lock_get(q->client->server->locks, &q->mount->locks, &ask, &c);
	if (r < 0) {
		lock_end(q, r, false, false);
		return;
	}
	*out = (struct fuse_lk_out){.lk = in->lk};
	out->lk.type = F_UNLCK;
	if (r > 0)
		out->lk = (struct fuse_file_lock){.start = c.start,
						  .end = c.end,
						  .type = c.write ? F_WRLCK : F_RDLCK,
						  .pid = c.pid};
	server_reply_data(q, sizeof(*out));
}

void server_op_flush(struct server_req *q)
{
	const struct fuse_flush_in *in = server_req_arg(q);
	struct lock_table *t = q->client->server->locks;
	const struct lock_mount_ref *m = &q->mount->locks;
	struct lock_request ask = {.owner = in->lock_owner};
	struct server_file *f;
	int r;

	if (!(q->client->features & FUSE_PROTO_FEATURE_LOCKS)) {
		server_reply_err(q, ENOSYS);
		return;
	}
	if (in->unused & FUSE_PROTO_FLUSH_OPENER) {
		lock_end(q, lock_free_opener(t, m, (uint32_t)in->lock_owner), true, false);
		return;
	}
	r = server_file_get(q, 0, in->fh, false, &f);
	if (r < 0) {
		server_reply_err(q, -r);
		return;
	}
	ask.dev = f->node->dev;
	ask.ino = f->node->ino;
	r = lock_free_owner(t, m, &ask);
	lock_end(q, r, true, r == 0 && !lock_mount_has(t, m, ask.dev, ask.ino));
}
