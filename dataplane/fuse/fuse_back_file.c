/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open files: opening, creating, and the operations on data, most of them by io_uring so that the
 * core does not wait for a disk.
 */
#include "dataplane/fuse/fuse_back_internal.h"
#include <limits.h>
#include <sys/uio.h>

/* What of a client's open flags means something here. Appending is said with each write, direct
 * I/O is a matter between the application and its own kernel. */
#define FILE_FLAGS_KEPT (O_ACCMODE | O_SYNC | O_DSYNC)
/* Within this time a file can change twice without its times telling. */
#define FILE_TICK_NS (20 * NSEC_PER_MSEC)
#define FILE_COPY_BYTES_MAX (4U << 20) /* at a time: the core does not wait longer */

int back_file_is_there(const struct back_req *q, const struct stat *st)
{
	return st->st_nlink == 0 && !(q->args.flags & FUSE_PROTO_REQ_REOPEN) ? -ESTALE : 0;
}

static int file_open(struct back_node *n, int flags, bool kill_suidgid)
{
	int fd, r = 0;

	if ((flags & O_ACCMODE) == O_ACCMODE)
		return -EINVAL;
	if (n->fmt == S_IFDIR)
		return -EISDIR;
	fd = back_node_open(n, flags & FILE_FLAGS_KEPT);
	if (fd == -EPERM && flags & O_APPEND) /* an append-only file wants to hear it */
		fd = back_node_open(n, (flags & FILE_FLAGS_KEPT) | O_APPEND);
	if (fd < 0)
		return fd;
	if (flags & O_TRUNC) {
		r = back_truncate(fd, 0);
		if (r == 0 && kill_suidgid)
			r = back_kill_suidgid(fd);
	}
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

/* Whether the client can tell by the attributes that the file was changed later: it keeps its
 * cached pages by them. */
static bool file_is_settled(const struct stat *st)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (now.tv_sec - st->st_ctim.tv_sec) * (int64_t)NSEC_PER_SEC +
		       (now.tv_nsec - st->st_ctim.tv_nsec) >
	       (int64_t)FILE_TICK_NS;
}

/* Answers with the file, which fd (given away) has open. e: was found or made by name, else it is
 * what the request names. */
static void file_opened(struct back_req *q, struct back_node *n, int fd, struct back_entry *e)
{
	struct stat st;
	uint64_t fh;
	int r = fstat(fd, &st) < 0 ? -errno : 0;

	if (r == 0)
		r = back_file_new(q->mount, n, fd, false, &fh);
	if (r < 0) {
		close(fd);
		back_reply_err(q, -r);
		return;
	}
	if (e)
		e->st = st; /* O_TRUNC may have changed it */
	if (st.st_nlink == 0)
		back_hold(n);
	back_reply_open(q, e, !e && file_is_settled(&st) ? &st : NULL, fh);
}

/* Looked at before it may be cut, so that it is not another's that is gone. */
static int file_check(struct back_req *q, struct back_node *n)
{
	int fd = back_node_fd(n);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstatat(fd, "", &st, AT_EMPTY_PATH) < 0)
		return -errno;
	/* Open: it is reached by that, as /proc/PID/fd shows it, and not by a name that was. */
	return n->n_open > 0 ? 0 : back_file_is_there(q, &st);
}

void back_op_open(struct back_req *q)
{
	const struct fuse_open_in *in = back_req_arg(q);
	int flags = (int)in->flags, fd;
	struct back_node *n;

	if (q->args.flags & FUSE_PROTO_REQ_REOPEN)
		flags &= ~(O_TRUNC | O_EXCL | O_CREAT);
	fd = back_req_node(q, 0, &n);
	if (fd == 0)
		fd = file_check(q, n);
	if (fd == 0)
		fd = file_open(n, flags, in->open_flags & FUSE_OPEN_KILL_SUIDGID);
	if (fd < 0)
		back_reply_err(q, -fd);
	else
		file_opened(q, n, fd, NULL);
}

