/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Life of a request, from its message to its answer, whatever it asks for: checked, answered from
 * memory where it ran before, handed to libfuse, kept.
 */
#include "dataplane/fuse/fuse_back_internal.h"
#include <string.h>
#include <sys/uio.h>

static struct fuse_out_header *req_header(struct back_req *q)
{
	return (struct fuse_out_header *)(back_req_data(q) - sizeof(struct fuse_out_header));
}

/* Capabilities: what the client's kernel uses, which its frontend has told us in INIT. */
static void session_init(void *user, struct fuse_conn_info *conn)
{
	struct fuse_back_client *c = user;

	conn->want = conn->capable &
		     (FUSE_CAP_ASYNC_READ | FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_EXPORT_SUPPORT |
		      FUSE_CAP_DONT_MASK | FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_READDIRPLUS |
		      FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_ASYNC_DIO | FUSE_CAP_PARALLEL_DIROPS |
		      FUSE_CAP_POSIX_ACL | FUSE_CAP_CACHE_SYMLINKS);
	conn->max_write = FUSE_PROTO_MAX_WRITE;
	conn->max_background = FUSE_PROTO_MAX_BACKGROUND;
	c->init_done = true;
}

const struct fuse_lowlevel_ops back_session_ops = {
	.init = session_init,
	.lookup = back_op_lookup,
	.getattr = back_op_getattr,
	.setattr = back_op_setattr,
	.readlink = back_op_readlink,
	.mknod = back_op_mknod,
	.mkdir = back_op_mkdir,
	.symlink = back_op_symlink,
	.link = back_op_link,
	.unlink = back_op_unlink,
	.rmdir = back_op_rmdir,
	.rename = back_op_rename,
	.statfs = back_op_statfs,
	.open = back_op_open,
	.create = back_op_create,
	.release = back_op_release,
	.read = back_op_read,
	.write = back_op_write,
	.fsync = back_op_fsync,
	.fallocate = back_op_fallocate,
	.lseek = back_op_lseek,
	.copy_file_range = back_op_copy,
	.opendir = back_op_opendir,
	.readdir = back_op_readdir,
	.readdirplus = back_op_readdirplus,
	.releasedir = back_op_releasedir,
	.fsyncdir = back_op_fsyncdir,
	.getxattr = back_op_getxattr,
	.listxattr = back_op_listxattr,
	.removexattr = back_op_removexattr,
};

static void req_unlink(struct back_req *q)
{
	struct fuse_back *b = q->client->back;

	*(q->prev ? &q->prev->next : &b->active) = q->next;
	if (q->next)
		q->next->prev = q->prev;
	b->n_active--;
}

/* The answer stands in q's buffer: keeps it where needed, sends it, ends the request. */
static void req_finish(struct back_req *q, int error, size_t len)
{
	struct fuse_back_client *c = q->client;
	struct fuse_back *b = c->back;
	struct state_answer *a = q->answer;

	*req_header(q) = (struct fuse_out_header){
		.len = (uint32_t)(sizeof(struct fuse_out_header) + len),
		.error = error,
		.unique = q->unique,
	};
	q->replied = true;
	if (a && a->unique == q->unique) {
		a->error = error;
		a->len = (uint32_t)MIN_OF(len, STATE_ANSWER_BYTES_MAX);
		memcpy(a->body, back_req_data(q), a->len);
		state_publish(&a->state, (uint32_t)STATE_ANSWER_DONE);
	}
	launch_stat_add(&b->stats->responses, 1);
	if (error == -EIO)
		launch_stat_add(&b->stats->request_errors, 1);
	req_unlink(q);
	buf_pool_put(&b->requests, q->in);
	q->in = NULL;
	q->client = NULL;
	c->now = NULL;
	if (--c->n_reqs == 0 && c->gone) {
		c->next_dying = b->dying;
		b->dying = c;
	}
	if (q->call)
		rudp_respond(q->call, req_header(q), req_header(q)->len, q);
	else
		fuse_back_sent(b, q);
}

