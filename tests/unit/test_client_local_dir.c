/* SPDX-License-Identifier: BSD-3-Clause */
/* Local directories: the client opens each at the server before other clients may remove it,
 * since an unopened directory vanishes with its name. */
#include "tests/lib/fuse/client_prefetch_rig.h"

static unsigned n_reopens(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < n_calls; i++)
		n += call_header(i).opcode == FUSE_OPENDIR &&
		     call_tail(i).flags == FUSE_PROTO_REQ_REOPEN;
	return n;
}

/* All server requests for it, by the same handle. */
static void reopen_all(struct rig *g)
{
	for (unsigned i = n_calls; i-- > 0;)
		if (call_header(i).opcode == FUSE_OPENDIR)
			respond(g, i, 0, &(struct fuse_open_out){.fh = 21},
				sizeof(struct fuse_open_out));
	fuse_client_tick(g->f, g->now_ns);
}

/* Time until the next deadline. */
static void expect_due(struct rig *g, uint64_t ns)
{
	assert_int_equal(fuse_client_tick(g->f, g->now_ns), g->now_ns + ns);
	g->now_ns += ns - 1;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_reopens(), 0);
	g->now_ns++;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_reopens(), 1);
}

/* One that was listed that long ago. */
static void listed_ago(struct rig *g, uint64_t ns)
{
	list_once(g);
	g->now_ns += 20 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	respond_releases(g);
	g->now_ns += ns - 20 * NSEC_PER_MSEC;
}

static void test_open_directories_are_opened_at_the_server(void **state)
{
	struct rig *g = *state;
	uint64_t fh;

	bring_up(g);
	listed_ago(g, 300 * NSEC_PER_MSEC);
	fh = open_dir_locally(g);
	expect_due(g, 100 * NSEC_PER_MSEC);
	reopen_all(g);
	assert_int_equal(n_calls, 0);
	assert_true(server_is_asked(g, fh, 1)); /* at once */
	close_root(g, fh);
	/* At the latest before other clients may remove it. */
	g->now_ns += NSEC_PER_SEC;
	fuse_client_tick(g->f, g->now_ns);
	respond_releases(g);
	listed_ago(g, 850 * NSEC_PER_MSEC);
	fh = open_dir_locally(g);
	expect_due(g, 50 * NSEC_PER_MSEC);
	/* Once, and again after the server had no room. */
	fuse_client_tick(g->f, g->now_ns += 10 * NSEC_PER_MSEC);
	assert_int_equal(n_calls, 1);
	respond(g, 0, -ENFILE, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 0);
	fuse_client_tick(g->f, g->now_ns += 990 * NSEC_PER_MSEC);
	fuse_client_tick(g->f, g->now_ns += 10 * NSEC_PER_MSEC);
	assert_int_equal(n_reopens(), 1);
	reopen_all(g);
	close_root(g, fh);
}

static void test_closed_directories_are_not_opened_at_the_server(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	listed_ago(g, 300 * NSEC_PER_MSEC);
	close_root(g, open_dir_locally(g));
	for (unsigned i = 0; i < 12; i++)
		fuse_client_tick(g->f, g->now_ns += 100 * NSEC_PER_MSEC);
	assert_int_equal(n_calls, 0);
}