/* Makes the file, or opens the one that stands there if that is allowed. Descriptor and entry. */
static int file_create(struct back_req *q, struct back_entry *e)
{
	const struct fuse_create_in *in = back_req_arg(q);
	const char *name = back_req_name(q, sizeof(*in));
	bool tmpfile = q->in->opcode == FUSE_TMPFILE;
	int flags = (int)in->flags, r;
	int how = (flags & FILE_FLAGS_KEPT) | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
	int dirfd = back_req_fd(q, 0), fd;
	struct back_node *parent;

	if (dirfd < 0)
		return dirfd;
	if ((flags & O_ACCMODE) == O_ACCMODE)
		return -EINVAL;
	back_creds_set(q->client->back, q->in->uid, q->in->gid, in->umask);
	how |= tmpfile ? O_TMPFILE | (flags & O_EXCL) : O_CREAT | O_EXCL;
	fd = openat(dirfd, tmpfile ? "." : name, how, in->mode & 07777);
	if (fd >= 0) {
		r = back_node_of_fd(q->mount->export, fd, e);
		if (r < 0)
			close(fd);
		return r < 0 ? r : fd;
	}
	if (tmpfile || errno != EEXIST || (flags & O_EXCL && !q->redo))
		return -errno;
	r = back_req_node(q, 0, &parent);
	if (r == 0)
		r = back_node_lookup(parent, name, e);
	return r < 0 ? r : file_open(e->node, flags, in->open_flags & FUSE_OPEN_KILL_SUIDGID);
}

void back_op_create(struct back_req *q)
{
	struct back_entry e;
	int fd = file_create(q, &e);

	if (fd < 0)
		back_reply_err(q, -fd);
	else
		file_opened(q, e.node, fd, &e);
}

/* The file that a kept answer of a predecessor names: by its handle where it was made. */
static int reopen_node(struct back_req *q, const struct state_answer *a, struct back_entry *e)
{
	const uint8_t *handle = a->body + a->len + sizeof(struct fuse_proto_resp_tail);

	if (q->in->opcode == FUSE_OPEN || q->in->opcode == FUSE_OPENDIR)
		return back_req_node(q, 0, &e->node);
	if (a->tail_len <= sizeof(struct fuse_proto_resp_tail) + 1 ||
	    a->tail_len < sizeof(struct fuse_proto_resp_tail) + 1U + handle[0])
		return -EIO;
	return back_node_get(q->mount->export, handle + 1, handle[0], &e->node);
}

void back_op_reopen(struct back_req *q, const struct state_answer *a)
{
	bool made = q->in->opcode == FUSE_CREATE || q->in->opcode == FUSE_TMPFILE;
	const struct fuse_create_in *create = back_req_arg(q);
	const struct fuse_open_in *open = back_req_arg(q);
	struct back_entry e;
	int fd;

	q->args.flags |= FUSE_PROTO_REQ_REOPEN;
	if (q->in->opcode == FUSE_OPENDIR) {
		back_op_opendir(q);
		return;
	}
	fd = reopen_node(q, a, &e);
	if (fd == 0)
		fd = file_open(e.node, (int)(made ? create->flags : open->flags) & ~O_TRUNC, false);
	if (fd < 0)
		back_reply_err(q, -fd);
	else
		file_opened(q, e.node, fd, made ? &e : NULL);
}

void back_op_release(struct back_req *q)
{
	const struct fuse_release_in *in = back_req_arg(q);

	back_file_release(q->mount, in->fh);
	back_reply_err(q, 0);
}

/* ------------------------------------------------------------------ data */

static void data_end(struct back_req *q)
{
	back_file_put(q->file);
	q->file = NULL;
}

/* The open file that q is about; answered where there is none. */
static int data_begin(struct back_req *q, uint64_t fh, bool dir)
{
	int r = back_file_get(q, 0, fh, dir, &q->file);

	if (r < 0) {
		back_reply_err(q, -r);
		return r;
	}
	q->file->busy++;
	return 0;
}

static void read_end(struct back_req *q, int err)
{
	launch_stat_add(&q->client->back->stats->read_bytes, q->got);
	data_end(q);
	if (err != 0 && q->got == 0)
		back_reply_err(q, err);
	else
		back_reply_data(q, q->got);
}

/* A short answer means the end of the file to the client's kernel, so it must be the end. */
static void read_done(struct back_req *q, int res)
{
	while (res > 0) {
		struct iovec iov;

		q->got += (uint32_t)res;
		if (q->got >= q->want)
			break;
		iov = (struct iovec){q->data + q->got, q->want - q->got};
		res = (int)preadv2(q->file->fd, &iov, 1, (off_t)(q->offset + q->got), RWF_NOWAIT);
		if (res < 0)
			res = -EAGAIN; /* or not supported: io_uring waits for it */
	}
	if (res == -EAGAIN || res == -EINTR)
		back_ring_start(q);
	else
		read_end(q, res < 0 ? -res : 0);
}

void back_op_read(struct back_req *q)
{
	const struct fuse_read_in *in = back_req_arg(q);

	if (data_begin(q, in->fh, false) < 0)
		return;
	q->op = IORING_OP_READ;
	q->done = read_done;
	q->data = back_req_data(q);
	q->offset = in->offset;
	q->want = (uint32_t)MIN_OF(in->size, q->out_max);
	back_ring_start(q);
}