/* libfuse 3.14 has no word for it: direct writes to one file need not wait for each other. */
static void open_flags_add(struct back_req *q)
{
	struct fuse_open_out *out = (void *)back_req_data(q);

	if (q->in->opcode == FUSE_CREATE)
		out = (void *)(back_req_data(q) + sizeof(struct fuse_entry_out));
	if (q->in->opcode == FUSE_OPEN || q->in->opcode == FUSE_CREATE)
		out->open_flags |= FOPEN_PARALLEL_DIRECT_WRITES;
}

ssize_t back_session_writev(int fd, struct iovec *iov, int count, void *user)
{
	struct fuse_back_client *c = user;
	const struct fuse_out_header *out = iov[0].iov_base;
	struct back_req *q = c->now;
	size_t total = sizeof(*out), len = 0;

	if (!q || q->replied || count < 1 || iov[0].iov_len != sizeof(*out)) {
		errno = ENOENT; /* nobody waits: libfuse makes nothing of it */
		return -1;
	}
	for (int i = 1; i < count; i++) {
		uint8_t *to = back_req_data(q) + len;

		if (iov[i].iov_len > q->out_max - len) {
			req_finish(q, -EIO, 0);
			return (ssize_t)total;
		}
		if (iov[i].iov_len > 0 && iov[i].iov_base != to) /* not there already */
			memmove(to, iov[i].iov_base, iov[i].iov_len);
		len += iov[i].iov_len;
	}
	total += len;
	if (out->error == 0)
		open_flags_add(q);
	req_finish(q, out->error, len);
	return (ssize_t)total;
}

void back_reply_data(struct back_req *q, size_t len)
{
	if (q->fuse)
		fuse_reply_buf(back_req_fuse(q), (const char *)back_req_data(q), len);
	else
		req_finish(q, 0, len);
}

void back_reply_err(struct back_req *q, int err)
{
	if (q->fuse)
		fuse_reply_err(back_req_fuse(q), err);
	else
		req_finish(q, -err, 0);
}

static bool req_changes(const struct back_req *q)
{
	const struct fuse_open_in *open = back_req_arg(q);

	switch (q->in->opcode) {
	case FUSE_SETATTR:
	case FUSE_SYMLINK:
	case FUSE_MKNOD:
	case FUSE_MKDIR:
	case FUSE_UNLINK:
	case FUSE_RMDIR:
	case FUSE_RENAME:
	case FUSE_RENAME2:
	case FUSE_LINK:
	case FUSE_WRITE:
	case FUSE_SETXATTR:
	case FUSE_REMOVEXATTR:
	case FUSE_CREATE:
	case FUSE_TMPFILE:
	case FUSE_FALLOCATE:
	case FUSE_COPY_FILE_RANGE:
		return true;
	case FUSE_OPEN:
		return (open->flags & O_ACCMODE) != O_RDONLY || open->flags & O_TRUNC;
	default:
		return false;
	}
}

/* A request that must not run twice: the kept answer if it ran. True: answered. */
static bool req_repeat(struct back_req *q, bool again)
{
	struct back_mount *m = q->mount;
	struct state_answer *a = again ? back_answer_find(m, q->unique) : NULL;

	if (a && a->opcode != q->in->opcode) {
		back_reply_err(q, EINVAL);
		return true;
	}
	if (a && a->state != STATE_ANSWER_STARTED) {
		memcpy(back_req_data(q), a->body, a->len);
		req_finish(q, a->error, a->error ? 0 : a->len);
		return true;
	}
	q->redo = a != NULL;
	q->answer = a ? a : back_answer_new(m, q->unique, q->in->opcode);
	if (!q->answer)
		back_reply_err(q, ENOMEM);
	return !q->answer;
}

