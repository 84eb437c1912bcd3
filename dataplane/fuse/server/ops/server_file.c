/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open files and their data: open, create, release, read, write, sync, allocate, seek and copy.
 * io_uring reads from disks; this thread reads from memory, and makes system calls that never
 * block; the I/O helpers make all other calls.
 */
#include "dataplane/fuse/server/objects/server_background.h"
#include "dataplane/fuse/server/objects/server_locks.h"
#include "dataplane/fuse/server/objects/server_mount.h"
#include "dataplane/fuse/server/objects/server_node.h"
#include "dataplane/fuse/server/objects/server_pin.h"
#include "dataplane/fuse/server/objects/server_write_lease.h"
#include "dataplane/fuse/server/ops/server_ops.h"
#include "dataplane/fuse/server/request/server_helper.h"
#include "dataplane/fuse/server/request/server_rdma.h"
#include "dataplane/fuse/server/request/server_reply.h"
#include "dataplane/fuse/server/request/server_request.h"
#include "dataplane/fuse/server/request/server_ring.h"
#include "dataplane/fuse/server/request/server_steps.h"
#include <limits.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/uio.h>

/* The open flags of the client that the server uses. O_APPEND is not among them, because each WRITE
 * has its own flag for that. O_DIRECT is not among them, because it only concerns the program and
 * its kernel. */
#define FILE_FLAGS_KEPT (O_ACCMODE | O_SYNC | O_DSYNC)
/* Two changes of a file within this time may leave equal timestamps. */
#define FILE_TICK_NS (20 * NSEC_PER_MSEC)

/* ------------------------------------------------------------------ opening */

/* Returns whether every later change of the file will change these attributes. By them, the client
 * decides whether to keep its cached pages. */
static bool file_is_settled(const struct fuse_attr *attr)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (now.tv_sec - (int64_t)attr->ctime) * (int64_t)NSEC_PER_SEC +
		       (now.tv_nsec - (int64_t)attr->ctimensec) >
	       (int64_t)FILE_TICK_NS;
}

static void open_reply(struct server_req *q, struct server_node *n, const struct fuse_attr *attr,
		       bool no_xattrs, uint64_t fh)
{
	struct server_entry e = {.node = n, .attr = *attr, .no_xattrs = no_xattrs};
	uint32_t opcode = q->in->opcode;

	if (opcode == FUSE_CREATE || opcode == FUSE_TMPFILE)
		server_reply_open(q, &e, NULL, fh);
	else if (opcode == FUSE_OPENDIR)
		server_dir_reply_open(q, n, fh);
	else
		server_reply_open(q, NULL, file_is_settled(attr) ? attr : NULL, fh);
}

/* Returns whether another worker has unlinked the file after the helper opened it. The other worker
 * checks for open files after its unlink; this worker first counts the open file and then checks
 * the link count. So at least one of the two workers notices that the unlinked file is open. */
static bool removed_by_peer(const struct server_req *q, int fd)
{
	struct share *share = &q->client->server->share;
	struct stat st;

	share_refresh(share);
	return share->n_peers > 0 && fstat(fd, &st) == 0 && st.st_nlink == 0;
}

/* Replies to an open. The open file then owns fd. */
static void opened(struct server_req *q, struct server_node *n, int fd,
		   const struct fuse_attr *attr, bool no_xattrs)
{
	struct server_mount *m = q->mount;
	uint64_t fh, i = q->unique / 2 % ARRAY_SIZE(m->opened);
	int r, broken = 0;

	if (n && q->args.flags & FUSE_PROTO_REQ_REOPEN && q->in->opcode == FUSE_OPEN)
		broken = server_locks_reopened(m, n, fd);
	/* EBUSY: it is unknown whether a lock on the file was broken, so retry later. */
	if (broken == -EBUSY) {
		server_helper_close(m->export, fd);
		server_req_requeue(q);
		return;
	}
	r = n ? server_file_new(m, n, fd, q->in->opcode == FUSE_OPENDIR, q->client_uid, &fh)
	      : -ENOMEM;
	if (r < 0) {
		server_helper_close(m->export, fd);
		server_reply_err(q, -r);
		return;
	}
	m->opened[i].unique = q->unique;
	m->opened[i].fh = fh;
	if (broken > 0)
		server_file_bar(m, fh);
	if (q->in->opcode != FUSE_OPENDIR && (attr->nlink == 0 || removed_by_peer(q, fd))) {
		char path[SERVER_FD_PATH_MAX];
		autoclose int own = open(server_fd_path(fd, path), O_PATH | O_CLOEXEC);

		server_pin(n, own);
	}
	open_reply(q, n, attr, no_xattrs, fh);
}

