/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads files via io_uring. Uses plain system calls if io_uring is unavailable, or for a single
 * read from memory, which is then faster.
 *
 * Neither files nor buffers are registered with the ring. A registered file makes a read no faster
 * (tests/perf/file_reads), and costs a system call at each open and close. Before Linux 6.13 the
 * kernel also releases registered files in order, so one read that hangs would keep files open that
 * other clients have closed. Registered buffers are pinned even when they are not in use, and no
 * longer match the pool's memory after the pool has freed pages. They save the page lookup of reads
 * that bypass the page cache, which the server never does.
 */
#include "dataplane/fuse/server/request/server_ring.h"
#include "dataplane/fuse/server/request/server_request.h"
#include <sys/syscall.h>
#include <sys/uio.h>

#define RING_ENTRIES 256
/* Maximum number of submissions in one poll. Several are possible, because reads that complete at
 * once free their place in the ring. */
#define RING_TURNS_MAX 4
/* Reads from memory of up to this size are batched. For a larger read, copying costs so much that
 * saving a system call gains nothing. */
#define JOIN_BYTES_MAX 16384U

/*
 * Restricts the ring to reads, for ever. Seccomp does not see the operations of a ring, so a ring
 * that could open files would bypass the filter of system calls.
 */
static int ring_restrict(struct io_uring *ring)
{
	struct io_uring_restriction allowed[] = {
		{.opcode = IORING_RESTRICTION_SQE_OP, .sqe_op = IORING_OP_READ},
	};
	/* Call the kernel directly: liburing 2.3 declares functions for both calls but does not
	 * export them. */
	if (syscall(SYS_io_uring_register, ring->ring_fd, IORING_REGISTER_RESTRICTIONS, allowed,
		    ARRAY_SIZE(allowed)) < 0 ||
	    syscall(SYS_io_uring_register, ring->ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0) <
		    0)
		return -errno;
	return 0;
}

int server_ring_init(struct fuse_server *srv)
{
	/* The flags to try, from the newest to none. One thread submits operations and reads
	 * results, so the kernel need not interrupt it to deliver completions. DEFER_TASKRUN is not
	 * used, because with it the ring's descriptor would not become readable for completions
	 * that are not delivered yet. */
	static const unsigned flags[] = {
		IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
		IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
		0,
	};
	int r = -ENOSYS;

	for (unsigned i = 0; i < ARRAY_SIZE(flags) && !srv->ring_ok; i++) {
		struct io_uring_params p = {
			.flags = flags[i] | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP |
				 IORING_SETUP_R_DISABLED,
			.cq_entries = 4096,
		};

		r = io_uring_queue_init_params(RING_ENTRIES, &srv->ring, &p);
		if (r < 0)
			continue;
		r = ring_restrict(&srv->ring);
		srv->ring_ok = r == 0;
		if (r < 0)
			io_uring_queue_exit(&srv->ring);
	}
	/* If io_uring is disabled, or cannot be restricted (before Linux 5.10), the server uses
	 * plain system calls. */
	return r == -ENOMEM ? r : 0;
}

void server_ring_done(struct fuse_server *srv)
{
	if (srv->ring_ok)
		io_uring_queue_exit(&srv->ring);
	srv->ring_ok = false;
}

static int ring_do_now(struct server_req *q)
{
	/* an fsync transfers no data */
	struct iovec iov = {.iov_base = q->data ? q->data + q->got : NULL,
			    .iov_len = q->want - q->got};
	int fd = q->file->fd;
	ssize_t n;

	switch (q->op) {
	case IORING_OP_READ:
		n = preadv(fd, &iov, 1, (off_t)(q->offset + q->got));
		break;
	case IORING_OP_WRITE:
		n = pwritev2(fd, &iov, 1, (off_t)(q->offset + q->got), q->op_flags);
		break;
	default:
		n = q->op_flags & IORING_FSYNC_DATASYNC ? fdatasync(fd) : fsync(fd);
		break;
	}
	return n < 0 ? -errno : (int)n;
}

/* Adds the request's operation to the ring. Returns false if the ring is full. */
static bool ring_put(struct fuse_server *srv, struct server_req *q)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&srv->ring);

	if (!sqe && io_uring_submit(&srv->ring) >= 0) {
		srv->n_queued = 0;
		sqe = io_uring_get_sqe(&srv->ring);
	}
	if (!sqe)
		return false;
	io_uring_prep_read(sqe, q->file->fd, q->data + q->got, q->want - q->got,
			   q->offset + q->got);
	io_uring_sqe_set_data(sqe, q);
	srv->n_ring++;
	srv->n_queued++;
	q->turn = srv->ring_turn;
	q->ring_since_ns = srv->now_ns;
	return true;
}

/* Like server_creds_set(), but first submits the queued operations, because these belong to the
 * previous user. */