static void req_run(struct back_req *q, bool again)
{
	struct fuse_back_client *c = q->client;
	uint32_t opcode = q->in->opcode;
	struct fuse_buf buf = {.mem = q->in, .size = q->in_len};

	if (!c->init_done && opcode != FUSE_INIT) {
		back_reply_err(q, EIO);
		return;
	}
	if (c->read_only && req_changes(q)) {
		back_reply_err(q, EROFS);
		return;
	}
	if (fuse_back_check_is_once(q->in, q->in_len) && req_repeat(q, again))
		return;
	if (opcode == FUSE_SETXATTR) {
		back_setxattr(q);
		return;
	}
	if (opcode == FUSE_DESTROY)
		q->mount->gone = true;
	if (opcode == FUSE_TMPFILE) { /* which libfuse 3.14 does not know, but it looks like this */
		q->in->opcode = FUSE_CREATE;
		q->tmpfile = true;
	}
	c->now = q;
	fuse_session_process_buf(c->session, &buf);
}

/* False: there is no buffer for its answer at present. */
static bool req_start(struct fuse_back_client *c, struct rudp_call *call, struct fuse_in_header *in,
		      size_t len)
{
	struct fuse_back *b = c->back;
	size_t out_max = fuse_back_check_reply_bytes(in, len);
	uint8_t *data = buf_pool_get(&b->answers, out_max);
	struct back_req *q;
	bool again = in->unique & FUSE_PROTO_UNIQUE_RESEND;

	if (!data)
		return false;
	q = (struct back_req *)(data - BUF_HEADROOM_BYTES);
	*q = (struct back_req){
		.next = b->active,
		.client = c,
		.mount = c->mount,
		.call = call,
		.in = in,
		.in_len = len,
		.out_max = out_max,
		.unique = in->unique & ~FUSE_PROTO_UNIQUE_RESEND,
	};
	in->unique = q->unique;
	if (q->next)
		q->next->prev = q;
	b->active = q;
	b->n_active++;
	c->n_reqs++;
	c->mount->n_refs++;
	rudp_call_set_user(call, q);
	req_run(q, again);
	return true;
}

static const uint8_t nothing[1];

static void respond_error(struct rudp_call *call, const void *buf, size_t len, int err,
			  struct fuse_back *b)
{
	struct fuse_out_header *out = buf_pool_get(&b->answers, sizeof(*out));
	struct fuse_in_header in = {};
	struct back_req *q;

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
	q = (struct back_req *)((uint8_t *)out - BUF_HEADROOM_BYTES);
	*q = (struct back_req){};
	rudp_respond(call, out, sizeof(*out), q);
}

static void req_mute(struct fuse_back_client *c, const struct fuse_in_header *in, size_t len)
{
	struct back_mount *m = c->mount;
	const void *arg = in + 1;

	if (in->opcode == FUSE_FORGET) {
		const struct fuse_forget_in *f = arg;

		back_node_forget(m, in->nodeid, f->nlookup);
	} else if (in->opcode == FUSE_BATCH_FORGET) {
		const struct fuse_batch_forget_in *f = arg;
		const struct fuse_forget_one *one = (const void *)(f + 1);

		for (uint32_t i = 0; i < f->count; i++)
			back_node_forget(m, one[i].nodeid, one[i].nlookup);
	}
	/* INTERRUPT: nothing here waits for anything but the disk. */
}

/* A request that comes again while its first copy is still at work takes the first one's place:
 * the answer goes to the new call. */
static bool req_adopt(struct fuse_back_client *c, struct rudp_call *call,
		      const struct fuse_in_header *in)
{
	struct fuse_back *b = c->back;
	uint64_t unique = in->unique & ~FUSE_PROTO_UNIQUE_RESEND;

	for (struct back_req *q = b->active; q; q = q->next) {
		if (q->mount != c->mount || q->unique != unique)
			continue;
		if (q->call)
			rudp_respond(q->call, nothing, 0, NULL);
		q->call = call;
		rudp_call_set_user(call, q);
		return true;
	}
	for (struct back_wait *w = b->wait_head; w; w = w->next) {
		struct fuse_in_header *win = (void *)((uint8_t *)w + BUF_HEADROOM_BYTES);

		if (w->client->mount != c->mount ||
		    (win->unique & ~FUSE_PROTO_UNIQUE_RESEND) != unique)
			continue;
		rudp_respond(w->call, nothing, 0, NULL);
		w->call = call;
		w->client = c;
		rudp_call_set_user(call, NULL);
		return true;
	}
	return false;
}

