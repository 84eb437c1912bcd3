/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests that mount workers read from the kernel, at the mount worker: the test plays the owner
 * through the shared memory. Recovery after a death at any word.
 */
#include "tests/lib/fuse/client_reads_rig.h"

/* A mount worker that has a file, and is to read. */
static void mount_worker_reads_up(struct both *b, struct rig *g)
{
	struct fuse_out_header out;

	mount_worker_up(&b->e, g, FUSE_PROTO_FEATURE_MOUNT_WORKERS);
	both_map(b);
	pull(b);
	opened(&b->e);
	respond(g, 0, 0, "the data", 8);
	assert_true(kernel_receive(g, &out, NULL, 0) > 0);
	b->e.area->slots[0].word = MOUNT_WORKER_FREE;
	assert_false(fuse_client_is_reading(g->f));
	b->common->reads = 1;
	pull(b);
	b->common->noted = b->common->done = 0;
	b->reads->noted = b->reads->done = 0;
	assert_true(fuse_client_is_reading(g->f));
}

static void mount_worker_restarts(struct both *b)
{
	b->e.g->f = fuse_client_free(b->e.g->f);
	mount_worker_begin(&b->e);
}

/* With slot i in that state. */
static void mount_worker_restarts_at(struct both *b, unsigned i, uint32_t word)
{
	b->e.g->f = fuse_client_free(b->e.g->f);
	b->reads->slots[i].word = word;
	mount_worker_begin(&b->e);
	pull(b);
}

static void test_worker_serves_known_files(void **state)
{
	struct both b;
	uint64_t unique;

	mount_worker_reads_up(&b, *state);
	unique = send_read(&b);
	pull(&b);
	assert_int_equal(n_calls, 1);
	assert_int_equal(call_header(0).opcode, FUSE_READ);
	assert_int_equal(MOUNT_WORKER_STATE(word_of(&b, 0)), MOUNT_WORKER_TAKEN);
	assert_int_equal(b.reads->n_read, 1);
	assert_int_equal(b.reads->notes[0].out, 1);
	respond(b.e.g, 0, 0, "the data", 8);
	expect_read(&b, unique);
	assert_int_equal(word_of(&b, 0), MOUNT_WORKER_FREE);
	assert_int_equal(b.reads->notes[0].out, 0);
	assert_int_equal(b.reads->notes[0].wrote, 0);
	assert_int_equal(b.reads->noted, 1);
	assert_int_equal(b.common->noted, 1);
	assert_int_equal(b.common->done, 0);
	both_down(&b);
}

/* One of the many files whose records lie elsewhere. */
static void test_worker_serves_the_hundredth_file(void **state)
{
	const unsigned place = 100;
	struct both b;
	struct mount_worker_file *lf;
	uint64_t unique;

	mount_worker_reads_up(&b, *state);
	lf = mount_worker_file_at(b.e.area, b.more, place);
	*lf = b.e.area->files[0];
	lf->client_file = 0;
	lf->fh = b.e.fh =
		7ULL << 32 | (place - MOUNT_WORKER_FILE_WAYS); /* too far from its place */
	send_read(&b);
	pull(&b);
	assert_int_equal(MOUNT_WORKER_STATE(word_of(&b, 0)), MOUNT_WORKER_FORWARDED);
	lf->fh = b.e.fh = 7ULL << 32 | (place - MOUNT_WORKER_FILE_WAYS + 1);
	n_calls = 0;
	unique = send_read(&b);
	pull(&b);
	opened(&b.e);
	assert_int_equal(MOUNT_WORKER_STATE(word_of(&b, 1)), MOUNT_WORKER_TAKEN);
	assert_int_equal(mount_worker_note_at(b.reads, b.more, place)->out, 1);
	respond(b.e.g, 0, 0, "the data", 8);
	expect_read(&b, unique);
	assert_int_equal(mount_worker_note_at(b.reads, b.more, place)->out, 0);
	assert_true(*mount_worker_noted_at(b.reads, b.more, place) == 1ULL << place % 64);
	assert_int_equal(b.reads->noted, 0);
	assert_int_equal(b.common->noted, 1);
	lf->state = MOUNT_WORKER_FILE_CLOSING;
	b.e.area->closing = 1ULL << place % 64;
	pull(&b);
	assert_int_equal(lf->state, MOUNT_WORKER_FILE_FREE);
	both_down(&b);
}

