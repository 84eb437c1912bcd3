/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether all cores of a mount read, on machines of which the test knows what each way serves: so
 * many requests a second, in batches that are large where a core cannot keep up.
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
	unsigned one, many; /* requests a second, where one core reads and where all do */
	unsigned batch;	    /* of those come at once */
	unsigned jitter;    /* per cent by which a batch comes sooner or later */
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

/* Per cent of the time from now on that all read. */
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

static void test_what_serves_more_is_kept(void **state)
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
		/* Asking again costs less and less. */
		if (gains)
			assert_true(all_read(&m, 60 * NSEC_PER_SEC) >= 97);
		else
			assert_true(all_read(&m, 60 * NSEC_PER_SEC) <= 3);
	}
}

/* Other programs come to the other core, and go. */
static void test_what_changes_is_found(void **state)
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
	/* Found once, it is not believed for as long as what was found again and again. */
	m.many = 54000;
	run(&m, CLIENT_TRIAL_REST_MIN_NS + 400 * NSEC_PER_MSEC);
	assert_true(m.t.all);
}

/* Who keeps up is not helped, and no trial delays it. */
static void test_who_keeps_up_is_left_alone(void **state)
{
	struct machine m = {.one = 30000, .many = 54000, .batch = 1, .jitter = 50};

	(void)state;
	assert_int_equal(all_read(&m, 10 * NSEC_PER_SEC), 0);
	/* Nor those who ask seldom, however many at once. */
	m = (struct machine){.one = 800, .many = 1600, .batch = 16, .jitter = 50};
	assert_int_equal(all_read(&m, 10 * NSEC_PER_SEC), 0);
}

/* What was found of a load that has ended says nothing of the next. */
static void test_what_is_old_is_forgotten(void **state)
{
	struct machine m = {.one = 30000, .many = 54000, .batch = 8, .jitter = 50};

	(void)state;
	run(&m, NSEC_PER_SEC);
	assert_true(m.t.all);
	m.now_ns += NSEC_PER_MSEC * 100; /* a pause is no end */
	run(&m, 16);
	assert_true(m.t.all);
	m.now_ns += 2 * CLIENT_TRIAL_REST_MAX_NS;
	run(&m, 16);
	assert_false(m.t.all);
	run(&m, 400 * NSEC_PER_MSEC);
	assert_true(m.t.all);
}

/* A load that ends within a trial leaves things as they were. */
static void test_a_trial_that_is_cut_short_finds_nothing(void **state)
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

/* Demand that grows, whoever serves it, favours neither way. */
static void test_growth_is_no_gain(void **state)
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
		cmocka_unit_test(test_what_serves_more_is_kept),
		cmocka_unit_test(test_what_changes_is_found),
		cmocka_unit_test(test_who_keeps_up_is_left_alone),
		cmocka_unit_test(test_what_is_old_is_forgotten),
		cmocka_unit_test(test_a_trial_that_is_cut_short_finds_nothing),
		cmocka_unit_test(test_growth_is_no_gain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
