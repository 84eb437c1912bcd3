/* SPDX-License-Identifier: BSD-3-Clause */
/* Path MTU discovery against fabrics of all sizes, step by step. */
#include "dataplane/rudp/path/rudp_mtu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS NSEC_PER_MSEC
#define SEC NSEC_PER_SEC

struct fabric { /* answers probes after one ms */
	struct rudp_mtu m;
	unsigned carries;
	uint64_t now, pn;
	bool in_use;
	unsigned probes, found; /* number of probes; number of searches with a new result */
};

static void fabric_init(struct fabric *f, unsigned carries, uint16_t most)
{
	*f = (struct fabric){.carries = carries, .now = SEC, .pn = 1};
	rudp_mtu_init(&f->m, most, f->now);
}

/* One round trip: all due probes, then their outcomes. */
static void fabric_round(struct fabric *f)
{
	uint64_t pns[RUDP_MTU_PROBES];
	uint16_t sizes[RUDP_MTU_PROBES];
	unsigned n = 0;

	while (n < RUDP_MTU_PROBES && (sizes[n] = rudp_mtu_next(&f->m, f->in_use, f->now))) {
		assert_in_range(sizes[n], f->m.cur + !f->m.done, f->m.max);
		rudp_mtu_sent(&f->m, sizes[n], f->pn);
		pns[n++] = f->pn++;
	}
	f->probes += n;
	f->now += MS;
	for (unsigned i = 0; i < n; i++) {
		unsigned news =
			sizes[i] <= f->carries
				? rudp_mtu_probe_acked(&f->m, pns[i], f->now)
				: rudp_mtu_probe_lost(&f->m, pns[i], RUDP_MTU_TRIES, f->now);

		f->found += (news & RUDP_MTU_FOUND) != 0;
	}
	if (!f->m.done)
		assert_in_range(f->m.cur, RUDP_MTU_BASE, MAX_OF(f->carries, RUDP_MTU_BASE));
}

/* Runs until no probe is left. Returns the time it took. */
static uint64_t fabric_search(struct fabric *f)
{
	uint64_t since = f->now;

	while (!f->m.done) {
		assert_true(f->now < since + SEC);
		fabric_round(f);
	}
	return f->now - since;
}

/* Loses packets of full size while none is known to arrive. */
static unsigned fabric_lose(struct fabric *f, unsigned n)
{
	unsigned news = 0;

	for (unsigned i = 0; i < n; i++)
		news |= rudp_mtu_packet_lost(&f->m, f->pn++, f->m.cur, f->now);
	return news;
}

/* Lets time pass, with a large packet arriving now and then, or none. */
static void fabric_pass(struct fabric *f, uint64_t ns, bool large)
{
	for (uint64_t until = f->now + ns; f->now < until; f->now += 99 * MS) {
		if (large && f->m.cur <= f->carries)
			rudp_mtu_packet_acked(&f->m, f->pn++, f->m.cur);
		fabric_round(f);
	}
}

/* No large packets in this direction: only rare probes detect that the fabric has shrunk. */
static void a_shrunken_path_is_detected_by_probes_alone(void **state)
{
	struct fabric f;
	unsigned probes;

	fabric_init(&f, 9000, 9000);
	fabric_search(&f);
	probes = f.probes;
	fabric_pass(&f, 60 * SEC, false); /* path not in use */
	assert_in_range(f.probes, probes + 1, probes + 2);
	probes = f.probes;
	f.in_use = true;
	fabric_pass(&f, 60 * SEC, true); /* packets suffice */
	assert_int_equal(f.probes, probes);
	fabric_pass(&f, 61 * SEC, false);
	assert_in_range(f.probes, probes + 5, probes + 7);
	f.carries = 1500;
	fabric_pass(&f, 12 * SEC, false);
	assert_int_equal(f.m.cur, 1500);
	assert_int_equal(f.m.found, 1500);
	assert_int_equal(f.found, 1);
	f.carries = 9000;
	fabric_pass(&f, 3 * SEC, false);
	assert_int_equal(f.m.cur, 9000);
}