/* Its record may name a file number that another file has now. */
static void test_worker_closes_only_its_own_files(void **state)
{
	struct both b;
	struct mount_worker_file *lf;

	mount_worker_reads_up(&b, *state);
	lf = mount_worker_file_at(b.e.area, b.more, 200);
	*lf = b.e.area->files[0];
	lf->handle[0] ^= 1;
	lf->state = MOUNT_WORKER_FILE_CLOSING;
	b.e.area->closing = 1ULL << 200 % 64;
	pull(&b);
	assert_int_equal(lf->state, MOUNT_WORKER_FILE_FREE);
	n_calls = 0;
	send_read(&b);
	pull(&b);
	assert_int_equal(call_header(0).opcode, FUSE_READ); /* the other is still open */
	both_down(&b);
}

/* Before the server can get the write. */
static void test_worker_reports_its_writes(void **state)
{
	const struct fuse_write_out out = {.size = 8};
	struct both b;

	mount_worker_reads_up(&b, *state);
	send_write(&b, O_DSYNC);
	pull(&b);
	assert_int_equal(n_calls, 1);
	assert_int_equal(b.reads->notes[0].synced, 1);
	assert_int_equal(b.reads->noted, 1);
	b.reads->noted = 0;
	respond(b.e.g, 0, 0, &out, sizeof(out));
	expect_reply(b.e.g, b.e.g->unique, 0);
	assert_int_equal(b.reads->notes[0].synced, 2);
	assert_int_equal(b.reads->notes[0].wrote, 0); /* the server has it safely */
	assert_int_equal(b.reads->noted, 1);
	send_write(&b, 0);
	pull(&b);
	assert_int_equal(b.reads->notes[0].wrote, 1);
	respond(b.e.g, 0, 0, &out, sizeof(out));
	expect_reply(b.e.g, b.e.g->unique, 0);
	assert_int_equal(b.reads->notes[0].wrote, 2);
	assert_int_equal(b.reads->notes[0].synced, 2);
	both_down(&b);
}

static void expect_passed(struct both *b, unsigned i, uint32_t opcode, uint64_t unique)
{
	struct fuse_in_header h;

	assert_int_equal(word_of(b, i), MOUNT_WORKER_FORWARDED);
	assert_true(b->reads->done & 1ULL << i);
	assert_int_equal(b->common->done, 1);
	memcpy(&h, mount_worker_reads_buf(b->reads, i), sizeof(h));
	assert_int_equal(h.opcode, opcode);
	assert_true(h.unique == unique);
	assert_true(h.nodeid == b->e.node);
}

/* How often the owner's bell was rung. */
static uint64_t rung(struct both *b)
{
	uint64_t n = 0;

	return read(b->e.g->cfg->mounts[0].bell_fd, &n, sizeof(n)) == (ssize_t)sizeof(n) ? n : 0;
}

static void test_worker_forwards_other_requests(void **state)
{
	struct both b;
	uint64_t unique, fh;

	mount_worker_reads_up(&b, *state);
	(void)rung(&b);
	b.common->asleep = 1;
	unique = send_getattr(&b);
	pull(&b);
	expect_passed(&b, 0, FUSE_GETATTR, unique);
	assert_int_equal(rung(&b), 1);
	assert_int_equal(b.common->asleep, 0);
	/* Another file. */
	fh = b.e.fh++;
	unique = send_read(&b);
	pull(&b);
	expect_passed(&b, 1, FUSE_READ, unique);
	b.e.fh = fh;
	/* An append. */
	send_write(&b, O_APPEND);
	pull(&b);
	expect_passed(&b, 2, FUSE_WRITE, b.e.g->unique);
	/* A resent request is the owner's decision. */
	unique = (b.e.g->unique += 2) | FUSE_PROTO_UNIQUE_RESEND;
	kernel_send_to(b.e.g, FUSE_READ, unique, b.e.node, read_of(b.e.fh, 0),
		       sizeof(struct fuse_read_in));
	pull(&b);
	expect_passed(&b, 3, FUSE_READ, unique);
	/* A file that was closed, or that it cannot open. */
	b.e.area->files[0].state = MOUNT_WORKER_FILE_REFUSED;
	unique = send_read(&b);
	pull(&b);
	expect_passed(&b, 4, FUSE_READ, unique);
	assert_int_equal(n_calls, 0);
	expect_silence(b.e.g);
	both_down(&b);
}