static int writer_set(struct fuse_server *srv, const struct fuse_in_header *in)
{
	if (server_creds_are(srv, in->uid, in->gid))
		return 0;
	if (srv->n_queued > 0 && io_uring_submit(&srv->ring) >= 0)
		srv->n_queued = 0;
	return server_creds_set(srv, in->uid, in->gid);
}

void server_ring_start(struct server_req *q)
{
	struct fuse_server *srv = q->client->server;
	const struct server_export *e = q->mount->export;
	int r = q->op == IORING_OP_WRITE ? writer_set(srv, q->in) : 0;

	if (r < 0) {
		q->done(q, r);
	} else if (!srv->ring_ok || q->op != IORING_OP_READ) {
		q->done(q, ring_do_now(q));
	} else if (!e->in_memory) {
		if (!ring_put(srv, q))
			q->done(q, ring_do_now(q));
	} else if (e->ring_unfit || q->ring_unfit || q->want > JOIN_BYTES_MAX) {
		q->done(q, ring_do_now(q));
	} else {
		q->retry = NULL;
		*srv->reads_tail = q;
		srv->reads_tail = &q->retry;
	}
}

/*
 * Returns whether the read may be batched. io_uring gives a read to a kernel thread if it expects
 * the read to block. For a file in memory it expects this if the file is not O_NONBLOCK, or if the
 * range ends behind the end of the file. So only reads within the known size are batched. A file on
 * another file system, mounted inside the export, may be on a disk, where non-blocking reads would
 * fail.
 */
static bool read_can_be_batched(const struct server_req *q)
{
	const struct server_export *e = q->mount->export;
	struct server_file *f = q->file;

	if (e->ring_unfit || q->want > f->known || q->offset > f->known - q->want ||
	    f->node->dev != e->root_dev)
		return false;
	if (!f->nonblock && !f->ring_unfit) {
		f->nonblock = fcntl(f->fd, F_SETFL, O_NONBLOCK) == 0;
		f->ring_unfit = !f->nonblock; /* do not try again for this file */
	}
	return f->nonblock;
}

/* Begins the reads of this turn: a single read is faster as a system call, several are faster in
 * one submission. */
static int reads_begin(struct fuse_server *srv)
{
	struct server_req *q = srv->reads, *next;
	bool several = q && (q->retry || srv->n_queued > 0);
	int n = 0;

	srv->reads = NULL;
	srv->reads_tail = &srv->reads;
	for (; q; q = next) {
		next = q->retry;
		if (several && read_can_be_batched(q) && ring_put(srv, q))
			continue;
		q->done(q, ring_do_now(q));
		n++;
	}
	return n;
}

/* Checks whether the kernel has executed a batched read at once. If not, the export's later reads
 * from memory use single system calls. */
static void ring_result_check(const struct fuse_server *srv, struct server_req *q, int res)
{
	struct server_export *e = q->mount->export;

	q->ring_unfit = res == -EAGAIN;
	e->ring_unfit |=
		e->in_memory && q->turn != srv->ring_turn && res == (int)(q->want - q->got);
}

static int ring_reap(struct fuse_server *srv)
{
	struct io_uring_cqe *cqe;
	int n = 0;

	while (io_uring_peek_cqe(&srv->ring, &cqe) == 0) {
		struct server_req *q = io_uring_cqe_get_data(cqe);
		int res = cqe->res;

		io_uring_cqe_seen(&srv->ring, cqe);
		srv->n_ring--;
		q->ring_since_ns = 0;
		ring_result_check(srv, q, res);
		q->done(q, res);
		n++;
	}
	return n;
}

bool server_ring_waits(const struct fuse_server *srv)
{
	return srv->reads || srv->n_queued > 0;
}

int server_ring_poll(struct fuse_server *srv)
{
	int n = reads_begin(srv);

	if (!srv->ring_ok || srv->n_ring == 0)
		return n;
	for (unsigned turn = 0; turn < RING_TURNS_MAX; turn++) {
		bool more = IO_URING_READ_ONCE(*srv->ring.sq.kflags) &
			    (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW);
		int r = 0;

		if (srv->n_queued > 0 || more) {
			r = io_uring_submit_and_get_events(&srv->ring);
			if (r >= 0)
				srv->n_queued = 0;
			else if (r != -EAGAIN && r != -EBUSY && r != -EINTR)
				return n > 0 ? n : r;
		}
		n += ring_reap(srv);
		/* A submission that failed is repeated in the same turn. */
		srv->ring_turn += r >= 0;
		if (srv->n_queued == 0)
			return n;
	}
	/* Return to the worker's loop. Further completions make the ring's descriptor readable. */
	if (io_uring_submit(&srv->ring) >= 0)
		srv->n_queued = 0;
	return n;
}