static void write_end(struct back_req *q, int err)
{
	launch_stat_add(&q->client->back->stats->write_bytes, q->got);
	data_end(q);
	if (err != 0 && q->got == 0)
		back_reply_err(q, err);
	else
		back_reply_write(q, q->got);
}

static void write_done(struct back_req *q, int res)
{
	if (res > 0)
		q->got += (uint32_t)res;
	if (res == -EAGAIN || res == -EINTR || (res > 0 && q->got < q->want))
		back_ring_start(q);
	else
		write_end(q, res < 0 ? -res : 0);
}

/* An appending write of which it is not known whether it ran: it did if the file has grown. */
static bool write_ran(struct back_req *q)
{
	struct stat st;

	if (fstat(q->file->fd, &st) < 0)
		return false;
	if (q->redo && q->answer->size_then != UINT64_MAX)
		return (uint64_t)st.st_size >= q->answer->size_then + q->want;
	state_publish(&q->answer->size_then, (uint64_t)st.st_size);
	return false;
}

void back_op_write(struct back_req *q)
{
	const struct fuse_write_in *in = back_req_arg(q);

	if (data_begin(q, in->fh, false) < 0)
		return;
	q->op = IORING_OP_WRITE;
	q->done = write_done;
	q->data = (uint8_t *)q->in + FUSE_PROTO_WRITE_DATA;
	q->offset = in->offset;
	q->want = in->size;
	if (in->write_flags & FUSE_WRITE_KILL_SUIDGID)
		back_kill_suidgid(q->file->fd);
	if (q->answer) { /* it appends, wherever the end is by now */
		q->op_flags = RWF_APPEND;
		if (write_ran(q)) {
			q->got = q->want;
			write_end(q, 0);
			return;
		}
	}
	if (q->want == 0)
		write_end(q, 0);
	else
		back_ring_start(q);
}

static void plain_done(struct back_req *q, int res)
{
	if (res == -EAGAIN || res == -EINTR) {
		back_ring_start(q);
		return;
	}
	data_end(q);
	back_reply_err(q, res < 0 ? -res : 0);
}

static void file_sync(struct back_req *q, bool dir)
{
	const struct fuse_fsync_in *in = back_req_arg(q);

	if (data_begin(q, in->fh, dir) < 0)
		return;
	q->op = IORING_OP_FSYNC;
	q->op_flags = in->fsync_flags & FUSE_FSYNC_FDATASYNC ? IORING_FSYNC_DATASYNC : 0;
	q->done = plain_done;
	back_ring_start(q);
}

void back_op_fsync(struct back_req *q)
{
	file_sync(q, false);
}

void back_op_fsyncdir(struct back_req *q)
{
	file_sync(q, true);
}

void back_op_fallocate(struct back_req *q)
{
	const struct fuse_fallocate_in *in = back_req_arg(q);

	if (data_begin(q, in->fh, false) < 0)
		return;
	q->op = IORING_OP_FALLOCATE;
	q->op_flags = (int)in->mode;
	q->offset = in->offset;
	q->length = in->length;
	q->done = plain_done;
	back_ring_start(q);
}

void back_op_lseek(struct back_req *q)
{
	const struct fuse_lseek_in *in = back_req_arg(q);
	struct fuse_lseek_out *out = (void *)back_req_data(q);
	struct back_file *f;
	off_t at;
	int r = back_file_get(q, 0, in->fh, false, &f);

	if (r == 0 && in->whence != SEEK_DATA && in->whence != SEEK_HOLE)
		r = -EINVAL; /* the client's kernel knows the others */
	if (r < 0) {
		back_reply_err(q, -r);
		return;
	}
	at = lseek(f->fd, (off_t)in->offset, (int)in->whence);
	if (at < 0) {
		back_reply_err(q, errno);
		return;
	}
	*out = (struct fuse_lseek_out){.offset = (uint64_t)at};
	back_reply_data(q, sizeof(*out));
}

void back_op_copy(struct back_req *q)
{
	const struct fuse_copy_file_range_in *in = back_req_arg(q);
	off_t off = (off_t)in->off_in, to_off = (off_t)in->off_out;
	struct back_file *from, *to;
	ssize_t n;
	int r = back_file_get(q, 0, in->fh_in, false, &from);

	if (r == 0)
		r = back_file_get(q, 1, in->fh_out, false, &to);
	if (r < 0) {
		back_reply_err(q, -r);
		return;
	}
	n = copy_file_range(from->fd, &off, to->fd, &to_off, MIN_OF(in->len, FILE_COPY_BYTES_MAX),
			    (unsigned)in->flags);
	if (n < 0)
		back_reply_err(q, errno);
	else
		back_reply_write(q, (uint32_t)n);
}