static void test_worker_reads_only_when_allowed(void **state)
{
	struct both b;

	mount_worker_reads_up(&b, *state);
	send_read(&b);
	b.common->reads = 0;
	pull(&b);
	assert_int_equal(n_calls, 0);
	assert_int_equal(b.reads->n_read, 0);
	b.common->reads = 1;
	fuse_client_quiesce(b.e.g->f);
	assert_false(fuse_client_is_reading(b.e.g->f));
	pull(&b);
	assert_int_equal(b.reads->n_read, 0);
	both_down(&b);
}

/* It has no slot for another request, and the owner sleeps: a worker that was woken for it wakes
 * the owner. */
static void test_full_worker_wakes_the_owner(void **state)
{
	struct both b;

	mount_worker_reads_up(&b, *state);
	for (unsigned i = 0; i < MOUNT_WORKER_READS; i++)
		b.reads->slots[i].word = MOUNT_WORKER_FORWARDED;
	b.e.g->f->reads_free = 0;
	(void)rung(&b);
	send_read(&b);
	for (unsigned i = 0; i < 3; i++) {
		b.common->asleep = 1;
		pull(&b);
		assert_int_equal(rung(&b), i == 0); /* once */
		assert_int_equal(b.reads->n_read, 0);
		assert_false(fuse_client_is_reading(b.e.g->f));
	}
	b.reads->slots[7].word = MOUNT_WORKER_FREE; /* the owner has taken it */
	pull(&b);
	assert_int_equal(b.reads->n_read, 1);
	both_down(&b);
}

/* Died while serving it: the server gets the same number, and knows whether it executed the
 * request. */
static void test_worker_dies_while_serving_a_request(void **state)
{
	struct both b;
	uint64_t unique;

	mount_worker_reads_up(&b, *state);
	unique = send_read(&b);
	pull(&b);
	assert_int_equal(n_calls, 1);
	b.reads->noted = 0; /* it may have died before it was */
	mount_worker_restarts(&b);
	assert_int_equal(n_calls, 1);
	assert_true(call_header(0).unique == (unique | FUSE_PROTO_UNIQUE_RESEND));
	assert_int_equal(b.reads->notes[0].out, 1);
	assert_int_equal(b.reads->noted, 1);
	respond(b.e.g, 0, 0, "the data", 8);
	expect_read(&b, unique);
	assert_int_equal(word_of(&b, 0), MOUNT_WORKER_FREE);
	assert_int_equal(b.reads->notes[0].out, 0);
	both_down(&b);
}

/* The kernel may have the reply: the program may have written there again since. */
static void test_worker_dies_after_its_reply(void **state)
{
	struct fuse_out_header out = {.len = sizeof(out) + sizeof(struct fuse_write_out)};
	struct both b;

	mount_worker_reads_up(&b, *state);
	send_write(&b, 0);
	pull(&b);
	assert_int_equal(n_calls, 1);
	b.e.g->f = fuse_client_free(b.e.g->f);
	memcpy(b.reads->slots[0].reply, &out, sizeof(out));
	b.reads->slots[0].word |= MOUNT_WORKER_REPLIED;
	mount_worker_begin(&b.e);
	assert_int_equal(n_calls, 0);
	expect_reply(b.e.g, b.e.g->unique, 0);
	assert_int_equal(word_of(&b, 0), MOUNT_WORKER_FREE);
	assert_int_equal(b.reads->notes[0].out, 0);
	both_down(&b);
}

/* The same with the number of the resend; meanwhile neither number is known. */
static void test_worker_repeats_the_reply_to_a_claimed_request(void **state)
{
	struct fuse_out_header out = {.len = sizeof(out) + sizeof(struct fuse_write_out)};
	int only_reads[2];
	struct both b;

	mount_worker_reads_up(&b, *state);
	send_write(&b, 0);
	pull(&b);
	b.e.g->f = fuse_client_free(b.e.g->f);
	memcpy(b.reads->slots[0].reply, &out, sizeof(out));
	b.reads->slots[0].word |= MOUNT_WORKER_REPLIED | MOUNT_WORKER_RESENT;
	assert_int_equal(pipe(only_reads), 0);
	b.e.g->cfg->shared[0].fuse_fd = only_reads[0];
	mount_worker_begin(&b.e);
	assert_int_equal(MOUNT_WORKER_STATE(word_of(&b, 0)), MOUNT_WORKER_DISPATCHED);
	b.e.g->f->fd = b.e.g->cfg->shared[0].fuse_fd = b.e.g->dev;
	pull(&b);
	assert_int_equal(n_calls, 0);
	expect_reply(b.e.g, b.e.g->unique | FUSE_PROTO_UNIQUE_RESEND, 0);
	assert_int_equal(MOUNT_WORKER_STATE(word_of(&b, 0)),
			 MOUNT_WORKER_DONE); /* its claimant gets the end */
	assert_int_equal(b.reads->notes[0].out, 0);
	close(only_reads[0]);
	close(only_reads[1]);
	both_down(&b);
}

