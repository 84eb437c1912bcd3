/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests on a mount that its server refuses: they fail with the error of NFS, or wait if the
 * refusal passes without an operator. */
#include "tests/lib/fuse/client_rig.h"

/* Sends a request of the kernel after `at_s` seconds; it fails with `error`, or waits (0). */
static void expect_ask(struct rig *g, uint64_t unique, uint64_t at_s, int error)
{
	const uint64_t now_ns = NOW0 + at_s * NSEC_PER_SEC;

	kernel_send(g, FUSE_STATFS, unique, "", 0);
	fuse_client_pull(g->f, true, now_ns);
	fuse_client_tick(g->f, now_ns);
	if (error)
		expect_reply(g, unique, error);
	else
		expect_silence(g);
}

static void session_lose(struct rig *g, uint64_t at_s)
{
	session.up = false;
	reset_all(g, NOW0 + at_s * NSEC_PER_SEC);
	fuse_client_event(g->f, RUDP_SESSION_LOST, 0, NOW0 + at_s * NSEC_PER_SEC);
}

static void refuse(struct rig *g, int code, uint64_t at_s)
{
	fuse_client_event(g->f, RUDP_SESSION_REFUSED, code, NOW0 + at_s * NSEC_PER_SEC);
}

static void requests_of_a_refused_mount_fail(void **state)
{
	struct rig *g = *state;

	g->cfg->mounts[0].soft_s = 0;
	g->f->soft_ns = 0;
	bring_up(g);
	session_lose(g, 0);
	expect_ask(g, 50, 0, 0);
	refuse(g, -EACCES, 0);
	fuse_client_tick(g->f, NOW0); /* another address of the server may accept the session */
	expect_silence(g);
	assert_true(fuse_client_tick(g->f, NOW0) < NOW0 + NSEC_PER_SEC);
	fuse_client_tick(g->f, NOW0 + NSEC_PER_SEC);
	expect_reply(g, 50, -EACCES);
	expect_ask(g, 51, 2, -EACCES);
	refuse(g, -EROFS, 3);
	expect_ask(g, 52, 3, -EROFS);
	assert_int_equal(fuse_client_in_flight(g->f), 0);
	g->now_ns = NOW0 + 4 * NSEC_PER_SEC;
	session_up(g);
	expect_ask(g, 53, 4, 0);
	respond_init(g);
	assert_int_equal(call_header(0).unique, 53);
}

static void a_removed_export_is_stale_and_a_missing_one_does_not_exist(void **state)
{
	struct rig *g = *state;

	g->f->soft_ns = 0;
	refuse(g, -ENOENT, 0);
	expect_ask(g, 50, 1, -ENOENT);
	bring_up(g);
	session_lose(g, 1);
	refuse(g, -ENOENT, 2);
	expect_ask(g, 51, 6, 0); /* the worker with the export may still start */
	refuse(g, -ENOENT, 6);
	fuse_client_tick(g->f, NOW0 + 7 * NSEC_PER_SEC);
	expect_reply(g, 51, -ESTALE);
	expect_ask(g, 52, 7, -ESTALE);
}

