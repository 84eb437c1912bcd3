/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heirs: a lane that does not come back has begun what nobody but a front with its id can end. The
 * owner's worker makes one for it.
 */
#include "tests/lib/client_mount_workers_rig.h"

#include <sys/wait.h>

/* The lane is gone; the owner's worker comes for what is left of it. */
static void heir_begin(struct ends *e)
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

static void test_heir_ends_what_was_begun(void **state)
{
	struct fuse_out_header out;
	struct ends e;
	char data[8];

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	opened(&e); /* and the read is sent */
	heir_begin(&e);
	assert_int_equal(said.purpose, FUSE_HELLO_MOUNT_WORKER_FINISHING);
	assert_false(fuse_client_is_finished(e.g->f));
	assert_int_equal(n_calls, 1); /* the file is open at the server still */
	assert_int_equal(call_header(0).opcode, FUSE_READ);
	assert_true(call_header(0).unique == (e.g->unique | FUSE_PROTO_UNIQUE_RESEND));
	respond(e.g, 0, 0, "the data", 8);
	assert_true(kernel_receive(e.g, &out, data, sizeof(data)) > 0);
	assert_true(out.unique == e.g->unique && out.error == 0);
	assert_memory_equal(data, "the data", 8);
	assert_int_equal(e.area->slots[0].word, MOUNT_WORKER_DONE);
	assert_true(e.area->done & 1);
	assert_true(fuse_client_is_finished(e.g->f));
	assert_int_equal(e.area->ready, 0); /* nothing is dealt out to it */
	ends_down(&e);
}

/* A WRITE in the place of the lane's request. */
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

/* The lane has died while the kernel took its answer: the program may have it, and have written
 * the same place anew. The server hears nothing of it any more. */
static void test_answers_are_not_asked_for_again(void **state)
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
	heir_begin(&e);
	assert_int_equal(n_calls, 0);
	assert_true(kernel_receive(e.g, &out, &got, sizeof(got)) > 0);
	assert_true(out.unique == e.g->unique && out.error == 0);
	assert_int_equal(got.size, 8);
	assert_int_equal(e.area->slots[0].word, MOUNT_WORKER_DONE);
	ends_down(&e);
}

/* Its lane may have died before it had the file, or the server has forgotten that. */
static void test_heir_opens_what_it_needs(void **state)
{
	const struct fuse_open_out opened_out = {.fh = 98};
	struct fuse_out_header out;
	struct ends e;

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	assert_int_equal(call_header(0).opcode, FUSE_OPEN); /* nobody hears of it any more */
	heir_begin(&e);
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

static void test_heir_takes_nothing_new(void **state)
{
	struct ends e;

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	heir_begin(&e);
	assert_int_equal(n_calls, 0);
	assert_int_equal(state_of(&e, 0), MOUNT_WORKER_DISPATCHED); /* the owner takes it back */
	assert_true(fuse_client_is_finished(e.g->f));
	ends_down(&e);
}

static void test_heir_closes_files(void **state)
{
	struct ends e;

	mount_worker_up(&e, *state, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	opened(&e);
	respond(e.g, 0, 0, "the data", 8);
	assert_int_equal(e.area->slots[0].word, MOUNT_WORKER_DONE);
	e.area->files[0].state = MOUNT_WORKER_FILE_CLOSING;
	heir_begin(&e);
	assert_int_equal(e.area->files[0].state, MOUNT_WORKER_FILE_FREE);
	assert_false(fuse_client_is_finished(e.g->f)); /* the server is to hear of it */
	e.g->now_ns += NSEC_PER_SEC;
	fuse_client_tick(e.g->f, e.g->now_ns);
	assert_int_equal(call_header(0).opcode, FUSE_RELEASE);
	respond(e.g, 0, 0, NULL, 0);
	assert_true(fuse_client_is_finished(e.g->f));
	ends_down(&e);
}

/* Files of what it had begun stay open until that has ended; the others are closed at once. */
static void test_owner_finds_an_heir(void **state)
{
	struct ends e;
	uint64_t other;

	owner_up(&e, *state);
	other = open_file(e.g, e.node, 51);
	mount_worker_lives(&e);
	ask_read(&e);
	ask_read(&e); /* is the lane's */
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
	assert_int_equal(fuse_client_find_orphan(e.g->f, e.g->now_ns), 0); /* it may come back */
	e.g->now_ns += NSEC_PER_SEC;
	assert_int_equal(fuse_client_find_orphan(e.g->f, e.g->now_ns), 1);
	assert_int_equal(e.area->files[0].state, MOUNT_WORKER_FILE_CLOSING);
	assert_int_equal(e.area->files[1].state, MOUNT_WORKER_FILE_OPEN);
	e.area->files[0].state =
		MOUNT_WORKER_FILE_FREE; /* the heir has, and is done with the read */
	mount_worker_says(&e, 0, MOUNT_WORKER_DONE);
	fuse_client_pull(e.g->f, true, e.g->now_ns);
	assert_int_equal(fuse_client_find_orphan(e.g->f, e.g->now_ns), 1); /* for the file */
	assert_int_equal(e.area->files[1].state, MOUNT_WORKER_FILE_CLOSING);
	e.area->files[1].state = MOUNT_WORKER_FILE_FREE;
	assert_int_equal(fuse_client_find_orphan(e.g->f, e.g->now_ns), 0);
	ends_down(&e);
}

static void test_owner_waits_for_a_lane_that_comes_back(void **state)
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
	e.g->now_ns += 3 * NSEC_PER_SEC; /* anew */
	assert_int_equal(fuse_client_find_orphan(e.g->f, e.g->now_ns), 0);
	e.g->now_ns += NSEC_PER_SEC;
	assert_int_equal(fuse_client_find_orphan(e.g->f, e.g->now_ns), 1);
	ends_down(&e);
}

/* A lane whose process lives, and only does not move, is nobody else's. */
static void test_heir_leaves_who_lives(void **state)
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
	heir_begin(&e);
	close(fds[0]);
	close(fds[1]);
	/* Who may not ask must not take that for an answer. */
	assert_int_equal(mount_worker_lock(-1, 1), -EBADF);
	ends_down(&e);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_heir_ends_what_was_begun),
		CASE(test_answers_are_not_asked_for_again),
		CASE(test_heir_opens_what_it_needs),
		CASE(test_heir_takes_nothing_new),
		CASE(test_heir_closes_files),
		CASE(test_owner_finds_an_heir),
		CASE(test_owner_waits_for_a_lane_that_comes_back),
		CASE(test_heir_leaves_who_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