/* Continues after a helper has opened the file that the request names by its handle. */
static void open_then(struct server_req *q, const struct helper_result *r, int fd)
{
	struct helper_result of = *r;

	/* The client continues to use the handle that it has sent, so return none. */
	of.handle_len = 0;
	if (q->args.handles[0].bytes[0] == FUSE_HANDLE_FILE) {
		of.handle_len = q->args.handles[0].len;
		memcpy(of.handle, q->args.handles[0].bytes, of.handle_len);
	}
	if (r->flags & HELPER_RESULT_END)
		q->list_bytes = r->count;
	opened(q, server_node_of(q->mount->export, &of, -1), fd, &r->attr, false);
}

static int open_flags(const struct server_req *q)
{
	const struct fuse_open_in *in = server_req_arg(q);

	if (q->in->opcode == FUSE_OPENDIR)
		return O_RDONLY | O_DIRECTORY;
	return (int)in->flags & (FILE_FLAGS_KEPT | O_TRUNC);
}

static void open_by_helper(struct server_req *q, int flags)
{
	const struct fuse_open_in *in = server_req_arg(q);
	struct server_node *n = server_req_node(q, 0);
	struct helper_call *call = server_helper_call(q, HELPER_OPEN, 0);

	if (!call)
		return;
	call->oflags = flags;
	/* Allow removed files if the client has the object open: a program may open it again via
	 * /proc/PID/fd, although the name does not exist any more. */
	if (q->args.flags & FUSE_PROTO_REQ_REOPEN || server_file_has_open(q->mount, n))
		call->flags |= HELPER_ALLOW_UNLINKED;
	if (q->in->opcode == FUSE_OPEN && in->open_flags & FUSE_OPEN_KILL_SUIDGID)
		call->flags |= HELPER_KILL_PRIV;
	if (server_dir_lists(q))
		server_dir_list_ask(q, call);
	server_helper_submit(q, call, flags & O_TRUNC ? HELPERS_SLOW : HELPERS_QUICK,
			     flags & O_TRUNC, open_then);
}

/* Opens the file without a helper if the node has a descriptor. Returns false if a helper is
 * needed. */