/* It may be removed without delay. */
static void test_an_empty_directory_is_opened_at_the_server(void **state)
{
	struct listing l = {.len = sizeof(struct fuse_open_out),
			    .tail = tail_make(FUSE_PROTO_RESP_END | FUSE_PROTO_RESP_NAMES, 0)};
	struct rig *g = *state;
	struct seen s;
	uint64_t fh;

	memcpy(l.body, &(struct fuse_open_out){.fh = 9}, sizeof(struct fuse_open_out));
	listing_add(&l, ".", NULL, S_IFDIR | 0755, 0);
	listing_add(&l, "..", NULL, S_IFDIR | 0755, 0);
	bring_up(g);
	listed_ago(g, 300 * NSEC_PER_MSEC);
	for (unsigned i = 0; i < CLIENT_LOCAL_DIRS_MAX; i++)
		fh = open_dir_locally(g);
	open_begin(g);
	respond_tail(g, n_calls - 1, 0, l.body, l.len, &l.tail);
	fh = open_end(g);
	assert_false(read_dir_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
	assert_int_equal(s.n, 2);
	close_root(g, fh);
	fuse_client_tick(g->f, g->now_ns += 100 * NSEC_PER_MSEC);
	reopen_all(g);
	reopen_all(g);
	assert_int_equal(g->f->prefetch.n_local_dirs, 0);
	assert_false(is_cached(g));
}

static uint64_t remove_begin(struct rig *g, uint32_t opcode, const char *name)
{
	kernel_send(g, opcode, g->unique += 2, name, strlen(name) + 1);
	fuse_client_pull(g->f, true, g->now_ns);
	return g->unique;
}

/* Once this client removes the last name, other clients may remove the directory. */
static void test_it_is_opened_at_the_server_before_its_last_name_goes(void **state)
{
	struct rig *g = *state;
	uint64_t unique, d;

	bring_up(g);
	d = lookup_as(g, "d", "handle-e", S_IFDIR | 0755).nodeid;
	listed_ago(g, 300 * NSEC_PER_MSEC);
	(void)open_dir_locally(g);
	/* Names elsewhere do not matter. */
	for (unsigned i = 0; i < 4; i++) {
		kernel_send_to(g, FUSE_UNLINK, g->unique += 2, d, "x", 2);
		fuse_client_pull(g->f, true, g->now_ns);
		assert_int_equal(n_calls, 1);
		expect_answer(g, 0);
	}
	/* With more names, the order does not matter. */
	remove_begin(g, FUSE_UNLINK, "lent");
	assert_int_equal(n_calls, 2);
	assert_int_equal(n_reopens(), 1);
	expect_answer(g, 0);
	remove_begin(g, FUSE_RMDIR, "folder");
	assert_int_equal(n_calls, 2);
	expect_answer(g, 0);
	unique = remove_begin(g, FUSE_UNLINK, "other");
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	assert_int_equal(n_reopens(), 1);
	reopen_all(g);
	assert_int_equal(n_calls, 1);
	assert_int_equal(call_header(0).opcode, FUSE_UNLINK);
	expect_answer_to(g, unique, 0);
	/* If the server has no room, removals proceed all the same. */
	g->now_ns += NSEC_PER_SEC;
	listed_ago(g, 300 * NSEC_PER_MSEC);
	(void)open_dir_locally(g);
	for (unsigned i = 0; i < 2; i++) {
		remove_begin(g, FUSE_UNLINK, "x");
		expect_answer(g, 0);
	}
	unique = remove_begin(g, FUSE_UNLINK, "y");
	assert_int_equal(n_calls, 1);
	respond(g, 0, -ENFILE, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	expect_answer_to(g, unique, 0);
}

/* A limited number, so that the server can open them in time, a few at once. */
static void test_the_number_of_local_directories_is_limited(void **state)
{
	struct rig *g = *state;
	uint64_t fh;

	bring_up(g);
	listed_ago(g, 300 * NSEC_PER_MSEC);
	for (unsigned i = 0; i < CLIENT_LOCAL_DIRS_MAX; i++)
		fh = open_dir_locally(g);
	assert_false(is_cached(g));
	respond_releases(g);
	close_root(g, fh);
	fh = open_dir_locally(g);
	fuse_client_tick(g->f, g->now_ns += 100 * NSEC_PER_MSEC);
	respond_releases(g);
	assert_true(n_reopens() > 0 && n_reopens() <= CLIENT_SLOTS_INTERNAL);
	for (unsigned i = 0; i < 4; i++)
		reopen_all(g);
	assert_int_equal(n_reopens(), 0);
	assert_int_equal(g->f->prefetch.n_local_dirs, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, names_leased_setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_open_directories_are_opened_at_the_server),
		TEST(test_closed_directories_are_not_opened_at_the_server),
		TEST(test_an_empty_directory_is_opened_at_the_server),
		TEST(test_it_is_opened_at_the_server_before_its_last_name_goes),
		TEST(test_the_number_of_local_directories_is_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
