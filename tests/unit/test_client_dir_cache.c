/* SPDX-License-Identifier: BSD-3-Clause */
/* Folders that are opened without the server, while nobody else changes their names: who is, what
 * the server hears of it all the same, and what a death in between leaves. */
#include "tests/lib/client_prefetch_rig.h"

static void test_who_comes_next_is_told_here(void **state)
{
	const struct fuse_release_in *told;
	struct rig *g = *state;
	struct seen s;
	uint64_t fh;

	bring_up(g);
	list_once(g);
	g->now_ns += 300 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns); /* the server hears of the first */
	assert_int_equal(n_calls, 1);
	assert_int_equal(call_header(0).opcode, FUSE_RELEASEDIR);
	told = (const void *)(calls[0].msg + sizeof(struct fuse_in_header));
	assert_int_equal(told->fh, 9);
	respond(g, 0, 0, NULL, 0);
	for (unsigned i = 0; i < 3; i++) {
		fh = open_here(g);
		read_all(g, fh, &s);
		/* It is believed as long as by who heard it first. */
		assert_true(s.entries[1].e.nodeid > 1);
		assert_int_equal(s.entries[1].e.entry_valid_nsec, 700 * NSEC_PER_MSEC);
		assert_int_equal(s.entries[1].e.attr_valid_nsec, 700 * NSEC_PER_MSEC);
		assert_int_equal(s.entries[2].e.nodeid, 0); /* and this one still */
		assert_int_equal(s.entries[3].e.nodeid, 0);
		assert_false(is_asked(g, fh, s.end));
		close_root(g, fh);
	}
	/* Of the rest it never hears. */
	g->now_ns += 100 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 0);
	assert_int_equal(g->f->files.n_closing, 0);
}

static void test_it_is_known_for_a_while(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	list_once(g);
	g->now_ns += 899 * NSEC_PER_MSEC;
	assert_true(is_known(g));
	g->now_ns += NSEC_PER_MSEC;
	assert_false(is_known(g));
	assert_true(is_known(g));
	/* By nobody else than who was told it: a server may have begun anew, and lent to others. */
	server_restarts(g, 99, g->server.verifier);
	assert_false(is_known(g));
}

static void test_own_changes_show(void **state)
{
	struct rig *g = *state;
	uint64_t unique;

	bring_up(g);
	list_once(g);
	kernel_send(g, FUSE_UNLINK, g->unique += 2, "other", 6);
	fuse_client_pull(g->f, true, g->now_ns);
	answered(g, 0);
	assert_false(is_known(g));
	/* Whatever became of it. */
	kernel_send(g, FUSE_RMDIR, unique = g->unique += 2, "folder", 7);
	fuse_client_pull(g->f, true, g->now_ns);
	assert_false(is_known(g)); /* nobody knows how many there are */
	answered_as(g, unique, -EIO);
	assert_false(is_known(g));
	/* One that was on its way when the server said what there is. */
	g->now_ns += NSEC_PER_SEC;
	open_begin(g);
	kernel_send(g, FUSE_UNLINK, g->unique += 2, "other", 6);
	fuse_client_pull(g->f, true, g->now_ns);
	hear(g);
	assert_int_equal(n_calls, 2);
	answered(g, 0);
	respond_kept(g);
	close_root(g, open_end(g));
	hear(g);
	open_begin(g);
	assert_int_equal(n_calls, 1);
	assert_int_equal(call_header(0).opcode, FUSE_OPENDIR);
}

/* Who has read files asks for their times: all are had by asking for the folder. */
static void test_what_would_be_asked_for_is(void **state)
{
	struct rig *g = *state;
	struct seen s;
	uint64_t fh;

	bring_up(g);
	fh = open_there(g);
	read_all(g, fh, &s);
	close_root(g, fh);
	assert_true(is_known(g));
	(void)open_file(g, s.entries[2].e.nodeid, 4);
	assert_false(is_known(g));
}

static void test_who_is_not_promised_asks(void **state)
{
	struct listing l = three();
	struct rig *g = *state;
	struct seen s;
	uint64_t fh;

	bring_up(g);
	open_begin(g);
	respond_tail(g, n_calls - 1, 0, l.body, l.len, &l.tail);
	fh = open_end(g);
	read_all(g, fh, &s);
	close_root(g, fh);
	assert_false(is_known(g));
}

/* What these change nobody tells their owner in time. */
static void test_who_has_lanes_asks(void **state)
{
	struct rig *g = *state;
	struct ends e;

	owner_up(&e, g);
	list_once(g);
	assert_false(is_known(g));
	ends_down(&e);
}

