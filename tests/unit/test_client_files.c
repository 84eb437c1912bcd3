/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open files at the client: when closes are reported to the server, and when the kernel caches
 * pages of them. tests/unit/test_client_tables.c tests that they survive a death of either end.
 */
#include "tests/lib/fuse/client_rig.h"

#include <fcntl.h>
#include <time.h>

static uint64_t release_fh(unsigned call, unsigned i)
{
	struct fuse_release_in in;
	const uint8_t *at = calls[call].msg + sizeof(struct fuse_in_header);
	uint64_t fh;

	if (i == 0) {
		memcpy(&in, at, sizeof(in));
		return in.fh;
	}
	memcpy(&fh, at + sizeof(in) + (i - 1) * sizeof(fh), sizeof(fh));
	return fh;
}

static unsigned release_count(unsigned call)
{
	assert_int_equal(call_header(call).opcode, FUSE_RELEASE);
	return 1 + (unsigned)(call_header(call).len - sizeof(struct fuse_in_header) -
			      sizeof(struct fuse_release_in)) /
			   sizeof(uint64_t);
}

/* Closed files are reported a few at a time; soon; and before a name is removed. */
static void test_closes_are_reported_together(void **state)
{
	struct rig *g = *state;
	uint64_t a, fh[FUSE_PROTO_RELEASES_MAX + 2];

	g->features = FUSE_PROTO_FEATURE_RELEASES;
	bring_up(g);
	a = lookup(g, "a", "handle-a");
	assert_int_equal(fuse_client_open_files(g->f), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(fh); i++)
		fh[i] = open_file(g, a, 100 + i);
	assert_int_equal(fuse_client_open_files(g->f), ARRAY_SIZE(fh));
	kernel_release(g, a, fh[0]);
	kernel_release(g, a, fh[1]);
	assert_int_equal(n_calls, 0);
	assert_int_equal(fuse_client_open_files(g->f), ARRAY_SIZE(fh) - 2);
	assert_true(fuse_client_tick(g->f, g->now_ns) <= g->now_ns + 20 * NSEC_PER_MSEC);
	fuse_client_tick(g->f, g->now_ns += 20 * NSEC_PER_MSEC);
	assert_int_equal(n_calls, 1);
	assert_int_equal(release_count(0), 2);
	assert_int_equal(release_fh(0, 0), 100);
	assert_int_equal(release_fh(0, 1), 101);
	respond(g, 0, 0, NULL, 0);
	for (unsigned i = 2; i < ARRAY_SIZE(fh); i++)
		kernel_release(g, a, fh[i]);
	assert_int_equal(n_calls, 1); /* as many as fit */
	reset_all(g, g->now_ns);      /* the session ends, the server lives */
	fuse_client_event(g->f, RUDP_SESSION_LOST, 0, g->now_ns);
	fuse_client_tick(g->f, g->now_ns);
	respond_init(g);
	assert_int_equal(release_count(0), FUSE_PROTO_RELEASES_MAX);
	assert_int_equal(release_fh(0, FUSE_PROTO_RELEASES_MAX - 1),
			 100 + FUSE_PROTO_RELEASES_MAX + 1);
	respond(g, 0, 0, NULL, 0);
	assert_int_equal(g->f->files.n_closing, 0);
	assert_int_equal(fuse_client_open_files(g->f), 0);
	fh[0] = open_file(g, a, 300);
	kernel_release(g, a, fh[0]);
	assert_int_equal(n_calls, 0);
	kernel_send(g, FUSE_UNLINK, g->unique += 2, "a", 2);
	fuse_client_pull(g->f, true, g->now_ns);
	assert_int_equal(release_count(0), 1);
	assert_int_equal(call_header(1).opcode, FUSE_UNLINK);
	respond(g, 1, 0, NULL, 0);
	expect_reply(g, g->unique, 0);
	/* The server dies before it answers: its next incarnation has no such file. */
	server_restarts(g, 77, 1);
	fuse_client_tick(g->f, g->now_ns += 20 * NSEC_PER_MSEC);
	assert_int_equal(n_calls, 0);
	assert_int_equal(g->f->files.n_closing, 0);
}

static uint32_t open_mode(struct rig *g, uint64_t a, uint32_t flags, uint64_t *ret_fh)
{
	const struct fuse_attr attr = {.mode = S_IFREG | 0644, .mtime = 1};
	struct fuse_open_out o = open_with(g, a, flags, 50, &attr);

	*ret_fh = o.fh;
	return o.open_flags & (FOPEN_DIRECT_IO | FOPEN_PARALLEL_DIRECT_WRITES);
}