void fuse_back_request(struct fuse_back_client *c, struct rudp_call *call, void *buf, size_t len)
{
	struct fuse_back *b = c->back;
	struct fuse_in_header *in = buf;
	struct back_wait *w;
	int r = fuse_back_check(buf, len);

	launch_stat_add(&b->stats->requests, 1);
	rudp_call_set_user(call, NULL);
	if (r == 0 && c->mount->gone)
		r = -EIO;
	if (r < 0) {
		if (r == -EBADMSG)
			launch_stat_add(&b->stats->request_errors, 1);
		respond_error(call, buf, len, r == -EBADMSG ? -EIO : r, b);
		buf_pool_put(&b->requests, buf);
		return;
	}
	if (fuse_back_check_is_mute(in->opcode)) {
		if (c->init_done)
			req_mute(c, in, len);
		rudp_respond(call, nothing, 0, NULL);
		buf_pool_put(&b->requests, buf);
		return;
	}
	if (in->unique & FUSE_PROTO_UNIQUE_RESEND && req_adopt(c, call, in)) {
		buf_pool_put(&b->requests, buf);
		return;
	}
	if (!b->wait_head && req_start(c, call, in, len))
		return;
	w = (struct back_wait *)((uint8_t *)buf - BUF_HEADROOM_BYTES);
	*w = (struct back_wait){.client = c, .call = call, .len = len};
	*b->wait_tail = w;
	b->wait_tail = &w->next;
	b->n_wait++;
}

static void wait_remove(struct fuse_back *b, struct back_wait **p)
{
	struct back_wait *w = *p;

	*p = w->next;
	if (b->wait_tail == &w->next)
		b->wait_tail = p;
	b->n_wait--;
}

void back_wait_run(struct fuse_back *b)
{
	while (b->wait_head) {
		struct back_wait w = *b->wait_head;
		uint8_t *buf = (uint8_t *)b->wait_head + BUF_HEADROOM_BYTES;

		/* Out of the queue first: what starts may end at once and come back here. */
		if (!buf_pool_fits(&b->answers, fuse_back_check_reply_bytes(buf, w.len)))
			return;
		wait_remove(b, &b->wait_head);
		req_start(w.client, w.call, (struct fuse_in_header *)buf, w.len);
	}
}

void back_wait_drop(struct fuse_back *b, const struct fuse_back_client *c,
		    const struct rudp_call *call)
{
	struct back_wait **p = &b->wait_head;

	while (*p) {
		struct back_wait *w = *p;

		if (w->client != c || (call && w->call != call)) {
			p = &w->next;
			continue;
		}
		wait_remove(b, p);
		buf_pool_put(&b->requests, (uint8_t *)w + BUF_HEADROOM_BYTES);
	}
}

void fuse_back_call_gone(struct fuse_back_client *c, struct rudp_call *call)
{
	struct back_req *q = rudp_call_user(call);

	if (q)
		q->call = NULL;
	else
		back_wait_drop(c->back, c, call);
}

void fuse_back_sent(struct fuse_back *b, void *token)
{
	struct back_req *q = token;

	if (!q)
		return;
	if (q->answer && q->call && q->answer->unique == q->unique)
		state_publish(&q->answer->state, (uint32_t)STATE_ANSWER_ACKED);
	if (q->mount) {
		q->mount->n_refs--;
		back_mount_put(q->mount);
	}
	buf_pool_put(&b->answers, back_req_data(q));
}