static void kernel_lock(struct rig *g, uint64_t unique, uint32_t opcode, uint64_t nodeid,
			uint64_t fh)
{
	const struct fuse_lk_in in = {
		.fh = fh, .owner = 5, .lk = {.end = INT64_MAX, .type = F_WRLCK, .pid = 1}};

	kernel_send_to(g, opcode, unique, nodeid, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
}

static void kernel_flush(struct rig *g, uint64_t unique, uint64_t nodeid, uint64_t fh)
{
	const struct fuse_flush_in in = {.fh = fh, .lock_owner = 5};

	kernel_send_to(g, FUSE_FLUSH, unique, nodeid, &in, sizeof(in));
	fuse_client_pull(g->f, true, g->now_ns);
}

/* The server repeats its refusal. */
static void keep_refusing(struct rig *g, uint64_t from_s, uint64_t to_s)
{
	for (uint64_t at_s = from_s; at_s <= to_s; at_s++) {
		if (at_s % 5 == 0)
			refuse(g, -EACCES, at_s);
		g->now_ns = NOW0 + at_s * NSEC_PER_SEC;
		fuse_client_tick(g->f, g->now_ns);
	}
}

static void lock_some(struct rig *g, uint64_t nodeid, uint64_t fh)
{
	struct fuse_out_header out;

	kernel_lock(g, 50, FUSE_SETLK, nodeid, fh);
	respond(g, 0, 0, NULL, 0);
	kernel_lock(g, 52, FUSE_SETLKW, nodeid, fh);
	respond(g, 0, -EINPROGRESS, NULL, 0);
	fuse_client_tick(g->f, g->now_ns);
	assert_int_equal(g->f->locks.n_waits, 1);
	assert_true(calls[0].cookie == CLIENT_COOKIE_LOCKS); /* it asks for the grant */
	kernel_lock(g, 54, FUSE_SETLK, nodeid, fh);	     /* it is sent, and not answered */
	while (kernel_receive(g, &out, NULL, 0) > 0)
		assert_int_equal(out.unique == 50 || out.unique == 0, 1);
}

/* Otherwise programs that close files or exit would hang, even if they are killed. */
static void requests_about_locks_fail_when_the_server_has_freed_the_locks(void **state)
{
	struct rig *g = *state;
	struct fuse_release_in end = {0};
	uint64_t node, fh, other;

	g->f->soft_ns = 0;
	g->cfg->mounts[0].locks = LAUNCH_LOCKS_CLUSTER;
	g->features = FUSE_PROTO_FEATURE_LOCKS;
	bring_up(g);
	g->f->state.head->lock_epoch = 1;
	node = lookup(g, "a", "handle-a");
	fh = end.fh = open_file(g, node, 70);
	other = open_file(g, node, 71);
	lock_some(g, node, fh);
	session_lose(g, 0);
	refuse(g, -EACCES, 0);
	kernel_flush(g, 56, node, fh);
	kernel_send_to(g, FUSE_RELEASE, 60, node, &end, sizeof(end));
	fuse_client_pull(g->f, true, g->now_ns);
	keep_refusing(g, 1, 34);
	expect_silence(g); /* the server may still have the locks */
	assert_int_equal(g->f->files.n_closing, 0);
	keep_refusing(g, 35, 36);
	for (unsigned n = 0; n < 4; n++) { /* 52, 54, 56 and the end of the file, in any order */
		struct fuse_out_header out;

		assert_true(kernel_receive(g, &out, NULL, 0) > 0);
		assert_int_equal(out.error, -EACCES);
	}
	expect_silence(g);
	assert_int_equal(fuse_client_in_flight(g->f), 0);
	assert_int_equal(g->f->locks.n_waits, 0);
	assert_int_equal(g->f->files.n_closing, 1);
	kernel_flush(g, 58, node, other);
	keep_refusing(g, 37, 37);
	expect_reply(g, 58, -EACCES);
}

static void requests_wait_if_the_refusal_passes_by_itself(void **state)
{
	static const int codes[] = {-EBUSY, -ENOSPC, -ENXIO, -EKEYREJECTED, -EREMCHG};
	struct rig *g = *state;
	uint64_t at_s = 0;

	g->f->soft_ns = 0;
	bring_up(g);
	session_lose(g, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(codes); i++, at_s += 2) {
		refuse(g, codes[i], at_s);
		expect_ask(g, 50 + i, at_s + 1, 0);
	}
	refuse(g, -EACCES, at_s);
	refuse(g, -EBUSY, at_s); /* another worker of the server has the mount */
	expect_ask(g, 60, at_s + 2, 0);
	refuse(g, -EACCES, at_s + 2);
	expect_ask(g, 61, at_s + 14, 0); /* the server no longer answers */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
		TEST(requests_of_a_refused_mount_fail),
		TEST(a_removed_export_is_stale_and_a_missing_one_does_not_exist),
		TEST(requests_about_locks_fail_when_the_server_has_freed_the_locks),
		TEST(requests_wait_if_the_refusal_passes_by_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
