/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the active port on a virtual clock: leaving at once, returning late, flapping. */
#include "dataplane/worker/worker_active.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define HOLD_NS (10 * NSEC_PER_SEC)
#define START_NS (1000 * NSEC_PER_SEC)

struct clocked {
	struct worker_active b;
	uint64_t now_ns, due_ns;
};

static struct clocked start(unsigned n)
{
	struct clocked c = {.now_ns = START_NS};

	worker_active_init(&c.b, n, HOLD_NS);
	return c;
}

/* True: another port carries now. */
static bool set(struct clocked *c, unsigned i, bool works)
{
	worker_active_set(&c->b, i, works, c->now_ns);
	return worker_active_choose(&c->b, c->now_ns, &c->due_ns);
}

/* Time until an earlier port carries again, according to the due times. */
static uint64_t wait_back(struct clocked *c)
{
	const uint64_t began = c->now_ns;

	while (!worker_active_choose(&c->b, c->now_ns, &c->due_ns)) {
		assert_true(c->due_ns > c->now_ns && c->due_ns != UINT64_MAX);
		c->now_ns = c->due_ns;
	}
	return c->now_ns - began;
}

static void test_the_first_port_carries(void **state)
{
	struct clocked c = start(2);

	assert_false(worker_active_choose(&c.b, c.now_ns, &c.due_ns));
	assert_int_equal(c.b.active, 0);
	assert_true(c.due_ns == UINT64_MAX);
	assert_true(worker_active_carries(&c.b));
	assert_false(set(&c, 1, false)); /* a standby port may fail and recover */
	assert_false(set(&c, 1, true));
	assert_int_equal(c.b.active, 0);
}

static void test_traffic_moves_at_once_and_returns_after_the_hold(void **state)
{
	struct clocked c = start(2);

	assert_true(set(&c, 0, false));
	assert_int_equal(c.b.active, 1);
	assert_true(c.due_ns == UINT64_MAX);
	c.now_ns += NSEC_PER_SEC;
	assert_false(set(&c, 0, true));
	assert_int_equal(c.b.active, 1);
	c.now_ns += HOLD_NS - 1;
	assert_false(worker_active_choose(&c.b, c.now_ns, &c.due_ns));
	c.now_ns++;
	assert_true(worker_active_choose(&c.b, c.now_ns, &c.due_ns));
	assert_int_equal(c.b.active, 0);
}

/* The hold time counts from the last recovery of the link. */
static void test_a_lost_link_restarts_the_hold(void **state)
{
	struct clocked c = start(2);

	(void)set(&c, 0, false);
	(void)set(&c, 0, true);
	c.now_ns += HOLD_NS - 1;
	assert_false(set(&c, 0, false));
	assert_false(set(&c, 0, true));
	assert_true(wait_back(&c) == HOLD_NS);
	assert_int_equal(c.b.active, 0);
}

static void test_flapping_lengthens_the_hold(void **state)
{
	struct clocked c = start(2);
	uint64_t expected = HOLD_NS;

	for (unsigned i = 0; i < WORKER_ACTIVE_DOUBLED_MAX + 3; i++) {
		assert_true(set(&c, 0, false));
		assert_int_equal(c.b.active, 1);
		assert_false(set(&c, 0, true));
		assert_true(wait_back(&c) == expected);
		assert_int_equal(c.b.active, 0);
		expected = MIN_OF(2 * expected, HOLD_NS << WORKER_ACTIVE_DOUBLED_MAX);
		c.now_ns += NSEC_PER_SEC;
	}
	/* Steady for long enough: treated like a port that never failed. */
	c.now_ns += WORKER_ACTIVE_SOON * expected;
	assert_true(set(&c, 0, false));
	(void)set(&c, 0, true);
	assert_true(wait_back(&c) == HOLD_NS);
}

/* If none works there is no port to move to; the first to recover carries at once. */
static void test_the_first_port_to_recover_carries(void **state)
{
	struct clocked c = start(2);

	assert_false(set(&c, 1, false));
	assert_false(set(&c, 0, false));
	assert_false(worker_active_carries(&c.b));
	assert_true(set(&c, 1, true));
	assert_int_equal(c.b.active, 1);
	assert_true(worker_active_carries(&c.b));
	c = start(2);
	(void)set(&c, 1, false);
	(void)set(&c, 0, false);
	assert_false(set(&c, 0, true)); /* it carried before */
	assert_true(worker_active_carries(&c.b));
}

/* The backup fails during the hold time of the first: a port that has just recovered is better than
 * none. */
static void test_a_failed_backup_ends_the_hold(void **state)
{
	struct clocked c = start(2);

	(void)set(&c, 0, false);
	(void)set(&c, 0, true);
	assert_true(set(&c, 1, false));
	assert_int_equal(c.b.active, 0);
}

static void test_three_ports_keep_their_order(void **state)
{
	struct clocked c = start(3);

	(void)set(&c, 1, false);
	assert_true(set(&c, 0, false));
	assert_int_equal(c.b.active, 2);
	(void)set(&c, 1, true);
	c.now_ns += NSEC_PER_SEC;
	(void)set(&c, 0, true);
	assert_true(wait_back(&c) == HOLD_NS - NSEC_PER_SEC); /* to the second, which recovered
							       * earlier */
	assert_int_equal(c.b.active, 1);
	assert_true(wait_back(&c) == NSEC_PER_SEC);
	assert_int_equal(c.b.active, 0);
	worker_active_set(&c.b, 7, false, c.now_ns); /* no such port */
	assert_false(worker_active_choose(&c.b, c.now_ns, &c.due_ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_port_carries),
		cmocka_unit_test(test_traffic_moves_at_once_and_returns_after_the_hold),
		cmocka_unit_test(test_a_lost_link_restarts_the_hold),
		cmocka_unit_test(test_flapping_lengthens_the_hold),
		cmocka_unit_test(test_the_first_port_to_recover_carries),
		cmocka_unit_test(test_a_failed_backup_ends_the_hold),
		cmocka_unit_test(test_three_ports_keep_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
