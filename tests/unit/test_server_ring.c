/* SPDX-License-Identifier: BSD-3-Clause */
/* How the server reads: batches in one system call, via a ring that can do nothing else. */
#include "dataplane/fuse/server/fuse_server_internal.h"
#include "tests/lib/fuse/server_test.h"
#include "tests/lib/fuse/server_turn.h"
#include <dlfcn.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#define READS 8U
#define READ_BYTES 4096U

static bool is_busy; /* the kernel returns EBUSY once */

/* Replaces the library's. */
int io_uring_submit_and_get_events(struct io_uring *ring)
{
	int (*submit)(struct io_uring * r);

	*(void **)&submit = dlsym(RTLD_NEXT, "io_uring_submit_and_get_events");
	assert_non_null(submit);
	if (!is_busy)
		return submit(ring);
	is_busy = false;
	return -EBUSY;
}

static struct io_uring *ring_of_rig(void)
{
	assert_true(rig.server->ring_ok);
	return &rig.server->ring;
}

/* Number of reads submitted to io_uring. */
static unsigned n_given(void)
{
	return *ring_of_rig()->sq.khead;
}

/* ------------------------------------------------------------------ what the ring may do */

/* The ring's result for an entry made by prep(). */
#define RING_RESULT(prep)                                                    \
	({                                                                   \
		struct io_uring_sqe *sqe = io_uring_get_sqe(ring_of_rig());  \
		struct io_uring_cqe *cqe;                                    \
		int ring_result;                                             \
                                                                             \
		assert_non_null(sqe);                                        \
		prep;                                                        \
		assert_int_equal(io_uring_submit(ring_of_rig()), 1);         \
		assert_int_equal(io_uring_wait_cqe(ring_of_rig(), &cqe), 0); \
		ring_result = cqe->res;                                      \
		io_uring_cqe_seen(ring_of_rig(), cqe);                       \
		ring_result;                                                 \
	})

/* An attacker in the worker must not use the ring to bypass the system call filter. */
static void the_ring_only_reads(void **state)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char buf[64] = "as it was";
	struct iovec iov = {buf, sizeof(buf)};
	int res;

	assert_true(fd >= 0);
	assert_int_equal(RING_RESULT(io_uring_prep_read(sqe, fd, buf, 16, 0)), 16);
	assert_int_equal(buf[0], 0);
	for (unsigned op = 0; op < 64; op++) {
		if (op == IORING_OP_READ)
			continue;
		res = RING_RESULT(io_uring_prep_rw(op, sqe, fd, buf, 16, 0));
		/* The second: an opcode unknown to this kernel. */
		assert_true(res == -EACCES || (res == -EINVAL && op > IORING_OP_LINKAT));
	}
	assert_int_equal(RING_RESULT(io_uring_prep_openat(sqe, AT_FDCWD, "/etc/passwd", 0, 0)),
			 -EACCES);
	for (unsigned flag = 0; flag < 7; flag++)
		assert_int_equal(RING_RESULT(io_uring_prep_read(sqe, fd, buf, 16, 0);
					     sqe->flags = (uint8_t)(1U << flag)),
				 -EACCES);
	for (unsigned op = 0; op < 64; op++) {
		assert_int_equal(
			syscall(SYS_io_uring_register, ring_of_rig()->ring_fd, op, &iov, 1), -1);
		/* All registrations are refused, because the ring is already enabled. */
		assert_true(errno == EACCES || errno == EINVAL || errno == EBADFD);
	}
	close(fd);
}

/* ------------------------------------------------------------------ what came together */

struct joined {
	uint64_t node, fh;
	struct rudp_call *calls; /* READS */
};

static uint8_t byte_at(unsigned i)
{
	return (uint8_t)('a' + i % 26);
}

/* An open file with distinct blocks. */
static struct joined joined_new(void)
{
	static uint8_t block[READ_BYTES];
	struct joined j = {.calls = calloc(READS, sizeof(j.calls[0]))};

	assert_non_null(j.calls);
	assert_int_equal(rig_create(&rig, ROOT, "f", O_RDWR, 0600, &j.node, &j.fh), 0);
	for (unsigned i = 0; i < READS; i++) {
		memset(block, byte_at(i), sizeof(block));
		assert_int_equal(rig_write(&rig, j.node, j.fh, (uint64_t)i * READ_BYTES, 0, block,
					   READ_BYTES),
				 READ_BYTES);
	}
	return j;
}

