/* SPDX-License-Identifier: BSD-3-Clause */
/* Entries that come with the opening of a folder: who is told of them, and when the server is asked
 * all the same. */
#include "tests/lib/client_prefetch_rig.h"

static uint64_t open_listed(struct rig *g)
{
	struct listing l = three();

	open_begin(g);
	assert_true(is_wished());
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

static void test_what_came_is_not_asked_for(void **state)
{
	struct rig *g = *state;
	struct seen s;
	uint64_t fh;

	bring_up(g);
	fh = open_listed(g);
	g->now_ns += 20 * NSEC_PER_MSEC;
	assert_false(read_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
	assert_int_equal(s.n, 4);
	assert_string_equal(s.entries[1].name, "folder");
	assert_true(s.entries[1].e.nodeid > 1 && s.entries[2].e.nodeid > 1);
	/* For what is left of the second. */
	for (unsigned i = 1; i < 3; i++) {
		assert_int_equal(s.entries[i].e.entry_valid, 0);
		assert_int_equal(s.entries[i].e.entry_valid_nsec, 980 * NSEC_PER_MSEC);
		assert_int_equal(s.entries[i].e.attr_valid_nsec, 980 * NSEC_PER_MSEC);
	}
	/* Others may have changed it: it has a name, and is looked up. */
	assert_string_equal(s.entries[3].name, "other");
	assert_int_equal(s.entries[3].e.nodeid, 0);
	/* The end is known; whoever comes back to the beginning asks. */
	assert_false(is_asked(g, fh, s.end));
	assert_true(is_asked(g, fh, 0));
	close_root(g, fh);
}

static void test_who_reads_in_pieces(void **state)
{
	struct rig *g = *state;
	struct seen s;
	uint64_t fh;

	bring_up(g);
	fh = open_listed(g);
	assert_false(read_at(g, FUSE_READDIRPLUS, fh, 0, 400, &s));
	assert_int_equal(s.n, 2);
	assert_false(read_at(g, FUSE_READDIR, fh, s.end, 4096, &s));
	assert_int_equal(s.n, 2);
	assert_string_equal(s.entries[0].name, "lent");
	assert_false(is_asked(g, fh, s.end));
	close_root(g, fh);
	/* Elsewhere than where it ended: the server knows. */
	fh = open_listed(g);
	assert_false(read_at(g, FUSE_READDIRPLUS, fh, 0, 400, &s));
	assert_true(is_asked(g, fh, s.end + 1));
	close_root(g, fh);
	fh = open_listed(g);
	assert_false(read_at(g, FUSE_READDIRPLUS, fh, 0, 400, &s));
	assert_true(is_asked(g, fh, 0));
	/* Not one fits. */
	close_root(g, fh);
	fh = open_listed(g);
	assert_true(read_at(g, FUSE_READDIRPLUS, fh, 0, 100, &s));
}

/* The kernel knows better than what came before it learnt. */
static void test_newer_knowledge_stays(void **state)
{
	struct rig *g = *state;
	struct seen s;
	uint64_t fh, node, file;

	bring_up(g);
	node = lookup(g, "lent", "handle-l");
	file = open_file(g, node, 4);
	fh = open_listed(g);
	write_some(g, node, file);
	assert_false(read_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
	assert_int_equal(s.entries[2].e.nodeid, 0);
	assert_true(s.entries[1].e.nodeid > 1);
	close_root(g, fh);
	/* While it was on its way, too; and once it is there it is told of. */
	open_begin(g);
	kernel_write(g, node, file, "data", 4);
	respond(g, n_calls - 1, 0, &(struct fuse_write_out){.size = 4},
		sizeof(struct fuse_write_out));
	expect_reply(g, g->unique, 0);
	struct listing l = three();
	respond_tail(g, 0, 0, l.body, l.len, &l.tail);
	fh = open_end(g);
	assert_false(read_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
	assert_int_equal(s.entries[2].e.nodeid, 0);
	close_root(g, fh);
	fh = open_listed(g);
	assert_false(read_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
	assert_int_equal(s.entries[2].e.nodeid, node);
	close_root(g, fh);
}

/* Of what a lane has read or written the kernel hears before its owner does. */
static void test_what_lanes_have_is_not_told(void **state)
{
	struct rig *g = *state;
	struct seen s;
	struct ends e;

	owner_up(&e, g);
	mount_worker_lives(&e);
	e.node = lookup(g, "lent", "handle-l");
	e.fh = open_file(g, e.node, 51);
	ask_read(&e); /* ours, all the time: the next are the lane's */
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
		assert_false(read_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
		assert_int_equal(s.entries[2].e.nodeid, 0);
		assert_true(s.entries[1].e.nodeid > 1);
		close_root(g, fh);
		if (!ends)
			mount_worker_says(&e, 0, MOUNT_WORKER_DONE);
		fuse_client_pull(g->f, true, g->now_ns);
	}
	/* All that has ended was before it. */
	assert_false(read_at(g, FUSE_READDIRPLUS, open_listed(g), 0, 4096, &s));
	assert_int_equal(s.entries[2].e.nodeid, e.node);
	ends_down(&e);
}

/* The entry of that name, of a folder that is read once. */
static struct fuse_entry_out listed_as(struct rig *g, const char *name)
{
	uint64_t fh = open_listed(g);
	struct seen s;

	assert_false(read_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
	close_root(g, fh);
	for (unsigned i = 0; i < s.n; i++)
		if (strcmp(s.entries[i].name, name) == 0)
			return s.entries[i].e;
	fail();
	return (struct fuse_entry_out){};
}

/* It would forget what else it has learnt of it. */
static void test_what_is_believed_is_not_told_again(void **state)
{
	struct rig *g = *state;
	uint64_t node, file;

	bring_up(g);
	node = listed_as(g, "lent").nodeid;
	assert_true(node > 1);
	g->now_ns += 400 * NSEC_PER_MSEC;
	assert_int_equal(listed_as(g, "lent").nodeid, 0);
	assert_true(listed_as(g, "folder").nodeid > 1); /* nobody has promised not to change it */
	/* But in time for whoever looks at it then. */
	g->now_ns += 100 * NSEC_PER_MSEC;
	assert_int_equal(listed_as(g, "lent").nodeid, node);
	assert_int_equal(listed_as(g, "lent").nodeid, 0);
	/* What was done to it the kernel may not know all of. */
	file = open_file(g, node, 4);
	write_some(g, node, file);
	assert_int_equal(listed_as(g, "lent").nodeid, node);
	assert_int_equal(listed_as(g, "lent").nodeid, 0);
	/* What it has forgotten it is told. */
	forget(g, node, 3);
	assert_true(listed_as(g, "lent").nodeid > 1);
}

/* Lists that were asked for in vain are asked for more seldom. */
static uint64_t open_until_listed(struct rig *g)
{
	for (unsigned i = 0; i < 64; i++) {
		struct listing l = three();

		open_begin(g);
		if (is_wished()) {
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

static void test_what_is_old_is_asked_for(void **state)
{
	struct rig *g = *state;
	uint64_t fh;

	bring_up(g);
	fh = open_listed(g);
	g->now_ns += 100 * NSEC_PER_MSEC;
	assert_true(is_asked(g, fh, 0));
	close_root(g, fh);
	/* A program on this host has removed a name. */
	open_begin(g); /* after one in vain comes one without */
	assert_false(is_wished());
	respond(g, n_calls - 1, 0, &(struct fuse_open_out){.fh = 9}, sizeof(struct fuse_open_out));
	close_root(g, open_end(g));
	fh = open_listed(g);
	kernel_send(g, FUSE_UNLINK, g->unique += 2, "other", 6);
	fuse_client_pull(g->f, true, g->now_ns);
	respond(g, n_calls - 1, 0, NULL, 0);
	expect_reply(g, g->unique, 0);
	assert_true(is_asked(g, fh, 0));
	/* Another has made one. */
	close_root(g, fh);
	fh = open_until_listed(g);
	make_folder(g);
	assert_true(is_asked(g, fh, 0));
}

static void test_another_server_is_asked(void **state)
{
	struct rig *g = *state;
	uint64_t fh;

	bring_up(g);
	fh = open_listed(g);
	server_restarts(g, 99, g->server.verifier);
	assert_int_equal(call_header(0).opcode, FUSE_OPENDIR); /* opened again */
	assert_false(is_wished());
	respond(g, 0, 0, &(struct fuse_open_out){.fh = 5}, sizeof(struct fuse_open_out));
	fuse_client_tick(g->f, g->now_ns);
	assert_true(is_asked(g, fh, 0));
}

/* What is sent again may have been answered then. */
static void test_again_no_list_is_asked_for(void **state)
{
	struct listing l = three();
	struct rig *g = *state;

	bring_up(g);
	open_begin(g);
	assert_true(is_wished());
	reset_all(g, g->now_ns);
	session_up(g);
	respond_init(g);
	assert_true(call_header(0).unique & FUSE_PROTO_UNIQUE_RESEND);
	assert_false(is_wished());
	respond_tail(g, 0, 0, l.body, l.len, &l.tail);
	expect_reply(g, g->unique, -EIO);
	kernel_send(g, FUSE_OPENDIR, (g->unique += 2) | FUSE_PROTO_UNIQUE_RESEND,
		    &(struct fuse_open_in){.flags = O_DIRECTORY}, sizeof(struct fuse_open_in));
	fuse_client_pull(g->f, true, g->now_ns);
	assert_false(is_wished());
}

static void test_who_does_not_read_is_not_told(void **state)
{
	struct rig *g = *state;
	unsigned wished = 0;
	struct seen s;
	uint64_t fh;

	bring_up(g);
	for (unsigned i = 0; i < 64; i++) {
		struct listing l = three();

		open_begin(g);
		if (is_wished()) {
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
		assert_false(is_wished());
		respond(g, n_calls - 1, 0, &(struct fuse_open_out){.fh = 9},
			sizeof(struct fuse_open_out));
		close_root(g, open_end(g));
	}
	/* One that is read makes up for all. */
	fh = open_listed(g);
	assert_false(read_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
	close_root(g, fh);
	close_root(g, open_listed(g));
}

static void bad(struct rig *g, const struct listing *l, const struct tail *tail)
{
	open_begin(g);
	assert_true(is_wished());
	respond_tail(g, n_calls - 1, 0, l->body, l->len, tail);
	expect_reply(g, g->unique, -EIO);
}

static void test_bad_lists_are_refused(void **state)
{
	struct tail no_end = tail_make(0, 0), few = tail_make(FUSE_PROTO_RESP_END, 2);
	struct listing l = three(), cut = three(), slash = three();
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
	/* To one who does not know of it nothing is said, and nothing believed. */
	close_root(g, open_listed(g));
}

static void test_who_cannot_is_not_asked(void **state)
{
	struct rig *g = *state;

	g->features = FUSE_PROTO_FEATURES & ~FUSE_PROTO_FEATURE_LIST;
	bring_up(g);
	open_begin(g);
	assert_false(is_wished());
}

static void open_unlisted(struct rig *g, bool wished)
{
	const struct fuse_open_out o = {.fh = 9};

	open_begin(g);
	assert_int_equal(is_wished(), wished);
	respond(g, n_calls - 1, 0, &o, sizeof(o));
	close_root(g, open_end(g));
}

static void test_large_folders_are_remembered(void **state)
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

/* The kernel has made it anew since, and may have changed it by the number that it has now. */
static void test_what_was_forgotten_is_not_told(void **state)
{
	struct rig *g = *state;
	uint64_t fh, node;
	struct seen s;

	bring_up(g);
	node = lookup(g, "lent", "handle-l");
	fh = open_listed(g);
	forget(g, node, 1);
	assert_false(read_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
	assert_string_equal(s.entries[2].name, "lent");
	assert_int_equal(s.entries[2].e.nodeid, 0);
	assert_true(s.entries[1].e.nodeid > 1);
	close_root(g, fh);
	/* By what came later it is. */
	fh = open_listed(g);
	assert_false(read_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
	node = s.entries[2].e.nodeid;
	assert_true(node > 1);
	close_root(g, fh);
	/* It knows it still by another name. */
	g->now_ns += NSEC_PER_SEC;
	assert_int_equal(lookup(g, "too", "handle-l"), node);
	fh = open_listed(g);
	forget(g, node, 1);
	assert_false(read_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
	assert_int_equal(s.entries[2].e.nodeid, node);
	close_root(g, fh);
}

/* As in a walk through more than the kernel remembers. */
static void test_what_was_forgotten_long_ago_is_no_matter(void **state)
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
	assert_false(read_at(g, FUSE_READDIRPLUS, fh, 0, 4096, &s));
	assert_true(s.entries[2].e.nodeid > 1);
	close_root(g, fh);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_what_came_is_not_asked_for),
		TEST(test_who_reads_in_pieces),
		TEST(test_newer_knowledge_stays),
		TEST(test_what_lanes_have_is_not_told),
		TEST(test_what_is_believed_is_not_told_again),
		TEST(test_what_is_old_is_asked_for),
		TEST(test_another_server_is_asked),
		TEST(test_again_no_list_is_asked_for),
		TEST(test_who_does_not_read_is_not_told),
		TEST(test_bad_lists_are_refused),
		TEST(test_who_cannot_is_not_asked),
		TEST(test_large_folders_are_remembered),
		TEST(test_what_was_forgotten_is_not_told),
		TEST(test_what_was_forgotten_long_ago_is_no_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