/* The server opens it, and is asked then. */
static void test_who_comes_back_to_the_beginning_asks(void **state)
{
	const struct fuse_release_in *told;
	struct fuse_read_in in = {.size = 4096}, sent;
	struct fuse_open_out o = {.fh = 21};
	struct rig *g = *state;
	struct seen s;

	bring_up(g);
	list_once(g);
	in.fh = open_here(g);
	read_all(g, in.fh, &s);
	kernel_send(g, FUSE_READDIR, g->unique += 2, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
	assert_int_equal(n_calls, 1);
	assert_false(is_wished());
	assert_int_equal(call_tail(0).flags, FUSE_PROTO_REQ_REOPEN);
	expect_handle(0, 0, "root");
	respond(g, 0, 0, &o, sizeof(o));
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	memcpy(&sent, calls[0].msg + sizeof(struct fuse_in_header), sizeof(sent));
	assert_int_equal(call_header(0).opcode, FUSE_READDIR);
	assert_int_equal(sent.fh, 21);
	answered(g, 0);
	assert_true(is_asked(g, in.fh, 0)); /* at once */
	close_root(g, in.fh);
	g->now_ns += 20 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	told = (const void *)(calls[0].msg + sizeof(struct fuse_in_header));
	assert_int_equal(call_header(0).opcode, FUSE_RELEASEDIR);
	assert_int_equal(told->fh, 9); /* that of the first, and behind it the other */
	assert_memory_equal(told + 1, &o.fh, sizeof(o.fh));
}

/* A READDIR of a folder that the server has not open. */
static void read_begin(struct rig *g, uint64_t fh)
{
	struct fuse_read_in in = {.fh = fh, .offset = 1, .size = 4096};

	kernel_send(g, FUSE_READDIR, g->unique += 2, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
}

/* A folder that is open here, read where the server cannot open it. */
static uint64_t reopen_fails(struct rig *g, int error)
{
	uint64_t fh;

	bring_up(g);
	list_once(g);
	fh = open_here(g);
	read_begin(g, fh);
	respond(g, 0, error, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
	return fh;
}

static void test_what_is_gone_is_empty(void **state)
{
	struct rig *g = *state;
	uint64_t fh;

	fh = reopen_fails(g, -ESTALE);
	assert_int_equal(n_calls, 0);
	expect_reply(g, g->unique, 0);
	read_begin(g, fh);
	assert_int_equal(n_calls, 0);
	expect_reply(g, g->unique, 0);
	/* What else it is to do it cannot. */
	kernel_send(g, FUSE_FSYNCDIR, g->unique += 2, &(struct fuse_fsync_in){.fh = fh},
		    sizeof(struct fuse_fsync_in));
	fuse_client_pull(g->f, true, g->now_ns);
	expect_reply(g, g->unique, -ESTALE);
	close_root(g, fh);
}

static void expect_read(struct rig *g, uint64_t fh, int error)
{
	read_begin(g, fh);
	assert_int_equal(n_calls, 0);
	expect_reply(g, g->unique, error);
}

/* What the server says of a folder that it is to open again; 0: what makes no sense. */
static uint64_t refused(struct rig *g, int error)
{
	uint64_t fh;

	list_once(g);
	fh = open_here(g);
	read_begin(g, fh);
	respond(g, 0, error, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 0);
	return fh;
}

/* Nobody takes what could not be read for what is not there. */
static void test_what_cannot_be_opened_is_not_empty(void **state)
{
	const int errors[] = {-EIO, -EACCES, -ENOTDIR, 0};
	struct rig *g = *state;
	uint64_t fh;

	bring_up(g);
	for (unsigned i = 0; i < ARRAY_SIZE(errors); i++) {
		int error = errors[i] ? errors[i] : -EIO;

		fh = refused(g, errors[i]);
		expect_reply(g, g->unique, error);
		expect_read(g, fh, error);
		kernel_send(g, FUSE_FSYNCDIR, g->unique += 2, &(struct fuse_fsync_in){.fh = fh},
			    sizeof(struct fuse_fsync_in));
		fuse_client_pull(g->f, true, g->now_ns);
		expect_reply(g, g->unique, error);
		close_root(g, fh);
		g->now_ns += NSEC_PER_SEC;
		fuse_client_tick(g->f, g->now_ns);
		hear(g);
	}
	/* Nor does a successor. */
	fh = refused(g, -EIO);
	expect_reply(g, g->unique, -EIO);
	worker_restarts(g);
	hear(g);
	expect_read(g, fh, -EIO);
}

/* The export is another, or has forgotten what was not synced. */
static void test_what_was_lost_is_not_empty(void **state)
{
	struct rig *g = *state;
	uint64_t fh;

	bring_up(g);
	list_once(g);
	fh = open_here(g);
	server_restarts(g, 99, g->server.verifier + 1);
	assert_int_equal(n_calls, 1);
	respond(g, 0, -ESTALE, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
	expect_read(g, fh, -ESTALE);
	close_root(g, fh);
	/* With what it was it is gone. */
	list_once(g);
	fh = open_here(g);
	server_restarts(g, 100, g->server.verifier);
	respond(g, 0, -ESTALE, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
	expect_read(g, fh, 0);
}

/* The server has no room for it just now. */
static void test_what_passes_is_waited_for(void **state)
{
	struct rig *g = *state;
	uint64_t fh;

	fh = reopen_fails(g, -EMFILE);
	g->now_ns += 990 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1); /* of the first that is closed */
	assert_int_equal(call_header(0).opcode, FUSE_RELEASEDIR);
	respond(g, 0, 0, NULL, 0);
	g->now_ns += 10 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_false(is_wished());
	respond(g, n_calls - 1, 0, &(struct fuse_open_out){.fh = 21}, sizeof(struct fuse_open_out));
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(call_header(n_calls - 1).opcode, FUSE_READDIR);
	answered(g, 0);
	close_root(g, fh);
}

/* Its program is killed, and the kernel closes the file. The server hears that when it has it. */
static void test_who_closes_meanwhile(void **state)
{
	const struct fuse_release_in *told;
	struct rig *g = *state;
	uint64_t fh;

	bring_up(g);
	fh = open_there(g);
	close_root(g, fh);
	g->now_ns += 20 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	respond(g, 0, 0, NULL, 0);
	fh = open_here(g);
	read_begin(g, fh);
	assert_int_equal(n_calls, 1);
	close_root(g, fh);
	g->now_ns += 20 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	assert_int_equal(g->f->files.n_closing, 1);
	/* Another file does not get its place. */
	assert_true(open_here(g) != fh);
	respond(g, 0, 0, &(struct fuse_open_out){.fh = 21}, sizeof(struct fuse_open_out));
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(call_header(0).opcode, FUSE_RELEASEDIR);
	told = (const void *)(calls[0].msg + sizeof(struct fuse_in_header));
	assert_int_equal(told->fh, 21);
}

/* Whoever comes after it has the server open what is open, before it asks for anything. */
static void test_a_successor_has_it_opened(void **state)
{
	struct rig *g = *state;
	uint64_t fh;

	bring_up(g);
	list_once(g);
	fh = open_here(g);
	worker_restarts(g);
	assert_int_equal(n_calls, 1);
	assert_false(is_wished());
	assert_int_equal(call_tail(0).flags, FUSE_PROTO_REQ_REOPEN);
	respond(g, 0, 0, &(struct fuse_open_out){.fh = 21}, sizeof(struct fuse_open_out));
	fuse_client_tick(g->f, g->now_ns);
	assert_true(fuse_client_is_ready(g->f));
	assert_true(is_asked(g, fh, 0));
}

/* It died when the file was noted and the kernel had not heard of it, or had not said so. */
static void test_what_is_asked_again_is_the_same_file(void **state)
{
	const uint64_t again = FUSE_PROTO_UNIQUE_RESEND;
	struct fuse_open_in in = {.flags = O_DIRECTORY};
	struct rig *g = *state;
	uint64_t fh, unique;

	bring_up(g);
	list_once(g);
	fh = open_here(g);
	unique = g->unique;
	worker_restarts(g);
	for (unsigned i = 0; i < 2; i++) { /* before the server has it, and after */
		unsigned n = n_calls;

		kernel_send(g, FUSE_OPENDIR, g->unique = unique | again, &in, sizeof(in));
		fuse_client_pull(g->f, true, g->now_ns);
		assert_int_equal(n_calls, n);
		assert_int_equal(open_end(g), fh);
		if (i == 0)
			respond(g, 0, 0, &(struct fuse_open_out){.fh = 21},
				sizeof(struct fuse_open_out));
		fuse_client_tick(g->f, g->now_ns);
	}
	/* Another is another. */
	kernel_send(g, FUSE_OPENDIR, g->unique = (unique + 2) | again, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
	assert_int_equal(call_header(n_calls - 1).opcode, FUSE_OPENDIR);
}

/* The kernel has let go of who asks before it is told. */
static void open_in_vain(struct rig *g, uint64_t unique)
{
	struct {
		struct fuse_in_header h;
		struct fuse_open_in in;
	} req = {.h = {.len = sizeof(req),
		       .opcode = FUSE_OPENDIR,
		       .unique = unique,
		       .nodeid = FUSE_ROOT_ID},
		 .in = {.flags = O_DIRECTORY}};
	int fd = g->f->fd, p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(write(p[1], &req, sizeof(req)), sizeof(req));
	g->f->fd = p[0]; /* nothing can be written there */
	fuse_client_pull(g->f, true, g->now_ns);
	g->f->fd = fd;
	close(p[0]);
	close(p[1]);
	fuse_client_tick(g->f, g->now_ns + NSEC_PER_SEC);
	hear(g);
}

/* Its file goes: nobody has it. */
static void test_who_is_gone_leaves_nothing(void **state)
{
	const uint64_t again = FUSE_PROTO_UNIQUE_RESEND;
	struct rig *g = *state;
	uint64_t fh, unique;

	bring_up(g);
	list_once(g);
	open_in_vain(g, g->unique += 2);
	assert_int_equal(n_calls, 0);
	assert_null(client_file_opened_by(&g->f->files, FUSE_ROOT_ID, (uint32_t)g->unique | 1));
	/* Nor has who was killed before a successor could say it. */
	fh = open_here(g);
	unique = g->unique;
	worker_restarts(g);
	for (unsigned i = n_calls; i-- > 0;)
		if (call_header(i).opcode == FUSE_OPENDIR)
			respond(g, i, 0, &(struct fuse_open_out){.fh = 21},
				sizeof(struct fuse_open_out));
	fuse_client_tick(g->f, g->now_ns);
	assert_non_null(client_file_get(&g->f->files, fh));
	open_in_vain(g, unique | again);
	assert_null(client_file_get(&g->f->files, fh));
}

/* It was read from the kernel when what was promised had ended. */
static void test_who_was_held_up_looks_at_the_clock(void **state)
{
	struct rig *g = *state;
	struct seen s;
	uint64_t fh;

	bring_up(g);
	list_once(g);
	later_ns = g->now_ns + 899 * NSEC_PER_MSEC;
	fh = open_here(g);
	/* Its age is what is left to believe. */
	read_all(g, fh, &s);
	assert_int_equal(s.entries[1].e.entry_valid_nsec, 101 * NSEC_PER_MSEC);
	close_root(g, fh);
	later_ns += NSEC_PER_MSEC;
	fh = open_there(g);
	later_ns = g->now_ns + 99 * NSEC_PER_MSEC;
	read_all(g, fh, &s);
	close_root(g, fh);
	g->now_ns += NSEC_PER_SEC;
	fh = open_there(g);
	later_ns = g->now_ns + 100 * NSEC_PER_MSEC;
	assert_true(is_asked(g, fh, 0));
}

/* Memory is for what was listed lately. */
static void test_the_oldest_give_way(void **state)
{
	struct rig *g = *state;
	struct client_prefetches *l;
	struct seen s;
	uint64_t fh;

	bring_up(g);
	list_once(g);
	l = &g->f->prefetch;
	assert_true(l->dir_cache_at > 0 && l->dir_cache_at < 4096);
	l->dir_cache_at = (4 << 20) - 8; /* it does not fit before the end */
	assert_true(is_known(g));
	l->dir_cache_at = 4 << 20;
	assert_true(is_known(g));
	l->dir_cache_at++;
	assert_false(is_known(g));
	fh = open_here(g);
	read_all(g, fh, &s);
	close_root(g, fh);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, kept_setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_who_comes_next_is_told_here),
		TEST(test_it_is_known_for_a_while),
		TEST(test_own_changes_show),
		TEST(test_what_would_be_asked_for_is),
		TEST(test_who_is_not_promised_asks),
		TEST(test_who_has_lanes_asks),
		TEST(test_who_comes_back_to_the_beginning_asks),
		TEST(test_what_is_gone_is_empty),
		TEST(test_what_cannot_be_opened_is_not_empty),
		TEST(test_what_was_lost_is_not_empty),
		TEST(test_what_passes_is_waited_for),
		TEST(test_who_closes_meanwhile),
		TEST(test_a_successor_has_it_opened),
		TEST(test_what_is_asked_again_is_the_same_file),
		TEST(test_who_is_gone_leaves_nothing),
		TEST(test_who_was_held_up_looks_at_the_clock),
		TEST(test_the_oldest_give_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