static void test_worker_dies_while_reading(void **state)
{
	const struct fuse_in_header none = {0};
	struct both b;
	uint64_t whole, cut;

	mount_worker_reads_up(&b, *state);
	b.e.g->f = fuse_client_free(b.e.g->f);
	whole = left_reading(&b, 3, 4096);
	cut = left_reading(&b, 4, 0); /* its memory may have been missing */
	b.reads->slots[5].word = MOUNT_WORKER_READING;
	memcpy(mount_worker_reads_buf(b.reads, 5), &none, sizeof(none)); /* nothing was read */
	mount_worker_begin(&b.e);
	expect_reply(b.e.g, cut, -EIO);
	assert_int_equal(word_of(&b, 4), MOUNT_WORKER_FREE);
	assert_int_equal(b.reads->n_read, 1);
	assert_int_equal(word_of(&b, 5), MOUNT_WORKER_FREE);
	assert_int_equal(n_calls, 1);
	assert_true(call_header(0).unique == whole); /* the kernel has not resent it before */
	respond(b.e.g, 0, 0, "the data", 8);
	expect_read(&b, whole);
	expect_silence(b.e.g);
	both_down(&b);
}

/* Its server is away: the owner may have another. */
static void test_worker_returns_waiting_requests(void **state)
{
	struct both b;
	uint64_t unique;

	mount_worker_reads_up(&b, *state);
	calls_limit = 0;
	unique = send_read(&b);
	pull(&b);
	assert_int_equal(MOUNT_WORKER_STATE(word_of(&b, 0)), MOUNT_WORKER_TAKEN);
	fuse_client_event(b.e.g->f, RUDP_SESSION_LOST, 0, b.e.g->now_ns);
	b.e.g->now_ns += 2 * NSEC_PER_SEC;
	fuse_client_tick(b.e.g->f, b.e.g->now_ns);
	expect_passed(&b, 0, FUSE_READ, unique);
	assert_memory_equal(mount_worker_reads_buf(b.reads, 0) + sizeof(struct fuse_in_header),
			    &b.e.fh, sizeof(b.e.fh));
	assert_int_equal(b.reads->notes[0].out, 0);
	assert_false(fuse_client_is_reading(b.e.g->f));
	calls_limit = CALLS_MAX;
	both_down(&b);
}

/* A process that is being killed does not wait for the server. */
static void test_worker_gets_signals(void **state)
{
	struct both b;
	uint64_t unique;

	mount_worker_reads_up(&b, *state);
	unique = send_read(&b);
	pull(&b);
	assert_int_equal(n_calls, 1);
	b.reads->slots[0].word |= MOUNT_WORKER_SIGNALLED;
	b.reads->posted |= 1;
	pull(&b); /* no procfs here: a process with a signal counts as dying */
	assert_int_equal(call_header(1).opcode, FUSE_INTERRUPT);
	b.e.g->now_ns += 2 * NSEC_PER_SEC;
	fuse_client_tick(b.e.g->f, b.e.g->now_ns);
	expect_reply(b.e.g, unique, -EINTR);
	both_down(&b);
}

static void test_worker_answers_claimed_requests(void **state)
{
	struct fuse_out_header out;
	struct both b;
	uint64_t unique;

	mount_worker_reads_up(&b, *state);
	/* While the kernel had it, and when its answer came too early. */
	for (unsigned late = 0; late < 2; late++) {
		unique = send_read(&b);
		pull(&b);
		if (late) {
			b.reads->slots[0].unique |= FUSE_PROTO_UNIQUE_RESEND;
			mount_worker_restarts_at(&b, 0, MOUNT_WORKER_DISPATCHED);
		} else {
			b.reads->slots[0].word |= MOUNT_WORKER_RESENT;
		}
		respond(b.e.g, 0, 0, "the data", 8);
		assert_true(kernel_receive(b.e.g, &out, NULL, 0) > 0);
		assert_true(out.unique == (unique | FUSE_PROTO_UNIQUE_RESEND));
		/* Its claimant must get the end. */
		assert_int_equal(MOUNT_WORKER_STATE(word_of(&b, 0)), MOUNT_WORKER_DONE);
		assert_true(b.reads->done & 1);
		b.reads->slots[0].word = MOUNT_WORKER_FREE;
		b.e.g->f->reads_free = 0; /* it looks for them */
		b.reads->done = 0;
	}
	both_down(&b);
}

