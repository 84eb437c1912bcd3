/* SPDX-License-Identifier: BSD-3-Clause */
/* Directory entries that come with the answer to OPENDIR: who gets them, and when the server is
 * asked all the same. */
#include "tests/lib/fuse/client_prefetch_rig.h"

static uint64_t open_listed(struct rig *g)
{
	struct listing l = listing_of_three();

	open_begin(g);
	assert_true(entries_are_requested());
	respond_tail(g, n_calls - 1, 0, l.body, l.len, &l.tail);
	return open_end(g);
}

static int setup(void **state)
{
	int r = rig_setup(state);
	struct rig *g = *state;

	if (r == 0)
		g->features = FUSE_PROTO_FEATURE_LIST | FUSE_PROTO_FEATURE_RELEASES;
	return r;
}

static void test_prefetched_entries_need_no_request(void **state)
{
	struct rig *g = *state;
	struct seen s;
	uint64_t fh;

	bring_up(g);
	fh = open_listed(g);
	g->now_ns += 20 * NSEC_PER_MSEC;
	assert_false(read_dir_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
	assert_int_equal(s.n, 4);
	assert_string_equal(s.entries[1].name, "folder");
	assert_true(s.entries[1].e.nodeid > 1 && s.entries[2].e.nodeid > 1);
	/* For the rest of the second. */
	for (unsigned i = 1; i < 3; i++) {
		assert_int_equal(s.entries[i].e.entry_valid, 0);
		assert_int_equal(s.entries[i].e.entry_valid_nsec, 980 * NSEC_PER_MSEC);
		assert_int_equal(s.entries[i].e.attr_valid_nsec, 980 * NSEC_PER_MSEC);
	}
	/* Another client may have changed it: it has a name only, and is looked up. */
	assert_string_equal(s.entries[3].name, "other");
	assert_int_equal(s.entries[3].e.nodeid, 0);
	/* The end is known; a reader that rewinds asks the server. */
	assert_false(server_is_asked(g, fh, s.end));
	assert_true(server_is_asked(g, fh, 0));
	close_root(g, fh);
}

static void test_partial_reads_continue_in_the_prefetch(void **state)
{
	struct rig *g = *state;
	struct seen s;
	uint64_t fh;

	bring_up(g);
	fh = open_listed(g);
	assert_false(read_dir_at(g, FUSE_READDIRPLUS, fh, 0, 400, &s));
	assert_int_equal(s.n, 2);
	assert_false(read_dir_at(g, FUSE_READDIR, fh, s.end, 4096, &s));
	assert_int_equal(s.n, 2);
	assert_string_equal(s.entries[0].name, "lent");
	assert_false(server_is_asked(g, fh, s.end));
	close_root(g, fh);
	/* At another offset than the end, the server answers. */
	fh = open_listed(g);
	assert_false(read_dir_at(g, FUSE_READDIRPLUS, fh, 0, 400, &s));
	assert_true(server_is_asked(g, fh, s.end + 1));
	close_root(g, fh);
	fh = open_listed(g);
	assert_false(read_dir_at(g, FUSE_READDIRPLUS, fh, 0, 400, &s));
	assert_true(server_is_asked(g, fh, 0));
	/* No entry fits. */
	close_root(g, fh);
	fh = open_listed(g);
	assert_true(read_dir_at(g, FUSE_READDIRPLUS, fh, 0, 100, &s));
}

/* The kernel's knowledge is newer than the entries. */
static void test_prefetched_entries_do_not_replace_newer_attributes(void **state)
{
	struct rig *g = *state;
	struct seen s;
	uint64_t fh, node, file;

	bring_up(g);
	node = lookup(g, "lent", "handle-l");
	file = open_file(g, node, 4);
	fh = open_listed(g);
	write_some(g, node, file);
	assert_false(read_dir_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
	assert_int_equal(s.entries[2].e.nodeid, 0);
	assert_true(s.entries[1].e.nodeid > 1);
	close_root(g, fh);
	/* Also while it was in flight; later entries are returned. */
	open_begin(g);
	kernel_write(g, node, file, "data", 4);
	respond(g, n_calls - 1, 0, &(struct fuse_write_out){.size = 4},
		sizeof(struct fuse_write_out));
	expect_reply(g, g->unique, 0);
	struct listing l = listing_of_three();
	respond_tail(g, 0, 0, l.body, l.len, &l.tail);
	fh = open_end(g);
	assert_false(read_dir_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
	assert_int_equal(s.entries[2].e.nodeid, 0);
	close_root(g, fh);
	fh = open_listed(g);
	assert_false(read_dir_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
	assert_int_equal(s.entries[2].e.nodeid, node);
	close_root(g, fh);
}

/* A mount worker's answers reach the kernel before the owner gets the report. */
static void test_files_that_workers_use_have_names_only(void **state)
{
	struct rig *g = *state;
	struct seen s;
	struct ends e;

	owner_up(&e, g);
	mount_worker_lives(&e);
	e.node = lookup(g, "lent", "handle-l");
	e.fh = open_file(g, e.node, 51);
	ask_read(&e); /* ours, all the time: the next are the mount worker's */
	for (unsigned k = 0; k < 4; k++) {
		const bool before = k < 2, ends = k % 2;
		uint64_t fh;

		if (before)
			ask_read(&e);
		fh = open_listed(g);
		if (!before)
			ask_read(&e);
		assert_int_equal(state_of(&e, 0), MOUNT_WORKER_DISPATCHED);
		if (ends) {
			mount_worker_says(&e, 0, MOUNT_WORKER_DONE);
			fuse_client_pull(g->f, true, g->now_ns);
			assert_int_equal(state_of(&e, 0), MOUNT_WORKER_FREE);
		}
		assert_false(read_dir_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
		assert_int_equal(s.entries[2].e.nodeid, 0);
		assert_true(s.entries[1].e.nodeid > 1);
		close_root(g, fh);
		if (!ends)
			mount_worker_says(&e, 0, MOUNT_WORKER_DONE);
		fuse_client_pull(g->f, true, g->now_ns);
	}
	/* All of that ended before it. */
	assert_false(read_dir_at(g, FUSE_READDIRPLUS, open_listed(g), 0, 4096, &s));
	assert_int_equal(s.entries[2].e.nodeid, e.node);
	ends_down(&e);
}

/* The entry of that name, of a directory that is read once. */
static struct fuse_entry_out listed_as(struct rig *g, const char *name)
{
	uint64_t fh = open_listed(g);
	struct seen s;

	assert_false(read_dir_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
	close_root(g, fh);
	for (unsigned i = 0; i < s.n; i++)
		if (strcmp(s.entries[i].name, name) == 0)
			return s.entries[i].e;
	fail();
	return (struct fuse_entry_out){};
}

/* The kernel would drop what else it has learned of it. */
static void test_cached_entries_are_not_repeated(void **state)
{
	struct rig *g = *state;
	uint64_t node, file;

	bring_up(g);
	node = listed_as(g, "lent").nodeid;
	assert_true(node > 1);
	g->now_ns += 400 * NSEC_PER_MSEC;
	assert_int_equal(listed_as(g, "lent").nodeid, 0);
	assert_true(listed_as(g, "folder").nodeid > 1); /* it has no lease */
	/* But early enough for a program that looks at it then. */
	g->now_ns += 100 * NSEC_PER_MSEC;
	assert_int_equal(listed_as(g, "lent").nodeid, node);
	assert_int_equal(listed_as(g, "lent").nodeid, 0);
	/* The kernel may not know all changes. */
	file = open_file(g, node, 4);
	write_some(g, node, file);
	assert_int_equal(listed_as(g, "lent").nodeid, node);
	assert_int_equal(listed_as(g, "lent").nodeid, 0);
	/* An entry that the kernel has forgotten is returned. */
	forget(g, node, 3);
	assert_true(listed_as(g, "lent").nodeid > 1);
}

/* Unread prefetches are requested less often. */
static uint64_t open_until_listed(struct rig *g)
{
	for (unsigned i = 0; i < 64; i++) {
		struct listing l = listing_of_three();

		open_begin(g);
		if (entries_are_requested()) {
			respond_tail(g, n_calls - 1, 0, l.body, l.len, &l.tail);
			return open_end(g);
		}
		respond(g, n_calls - 1, 0, l.body, sizeof(struct fuse_open_out));
		close_root(g, open_end(g));
	}
	fail();
	return 0;
}

static void make_folder(struct rig *g)
{
	uint8_t arg[sizeof(struct fuse_mkdir_in) + 2] = {[sizeof(struct fuse_mkdir_in)] = 'd'};
	struct fuse_entry_out e = entry_make(S_IFDIR | 0755);
	struct tail t = tail_make(0, 1);

	kernel_send(g, FUSE_MKDIR, g->unique += 2, arg, sizeof(arg));
	fuse_client_pull(g->f, true, g->now_ns);
	tail_add_handle(&t, "handle-new");
	respond_tail(g, n_calls - 1, 0, &e, sizeof(e), &t);
	expect_reply(g, g->unique, 0);
}

static void test_an_old_prefetch_is_not_used(void **state)
{
	struct rig *g = *state;
	uint64_t fh;

	bring_up(g);
	fh = open_listed(g);
	g->now_ns += 100 * NSEC_PER_MSEC;
	assert_true(server_is_asked(g, fh, 0));
	close_root(g, fh);
	/* A program on this host has removed a name. */
	open_begin(g); /* after an unread one comes one without */
	assert_false(entries_are_requested());
	respond(g, n_calls - 1, 0, &(struct fuse_open_out){.fh = 9}, sizeof(struct fuse_open_out));
	close_root(g, open_end(g));
	fh = open_listed(g);
	kernel_send(g, FUSE_UNLINK, g->unique += 2, "other", 6);
	fuse_client_pull(g->f, true, g->now_ns);
	respond(g, n_calls - 1, 0, NULL, 0);
	expect_reply(g, g->unique, 0);
	assert_true(server_is_asked(g, fh, 0));
	/* Another has made one. */
	close_root(g, fh);
	fh = open_until_listed(g);
	make_folder(g);
	assert_true(server_is_asked(g, fh, 0));
}

static void test_a_new_session_drops_prefetches(void **state)
{
	struct rig *g = *state;
	uint64_t fh;

	bring_up(g);
	fh = open_listed(g);
	server_restarts(g, 99, g->server.verifier);
	assert_int_equal(call_header(0).opcode, FUSE_OPENDIR); /* opened again */
	assert_false(entries_are_requested());
	respond(g, 0, 0, &(struct fuse_open_out){.fh = 5}, sizeof(struct fuse_open_out));
	fuse_client_tick(g->f, g->now_ns);
	assert_true(server_is_asked(g, fh, 0));
}

/* A resent request may have been answered before. */
static void test_a_resent_open_requests_no_entries(void **state)
{
	struct listing l = listing_of_three();
	struct rig *g = *state;

	bring_up(g);
	open_begin(g);
	assert_true(entries_are_requested());
	reset_all(g, g->now_ns);
	session_up(g);
	respond_init(g);
	assert_true(call_header(0).unique & FUSE_PROTO_UNIQUE_RESEND);
	assert_false(entries_are_requested());
	respond_tail(g, 0, 0, l.body, l.len, &l.tail);
	expect_reply(g, g->unique, -EIO);
	kernel_send(g, FUSE_OPENDIR, (g->unique += 2) | FUSE_PROTO_UNIQUE_RESEND,
		    &(struct fuse_open_in){.flags = O_DIRECTORY}, sizeof(struct fuse_open_in));
	fuse_client_pull(g->f, true, g->now_ns);
	assert_false(entries_are_requested());
}

static void test_unread_prefetches_become_rare(void **state)
{
	struct rig *g = *state;
	unsigned wished = 0;
	struct seen s;
	uint64_t fh;

	bring_up(g);
	for (unsigned i = 0; i < 64; i++) {
		struct listing l = listing_of_three();

		open_begin(g);
		if (entries_are_requested()) {
			wished++;
			respond_tail(g, n_calls - 1, 0, l.body, l.len, &l.tail);
		} else {
			respond(g, n_calls - 1, 0, l.body, sizeof(struct fuse_open_out));
		}
		close_root(g, open_end(g));
	}
	assert_int_equal(wished, 6); /* the 1st, 3rd, 7th, 15th, 31st, 63rd */
	for (unsigned i = 0; i < 62; i++) {
		open_begin(g);
		assert_false(entries_are_requested());
		respond(g, n_calls - 1, 0, &(struct fuse_open_out){.fh = 9},
			sizeof(struct fuse_open_out));
		close_root(g, open_end(g));
	}
	/* One that is read resets the count. */
	fh = open_listed(g);
	assert_false(read_dir_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
	close_root(g, fh);
	close_root(g, open_listed(g));
}

static void bad(struct rig *g, const struct listing *l, const struct tail *tail)
{
	open_begin(g);
	assert_true(entries_are_requested());
	respond_tail(g, n_calls - 1, 0, l->body, l->len, tail);
	expect_reply(g, g->unique, -EIO);
}

static void test_bad_prefetches_are_rejected(void **state)
{
	struct tail no_end = tail_make(0, 0), few = tail_make(FUSE_PROTO_RESP_END, 2);
	struct listing l = listing_of_three(), cut = listing_of_three(), slash = listing_of_three();
	struct rig *g = *state;
	struct fuse_open_out o;

	bring_up(g);
	tail_add_handle(&few, "handle-d");
	tail_add_handle(&few, "handle-l");
	bad(g, &l, &few);
	cut.len -= 8;
	bad(g, &cut, &cut.tail);
	slash.body[sizeof(o) + FUSE_NAME_OFFSET_DIRENTPLUS] = '/';
	bad(g, &slash, &slash.tail);
	bad(g, &l, &no_end);
	/* A server without the feature is not asked for entries, and its entries are not
	 * accepted. */
	close_root(g, open_listed(g));
}

static void test_a_server_without_the_feature_is_not_asked(void **state)
{
	struct rig *g = *state;

	g->features = FUSE_PROTO_FEATURES & ~FUSE_PROTO_FEATURE_LIST;
	bring_up(g);
	open_begin(g);
	assert_false(entries_are_requested());
}

static void open_unlisted(struct rig *g, bool wished)
{
	const struct fuse_open_out o = {.fh = 9};

	open_begin(g);
	assert_int_equal(entries_are_requested(), wished);
	respond(g, n_calls - 1, 0, &o, sizeof(o));
	close_root(g, open_end(g));
}

static void test_large_directories_are_remembered(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	open_unlisted(g, true);
	open_unlisted(g, false);
	g->now_ns += 4 * NSEC_PER_SEC;
	open_unlisted(g, false);
	g->now_ns += NSEC_PER_SEC;
	open_unlisted(g, true);
	open_unlisted(g, false);
}

/* The kernel has looked it up again since, and may have changed it by its new number. */
static void test_forgotten_nodes_have_names_only(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node;
	struct seen s;

	bring_up(g);
	node = lookup(g, "lent", "handle-l");
	fh = open_listed(g);
	forget(g, node, 1);
	assert_false(read_dir_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
	assert_string_equal(s.entries[2].name, "lent");
	assert_int_equal(s.entries[2].e.nodeid, 0);
	assert_true(s.entries[1].e.nodeid > 1);
	close_root(g, fh);
	/* Entries that came later are used. */
	fh = open_listed(g);
	assert_false(read_dir_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
	node = s.entries[2].e.nodeid;
	assert_true(node > 1);
	close_root(g, fh);
	/* The kernel still knows it by another name. */
	g->now_ns += NSEC_PER_SEC;
	assert_int_equal(lookup(g, "too", "handle-l"), node);
	fh = open_listed(g);
	forget(g, node, 1);
	assert_false(read_dir_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
	assert_int_equal(s.entries[2].e.nodeid, node);
	close_root(g, fh);
}

/* As in a search through more than the kernel remembers. */
static void test_nodes_forgotten_long_ago_do_not_matter(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node;
	struct seen s;

	bring_up(g);
	node = lookup(g, "old", "handle-l");
	for (unsigned i = 0; i < CLIENT_SHOWN_MAX; i++)
		lookup(g, "other", "handle-o");
	fh = open_listed(g);
	forget(g, node, 1);
	assert_false(read_dir_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
	assert_true(s.entries[2].e.nodeid > 1);
	close_root(g, fh);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_prefetched_entries_need_no_request),
		TEST(test_partial_reads_continue_in_the_prefetch),
		TEST(test_prefetched_entries_do_not_replace_newer_attributes),
		TEST(test_files_that_workers_use_have_names_only),
		TEST(test_cached_entries_are_not_repeated),
		TEST(test_an_old_prefetch_is_not_used),
		TEST(test_a_new_session_drops_prefetches),
		TEST(test_a_resent_open_requests_no_entries),
		TEST(test_unread_prefetches_become_rare),
		TEST(test_bad_prefetches_are_rejected),
		TEST(test_a_server_without_the_feature_is_not_asked),
		TEST(test_large_directories_are_remembered),
		TEST(test_forgotten_nodes_have_names_only),
		TEST(test_nodes_forgotten_long_ago_do_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