static void a_healthy_path_reaches_its_size_in_one_round_trip(void **state)
{
	static const uint16_t mosts[] = {1500, 4096, 9000, 9216, 2000};

	for (unsigned i = 0; i < ARRAY_SIZE(mosts); i++) {
		struct fabric f;

		fabric_init(&f, 65535, mosts[i]);
		assert_int_equal(f.m.cur, RUDP_MTU_BASE);
		fabric_round(&f); /* one round trip is enough */
		assert_true(f.m.done);
		assert_int_equal(f.m.cur, mosts[i]);
		assert_int_equal(f.found, 0); /* as expected */
		assert_int_equal(rudp_mtu_deadline(&f.m), UINT64_MAX);
	}
}

static void a_path_of_the_base_size_needs_no_search(void **state)
{
	struct fabric f;

	fabric_init(&f, RUDP_MTU_BASE, RUDP_MTU_BASE);
	assert_true(f.m.done);
	assert_int_equal(rudp_mtu_next(&f.m, false, f.now), 0);
	assert_int_equal(rudp_mtu_deadline(&f.m), UINT64_MAX);
}

/* The size of any fabric is found to within a step and reported once. */
static void any_size_is_found_within_a_step(void **state)
{
	for (unsigned carries = RUDP_MTU_BASE; carries < 9000; carries += 7) {
		struct fabric f;

		fabric_init(&f, carries, 9000);
		fabric_search(&f);
		assert_in_range(f.m.cur, carries > RUDP_MTU_STEP ? carries - RUDP_MTU_STEP : 0,
				carries);
		assert_int_equal(f.m.found, f.m.cur);
		assert_int_equal(f.found, 1);
		assert_true(f.probes < 60);
	}
}

/* The usual case: a common size is found exactly and soon. */
static void common_sizes_are_found_exactly(void **state)
{
	static const uint16_t sizes[] = {1500, 4096};

	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct fabric f;

		fabric_init(&f, sizes[i], 9000);
		fabric_round(&f);
		assert_int_equal(f.m.cur, sizes[i]);
		assert_true(fabric_search(&f) < 50 * MS);
		assert_int_equal(f.m.found, sizes[i]);
	}
}

/* Probed again at growing intervals; found when the fabric is repaired. */
static void a_too_large_size_is_probed_again_later(void **state)
{
	struct fabric f;
	uint64_t wait = 0;

	fabric_init(&f, 1500, 9000);
	f.m.confirm_ns = UINT64_MAX / 2; /* no checks of the size in use */
	for (unsigned i = 0; i < 20; i++) {
		fabric_search(&f);
		assert_true(rudp_mtu_deadline(&f.m) > f.now);
		assert_true(rudp_mtu_deadline(&f.m) - f.now >= wait);
		wait = rudp_mtu_deadline(&f.m) - f.now;
		assert_int_equal(rudp_mtu_next(&f.m, false, f.now + wait - 1), 0);
		f.now += wait;
		assert_int_not_equal(rudp_mtu_next(&f.m, false, f.now), 0);
		assert_int_equal(f.m.cur, 1500); /* the size stays in use meanwhile */
	}
	assert_int_equal(wait, RUDP_MTU_RAISE_MOST_NS);
	f.carries = 9000;
	fabric_search(&f);
	assert_int_equal(f.m.found, 9000);
	assert_int_equal(f.found, 2);
}

static void a_black_hole_falls_back_to_the_base(void **state)
{
	struct fabric f;

	fabric_init(&f, 9000, 9000);
	fabric_search(&f);
	f.carries = 1500;
	assert_int_equal(fabric_lose(&f, RUDP_MTU_LOST_LEAST - 1), 0);
	assert_int_equal(f.m.cur, 9000);
	assert_int_equal(fabric_lose(&f, 1), RUDP_MTU_FELL);
	assert_int_equal(f.m.cur, RUDP_MTU_BASE);
	fabric_round(&f);
	assert_int_equal(f.m.cur, 1500);
	fabric_search(&f);
	assert_int_equal(f.m.found, 1500);
	assert_int_equal(f.found, 1);
	/* Small packets prove nothing. */
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(rudp_mtu_packet_lost(&f.m, f.pn++, RUDP_MTU_BASE, f.now), 0);
}