static void read_send(struct joined *j, unsigned i, uint32_t bytes)
{
	struct fuse_read_in in = {.fh = j->fh, .offset = (uint64_t)i * READ_BYTES, .size = bytes};

	rig_send(&rig, &j->calls[i],
		 &(struct rig_req){.op = FUSE_READ, .node = j->node, RIG_ARG(in)});
}

/* All in one turn, as from one poll of a port. */
static void reads_send(struct joined *j, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		read_send(j, i, READ_BYTES);
}

static void reads_check(struct joined *j, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const uint8_t *data;

		assert_int_equal(rig_result(&rig, &j->calls[i]), 0);
		assert_int_equal(rig.len, READ_BYTES);
		data = rig.data;
		assert_int_equal(data[0], byte_at(i));
		assert_int_equal(data[READ_BYTES - 1], byte_at(i));
	}
}

static void joined_done(struct joined *j)
{
	assert_int_equal(rig_release(&rig, j->node, j->fh), 0);
	free(j->calls);
}

static void simultaneous_reads_are_batched(void **state)
{
	struct joined j = joined_new();
	unsigned was = n_given();

	reads_send(&j, READS); /* the first reads determine the file's size */
	reads_check(&j, READS);
	assert_int_equal(n_given(), was);
	reads_send(&j, READS);
	assert_int_equal(n_given(), was); /* more may follow */
	assert_false(j.calls[0].answered);
	assert_int_equal(server_turn(rig.server, clock_now_ns(), false), READS);
	assert_int_equal(n_given(), was + READS);
	reads_check(&j, READS);
	assert_false(rig.server->exports[0].ring_unfit);
	joined_done(&j);
}

static void a_single_read_is_a_system_call(void **state)
{
	struct joined j = joined_new();
	unsigned was;

	reads_send(&j, READS);
	reads_check(&j, READS);
	was = n_given();
	for (unsigned i = 0; i < READS; i++) {
		read_send(&j, i, READ_BYTES);
		assert_int_equal(rig_result(&rig, &j.calls[i]), 0);
	}
	/* Nor are large reads, of which some wait for the next turn: they are more work than one
	 * has. */
	for (unsigned i = 0; i < READS; i++)
		read_send(&j, i, READS * READ_BYTES);
	for (unsigned i = 0; i < READS; i++) {
		assert_int_equal(rig_result(&rig, &j.calls[i]), 0);
		assert_int_equal(rig.len, (READS - i) * READ_BYTES);
	}
	assert_int_equal(n_given(), was);
	joined_done(&j);
}

static void pending_reads_prevent_sleep(void **state)
{
	struct joined j = joined_new();

	while (!fuse_server_arm(rig.server)) /* written before */
		server_turn(rig.server, clock_now_ns(), false);
	reads_send(&j, 1);
	assert_false(fuse_server_arm(rig.server));
	reads_check(&j, 1);
	assert_true(fuse_server_arm(rig.server));
	joined_done(&j);
}

/* Reads a block, the last 100 bytes and the range behind them. */
static void ends_send(struct joined *j)
{
	for (unsigned i = READS - 3; i < READS; i++)
		read_send(j, i, READ_BYTES);
}

static void ends_check(struct joined *j)
{
	static const uint32_t wants[3] = {READ_BYTES, 100, 0};

	for (unsigned i = READS - 3; i < READS; i++) {
		assert_int_equal(rig_result(&rig, &j->calls[i]), 0);
		assert_int_equal(rig.len, wants[i + 3 - READS]);
	}
}

/* The file was truncated since the last read, and is closed before the reads end. */
static void reads_end_at_the_end_of_the_file(void **state)
{
	struct joined j = joined_new();
	struct rudp_call *gone = calloc(1, sizeof(*gone));
	struct fuse_release_in rel = {.fh = j.fh};
	unsigned was;

	assert_non_null(gone);
	reads_send(&j, READS);
	reads_check(&j, READS);
	assert_int_equal(truncate(rig_path(&rig, "f"), (off_t)(READS - 2) * READ_BYTES + 100), 0);
	ends_send(&j); /* this io_uring delays them */
	ends_check(&j);
	was = n_given();
	ends_send(&j);
	rig_send(&rig, gone, &(struct rig_req){.op = FUSE_RELEASE, .node = j.node, RIG_ARG(rel)});
	ends_check(&j);
	assert_int_equal(n_given() - was, rig.server->exports[0].in_memory ? 1 : 3);
	assert_int_equal(rig_result(&rig, gone), 0);
	/* The next file in the same slot starts afresh. */
	assert_int_equal(rig_open(&rig, j.node, O_RDONLY, &j.fh), 0);
	was = n_given();
	ends_send(&j);
	ends_check(&j);
	assert_int_equal(n_given() - was, rig.server->exports[0].in_memory ? 0 : 3);
	assert_false(rig.server->exports[0].ring_unfit);
	free(gone);
	joined_done(&j);
}

