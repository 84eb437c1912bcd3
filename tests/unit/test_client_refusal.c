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
		TEST(requests_wait_if_the_refusal_passes_by_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
