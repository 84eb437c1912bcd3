/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verdict about latency in the simulator: a slow leg is named with both figures, idle and
 * loaded; busy hosts, load, queues and a network that is slow everywhere are no leg's fault.
 */
#include "dataplane/rudp/rudp_internal.h"
#include "tests/lib/rudp/rudp_worlds.h"

#define CLIENT 1U
#define NAMED_NS (20 * SEC)

static struct rudp_path_info path_of(struct sim *sim, unsigned end, unsigned leg)
{
	struct rudp_session *s = rudp_session_next(sim->ends[end].r, NULL);
	struct rudp_path_info info[RUDP_PATHS_MAX];
	unsigned n = s ? rudp_session_paths(s, info, RUDP_PATHS_MAX) : 0;

	for (unsigned i = 0; i < n; i++)
		if (info[i].port == leg)
			return info[i];
	return (struct rudp_path_info){.port = RUDP_PORTS_MAX};
}

static bool is_slow(struct sim *sim, unsigned end, unsigned leg)
{
	return path_of(sim, end, leg).slow_ns != 0;
}

static bool any_is_slow(struct sim *sim)
{
	for (unsigned leg = 0; leg < sim->cfg.legs; leg++)
		if (is_slow(sim, SIM_SERVER, leg) || is_slow(sim, CLIENT, leg))
			return true;
	return false;
}

static struct sim *world(const struct sim_config *cfg)
{
	struct sim *sim = sim_new(cfg);

	CHECK(sim, sim_connect(sim, SEC));
	CHECK(sim, sim_pass(sim, 15 * SEC));
	CHECK(sim, !any_is_slow(sim));
	return sim;
}

static bool both_know(struct sim *sim, unsigned leg, bool slow, uint64_t max_ns)
{
	uint64_t until = sim->now + max_ns;

	while (sim->now < until && !sim->fault[0]) {
		if (is_slow(sim, SIM_SERVER, leg) == slow && is_slow(sim, CLIENT, leg) == slow)
			return true;
		sim_pass(sim, 100 * MS);
	}
	return false;
}

static void never_slow(struct sim *sim, uint64_t ns)
{
	for (uint64_t until = sim->now + ns; sim->now < until && !sim->fault[0];) {
		CHECK(sim, sim_pass(sim, 100 * MS));
		CHECK(sim, !any_is_slow(sim));
	}
}

static void call_again(struct sim *sim, unsigned client)
{
	(void)sim_call(sim, client, 1000, 64U << 10, 0);
}

static void load_begin(struct sim *sim)
{
	sim->on_done = call_again;
	for (unsigned i = 0; i < 8; i++)
		call_again(sim, CLIENT);
}

