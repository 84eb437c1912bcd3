/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Successors of mount workers: one that does not return has begun requests that only a client with
 * its id can finish. The owner's worker creates a client for that.
 */
#include "tests/lib/fuse/client_mount_workers_rig.h"

#include <sys/wait.h>

/* The mount worker is gone; the owner's worker finishes its requests. */
static void successor_begin(struct ends *e)
{
	e->g->f = fuse_client_free(e->g->f);
	n_calls = 0;
	assert_int_equal(fuse_client_new_successor(e->g->cfg, 0, 1, -1, NULL, &e->g->stats,
						   e->g->now_ns, &e->g->f),
			 0);
	fuse_client_tick(e->g->f, e->g->now_ns);
	session_up(e->g);
	respond_init(e->g);
	fuse_client_tick(e->g->f, e->g->now_ns);
	fuse_client_pull(e->g->f, true, e->g->now_ns);
}

static void test_successor_finishes_begun_requests(void **state)
{
	struct fuse_out_header out;
	struct ends e;
	char data[8];

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	opened(&e); /* and the read is sent */
	successor_begin(&e);
	assert_int_equal(said.purpose, FUSE_HELLO_MOUNT_WORKER_FINISHING);
	assert_false(fuse_client_is_finished(e.g->f));
	assert_int_equal(n_calls, 1); /* the file is still open at the server */
	assert_int_equal(call_header(0).opcode, FUSE_READ);
	assert_true(call_header(0).unique == (e.g->unique | FUSE_PROTO_UNIQUE_RESEND));
	respond(e.g, 0, 0, "the data", 8);
	assert_true(kernel_receive(e.g, &out, data, sizeof(data)) > 0);
	assert_true(out.unique == e.g->unique && out.error == 0);
	assert_memory_equal(data, "the data", 8);
	assert_int_equal(e.area->slots[0].word, MOUNT_WORKER_DONE);
	assert_true(e.area->done & 1);
	assert_true(fuse_client_is_finished(e.g->f));
	assert_int_equal(e.area->ready, 0); /* nothing is dispatched to it */
	ends_down(&e);
}

/* A WRITE in the mount worker's slot. */
static void put_write(struct ends *e)
{
	const struct fuse_write_in write = {.fh = e->area->slots[0].fh, .size = 8};
	uint8_t *buf = mount_worker_buf(e->area, 0);
	struct fuse_in_header in;

	memcpy(&in, buf, sizeof(in));
	in.opcode = FUSE_WRITE;
	in.len = FUSE_PROTO_WRITE_DATA + 8;
	in.unique = e->area->slots[0].unique = e->g->unique += 2;
	memcpy(buf, &in, sizeof(in));
	memcpy(buf + sizeof(in), &write, sizeof(write));
	memcpy(buf + FUSE_PROTO_WRITE_DATA, "new data", 8);
	e->area->slots[0].len = in.len;
	e->area->slots[0].opcode = FUSE_WRITE;
	e->area->slots[0].word = MOUNT_WORKER_DISPATCHED;
	e->area->posted |= 1;
}

/* The mount worker died while the kernel took its answer: the program may have it, and may have
 * written the same place again. The server does not get the WRITE again. */
static void test_successor_repeats_a_reply_without_the_server(void **state)
{
	const struct fuse_write_out written = {.size = 8};
	struct fuse_write_out got;
	struct fuse_out_header out;
	struct ends e;

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	opened(&e);
	respond(e.g, 0, 0, "the data", 8);
	assert_true(kernel_receive(e.g, &out, NULL, 0) > 0);
	put_write(&e);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	assert_int_equal(call_header(0).opcode, FUSE_WRITE);
	respond(e.g, 0, 0, &written, sizeof(written));
	assert_true(kernel_receive(e.g, &out, &got, sizeof(got)) > 0);
	assert_int_equal(e.area->slots[0].word, MOUNT_WORKER_DONE);
	e.area->slots[0].word =
		MOUNT_WORKER_TAKEN | MOUNT_WORKER_REPLIED; /* as its killer left it */
	successor_begin(&e);
	assert_int_equal(n_calls, 0);
	assert_true(kernel_receive(e.g, &out, &got, sizeof(got)) > 0);
	assert_true(out.unique == e.g->unique && out.error == 0);
	assert_int_equal(got.size, 8);
	assert_int_equal(e.area->slots[0].word, MOUNT_WORKER_DONE);
	ends_down(&e);
}

/* The mount worker may have died before it opened the file, or the server has forgotten it. */
static void test_successor_opens_the_files_it_needs(void **state)
{
	const struct fuse_open_out opened_out = {.fh = 98};
	struct fuse_out_header out;
	struct ends e;

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	assert_int_equal(call_header(0).opcode, FUSE_OPEN); /* the RELEASE has no further effect */
	successor_begin(&e);
	assert_int_equal(call_header(0).opcode, FUSE_OPEN);
	respond(e.g, 0, 0, &opened_out, sizeof(opened_out));
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	assert_int_equal(call_header(0).opcode, FUSE_READ);
	respond(e.g, 0, 0, "the data", 8);
	assert_true(kernel_receive(e.g, &out, NULL, 0) > 0);
	assert_true(out.unique == e.g->unique && out.error == 0);
	assert_true(fuse_client_is_finished(e.g->f));
	ends_down(&e);
}

static void test_successor_takes_no_new_requests(void **state)
{
	struct ends e;

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	successor_begin(&e);
	assert_int_equal(n_calls, 0);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_DISPATCHED); /* the owner takes it back */
	assert_true(fuse_client_is_finished(e.g->f));
	ends_down(&e);
}

