/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wake-ups of the worker, with real processes: completed calls and ended processes wake it, nothing
 * else does. Needs root.
 */
#include "tests/lib/fuse/helper_end.h"
#include "tests/lib/fuse/helper_rig.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

static void none_done(void *user, struct helper_call *call)
{
	fail();
}

/* Read system calls of this process; -1: the kernel does not count them. */
static long n_reads(void)
{
	FILE *f = fopen("/proc/self/io", "re");
	char line[64];
	long n = -1;

	while (f && fgets(line, sizeof(line), f))
		(void)sscanf(line, "syscr: %ld", &n);
	if (f)
		fclose(f);
	return n;
}

/* One wake-up per result, and no read without a wake-up. */
static void test_wake_ups_are_exact(void **state)
{
	struct rig *g = *state;
	struct pollfd p = {.fd = fs_helper_fd(g->helpers), .events = POLLIN};
	uint64_t end = clock_now_ns() + RIG_DEADLINE_MS * NSEC_PER_MSEC;
	long before, by_looking;

	for (unsigned i = 0; i < 200; i++)
		assert_int_equal(rig_do(g, rig_call(g, HELPER_GETATTR, g->root_fd, NULL), NULL), 0);
	do { /* a helper may still be signalling */
		assert_int_equal(fs_helper_poll(g->helpers, true, none_done, NULL), 0);
		assert_true(clock_now_ns() < end);
	} while (poll(&p, 1, 100) > 0);
	before = n_reads();
	by_looking = n_reads() - before;
	if (before < 0)
		return;
	for (unsigned i = 0; i < 256; i++)
		assert_int_equal(fs_helper_poll(g->helpers, true, none_done, NULL), 0);
	assert_true(n_reads() - before - 2 * by_looking <= 8);
}

/* A polling worker that naps on the descriptor reads every wake-up. */
static void test_polling_reads_wake_ups(void **state)
{
	struct rig *g = *state;
	struct pollfd p = {.fd = fs_helper_fd(g->helpers), .events = POLLIN};
	struct helper_call *c, *done = NULL;

	for (unsigned i = 0; i < 20; i++) { /* the start may signal late */
		g->helpers = helpers_end(g->helpers);
		rig_pool_start(g);
		p.fd = fs_helper_fd(g->helpers);
		assert_int_equal(poll(&p, 1, 10), 0);
	}
	/* A helper completes the first call after the last sleep. */
	assert_int_equal(fs_helper_poll(g->helpers, true, none_done, NULL), 0);
	c = rig_call(g, HELPER_GETATTR, g->root_fd, NULL);
	fs_helper_submit(g->helpers, c, HELPERS_QUICK);
	assert_int_equal(poll(&p, 1, RIG_DEADLINE_MS), 1);
	assert_int_equal(fs_helper_poll(g->helpers, false, rig_on_done, &done), 1);
	assert_ptr_equal(done, c);
	fs_helper_call_free(g->helpers, c);
	assert_int_equal(poll(&p, 1, 0), 0);
	/* Cancels a call before a helper takes it. */
	for (unsigned i = 1; i <= 2; i++) {
		kill(fs_helper_pid(g->helpers, i), SIGSTOP);
		assert_true(waitpid(fs_helper_pid(g->helpers, i), NULL, WUNTRACED) > 0);
	}
	c = rig_call(g, HELPER_GETATTR, g->root_fd, NULL);
	fs_helper_submit(g->helpers, c, HELPERS_QUICK);
	fs_helper_interrupt(g->helpers, c);
	assert_int_equal(poll(&p, 1, 0), 1);
	assert_int_equal(fs_helper_poll(g->helpers, false, rig_on_done, &done), 1);
	assert_int_equal(c->result.error, -EINTR);
	fs_helper_call_free(g->helpers, c);
	assert_int_equal(poll(&p, 1, 0), 0);
	for (unsigned i = 1; i <= 2; i++)
		kill(fs_helper_pid(g->helpers, i), SIGCONT);
}

/* The end of every process is detected, also of the watcher. */
static void test_the_end_of_every_process_is_detected(void **state)
{
	struct rig *g = *state;

	for (unsigned i = 0; i < 5; i++) {
		struct pollfd p = {.fd = fs_helper_fd(g->helpers), .events = POLLIN};

		assert_int_equal(fs_helper_poll(g->helpers, true, none_done, NULL), 0);
		kill(fs_helper_pid(g->helpers, i), SIGKILL);
		assert_int_equal(poll(&p, 1, RIG_DEADLINE_MS), 1);
		assert_int_equal(fs_helper_poll(g->helpers, true, none_done, NULL), -EPIPE);
		g->helpers = helpers_end(g->helpers);
		rig_pool_start(g);
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {T(test_wake_ups_are_exact),
					   T(test_polling_reads_wake_ups),
					   T(test_the_end_of_every_process_is_detected)};

	if (geteuid() != 0) {
		print_message("1..0 # SKIP needs root\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
