/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether all workers of a mount read, on simulated machines whose throughput in each mode is
 * given: so many requests per second, in bursts that grow where a core cannot keep up.
 */
#include "dataplane/fuse/client/workers/client_trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

struct machine {
	struct client_trial t;
	uint64_t now_ns;
	unsigned one, many; /* requests per second, where only the owner reads and where all do */
	unsigned batch;	    /* requests per burst */
	unsigned jitter;    /* percentage by which a burst comes early or late */
	uint64_t n, n_behind;
};

static uint64_t between(struct machine *m)
{
	uint64_t ns = m->batch * NSEC_PER_SEC / (m->t.all ? m->many : m->one);

	return ns + ns * (uint64_t)(rand() % (2 * (int)m->jitter + 1)) / 100 - ns * m->jitter / 100;
}

static void run(struct machine *m, uint64_t for_ns)
{
	const uint64_t until_ns = m->now_ns + for_ns;

	while (m->now_ns < until_ns) {
		m->now_ns += between(m);
		if (client_trial_is_due(&m->t, m->now_ns))
			client_trial_look(&m->t, m->n, m->n_behind, m->now_ns);
		m->n += m->batch;
		m->n_behind += m->batch - 1;
	}
}

/* Percentage of the following time in which all read. */
static unsigned all_read(struct machine *m, uint64_t for_ns)
{
	const uint64_t until_ns = m->now_ns + for_ns;
	unsigned n = 0, of = 0;

	for (; m->now_ns < until_ns; of++) {
		run(m, NSEC_PER_MSEC);
		n += m->t.all;
	}
	return n * 100 / of;
}

static void test_the_faster_way_is_kept(void **state)
{
	const struct {
		unsigned one, many;
	} machines[] = {{30000, 54000}, {30000, 36000}, {4000, 8000}, {200000, 600000}};

	(void)state;
	for (unsigned i = 0; i < 2 * sizeof(machines) / sizeof(machines[0]); i++) {
		bool gains = i % 2;
		struct machine m = {.one = machines[i / 2].one,
				    .many = machines[i / 2].many,
				    .batch = 8,
				    .jitter = 80};

		if (!gains) {
			m.one = machines[i / 2].many;
			m.many = machines[i / 2].one;
		}
		srand(i);
		assert_false(m.t.all);
		run(&m, 400 * NSEC_PER_MSEC);
		assert_int_equal(m.t.all, gains);
		/* Repeated trials cost less and less. */
		if (gains)
			assert_true(all_read(&m, 60 * NSEC_PER_SEC) >= 97);
		else
			assert_true(all_read(&m, 60 * NSEC_PER_SEC) <= 3);
	}
}

/* Other programs use the other core, and stop. */
static void test_a_change_is_found(void **state)
{
	struct machine m = {.one = 30000, .many = 54000, .batch = 8, .jitter = 50};

	(void)state;
	run(&m, 60 * NSEC_PER_SEC);
	assert_true(m.t.all);
	m.many = 20000;
	for (uint64_t end_ns = m.now_ns + CLIENT_TRIAL_REST_MAX_NS + NSEC_PER_SEC; m.t.kept;) {
		assert_true(m.now_ns < end_ns);
		run(&m, NSEC_PER_MSEC);
	}
	assert_false(m.t.all);
	/* A result found once is kept for less time than one that was confirmed repeatedly. */
	m.many = 54000;
	run(&m, CLIENT_TRIAL_REST_MIN_NS + 400 * NSEC_PER_MSEC);
	assert_true(m.t.all);
}

/* A core that keeps up gets no help, and no trial delays it. */
static void test_a_core_that_keeps_up_is_left_alone(void **state)
{
	struct machine m = {.one = 30000, .many = 54000, .batch = 1, .jitter = 50};

	(void)state;
	assert_int_equal(all_read(&m, 10 * NSEC_PER_SEC), 0);
	/* Nor does one with rare requests, however many come at once. */
	m = (struct machine){.one = 800, .many = 1600, .batch = 16, .jitter = 50};
	assert_int_equal(all_read(&m, 10 * NSEC_PER_SEC), 0);
}

/* The result of a load that has ended does not apply to the next. */
static void test_an_old_result_is_forgotten(void **state)
{
	struct machine m = {.one = 30000, .many = 54000, .batch = 8, .jitter = 50};

	(void)state;
	run(&m, NSEC_PER_SEC);
	assert_true(m.t.all);
	m.now_ns += NSEC_PER_MSEC * 100; /* a pause is not the end */
	run(&m, 16);
	assert_true(m.t.all);
	m.now_ns += 2 * CLIENT_TRIAL_REST_MAX_NS;
	run(&m, 16);
	assert_false(m.t.all);
	run(&m, 400 * NSEC_PER_MSEC);
	assert_true(m.t.all);
}

/* A load that ends during a trial changes nothing. */
static void test_an_aborted_trial_changes_nothing(void **state)
{
	struct machine m = {.one = 30000, .many = 54000, .batch = 8, .jitter = 50};

	(void)state;
	while (!m.t.all)
		run(&m, NSEC_PER_MSEC);
	m.now_ns += NSEC_PER_SEC;
	run(&m, 16);
	assert_false(m.t.all);
	assert_int_equal(m.t.n_windows, 0);
}

/* Growing demand favours neither mode. */
static void test_growing_load_is_not_a_gain(void **state)
{
	struct machine m = {.one = 20000, .many = 20000, .batch = 8, .jitter = 10};

	(void)state;
	run(&m, 20 * NSEC_PER_MSEC);
	for (unsigned i = 0; i < 300; i++) {
		m.one = m.many += 200;
		run(&m, NSEC_PER_MSEC);
	}
	assert_false(m.t.kept);
	assert_int_equal(m.t.n_windows, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_faster_way_is_kept),
		cmocka_unit_test(test_a_change_is_found),
		cmocka_unit_test(test_a_core_that_keeps_up_is_left_alone),
		cmocka_unit_test(test_an_old_result_is_forgotten),
		cmocka_unit_test(test_an_aborted_trial_changes_nothing),
		cmocka_unit_test(test_growing_load_is_not_a_gain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
