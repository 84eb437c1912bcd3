/* SPDX-License-Identifier: BSD-3-Clause */
/* The directory cache: directories that are opened without the server while their names are
 * leased: which programs may use it, when the server opens them all the same, and recovery after
 * a death. */
#include "tests/lib/fuse/client_prefetch_rig.h"

static void test_the_next_opener_reads_from_the_cache(void **state)
{
	const struct fuse_release_in *told;
	struct rig *g = *state;
	struct seen s;
	uint64_t fh;

	bring_up(g);
	list_once(g);
	g->now_ns += 300 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns); /* the server gets the first open */
	assert_int_equal(n_calls, 1);
	assert_int_equal(call_header(0).opcode, FUSE_RELEASEDIR);
	told = (const void *)(calls[0].msg + sizeof(struct fuse_in_header));
	assert_int_equal(told->fh, 9);
	respond(g, 0, 0, NULL, 0);
	for (unsigned i = 0; i < 3; i++) {
		fh = open_dir_locally(g);
		read_dir(g, fh, &s);
		/* A later reader gets no longer validity than the first. */
		assert_true(s.entries[1].e.nodeid > 1);
		assert_int_equal(s.entries[1].e.entry_valid_nsec, 700 * NSEC_PER_MSEC);
		assert_int_equal(s.entries[1].e.attr_valid_nsec, 700 * NSEC_PER_MSEC);
		assert_int_equal(s.entries[2].e.nodeid, 0); /* and this one still */
		assert_int_equal(s.entries[3].e.nodeid, 0);
		assert_false(server_is_asked(g, fh, s.end));
		close_root(g, fh);
	}
	/* The server never gets the other opens. */
	g->now_ns += 100 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 0);
	assert_int_equal(g->f->files.n_closing, 0);
}

static void test_a_cached_directory_expires(void **state)
{
	struct rig *g = *state;

	bring_up(g);
	list_once(g);
	g->now_ns += 899 * NSEC_PER_MSEC;
	assert_true(is_cached(g));
	g->now_ns += NSEC_PER_MSEC;
	assert_false(is_cached(g));
	assert_true(is_cached(g));
	/* Only in the same session: a restarted server may have given leases to other clients. */
	server_restarts(g, 99, g->server.verifier);
	assert_false(is_cached(g));
}

static void test_own_changes_invalidate_the_cached_directory(void **state)
{
	struct rig *g = *state;
	uint64_t unique;

	bring_up(g);
	list_once(g);
	kernel_send(g, FUSE_UNLINK, g->unique += 2, "other", 6);
	fuse_client_pull(g->f, true, g->now_ns);
	expect_answer(g, 0);
	assert_false(is_cached(g));
	/* Whether or not the request succeeded. */
	kernel_send(g, FUSE_RMDIR, unique = g->unique += 2, "folder", 7);
	fuse_client_pull(g->f, true, g->now_ns);
	assert_false(is_cached(g)); /* the number of names is unknown */
	expect_answer_to(g, unique, -EIO);
	assert_false(is_cached(g));
	/* One that was in flight when the server listed the directory. */
	g->now_ns += NSEC_PER_SEC;
	open_begin(g);
	kernel_send(g, FUSE_UNLINK, g->unique += 2, "other", 6);
	fuse_client_pull(g->f, true, g->now_ns);
	respond_releases(g);
	assert_int_equal(n_calls, 2);
	expect_answer(g, 0);
	respond_names_leased(g);
	close_root(g, open_end(g));
	respond_releases(g);
	open_begin(g);
	assert_int_equal(n_calls, 1);
	assert_int_equal(call_header(0).opcode, FUSE_OPENDIR);
}

/* A program that has read files asks for their times: one OPENDIR returns them all. */
static void test_a_stale_cached_directory_is_read_again(void **state)
{
	struct rig *g = *state;
	struct seen s;
	uint64_t fh;

	bring_up(g);
	fh = open_dir_at_server(g);
	read_dir(g, fh, &s);
	close_root(g, fh);
	assert_true(is_cached(g));
	(void)open_file(g, s.entries[2].e.nodeid, 4);
	assert_false(is_cached(g));
}

static void test_an_unleased_directory_is_not_cached(void **state)
{
	struct listing l = listing_of_three();
	struct rig *g = *state;
	struct seen s;
	uint64_t fh;

	bring_up(g);
	open_begin(g);
	respond_tail(g, n_calls - 1, 0, l.body, l.len, &l.tail);
	fh = open_end(g);
	read_dir(g, fh, &s);
	close_root(g, fh);
	assert_false(is_cached(g));
}

/* A mount worker's changes reach the owner too late. */
static void test_a_mount_with_workers_caches_no_directory(void **state)
{
	struct rig *g = *state;
	struct ends e;

	owner_up(&e, g);
	list_once(g);
	assert_false(is_cached(g));
	ends_down(&e);
}