/* Either all open files of a node bypass the page cache, or none. */
static void test_write_only_files_bypass_the_page_cache(void **state)
{
	const uint32_t direct = FOPEN_DIRECT_IO, kept = FOPEN_PARALLEL_DIRECT_WRITES;
	struct rig *g = *state;
	uint64_t a, fh[4], any;

	g->features = FUSE_PROTO_FEATURE_RELEASES; /* no notification meanwhile */
	bring_up(g);
	a = lookup(g, "a", "handle-a");
	assert_int_equal(open_mode(g, a, O_WRONLY | O_APPEND, &any), direct | kept);
	assert_int_equal(open_mode(g, a, O_WRONLY | O_DIRECT, &any), kept);
	assert_int_equal(open_mode(g, a, O_WRONLY, &fh[0]), direct);
	assert_int_equal(open_mode(g, a, O_RDONLY, &fh[1]), direct);
	kernel_release(g, a, fh[0]);
	assert_int_equal(open_mode(g, a, O_RDWR, &fh[0]), direct);
	kernel_release(g, a, fh[0]);
	kernel_release(g, a, fh[1]);
	assert_int_equal(open_mode(g, a, O_RDONLY, &fh[0]), kept);
	assert_int_equal(open_mode(g, a, O_WRONLY, &fh[1]), kept);
	/* A successor knows which files use the page cache. */
	worker_restarts(g);
	assert_int_equal(open_mode(g, a, O_WRONLY, &fh[2]), kept);
	for (unsigned i = 0; i < 3; i++)
		kernel_release(g, a, fh[i]);
	assert_int_equal(open_mode(g, a, O_WRONLY, &fh[0]), direct);
	worker_restarts(g);
	assert_int_equal(open_mode(g, a, O_RDONLY, &fh[1]), direct);
	kernel_release(g, a, fh[0]);
	kernel_release(g, a, fh[1]);
	/* A kernel before 6.6 cannot map files that bypass the page cache. */
	g->f->state.head->kernel = 0;
	assert_int_equal(open_mode(g, a, O_WRONLY, &fh[0]), kept);
	assert_int_equal(open_mode(g, a, O_RDWR | O_DIRECT, &fh[0]), kept);
}

/* A reader and writer with O_DIRECT keeps later openers out of the page cache, and bypasses it
 * itself if no file uses it. */
static void test_direct_files_bypass_the_page_cache(void **state)
{
	const uint32_t direct = FOPEN_DIRECT_IO, kept = FOPEN_PARALLEL_DIRECT_WRITES;
	struct rig *g = *state;
	uint64_t a, fh[3];

	g->features = FUSE_PROTO_FEATURE_RELEASES;
	bring_up(g);
	a = lookup(g, "a", "handle-a");
	assert_int_equal(open_mode(g, a, O_RDONLY | O_DIRECT, &fh[0]), kept);
	assert_int_equal(open_mode(g, a, O_RDWR | O_DIRECT, &fh[1]), direct | kept);
	assert_int_equal(open_mode(g, a, O_RDONLY, &fh[2]), direct);
	kernel_release(g, a, fh[0]);
	kernel_release(g, a, fh[2]);
	worker_restarts(g);
	assert_int_equal(open_mode(g, a, O_RDWR, &fh[2]), direct);
	kernel_release(g, a, fh[2]);
	kernel_release(g, a, fh[1]);
	/* It counts for nothing where another file uses the page cache, before and after. */
	assert_int_equal(open_mode(g, a, O_RDONLY, &fh[0]), kept);
	assert_int_equal(open_mode(g, a, O_RDWR | O_DIRECT, &fh[1]), kept);
	kernel_release(g, a, fh[0]);
	assert_int_equal(open_mode(g, a, O_RDONLY, &fh[0]), kept);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

/* Threads may wait in many opens when the worker dies; each of them is resent. */
static void test_resent_opens_do_not_search_all_files(void **state)
{
	struct rig *g = *state;
	clock_t began;
	uint64_t a, fh;

	bring_up(g);
	a = lookup(g, "a", "handle-a");
	for (uint32_t i = 0; i < 2; i++) {
		fh = open_file(g, a, 50 + i);
		client_file_at(&g->f->files, (uint32_t)fh)->opened_by = 101 + 2 * i;
	}
	g->f->state.head->n_files = CLIENT_FILES_MAX;
	worker_restarts(g);
	began = clock();
	for (uint32_t i = 0; i < 2000; i++) {
		assert_null(client_file_opened_by(&g->f->files, a, 1001 + 2 * i));
		assert_true(clock() - began < CLOCKS_PER_SEC);
	}
	assert_non_null(client_file_opened_by(&g->f->files, a, 101));
	assert_non_null(client_file_opened_by(&g->f->files, a, 103));
	assert_null(client_file_opened_by(&g->f->files, a + 1, 101));
	kernel_release(g, a, fh);
	assert_null(client_file_opened_by(&g->f->files, a, 103));
	assert_non_null(client_file_opened_by(&g->f->files, a, 101));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_closes_are_reported_together),
		CASE(test_write_only_files_bypass_the_page_cache),
		CASE(test_direct_files_bypass_the_page_cache),
		CASE(test_resent_opens_do_not_search_all_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