static struct server_file *file_opened(void)
{
	struct server_file *files = rig.server->mounts->file_chunks[0];

	for (unsigned i = 0; i < SERVER_FILES_PER_CHUNK; i++)
		if (files[i].used)
			return &files[i];
	fail();
	return NULL;
}

/* A busy ring is not taken for one that delays reads. */
static void a_busy_ring_is_retried(void **state)
{
	struct joined j = joined_new();

	reads_send(&j, READS);
	reads_check(&j, READS);
	reads_send(&j, READS);
	is_busy = true;
	assert_int_equal(server_turn(rig.server, clock_now_ns(), false), READS);
	assert_false(is_busy);
	reads_check(&j, READS);
	assert_false(rig.server->exports[0].ring_unfit);
	joined_done(&j);
}

/* A file for which O_NONBLOCK fails is tried once. */
static void files_that_cannot_be_batched_use_system_calls(void **state)
{
	struct joined j = joined_new();
	struct server_file *f = file_opened();
	int path = open(rig_path(&rig, "f"), O_PATH | O_CLOEXEC), own = dup(f->fd);
	unsigned was;

	assert_true(path >= 0 && own >= 0);
	reads_send(&j, READS);
	reads_check(&j, READS);
	assert_int_equal(dup2(path, f->fd), f->fd); /* has no flags to set */
	reads_send(&j, READS);
	for (unsigned i = 0; i < READS; i++)
		assert_int_equal(rig_result(&rig, &j.calls[i]), -EBADF);
	assert_int_equal(dup2(own, f->fd), f->fd);
	was = n_given();
	for (unsigned i = 0; i < 2; i++) {
		reads_send(&j, READS);
		reads_check(&j, READS);
	}
	assert_int_equal(n_given(), was);
	close(path);
	close(own);
	joined_done(&j);
}

/* If the kernel reads memory in a thread, single system calls are used. */
static void kernels_that_delay_reads_use_system_calls(void **state)
{
	struct joined j = joined_new();
	struct server_file *f = file_opened();
	bool late = false;
	unsigned was;

	reads_send(&j, READS);
	reads_check(&j, READS);
	reads_send(&j, READS);
	reads_check(&j, READS);
	assert_true(f->nonblock);
	assert_int_equal(fcntl(f->fd, F_SETFL, 0), 0); /* as such a kernel sees it */
	/* The kernel's thread is sometimes fast enough. */
	for (unsigned i = 0; i < 2000 && !late; i++) {
		reads_send(&j, READS);
		late = server_turn(rig.server, clock_now_ns(), false) < (int)READS;
		reads_check(&j, READS);
	}
	if (!late)
		skip(); /* this kernel always reads at once */
	assert_true(rig.server->exports[0].ring_unfit);
	was = n_given();
	reads_send(&j, READS);
	reads_check(&j, READS);
	assert_int_equal(n_given(), was);
	joined_done(&j);
}

/* The client and then the server end while reads wait. */
static void abandoned_reads_end(void **state)
{
	struct joined j = joined_new();

	reads_send(&j, READS);
	reads_check(&j, READS);
	reads_send(&j, READS);
	rig_stop(&rig);
	for (unsigned i = 0; i < READS; i++)
		assert_false(j.calls[i].answered);
	rig_start(&rig);
	reads_send(&j, READS);
	reads_check(&j, READS);
	joined_done(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON("/tmp", the_ring_only_reads),
		ON("/dev/shm", simultaneous_reads_are_batched),
		ON("/dev/shm", a_single_read_is_a_system_call),
		ON("/dev/shm", pending_reads_prevent_sleep),
		ON("/tmp", pending_reads_prevent_sleep),
		ON("/dev/shm", reads_end_at_the_end_of_the_file),
		ON("/tmp", reads_end_at_the_end_of_the_file),
		ON("/dev/shm", kernels_that_delay_reads_use_system_calls),
		ON("/dev/shm", a_busy_ring_is_retried),
		ON("/dev/shm", files_that_cannot_be_batched_use_system_calls),
		ON("/dev/shm", abandoned_reads_end),
		ON("/tmp", abandoned_reads_end),
	};

	return !rig_can() ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