/* The server opens it, and is asked then. */
static void test_a_rewind_asks_the_server(void **state)
{
	const struct fuse_release_in *told;
	struct fuse_read_in in = {.size = 4096}, sent;
	struct fuse_open_out o = {.fh = 21};
	struct rig *g = *state;
	struct seen s;

	bring_up(g);
	list_once(g);
	in.fh = open_dir_locally(g);
	read_dir(g, in.fh, &s);
	kernel_send(g, FUSE_READDIR, g->unique += 2, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
	assert_int_equal(n_calls, 1);
	assert_false(entries_are_requested());
	assert_int_equal(call_tail(0).flags, FUSE_PROTO_REQ_REOPEN);
	expect_handle(0, 0, "root");
	respond(g, 0, 0, &o, sizeof(o));
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	memcpy(&sent, calls[0].msg + sizeof(struct fuse_in_header), sizeof(sent));
	assert_int_equal(call_header(0).opcode, FUSE_READDIR);
	assert_int_equal(sent.fh, 21);
	expect_answer(g, 0);
	assert_true(server_is_asked(g, in.fh, 0)); /* at once */
	close_root(g, in.fh);
	g->now_ns += 20 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	told = (const void *)(calls[0].msg + sizeof(struct fuse_in_header));
	assert_int_equal(call_header(0).opcode, FUSE_RELEASEDIR);
	assert_int_equal(told->fh, 9); /* that of the first, and behind it the other */
	assert_memory_equal(told + 1, &o.fh, sizeof(o.fh));
}

/* A READDIR of a directory that the server has not open. */
static void read_begin(struct rig *g, uint64_t fh)
{
	struct fuse_read_in in = {.fh = fh, .offset = 1, .size = 4096};

	kernel_send(g, FUSE_READDIR, g->unique += 2, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
}

/* A locally open directory, read when the server cannot open it. */
static uint64_t reopen_fails(struct rig *g, int error)
{
	uint64_t fh;

	bring_up(g);
	list_once(g);
	fh = open_dir_locally(g);
	read_begin(g, fh);
	respond(g, 0, error, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
	return fh;
}

static void test_a_removed_directory_reads_as_empty(void **state)
{
	struct rig *g = *state;
	uint64_t fh;

	fh = reopen_fails(g, -ESTALE);
	assert_int_equal(n_calls, 0);
	expect_reply(g, g->unique, 0);
	read_begin(g, fh);
	assert_int_equal(n_calls, 0);
	expect_reply(g, g->unique, 0);
	/* All other requests of it fail. */
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

/* The server's answer to a reopen of the directory; 0: malformed. */
static uint64_t refused(struct rig *g, int error)
{
	uint64_t fh;

	list_once(g);
	fh = open_dir_locally(g);
	read_begin(g, fh);
	respond(g, 0, error, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 0);
	return fh;
}

/* A directory that cannot be read must not look empty. */
static void test_an_unreadable_directory_returns_its_error(void **state)
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
		respond_releases(g);
	}
	/* Nor to a successor's readers. */
	fh = refused(g, -EIO);
	expect_reply(g, g->unique, -EIO);
	worker_restarts(g);
	respond_releases(g);
	expect_read(g, fh, -EIO);
}

/* The export is another one, or has lost unsynced changes. */
static void test_a_lost_directory_returns_an_error(void **state)
{
	struct rig *g = *state;
	uint64_t fh;

	bring_up(g);
	list_once(g);
	fh = open_dir_locally(g);
	server_restarts(g, 99, g->server.verifier + 1);
	assert_int_equal(n_calls, 1);
	respond(g, 0, -ESTALE, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
	expect_read(g, fh, -ESTALE);
	close_root(g, fh);
	/* The old state is gone. */
	list_once(g);
	fh = open_dir_locally(g);
	server_restarts(g, 100, g->server.verifier);
	respond(g, 0, -ESTALE, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
	expect_read(g, fh, 0);
}

/* The server cannot open it just now. */
static void test_a_transient_reopen_error_is_retried(void **state)
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
	assert_false(entries_are_requested());
	respond(g, n_calls - 1, 0, &(struct fuse_open_out){.fh = 21}, sizeof(struct fuse_open_out));
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(call_header(n_calls - 1).opcode, FUSE_READDIR);
	expect_answer(g, 0);
	close_root(g, fh);
}

/* Its program is killed, and the kernel closes the file. The server gets the RELEASE after it
 * has opened the directory. */
static void test_a_close_waits_for_the_reopen(void **state)
{
	const struct fuse_release_in *told;
	struct rig *g = *state;
	uint64_t fh;

	bring_up(g);
	fh = open_dir_at_server(g);
	close_root(g, fh);
	g->now_ns += 20 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	respond(g, 0, 0, NULL, 0);
	fh = open_dir_locally(g);
	read_begin(g, fh);
	assert_int_equal(n_calls, 1);
	close_root(g, fh);
	g->now_ns += 20 * NSEC_PER_MSEC;
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(n_calls, 1);
	assert_int_equal(g->f->files.n_closing, 1);
	/* Its record is not reused meanwhile. */
	assert_true(open_dir_locally(g) != fh);
	respond(g, 0, 0, &(struct fuse_open_out){.fh = 21}, sizeof(struct fuse_open_out));
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(call_header(0).opcode, FUSE_RELEASEDIR);
	told = (const void *)(calls[0].msg + sizeof(struct fuse_in_header));
	assert_int_equal(told->fh, 21);
}

/* A successor reopens local directories before any other request. */
static void test_a_successor_reopens_local_directories(void **state)
{
	struct rig *g = *state;
	uint64_t fh;

	bring_up(g);
	list_once(g);
	fh = open_dir_locally(g);
	worker_restarts(g);
	assert_int_equal(n_calls, 1);
	assert_false(entries_are_requested());
	assert_int_equal(call_tail(0).flags, FUSE_PROTO_REQ_REOPEN);
	respond(g, 0, 0, &(struct fuse_open_out){.fh = 21}, sizeof(struct fuse_open_out));
	fuse_client_tick(g->f, g->now_ns);
	assert_true(fuse_client_is_ready(g->f));
	assert_true(server_is_asked(g, fh, 0));
}

/* It died after the file was recorded, before the kernel got the reply or before that was known. */
static void test_a_resent_open_gets_the_same_file(void **state)
{
	const uint64_t again = FUSE_PROTO_UNIQUE_RESEND;
	struct fuse_open_in in = {.flags = O_DIRECTORY};
	struct rig *g = *state;
	uint64_t fh, unique;

	bring_up(g);
	list_once(g);
	fh = open_dir_locally(g);
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
	/* A different request opens a different file. */
	kernel_send(g, FUSE_OPENDIR, g->unique = (unique + 2) | again, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
	assert_int_equal(call_header(n_calls - 1).opcode, FUSE_OPENDIR);
}

/* The kernel has dropped the request before the reply. */
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
	respond_releases(g);
}

/* Its file is closed. */
static void test_an_interrupted_open_leaves_no_file(void **state)
{
	const uint64_t again = FUSE_PROTO_UNIQUE_RESEND;
	struct rig *g = *state;
	uint64_t fh, unique;

	bring_up(g);
	list_once(g);
	open_in_vain(g, g->unique += 2);
	assert_int_equal(n_calls, 0);
	assert_null(client_file_opened_by(&g->f->files, FUSE_ROOT_ID, (uint32_t)g->unique | 1));
	/* Nor does one that was killed before a successor replied. */
	fh = open_dir_locally(g);
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

/* Read from the kernel after the lease had ended. */
static void test_a_late_open_checks_the_current_time(void **state)
{
	struct rig *g = *state;
	struct seen s;
	uint64_t fh;

	bring_up(g);
	list_once(g);
	later_ns = g->now_ns + 899 * NSEC_PER_MSEC;
	fh = open_dir_locally(g);
	/* Its age reduces the validity. */
	read_dir(g, fh, &s);
	assert_int_equal(s.entries[1].e.entry_valid_nsec, 101 * NSEC_PER_MSEC);
	close_root(g, fh);
	later_ns += NSEC_PER_MSEC;
	fh = open_dir_at_server(g);
	later_ns = g->now_ns + 99 * NSEC_PER_MSEC;
	read_dir(g, fh, &s);
	close_root(g, fh);
	g->now_ns += NSEC_PER_SEC;
	fh = open_dir_at_server(g);
	later_ns = g->now_ns + 100 * NSEC_PER_MSEC;
	assert_true(server_is_asked(g, fh, 0));
}

/* The memory holds the latest listings. */
static void test_the_oldest_cached_directories_are_evicted(void **state)
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
	assert_true(is_cached(g));
	l->dir_cache_at = 4 << 20;
	assert_true(is_cached(g));
	l->dir_cache_at++;
	assert_false(is_cached(g));
	fh = open_dir_locally(g);
	read_dir(g, fh, &s);
	close_root(g, fh);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, names_leased_setup, rig_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_the_next_opener_reads_from_the_cache),
		TEST(test_a_cached_directory_expires),
		TEST(test_own_changes_invalidate_the_cached_directory),
		TEST(test_a_stale_cached_directory_is_read_again),
		TEST(test_an_unleased_directory_is_not_cached),
		TEST(test_a_mount_with_workers_caches_no_directory),
		TEST(test_a_rewind_asks_the_server),
		TEST(test_a_removed_directory_reads_as_empty),
		TEST(test_an_unreadable_directory_returns_its_error),
		TEST(test_a_lost_directory_returns_an_error),
		TEST(test_a_transient_reopen_error_is_retried),
		TEST(test_a_close_waits_for_the_reopen),
		TEST(test_a_successor_reopens_local_directories),
		TEST(test_a_resent_open_gets_the_same_file),
		TEST(test_an_interrupted_open_leaves_no_file),
		TEST(test_a_late_open_checks_the_current_time),
		TEST(test_the_oldest_cached_directories_are_evicted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