static void end_world(struct sim *sim)
{
	sim->on_done = NULL;
	CHECK(sim, sim_finish(sim, 5 * SEC));
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* Slow links, so that seconds of load are soon simulated. */
static struct sim_config slow_links(void)
{
	struct sim_config cfg = sim_clean;

	cfg.bits_per_s = 100000000;
	cfg.queue_bytes = 2U << 20;
	return cfg;
}

static void both_ends_name_a_slow_leg_with_both_figures(void **state)
{
	for (unsigned loaded = 0; loaded < 2; loaded++) {
		struct sim_config cfg = slow_links();
		struct rudp_path_info info;
		struct sim *sim;

		cfg.seed = 3 + loaded;
		sim = world(&cfg);
		if (loaded)
			load_begin(sim);
		sim->ends[SIM_SERVER].links[0].out_delay_ns = 10 * MS;
		CHECK(sim, both_know(sim, 0, true, NAMED_NS));
		CHECK(sim, sim_pass(sim, 5 * SEC));
		for (unsigned end = SIM_SERVER; end <= CLIENT; end++) {
			info = path_of(sim, end, 0);
			/* Of a loaded path the least part of the queue remains. */
			CHECK(sim, info.slow_ns > 9 * MS && info.slow_ns < (loaded ? 40 : 11) * MS);
			CHECK(sim, info.slow_than_ns > 0 && info.slow_than_ns < 2 * MS);
			CHECK(sim, info.slow_port == 1 || info.slow_port == RUDP_PORTS_MAX);
			CHECK(sim, !is_slow(sim, end, 1));
			CHECK(sim, sim->ends[end].events[RUDP_PATH_SLOW] == 1);
		}
		/* The queue that the load has made on the slow leg must be empty, too. */
		sim->on_done = NULL;
		sim->ends[SIM_SERVER].links[0].out_delay_ns = 0;
		CHECK(sim, both_know(sim, 0, false, NAMED_NS));
		never_slow(sim, 10 * SEC);
		end_world(sim);
	}
}

static void less_than_a_millisecond_more_is_not_slow(void **state)
{
	struct sim *sim = world(&sim_clean);

	sim->ends[SIM_SERVER].links[0].out_delay_ns = 900 * US;
	never_slow(sim, 60 * SEC);
	sim->ends[SIM_SERVER].links[0].out_delay_ns = 1200 * US;
	CHECK(sim, both_know(sim, 0, true, NAMED_NS));
	end_world(sim);
}

static void less_than_five_times_as_much_is_not_slow(void **state)
{
	struct sim_config cfg = sim_clean;
	struct sim *sim;

	cfg.delay_ns = 5 * MS;
	sim = world(&cfg);
	sim->ends[SIM_SERVER].links[0].out_delay_ns = 35 * MS;
	never_slow(sim, 60 * SEC);
	sim->ends[SIM_SERVER].links[0].out_delay_ns = 45 * MS;
	CHECK(sim, both_know(sim, 0, true, NAMED_NS));
	end_world(sim);
}

static void the_only_leg_is_compared_with_its_own_past(void **state)
{
	struct sim_config cfg = sim_clean;
	struct sim *sim;

	cfg.legs = 1;
	sim = world(&cfg);
	sim->ends[CLIENT].links[0].out_delay_ns = 10 * MS;
	CHECK(sim, both_know(sim, 0, true, NAMED_NS));
	CHECK(sim, path_of(sim, CLIENT, 0).slow_port == RUDP_PORTS_MAX);
	CHECK(sim, path_of(sim, CLIENT, 0).slow_than_ns < MS);
	sim->ends[CLIENT].links[0].out_delay_ns = 0;
	CHECK(sim, both_know(sim, 0, false, NAMED_NS));
	end_world(sim);
}

static void a_leg_that_was_always_the_longer_one_may_become_slow_too(void **state)
{
	struct sim_config cfg = sim_clean;
	struct sim *sim = sim_new(&cfg);

	sim->ends[SIM_SERVER].links[1].out_delay_ns = 900 * US;
	CHECK(sim, sim_connect(sim, SEC));
	never_slow(sim, 15 * SEC);
	sim->ends[SIM_SERVER].links[0].out_delay_ns = 2 * MS; /* less than five times leg 1's */
	CHECK(sim, both_know(sim, 0, true, NAMED_NS));
	CHECK(sim, path_of(sim, CLIENT, 0).slow_port == RUDP_PORTS_MAX);
	CHECK(sim, !is_slow(sim, CLIENT, 1));
	end_world(sim);
}

/* A peer that is far away now, or a router before both legs. */
static void legs_that_are_all_late_are_not_to_blame(void **state)
{
	struct sim *sim = world(&sim_clean);

	for (unsigned leg = 0; leg < 2; leg++)
		sim->ends[SIM_SERVER].links[leg].out_delay_ns = (10 + leg) * MS;
	never_slow(sim, 120 * SEC);
	end_world(sim);
}

static void busy_hosts_are_not_slow_legs(void **state)
{
	for (unsigned legs = 1; legs <= 2; legs++) {
		struct sim_config cfg = sim_clean;
		struct sim *sim;

		cfg.legs = legs;
		cfg.seed = 60 + legs;
		sim = world(&cfg);
		sim->cfg.turn_ns = 12 * MS; /* both ends read their packets this late */
		never_slow(sim, 60 * SEC);
		sim->cfg.turn_ns = cfg.turn_ns;
		for (unsigned i = 0; i < 600; i++) {
			sim_stall(sim, i % 2 ? CLIENT : SIM_SERVER, sim_random(sim, 90 * MS));
			never_slow(sim, 100 * MS);
		}
		end_world(sim);
	}
}

static void load_alone_makes_no_leg_slow(void **state)
{
	for (unsigned labels = 0; labels < 2; labels++) {
		struct sim_config cfg = slow_links();
		struct sim *sim;

		cfg.labels = labels;
		sim = world(&cfg);
		load_begin(sim);
		never_slow(sim, 60 * SEC);
		sim->on_done = NULL;
		never_slow(sim, 20 * SEC);
		load_begin(sim);
		/* One leg carries all of it. */
		sim_leg(sim, CLIENT, 1, false, true);
		never_slow(sim, 30 * SEC);
		sim_leg(sim, CLIENT, 1, true, true);
		never_slow(sim, 30 * SEC);
		end_world(sim);
	}
}

static void jitter_and_loss_make_no_leg_slow(void **state)
{
	struct sim_config cfg = slow_links();
	struct sim *sim;

	cfg.jitter_ns = 3 * MS;
	cfg.loss = 20000;
	sim = world(&cfg);
	never_slow(sim, 60 * SEC);
	load_begin(sim);
	never_slow(sim, 30 * SEC);
	end_world(sim);
}

/* A delay that comes and goes must not be reported each time. */
static void a_leg_that_is_slow_now_and_then_does_not_flap(void **state)
{
	struct sim *sim = world(&sim_clean);

	for (unsigned i = 0; i < 60; i++) {
		sim->ends[SIM_SERVER].links[0].out_delay_ns = i % 2 ? 0 : 10 * MS;
		never_slow(sim, 2 * SEC);
	}
	end_world(sim);
}

/* Windows of a path, without a network. */
static void window(struct rudp_latency *l, uint64_t rtt, const struct rudp_latency_others *o,
		   uint64_t *now)
{
	for (unsigned i = 0; i < 3; i++, *now += SEC)
		rudp_latency_add(l, rtt, 0, *now);
	assert_true(rudp_latency_is_due(l, *now));
	(void)rudp_latency_close(l, rtt, o, *now);
}

static void what_stays_slow_for_hours_becomes_usual(void **state)
{
	const struct rudp_latency_others none = {0};
	struct rudp_latency l = {0};
	uint64_t now = SEC, since;

	for (unsigned i = 0; i < 10; i++)
		window(&l, 100 * US, &none, &now);
	for (unsigned i = 0; i < 5; i++)
		window(&l, 10 * MS, &none, &now);
	assert_true(l.slow);
	for (since = now; l.slow && now < since + 24 * 3600 * SEC;)
		window(&l, 10 * MS, &none, &now);
	assert_in_range((now - since) / SEC, 1800, 3 * 3600);
}

static void a_path_on_standby_has_no_verdict(void **state)
{
	struct rudp_latency_others faster = {.least = 100 * US, .port = 1};
	struct rudp_latency l = {0};
	uint64_t now = SEC;

	for (unsigned i = 0; i < 10; i++)
		window(&l, 100 * US, &faster, &now);
	for (unsigned i = 0; i < 5; i++)
		window(&l, 10 * MS, NULL, &now);
	assert_false(l.slow);
	for (unsigned i = 0; i < 2; i++)
		window(&l, 10 * MS, &faster, &now);
	assert_int_equal(l.slow, 10 * MS);
	assert_int_equal(l.than_port, 1);
	for (unsigned i = 0; i < 2; i++)
		window(&l, 10 * MS, NULL, &now);
	assert_false(l.slow);
}

static void an_old_measurement_is_no_comparison(void **state)
{
	struct rudp_latency_others o = {0};
	struct rudp_latency l = {0};
	uint64_t now = SEC;

	window(&l, 100 * US, &o, &now);
	rudp_latency_compare(&l, 1, now + 5 * SEC, &o);
	assert_int_equal(o.least, 100 * US);
	assert_int_equal(o.port, 1);
	o = (struct rudp_latency_others){0};
	rudp_latency_compare(&l, 1, now + 20 * SEC, &o);
	assert_int_equal(o.least, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends_name_a_slow_leg_with_both_figures),
		cmocka_unit_test(less_than_a_millisecond_more_is_not_slow),
		cmocka_unit_test(less_than_five_times_as_much_is_not_slow),
		cmocka_unit_test(the_only_leg_is_compared_with_its_own_past),
		cmocka_unit_test(a_leg_that_was_always_the_longer_one_may_become_slow_too),
		cmocka_unit_test(legs_that_are_all_late_are_not_to_blame),
		cmocka_unit_test(busy_hosts_are_not_slow_legs),
		cmocka_unit_test(load_alone_makes_no_leg_slow),
		cmocka_unit_test(jitter_and_loss_make_no_leg_slow),
		cmocka_unit_test(a_leg_that_is_slow_now_and_then_does_not_flap),
		cmocka_unit_test(what_stays_slow_for_hours_becomes_usual),
		cmocka_unit_test(a_path_on_standby_has_no_verdict),
		cmocka_unit_test(an_old_measurement_is_no_comparison),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