/* A full queue drops many at once, but packets as large arrive behind them. */
static void congestion_is_no_black_hole(void **state)
{
	struct fabric f;

	fabric_init(&f, 9000, 9000);
	fabric_search(&f);
	for (unsigned i = 0; i < 100; i++) {
		rudp_mtu_packet_acked(&f.m, f.pn + 30, 9000);
		assert_int_equal(fabric_lose(&f, 30), 0);
		f.pn++;
	}
	assert_int_equal(f.m.cur, 9000);
	/* Smaller ones that arrive do not count, even if they are the only ones for long. */
	for (unsigned i = 0; i < 2 * RUDP_MTU_PASSED_AGE; i++)
		rudp_mtu_packet_acked(&f.m, f.pn++, 3000);
	rudp_mtu_packet_acked(&f.m, f.pn + 100, 3000);
	assert_int_equal(fabric_lose(&f, RUDP_MTU_LOST_LEAST), RUDP_MTU_FELL);
}

/* A wrong fall: back at once, and harder to trigger the next time. */
static void a_wrong_fall_recovers_at_once(void **state)
{
	struct fabric f;
	unsigned limit = RUDP_MTU_LOST_LEAST;

	fabric_init(&f, 9000, 9000);
	fabric_search(&f);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(fabric_lose(&f, limit - 1), 0);
		assert_int_equal(fabric_lose(&f, 1), RUDP_MTU_FELL);
		fabric_round(&f);
		assert_int_equal(f.m.cur, 9000);
		assert_int_equal(f.found, 0);
		limit = MIN_OF(2 * limit, RUDP_MTU_LOST_MOST);
	}
}

/* A fabric that flaps: raised at growing intervals, until it has been stable for long. */
static void a_lossy_path_needs_more_lost_probes(void **state)
{
	struct fabric f;

	assert_int_equal(rudp_mtu_tries(0), RUDP_MTU_TRIES);
	assert_int_equal(rudp_mtu_tries(10000), RUDP_MTU_TRIES);
	assert_int_equal(rudp_mtu_tries(100000), 6);
	assert_int_equal(rudp_mtu_tries(300000), 12);
	assert_int_equal(rudp_mtu_tries(UINT32_MAX), RUDP_MTU_TRIES_MOST);
	fabric_init(&f, 9000, 9000);
	for (unsigned i = 1; i <= 12; i++) {
		uint16_t bytes = rudp_mtu_next(&f.m, false, f.now);

		assert_int_equal(bytes, 9000);
		rudp_mtu_sent(&f.m, bytes, f.pn);
		assert_false(rudp_mtu_probe_lost(&f.m, f.pn++, 12, f.now) & RUDP_MTU_FOUND);
		assert_int_equal(f.m.too_large, i < 12 ? 0 : 9000);
		f.now += 100 * MS; /* even the last of the pauses is shorter */
	}
}

static void a_flapping_path_is_raised_ever_later(void **state)
{
	struct fabric f;
	uint64_t wait = 0, raised;

	fabric_init(&f, 9000, 9000);
	fabric_search(&f);
	for (unsigned i = 0; i < 6; i++) {
		f.carries = 1500;
		while (!(fabric_lose(&f, 1) & RUDP_MTU_FELL))
			;
		fabric_search(&f);
		assert_int_equal(f.m.found, 1500);
		f.carries = 9000;
		raised = rudp_mtu_deadline(&f.m) - f.now;
		assert_true(raised >= 2 * wait);
		wait = raised;
		f.now += wait;
		(void)rudp_mtu_next(&f.m, false, f.now);
		fabric_search(&f);
		assert_int_equal(f.m.found, 9000);
	}
	assert_true(wait >= 32 * RUDP_MTU_RAISE_FIRST_NS);
	f.now += 3600 * SEC;
	f.carries = 1500;
	while (!(fabric_lose(&f, 1) & RUDP_MTU_FELL))
		;
	fabric_search(&f);
	assert_int_equal(rudp_mtu_deadline(&f.m) - f.now, RUDP_MTU_RAISE_FIRST_NS);
}