static bool open_here(struct server_req *q, int flags)
{
	struct server_node *n = server_req_node(q, 0);
	bool dir = q->in->opcode == FUSE_OPENDIR;
	char path[SERVER_FD_PATH_MAX];
	struct fuse_attr attr;
	struct stat st;
	int fd;

	if (!n || n->fmt != (dir ? S_IFDIR : S_IFREG) || server_node_fd(n) < 0 ||
	    q->args.flags & FUSE_PROTO_REQ_REOPEN || q->helper_flags & HELPER_CHECK_PERMS ||
	    server_dir_lists(q))
		return false;
	if (fstatat(n->fd, "", &st, AT_EMPTY_PATH) < 0 || st.st_nlink == 0)
		return false;
	/* Open without O_NONBLOCK. With it, io_uring would fail reads that must wait, and open(2)
	 * would fail if another process has a lease of fcntl(2) on the file. */
	fd = open(server_fd_path(n->fd, path), flags | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return false;
	fs_helper_attr(&st, q->mount->export->root_dev, &attr);
	opened(q, n, fd, &attr, false);
	return true;
}

void server_op_open(struct server_req *q)
{
	int flags = open_flags(q);

	if (q->args.flags & FUSE_PROTO_REQ_REOPEN)
		flags &= ~O_TRUNC;
	if (flags & O_TRUNC || !open_here(q, flags))
		open_by_helper(q, flags);
}

static void create_then(struct server_req *q, const struct helper_result *r, int fd)
{
	char path[SERVER_FD_PATH_MAX];
	int own = -1;

	if (r->handle_len == 0) /* without file handles, a file can be reached only by a descriptor,
				   so keep this one */
		own = open(server_fd_path(fd, path), O_PATH | O_CLOEXEC);
	opened(q, server_node_of(q->mount->export, r, own), fd, &r->attr,
	       r->flags & HELPER_RESULT_NO_XATTRS);
}

static void create_submit(struct server_req *q)
{
	const struct fuse_create_in *in = server_req_arg(q);
	bool tmpfile = q->in->opcode == FUSE_TMPFILE;
	struct helper_call *call =
		server_helper_call(q, tmpfile ? HELPER_TMPFILE : HELPER_CREATE, 0);

	if (!call)
		return;
	if (!tmpfile)
		strcpy(call->name, server_req_name(q, sizeof(*in)));
	call->oflags = (int)in->flags & (FILE_FLAGS_KEPT | O_TRUNC | O_EXCL);
	call->mode = in->mode & 07777;
	call->umask = in->umask;
	if (in->open_flags & FUSE_OPEN_KILL_SUIDGID)
		call->flags |= HELPER_KILL_PRIV;
	server_helper_submit(q, call, HELPERS_QUICK, true, create_then);
}

/* Waits if the name belongs to a file that another mount has leased: CREATE opens and may truncate
 * this file. */
static void resolved_then(struct server_req *q, const struct helper_result *r, int fd)
{
	cleanup_close(&fd);
	if (r->error == 0 && server_write_lease_awaits(q, r->handle, r->handle_len))
		server_req_requeue(q);
	else
		create_submit(q);
}

/* A CREATE that may open an existing file first looks up the name while another mount has any
 * lease. */
void server_op_create(struct server_req *q)
{
	const struct fuse_create_in *in = server_req_arg(q);
	struct helper_call *call;

	if (q->in->opcode == FUSE_TMPFILE || in->flags & O_EXCL ||
	    PLENUM_LIKELY(!server_write_lease_any(q))) {
		create_submit(q);
		return;
	}
	call = server_helper_call(q, HELPER_LOOKUP, 0);
	if (!call)
		return;
	strcpy(call->name, server_req_name(q, sizeof(*in)));
	server_helper_submit_raw(q, call, HELPERS_QUICK, false, resolved_then);
}

void server_open_reply(struct server_req *q, struct server_file *f)
{
	struct fuse_attr attr;
	struct stat st;

	if (fstat(f->fd, &st) < 0) {
		server_reply_err(q, errno);
		return;
	}
	fs_helper_attr(&st, q->mount->export->root_dev, &attr);
	open_reply(q, f->node, &attr, false, (uint64_t)f->reuse << 32 | f->index);
}

/*
 * Handles a repeated CREATE whose file another client has removed since. After an error, the
 * client's kernel would create another file. So the server opens a new unlinked file instead. The
 * difference is visible only to this client.
 */
static void replay_unlinked(struct server_req *q)
{
	const struct fuse_create_in *in = server_req_arg(q);
	struct helper_call *call = server_helper_call(q, HELPER_TMPFILE, 0);

	if (!call)
		return;
	call->oflags = (int)in->flags & FILE_FLAGS_KEPT;
	call->mode = in->mode & 07777;
	call->umask = in->umask;
	server_helper_submit(q, call, HELPERS_QUICK, false, create_then);
}

static void replay_then(struct server_req *q, const struct helper_result *r, int fd)
{
	struct helper_result kept, of = *r;

	if (!journal_result_get(q->record, &kept)) {
		cleanup_close(&fd);
		server_reply_err(q, EIO);
		return;
	}
	if (r->error == -ESTALE && kept.flags & HELPER_RESULT_CREATED) {
		replay_unlinked(q);
		return;
	}
	if (r->error < 0) {
		server_reply_err(q, -r->error);
		return;
	}
	of.handle_len = kept.handle_len;
	memcpy(of.handle, kept.handle, of.handle_len);
	create_then(q, &of, fd);
}

/* Handles a repeated open whose file is not open at this worker: opens the file without repeating
 * any other change. */
void server_open_replay(struct server_req *q, const struct helper_result *r)
{
	const struct fuse_create_in *in = server_req_arg(q);
	struct server_file *f = server_file_opened(q);
	struct helper_call *call;

	if (f) {
		server_open_reply(q, f);
		return;
	}
	if (q->in->opcode == FUSE_OPEN) {
		q->args.flags |= FUSE_PROTO_REQ_REOPEN;
		q->helper_flags |= q->helper_flags & HELPER_CHECK_PERMS ? HELPER_OWNER_MAY_OPEN : 0;
		open_by_helper(q, open_flags(q) & ~O_TRUNC);
		return;
	}
	if (r->handle_len == 0) {
		server_reply_err(q, ESTALE);
		return;
	}
	call = server_helper_call(q, HELPER_OPEN, 0);
	if (!call)
		return;
	call->a = (struct helper_ref){.fd = -1, .len = r->handle_len};
	memcpy(call->a.handle, r->handle, r->handle_len);
	call->oflags = (int)in->flags & FILE_FLAGS_KEPT;
	/* Do not check permissions again, because the first execution has passed the check. */
	call->flags = HELPER_ALLOW_UNLINKED;
	server_helper_submit_raw(q, call, HELPERS_QUICK, false, replay_then);
}

void server_op_release(struct server_req *q)
{
	const struct fuse_release_in *in = server_req_arg(q);
	size_t n = (q->in->len - sizeof(*q->in) - sizeof(*in)) / sizeof(uint64_t);
	uint64_t fh;

	server_file_release(q->mount, in->fh);
	for (size_t i = 0; i < n; i++) {
		memcpy(&fh, (const uint8_t *)(in + 1) + i * sizeof(fh), sizeof(fh));
		server_file_release(q->mount, fh);
	}
	server_reply_err(q, 0);
}

/* ------------------------------------------------------------------ data */

/* Finds the open file of the request. If the client does not have the file open, sends a reply with
 * an error and returns the error. */
static int data_begin(struct server_req *q, uint64_t fh, bool dir)
{
	int r = server_file_get(q, 0, fh, dir, &q->file);

	if (r < 0) {
		server_reply_err(q, -r);
		return r;
	}
	q->file->busy++;
	return 0;
}

static void read_end(struct server_req *q, int err)
{
	struct server_file *f = q->file;
	uint64_t end = q->offset + q->got;

	f->known = q->got == q->want ? MAX_OF(f->known, end) : MIN_OF(f->known, end);
	launch_stat_add(&q->client->server->stats->read_bytes, q->got);
	if (err != 0 && q->got == 0)
		server_reply_err(q, err);
	else
		server_rdma_reply(q, q->got);
}

/* Reads more data if it is in memory. Returns -EAGAIN if it is not, or if such reads are
 * unsupported: io_uring must then read the data. */
static int read_more(struct server_req *q, size_t most)
{
	int flags = q->mount->export->in_memory ? 0 : RWF_NOWAIT;
	struct iovec iov = {q->data + q->got, MIN_OF(q->want - q->got, most)};
	ssize_t n = preadv2(q->file->fd, &iov, 1, (off_t)(q->offset + q->got), flags);

	return n < 0 ? -EAGAIN : (int)n;
}

static bool read_goes_in_steps(const struct server_req *q)
{
	return q->want > SERVER_STEP_BYTES && server_steps_wanted(q);
}

static void read_done(struct server_req *q, int res);

static void read_step(struct server_req *q)
{
	read_done(q, read_more(q, SERVER_STEP_BYTES));
}

/* Continues or ends a read. The client's kernel takes a short reply as the end of the file, so a
 * reply may be short only at the end of the file. */
static void read_done(struct server_req *q, int res)
{
	while (res > 0) {
		q->got += (uint32_t)res;
		if (q->got >= q->want)
			break;
		if (read_goes_in_steps(q)) {
			server_steps_add(q, read_step);
			return;
		}
		res = read_more(q, SIZE_MAX);
	}
	if (res == -EAGAIN || res == -EINTR)
		server_ring_start(q);
	else
		read_end(q, res < 0 ? -res : 0);
}

void server_op_read(struct server_req *q)
{
	const struct fuse_read_in *in = server_req_arg(q);

	if (data_begin(q, in->fh, false) < 0)
		return;
	q->op = IORING_OP_READ;
	q->done = read_done;
	q->data = server_req_data(q);
	q->offset = in->offset;
	q->want = (uint32_t)MIN_OF(in->size, q->out_max);
	if (read_goes_in_steps(q))
		server_steps_add(q, read_step);
	else
		server_ring_start(q);
}

/* Ends a write. If a direct write was short, the reply is the error that ended the write, such as a
 * full disk or a quota. The client's kernel would turn a short reply into EIO. */
static void write_end(struct server_req *q, int err, const struct fuse_attr *attr)
{
	const struct fuse_write_in *in = server_req_arg(q);

	launch_stat_add(&q->client->server->stats->write_bytes, q->got);
	if (err != 0 && (q->got == 0 || in->flags & O_DIRECT))
		server_reply_err(q, err);
	else
		server_reply_write(q, q->got, attr);
}

/* Ends a write that this thread has executed. The file is in memory, so fstat() does not block. */
static void write_end_here(struct server_req *q, int err)
{
	struct fuse_attr attr;
	struct stat st;
	bool wanted = q->args.flags & FUSE_PROTO_REQ_ATTR && fstat(q->file->fd, &st) == 0;

	if (wanted)
		fs_helper_attr(&st, q->mount->export->root_dev, &attr);
	write_end(q, err, wanted ? &attr : NULL);
}

static void write_done(struct server_req *q, int res)
{
	if (res > 0)
		q->got += (uint32_t)res;
	if (res == -EAGAIN || res == -EINTR || (res > 0 && q->got < q->want))
		server_ring_start(q);
	else
		write_end_here(q, res < 0 ? -res : 0);
}

static void written_then(struct server_req *q, const struct helper_result *r, int fd)
{
	launch_stat_add(&q->client->server->stats->write_bytes, r->count);
	server_reply_write(q, (uint32_t)r->count, &r->attr);
}

/* Makes a helper append with a single system call. io_uring would split the write at a page
 * boundary, and data of another client could come in between. */
static void append(struct server_req *q, struct server_file *f)
{
	const struct fuse_write_in *in = server_req_arg(q);
	struct helper_call *call = server_helper_call(q, HELPER_APPEND, 0);

	if (!call)
		return;
	server_helper_use_file(q, &call->a, f);
	call->data = (uint8_t *)q->in + FUSE_PROTO_WRITE_DATA;
	call->data_size = in->size;
	if (in->write_flags & FUSE_WRITE_KILL_SUIDGID)
		call->flags |= HELPER_KILL_PRIV;
	server_helper_submit(q, call, HELPERS_SLOW, true, written_then);
}

static void write_then(struct server_req *q, const struct helper_result *r, int fd)
{
	q->got = (uint32_t)r->count;
	write_end(q, -r->error, r->flags & HELPER_RESULT_ATTR ? &r->attr : NULL);
}

/* Makes a helper write. io_uring would execute blocking writes in a few kernel threads that all
 * exports share, one write at a time for each file, so one disk that hangs could block all
 * exports. */
static void write_by_helper(struct server_req *q, struct server_file *f)
{
	const struct fuse_write_in *in = server_req_arg(q);
	struct helper_call *call = server_helper_call(q, HELPER_WRITE, 0);

	if (!call)
		return;
	server_helper_use_file(q, &call->a, f);
	call->data = (uint8_t *)q->in + FUSE_PROTO_WRITE_DATA;
	call->data_size = in->size;
	call->offset = in->offset;
	if (q->in->uid != 0 || in->write_flags & FUSE_WRITE_KILL_SUIDGID)
		call->flags |= HELPER_KILL_PRIV;
	if (q->args.flags & FUSE_PROTO_REQ_ATTR)
		call->flags |= HELPER_ATTR;
	server_helper_submit_raw(q, call, HELPERS_DATA, false, write_then);
}

/* Begins the write to q->file. */
static void write_begin(struct server_req *q)
{
	const struct fuse_write_in *in = server_req_arg(q);

	q->op = IORING_OP_WRITE;
	q->done = write_done;
	q->data = (uint8_t *)q->in + FUSE_PROTO_WRITE_DATA;
	q->offset = in->offset;
	q->want = in->size;
	if (q->want == 0)
		write_end_here(q, 0);
	else
		server_ring_start(q);
}

static void cleared_then(struct server_req *q, const struct helper_result *r, int fd)
{
	write_begin(q);
}

/* Clears the set-id bits before the write, because the writing user has no privilege to keep
 * them. */
static void write_clear_setid(struct server_req *q, struct server_file *f)
{
	struct helper_call *call = server_helper_call(q, HELPER_SETATTR, 0);

	if (!call)
		return;
	server_helper_use_file(q, &call->a, f);
	call->set.valid = FATTR_KILL_SUIDGID;
	server_helper_submit_raw(q, call, HELPERS_QUICK, false, cleared_then);
}

static bool has_set_id(const struct server_file *f)
{
	struct stat st;

	return fstat(f->fd, &st) == 0 &&
	       (st.st_mode & S_ISUID || (st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP));
}

/* Handles a WRITE of held data, and the return of a lease. Returns true if that ends the request.
 */
static bool write_held(struct server_req *q)
{
	const struct fuse_write_in *in = server_req_arg(q);

	if (!(q->args.flags & FUSE_PROTO_REQ_HELD))
		return false;
	if (in->size > 0) {
		/* Without an entry in the table of changes, another worker would not see that this
		 * WRITE is in progress when it ends the lease. The client tries again. */
		if (q->untracked) {
			server_reply_err(q, EAGAIN);
			return true;
		}
		if (server_write_lease_holds(q, in->padding))
			return false;
		server_reply_err(q, ESTALE);
	} else if (server_write_lease_return(q, in->padding)) {
		server_reply_write(q, 0, NULL);
	} else {
		server_req_requeue(q);
	}
	return true;
}

void server_op_write(struct server_req *q)
{
	const struct fuse_write_in *in = server_req_arg(q);
	struct server_file *f;
	int r;

	if (PLENUM_UNLIKELY(q->args.flags & FUSE_PROTO_REQ_HELD) && write_held(q))
		return;
	r = server_file_get(q, 0, in->fh, false, &f);
	if (r < 0) {
		server_reply_err(q, -r);
	} else if (fuse_server_check_is_non_idempotent(q->in)) { /* this write appends at the
								    current end of the file */
		append(q, f);
	} else if (!q->mount->export->in_memory) {
		write_by_helper(q, f);
	} else if (in->write_flags & FUSE_WRITE_KILL_SUIDGID && has_set_id(f)) {
		write_clear_setid(q, f);
	} else {
		q->file = f;
		f->busy++;
		write_begin(q);
	}
}

static void plain_done(struct server_req *q, int res)
{
	if (res == -EAGAIN || res == -EINTR) {
		server_ring_start(q);
		return;
	}
	server_reply_err(q, res < 0 ? -res : 0);
}

static void done_then(struct server_req *q, const struct helper_result *r, int fd)
{
	server_reply_err(q, 0);
}

/* Makes a helper call for the open file fh, which must belong to the first object of the
 * request. */
static struct helper_call *file_call(struct server_req *q, enum helper_op op, uint64_t fh, bool dir)
{
	struct helper_call *call;
	struct server_file *f;
	int r = server_file_get(q, 0, fh, dir, &f);

	if (r < 0) {
		server_reply_err(q, -r);
		return NULL;
	}
	call = server_helper_call(q, op, 0);
	if (call)
		server_helper_use_file(q, &call->a, f);
	return call;
}

static void file_sync(struct server_req *q, bool dir)
{
	const struct fuse_fsync_in *in = server_req_arg(q);
	bool data_only = in->fsync_flags & FUSE_FSYNC_FDATASYNC;
	struct helper_call *call;

	if (q->mount->export->in_memory) {
		if (data_begin(q, in->fh, dir) < 0)
			return;
		q->op = IORING_OP_FSYNC;
		q->op_flags = data_only ? IORING_FSYNC_DATASYNC : 0;
		q->done = plain_done;
		server_ring_start(q);
		return;
	}
	call = file_call(q, HELPER_FSYNC, in->fh, dir);
	if (!call)
		return;
	call->mode = data_only;
	server_helper_submit(q, call, HELPERS_DATA, false, done_then);
}

void server_op_fsync(struct server_req *q)
{
	file_sync(q, false);
}

void server_op_fsyncdir(struct server_req *q)
{
	file_sync(q, true);
}

void server_op_fallocate(struct server_req *q)
{
	const struct fuse_fallocate_in *in = server_req_arg(q);
	struct helper_call *call;

	/* Refuse other modes, because they move the data behind the range. */
	if (in->mode &
	    ~(uint32_t)(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) {
		server_reply_err(q, EOPNOTSUPP);
		return;
	}
	call = file_call(q, HELPER_FALLOCATE, in->fh, false);
	if (!call)
		return;
	call->mode = in->mode;
	call->offset = in->offset;
	call->length = in->length;
	server_helper_submit(q, call, HELPERS_SLOW, true, done_then);
}

static void lseek_then(struct server_req *q, const struct helper_result *r, int fd)
{
	struct fuse_lseek_out *out = (void *)server_req_data(q);

	*out = (struct fuse_lseek_out){.offset = r->count};
	server_reply_data(q, sizeof(*out));
}

void server_op_lseek(struct server_req *q)
{
	const struct fuse_lseek_in *in = server_req_arg(q);
	struct helper_call *call = file_call(q, HELPER_LSEEK, in->fh, false);

	if (!call)
		return;
	call->mode = in->whence;
	call->offset = in->offset;
	server_helper_submit(q, call, HELPERS_SLOW, false, lseek_then);
}

static void copy_then(struct server_req *q, const struct helper_result *r, int fd)
{
	server_reply_write(q, (uint32_t)r->count, NULL);
}

void server_op_copy(struct server_req *q)
{
	const struct fuse_copy_file_range_in *in = server_req_arg(q);
	struct helper_call *call;
	struct server_file *to;
	int r = server_file_get(q, 1, in->fh_out, false, &to);

	if (r < 0) {
		server_reply_err(q, -r);
		return;
	}
	call = file_call(q, HELPER_COPY, in->fh_in, false);
	if (!call)
		return;
	server_helper_use_file(q, &call->b, to);
	call->offset = in->off_in;
	call->offset2 = in->off_out;
	call->length = in->len;
	server_helper_submit(q, call, HELPERS_SLOW, true, copy_then);
}