/* A write that failed for the program is not repeated later, over what it has written since. */
static void test_worker_does_not_repeat_a_failed_write(void **state)
{
	struct both b;

	mount_worker_reads_up(&b, *state);
	send_write(&b, 0);
	pull(&b);
	assert_int_equal(n_calls, 1);
	b.e.g->now_ns += 31 * NSEC_PER_SEC;
	fuse_client_tick(b.e.g->f, b.e.g->now_ns);
	expect_reply(b.e.g, b.e.g->unique, -EIO);
	mount_worker_restarts(&b);
	assert_int_equal(n_calls, 0);
	expect_reply(b.e.g, b.e.g->unique, -EIO); /* the kernel rejects the reply */
	assert_int_equal(word_of(&b, 0), MOUNT_WORKER_FREE);
	both_down(&b);
}

/* Nor is it retried because the kernel had resent it. */
static void test_worker_does_not_repeat_a_claimed_failed_write(void **state)
{
	const struct fuse_write_out out = {.size = 8};
	struct both b;

	mount_worker_reads_up(&b, *state);
	send_write(&b, 0);
	pull(&b);
	assert_int_equal(n_calls, 1);
	b.reads->slots[0].word |= MOUNT_WORKER_RESENT;
	b.e.g->now_ns += 31 * NSEC_PER_SEC;
	fuse_client_tick(b.e.g->f, b.e.g->now_ns);
	expect_reply(b.e.g, b.e.g->unique | FUSE_PROTO_UNIQUE_RESEND, -EIO);
	respond(b.e.g, 0, 0, &out, sizeof(out));
	expect_silence(b.e.g);
	assert_int_equal(MOUNT_WORKER_STATE(word_of(&b, 0)), MOUNT_WORKER_DONE);
	assert_true(b.reads->done & 1);
	pull(&b);
	assert_int_equal(n_calls, 0);
	both_down(&b);
}

/* No process may replace a mount worker: its buffers are released, except those that the owner
 * will read. */
static void test_worker_releases_its_buffers(void **state)
{
	struct both b;
	uint64_t unique;

	mount_worker_reads_up(&b, *state);
	unique = send_read(&b);
	pull(&b);
	respond(b.e.g, 0, 0, "the data", 8);
	expect_read(&b, unique);
	send_read(&b);
	send_getattr(&b);
	pull(&b);
	assert_int_equal(MOUNT_WORKER_STATE(word_of(&b, 0)), MOUNT_WORKER_TAKEN);
	assert_int_equal(word_of(&b, 1), MOUNT_WORKER_FORWARDED);
	mount_worker_reads_buf(b.reads, 2)[0] =
		mount_worker_reads_buf(b.reads, MOUNT_WORKER_READS - 1)[4096] = 1;
	b.reads->populated[2] = 8192;
	b.e.g->f = fuse_client_free(b.e.g->f);
	assert_int_equal(mount_worker_reads_buf(b.reads, 2)[0], 0);
	assert_int_equal(mount_worker_reads_buf(b.reads, MOUNT_WORKER_READS - 1)[4096], 0);
	assert_int_equal(b.reads->populated[2], 0);
	assert_true(mount_worker_reads_buf(b.reads, 0)[0] != 0);
	expect_passed(&b, 1, FUSE_GETATTR, b.e.g->unique);
	mount_worker_begin(&b.e);
	assert_int_equal(n_calls, 1);
	both_down(&b);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_worker_serves_known_files),
		CASE(test_worker_serves_the_hundredth_file),
		CASE(test_worker_closes_only_its_own_files),
		CASE(test_worker_reports_its_writes),
		CASE(test_worker_forwards_other_requests),
		CASE(test_worker_reads_only_when_allowed),
		CASE(test_full_worker_wakes_the_owner),
		CASE(test_worker_dies_while_serving_a_request),
		CASE(test_worker_dies_after_its_reply),
		CASE(test_worker_repeats_the_reply_to_a_claimed_request),
		CASE(test_worker_dies_while_reading),
		CASE(test_worker_returns_waiting_requests),
		CASE(test_worker_gets_signals),
		CASE(test_worker_answers_claimed_requests),
		CASE(test_worker_does_not_repeat_a_failed_write),
		CASE(test_worker_does_not_repeat_a_claimed_failed_write),
		CASE(test_worker_releases_its_buffers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