static void test_successor_closes_files(void **state)
{
	struct ends e;

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	opened(&e);
	respond(e.g, 0, 0, "the data", 8);
	assert_int_equal(e.area->slots[0].word, MOUNT_WORKER_DONE);
	e.area->files[0].state = MOUNT_WORKER_FILE_CLOSING;
	successor_begin(&e);
	assert_int_equal(e.area->files[0].state, MOUNT_WORKER_FILE_FREE);
	assert_false(fuse_client_is_finished(e.g->f)); /* the server must get the RELEASE */
	e.g->now_ns += NSEC_PER_SEC;
	fuse_client_tick(e.g->f, e.g->now_ns);
	assert_int_equal(call_header(0).opcode, FUSE_RELEASE);
	respond(e.g, 0, 0, NULL, 0);
	assert_true(fuse_client_is_finished(e.g->f));
	ends_down(&e);
}

/* Files of unfinished requests stay open until those end; the others are closed at once. */
static void test_owner_finds_an_orphaned_worker(void **state)
{
	struct ends e;
	uint64_t other;

	owner_up(&e, *state);
	other = open_file(e.g, e.node, 51);
	mount_worker_lives(&e);
	ask_read(&e);
	ask_read(&e); /* belongs to the mount worker */
	mount_worker_says(&e, 0, MOUNT_WORKER_DONE);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	e.fh = other;
	ask_read(&e);
	ask_read(&e);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_DISPATCHED);
	assert_true(e.area->slots[0].fh == other && e.area->slots[0].file == 1);
	e.area->slots[0].word = MOUNT_WORKER_TAKEN;
	assert_int_equal(fuse_client_find_orphan(e.g->f, e.g->now_ns), 0);
	e.g->now_ns += 5 * NSEC_PER_SEC;
	assert_int_equal(fuse_client_find_orphan(e.g->f, e.g->now_ns), 0); /* it may return */
	e.g->now_ns += NSEC_PER_SEC;
	assert_int_equal(fuse_client_find_orphan(e.g->f, e.g->now_ns), 1);
	assert_int_equal(e.area->files[0].state, MOUNT_WORKER_FILE_CLOSING);
	assert_int_equal(e.area->files[1].state, MOUNT_WORKER_FILE_OPEN);
	e.area->files[0].state =
		MOUNT_WORKER_FILE_FREE; /* the successor has, and has finished the read */
	mount_worker_says(&e, 0, MOUNT_WORKER_DONE);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	assert_int_equal(fuse_client_find_orphan(e.g->f, e.g->now_ns), 1); /* for the file */
	assert_int_equal(e.area->files[1].state, MOUNT_WORKER_FILE_CLOSING);
	e.area->files[1].state = MOUNT_WORKER_FILE_FREE;
	assert_int_equal(fuse_client_find_orphan(e.g->f, e.g->now_ns), 0);
	ends_down(&e);
}

static void test_owner_waits_for_a_worker_that_returns(void **state)
{
	struct ends e;

	owner_up(&e, *state);
	mount_worker_lives(&e);
	ask_read(&e);
	ask_read(&e);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_DISPATCHED);
	e.area->slots[0].word = MOUNT_WORKER_TAKEN;
	e.g->now_ns += 5 * NSEC_PER_SEC;
	assert_int_equal(fuse_client_find_orphan(e.g->f, e.g->now_ns), 0);
	mount_worker_lives(&e);
	e.g->now_ns += 2 * NSEC_PER_SEC;
	assert_int_equal(fuse_client_find_orphan(e.g->f, e.g->now_ns), 0);
	e.g->now_ns += 3 * NSEC_PER_SEC; /* resent */
	assert_int_equal(fuse_client_find_orphan(e.g->f, e.g->now_ns), 0);
	e.g->now_ns += NSEC_PER_SEC;
	assert_int_equal(fuse_client_find_orphan(e.g->f, e.g->now_ns), 1);
	ends_down(&e);
}

/* A mount worker whose process lives, but hangs, is not replaced. */
static void test_successor_does_not_replace_a_living_worker(void **state)
{
	int fds[2], status, fd;
	struct ends e;
	char c = 0;
	pid_t pid;

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	e.g->f = fuse_client_free(e.g->f);
	fd = e.g->cfg->mounts[0].state_fd;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		c = mount_worker_lock(fd, 1) == 0;
		_exit(write(fds[1], &c, 1) != 1 || read(fds[1], &c, 1) != 1);
	}
	assert_true(read(fds[0], &c, 1) == 1 && c == 1);
	assert_int_equal(fuse_client_new_successor(e.g->cfg, 0, 1, -1, NULL, &e.g->stats,
						   e.g->now_ns, &e.g->f),
			 -EBUSY);
	assert_true(write(fds[0], &c, 1) == 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	successor_begin(&e);
	close(fds[0]);
	close(fds[1]);
	/* Without permission to ask, the answer must not count. */
	assert_int_equal(mount_worker_lock(-1, 1), -EBADF);
	ends_down(&e);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_successor_finishes_begun_requests),
		CASE(test_successor_repeats_a_reply_without_the_server),
		CASE(test_successor_opens_the_files_it_needs),
		CASE(test_successor_takes_no_new_requests),
		CASE(test_successor_closes_files),
		CASE(test_owner_finds_an_orphaned_worker),
		CASE(test_owner_waits_for_a_worker_that_returns),
		CASE(test_successor_does_not_replace_a_living_worker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