/* A size refused by the host counts at once: for a probe, and for the size in use. */
static void a_size_refused_by_the_host_counts_at_once(void **state)
{
	struct fabric f;
	uint16_t size;

	fabric_init(&f, 1500, 9000);
	while ((size = rudp_mtu_next(&f.m, false, f.now)) > 1500)
		assert_int_equal(rudp_mtu_refused(&f.m, size, f.now) & RUDP_MTU_FELL, 0);
	fabric_round(&f);
	assert_int_equal(f.m.cur, 1500);
	for (; !f.m.done; f.now += RUDP_MTU_TRY_GAP_NS)
		while ((size = rudp_mtu_next(&f.m, false, f.now)))
			(void)rudp_mtu_refused(&f.m, size, f.now);
	assert_int_equal(f.m.found, 1500);

	fabric_init(&f, 9000, 9000);
	fabric_search(&f);
	f.carries = 1500;
	assert_int_equal(rudp_mtu_refused(&f.m, 5000, f.now), RUDP_MTU_FELL);
	assert_int_equal(f.m.cur, RUDP_MTU_BASE);
	fabric_search(&f);
	assert_int_equal(f.m.found, 1500);
	assert_int_equal(rudp_mtu_refused(&f.m, 1000, f.now), 0);
	assert_int_equal(rudp_mtu_refused(&f.m, 20000, f.now), 0);
	assert_int_equal(f.m.cur, 1500);
}

/* The path fell silent with probes in flight: that proves nothing about their size. */
static void probes_of_a_silent_path_are_sent_again(void **state)
{
	struct fabric f;

	fabric_init(&f, 9000, 9000);
	for (unsigned i = 0; i < 10; i++) {
		uint16_t size;

		f.now += 100 * MS;
		while ((size = rudp_mtu_next(&f.m, false, f.now)))
			rudp_mtu_sent(&f.m, size, f.pn++);
		rudp_mtu_probes_forget(&f.m, f.now);
		assert_true(rudp_mtu_deadline(&f.m) > f.now);
	}
	f.now += 100 * MS;
	fabric_search(&f);
	assert_int_equal(f.m.cur, 9000);
	/* Other packets' numbers are ignored. */
	assert_int_equal(rudp_mtu_probe_acked(&f.m, 7, f.now), 0);
	assert_int_equal(rudp_mtu_probe_lost(&f.m, 7, RUDP_MTU_TRIES, f.now), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_shrunken_path_is_detected_by_probes_alone),
		cmocka_unit_test(a_healthy_path_reaches_its_size_in_one_round_trip),
		cmocka_unit_test(a_path_of_the_base_size_needs_no_search),
		cmocka_unit_test(any_size_is_found_within_a_step),
		cmocka_unit_test(common_sizes_are_found_exactly),
		cmocka_unit_test(a_too_large_size_is_probed_again_later),
		cmocka_unit_test(a_black_hole_falls_back_to_the_base),
		cmocka_unit_test(congestion_is_no_black_hole),
		cmocka_unit_test(a_wrong_fall_recovers_at_once),
		cmocka_unit_test(a_lossy_path_needs_more_lost_probes),
		cmocka_unit_test(a_flapping_path_is_raised_ever_later),
		cmocka_unit_test(a_size_refused_by_the_host_counts_at_once),
		cmocka_unit_test(probes_of_a_silent_path_are_sent_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
