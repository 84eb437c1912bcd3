/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long an application waits when a leg falls silent, in the simulator: little longer than
 * without a failure, even with hosts that are late because they share processors.
 */
#include "dataplane/rudp/rudp_internal.h"
#include "tests/lib/rudp/rudp_worlds.h"

#ifdef __SANITIZE_ADDRESS__
#define SEEDS 2
#define LATE_RUNS 4
#define LATE_FROM 4 /* the latest hosts under load take long to simulate */
#define LATE_TO 5
#define GRACE_NS (8 * MS) /* too few samples for statistics of waits */
#else
#define SEEDS 8
#define LATE_RUNS 20
#define LATE_FROM 0
#define LATE_TO 6
#define GRACE_NS 0
#endif

enum failure { NOTHING, SILENT, DEAF, MUTE, FAILURES };
static const char *const failures[] = {"nothing fails", "a leg is silent", "deaf", "mute"};
enum load { ALONE, LOADED, LARGE, LOADS };
static const char *const loads[] = {"", ", under load", ", a large one alone"};

/* Writes a block and reads it back repeatedly, one call at a time. */
struct user {
	uint32_t block;
	bool reads, waits;
	unsigned cookie;
	uint64_t longest_ns; /* of calls ended since the failure */
};

struct late { /* how often and how long a host waits for its processor: maximum, rarely reached */
	uint64_t every_ns, most_ns, seldom_ns;
	uint64_t next_ns[2];
};

static void user_wait(const struct sim *sim, struct user *u, uint64_t since, uint64_t until)
{
	if (u->waits && until >= since)
		u->longest_ns = MAX_OF(u->longest_ns, until - sim->calls[u->cookie].sent_ns);
}

static void user_turn(struct sim *sim, struct user *u, uint64_t since)
{
	if (u->waits && sim->calls[u->cookie].state == SIM_CALL_OPEN)
		return;
	if (u->waits)
		user_wait(sim, u, since, sim->calls[u->cookie].done_ns);
	u->reads = !u->reads;
	u->cookie = sim->n_calls;
	u->waits = sim_call(sim, 1, u->reads ? 100 : u->block + 100, u->reads ? u->block : 24, 5);
}

static void hosts_late(struct sim *sim, struct late *late)
{
	for (unsigned e = 0; e < 2 && late->every_ns; e++) {
		bool seldom = sim_random(sim, 20) == 0;

		if (sim->now < late->next_ns[e])
			continue;
		sim_stall(sim, e, sim_random(sim, seldom ? late->seldom_ns : late->most_ns));
		late->next_ns[e] = sim->now + sim_random(sim, 2 * late->every_ns);
	}
}

static void leg_fails(struct sim *sim, enum failure how)
{
	struct sim_link *link = &sim->ends[1].links[sim->cfg.seed / 2 % 2];

	link->cut_out = how == SILENT || how == MUTE;
	link->cut_in = how == SILENT || how == DEAF;
}

/* Suspicions at both ends. */
struct suspicions {
	bool was_left[2][RUDP_PATHS_MAX], was[2][RUDP_PATHS_MAX];
	unsigned begun, left;
	uint64_t packets, retransmits;
};

static void suspicions_observe(struct sim *sim, struct suspicions *d)
{
	for (unsigned e = 0; e < 2; e++) {
		const struct rudp_session *s = rudp_session_next(sim->ends[e].r, NULL);

		for (unsigned i = 0; s && i < s->n_paths; i++) {
			bool left = s->paths[i].suspect_stage == SUSPECT_MOVED;

			d->begun += s->paths[i].suspect_stage && !d->was[e][i];
			d->left += left && !d->was_left[e][i];
			d->was[e][i] = s->paths[i].suspect_stage;
			d->was_left[e][i] = left;
		}
	}
}

static void suspicions_end(struct sim *sim, struct suspicions *d)
{
	for (unsigned e = 0; e < 2; e++) {
		const struct rudp_session *s = rudp_session_next(sim->ends[e].r, NULL);

		for (unsigned i = 0; s && i < s->n_paths; i++) {
			d->packets += s->paths[i].tx_packets;
			d->retransmits += s->paths[i].retransmits;
		}
	}
}

struct waits {
	uint64_t small, bulk;
	struct suspicions suspicions;
};

/* A failure amid small blocks and, with load, two streams of large ones; or one of those alone,
 * without small messages in flight. The longest waits since the failure. */
static struct waits waits_in(uint64_t seed, enum failure how, enum load load, struct late late)
{
	struct user users[] = {
		{.block = 4096}, {.block = 1U << 20}, {.block = 1U << 20, .reads = true}};
	unsigned first = load == LARGE ? 2 : 0, n_users = load == ALONE ? 1 : ARRAY_SIZE(users);
	struct sim_config cfg = sim_clean;
	uint64_t since = UINT64_MAX, begun;
	struct waits w = {0};
	struct sim *sim;

	cfg.seed = seed;
	cfg.turn_ns = 5 * US;
	cfg.bits_per_s = 40000000000ULL;
	cfg.send_bits_per_s = 30000000000ULL;
	cfg.queue_bytes = 4U << 20;
	if (load != ALONE && seed % 2 == 0)
		cfg.mtu = 9000; /* large frames are simulated in a sixth of the time */
	sim = sim_new(&cfg);
	CHECK(sim, sim_connect(sim, 100 * MS) && sim_pass(sim, 10 * MS));
	begun = sim->now;
	while (sim->now < begun + 150 * MS) {
		for (unsigned i = first; i < n_users; i++)
			user_turn(sim, &users[i], since);
		if (since == UINT64_MAX && sim->now > begun + 30 * MS + seed % 10 * MS) {
			since = sim->now;
			leg_fails(sim, how);
		}
		hosts_late(sim, &late);
		CHECK(sim, sim_pass(sim, 10 * US));
		suspicions_observe(sim, &w.suspicions);
	}
	for (unsigned i = first; i < n_users; i++) { /* including calls still waiting */
		if (sim->calls[users[i].cookie].state == SIM_CALL_OPEN)
			user_wait(sim, &users[i], since, sim->now);
		if (i == 0)
			w.small = users[i].longest_ns;
		else
			w.bulk = MAX_OF(w.bulk, users[i].longest_ns);
	}
	suspicions_end(sim, &w.suspicions);
	for (unsigned e = 0; e < 2;
	     e++) /* the path goes down independently, and only on that leg */
		CHECK(sim, sim->ends[e].events[RUDP_PATH_DOWN] <= (how == NOTHING ? 0 : 1));
	CHECK(sim, how != SILENT || sim->ends[1].events[RUDP_PATH_DOWN] ||
			   sim->ends[SIM_SERVER].events[RUDP_PATH_DOWN]);
	CHECK(sim, sim_finish(sim, SEC));
	CHECK(sim, sim_close(sim));
	sim_free(sim);
	return w;
}

/* Hosts that are never late: messages of a silent leg go over the other after a millisecond, the
 * minimum timeout, and so does the response, wherever acknowledgements went meanwhile. */
static void a_silent_leg_delays_calls_by_a_timeout(void **state)
{
	for (unsigned how = SILENT; how < LOADS * FAILURES; how++) {
		uint64_t small = 0, bulk = 0;

		if (how % FAILURES == NOTHING)
			continue;
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			struct waits w =
				waits_in(seed, how % FAILURES, how / FAILURES, (struct late){0});

			small = MAX_OF(small, w.small);
			bulk = MAX_OF(bulk, w.bulk);
		}
		print_message("# %s%s: %.3f ms at most, of large blocks %.3f\n",
			      failures[how % FAILURES], loads[how / FAILURES], (double)small / 1e6,
			      (double)bulk / 1e6);
		assert_true(small < 2 * MS);
		assert_true(bulk < 6 * MS);
	}
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

struct spread { /* over many worlds: the median of the waits, and the 95th percentile */
	uint64_t small[2], bulk[2];
	struct suspicions suspicions;
};

static void two_of(uint64_t waits[LATE_RUNS], uint64_t ret[2])
{
	qsort(waits, LATE_RUNS, sizeof(*waits), by_size);
	ret[0] = waits[LATE_RUNS / 2];
	ret[1] = waits[LATE_RUNS - 1 - MAX_OF(LATE_RUNS / 20, 1)];
}

static struct spread worlds(enum failure how, enum load load, struct late late)
{
	uint64_t small[LATE_RUNS], bulk[LATE_RUNS];
	struct spread t = {0};

	for (unsigned i = 0; i < LATE_RUNS; i++) {
		struct waits w = waits_in(i + 1, how, load, late);

		small[i] = w.small;
		bulk[i] = w.bulk;
		t.suspicions.begun += w.suspicions.begun;
		t.suspicions.left += w.suspicions.left;
		t.suspicions.packets += w.suspicions.packets;
		t.suspicions.retransmits += w.suspicions.retransmits;
	}
	two_of(small, t.small);
	two_of(bulk, t.bulk);
	print_message("# late by %llu ms, %s%s: %.3f, %.3f ms, of large blocks %.3f, %.3f ms; "
		      "%u suspicions, %u legs avoided, %llu of %llu packets repeated\n",
		      (unsigned long long)(late.most_ns / MS), failures[how], loads[load],
		      (double)t.small[0] / 1e6, (double)t.small[1] / 1e6, (double)t.bulk[0] / 1e6,
		      (double)t.bulk[1] / 1e6, t.suspicions.begun, t.suspicions.left,
		      (unsigned long long)t.suspicions.retransmits,
		      (unsigned long long)t.suspicions.packets);
	return t;
}

/*
 * Hosts late by up to 12 ms now and then: timeouts grown by that are not awaited while the peer
 * answers on the other leg. Without a failure no leg is left.
 */
static void late_hosts_do_not_delay_the_detection(void **state)
{
	static const struct late late[] = {{3 * MS, 3 * MS / 2, 4 * MS, {0}},
					   {4 * MS, 4 * MS, 12 * MS, {0}}};

	for (unsigned k = LATE_FROM; k < LATE_TO; k++) {
		struct spread sound = worlds(NOTHING, k % LOADS, late[k / LOADS]);

		assert_int_equal(sound.suspicions.left, 0);
		assert_true(sound.suspicions.retransmits * 40 < sound.suspicions.packets);
		for (unsigned how = SILENT; how < FAILURES; how++) {
			struct spread failed = worlds(how, k % LOADS, late[k / LOADS]);

			assert_true(failed.small[0] < sound.small[0] + 2 * MS + GRACE_NS);
			assert_true(failed.small[1] < sound.small[1] + 5 * MS + GRACE_NS);
			assert_true(failed.bulk[0] < sound.bulk[0] + 4 * MS + GRACE_NS);
			assert_true(failed.bulk[1] < sound.bulk[1] + 10 * MS + GRACE_NS);
		}
	}
}

static struct rudp_path *paths_of(struct sim *sim, unsigned end)
{
	return rudp_session_next(sim->ends[end].r, NULL)->paths;
}

/* A world with long timeouts, because its hosts were late. */
static struct sim *late_world(const struct sim_config *cfg)
{
	struct sim *sim = sim_new(cfg);

	CHECK(sim, sim_connect(sim, 100 * MS) && sim_pass(sim, 10 * MS));
	for (unsigned i = 0; i < 40; i++) {
		assert_true(sim_call(sim, 1, 100, 128U << 10, 0));
		CHECK(sim, sim_pass(sim, 60 * US));
		sim_stall(sim, i % 2, 6 * MS);
		CHECK(sim, sim_finish(sim, SEC));
	}
	CHECK(sim, sim_pass(sim, 5 * MS));
	return sim;
}

/* The server's response is in flight on both legs; the leg that is probed first falls silent. */
static unsigned answer_is_cut(struct sim *sim)
{
	const struct rudp_path *p = paths_of(sim, SIM_SERVER);
	unsigned leg = p[0].rtt.srtt < p[1].rtt.srtt ? 0 : 1;

	assert_true(sim_call(sim, 1, 100, 128U << 10, 0));
	for (unsigned i = 0; i < 1000 && !p[leg].sent.in_flight; i++)
		CHECK(sim, sim_pass(sim, US));
	CHECK(sim, p[0].sent.in_flight + p[1].sent.in_flight > 128U << 10);
	sim_leg(sim, 1, leg, false, false);
	CHECK(sim, sim_pass(sim, 50 * US));
	return leg;
}

static void wait_stage(struct sim *sim, const struct rudp_path *p, enum suspect_stage stage)
{
	for (unsigned i = 0; i < 10000 && p->suspect_stage < stage; i++)
		CHECK(sim, sim_pass(sim, 5 * US));
	CHECK(sim, p->suspect_stage == stage);
}

/* Packets in flight on the other leg left too early to tell, and the peer answers late: it is
 * probed again, also if the port refuses the probe at first. */
static void an_early_probe_is_repeated(void **state)
{
	for (unsigned full = 0; full < 2; full++) {
		struct sim *sim = late_world(&sim_clean);
		struct rudp_path *p = paths_of(sim, SIM_SERVER);
		unsigned leg = answer_is_cut(sim), other = 1 - leg;
		uint64_t woke;

		sim_stall(sim, 1, 40 * MS);
		wait_stage(sim, &p[leg], SUSPECT_PROBED);
		CHECK(sim, p[other].sent.in_flight);
		sim_stall(sim, 1, 0);
		woke = sim->now;
		sim->ends[SIM_SERVER].links[other].full = full;
		CHECK(sim, sim_pass(sim, MS));
		CHECK(sim, p[leg].suspect_stage == (full ? SUSPECT_PROBED : SUSPECT_CONFIRMED));
		sim->ends[SIM_SERVER].links[other].full = false;
		CHECK(sim, sim_finish(sim, SEC));
		print_message("# %.3f ms after the peer woke\n", (double)(sim->now - woke) / 1e6);
		CHECK(sim, sim->now < woke + 5 * MS);
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
}

/* A leg whose packets moved, and whose port refused the PING, stays suspect until it answers. */
static void a_leg_with_moved_packets_returns_only_after_an_answer(void **state)
{
	struct sim *sim = late_world(&sim_clean);
	unsigned leg = answer_is_cut(sim);
	struct rudp_path *p = &paths_of(sim, SIM_SERVER)[leg];

	sim->ends[SIM_SERVER].links[leg].full = true;
	wait_stage(sim, p, SUSPECT_MOVED);
	CHECK(sim, !p->sent.in_flight);
	CHECK(sim, sim_finish(sim, SEC));
	for (unsigned i = 0; i < 100; i++) {
		CHECK(sim, sim_pass(sim, 20 * US));
		CHECK(sim, p->suspect_stage == SUSPECT_MOVED);
	}
	sim->ends[SIM_SERVER].links[leg].full = false;
	CHECK(sim, sim_pass(sim, MS));
	CHECK(sim, p->sent.in_flight); /* it was probed */
	CHECK(sim, sim->ends[SIM_SERVER].events[RUDP_PATH_DOWN] == 0);
	sim_leg(sim, 1, leg, true, false);
	CHECK(sim, sim_pass(sim, 100 * MS));
	CHECK(sim, !p->suspect_stage && !p->timed_out);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* A peer that is late again and again while small requests leave on both legs: it answers on both
 * after waking, at different moments, and neither becomes suspect. */
static void a_late_peer_makes_no_leg_suspect(void **state)
{
	struct sim_config cfg = sim_clean;
	unsigned proven = 0, left = 0;

	for (cfg.seed = 1; cfg.seed <= 4; cfg.seed++) {
		uint8_t was[2] = {0};
		struct sim *sim;

		cfg.jitter_ns = 100 * US;
		sim = sim_new(&cfg);
		CHECK(sim, sim_connect(sim, 100 * MS) && sim_pass(sim, 10 * MS));
		for (unsigned i = 0; i < 20000; i++) {
			const struct rudp_path *p = paths_of(sim, 1);

			if (i % 20 == 0 && sim->n_open < 48)
				(void)sim_call(sim, 1, 1000, 100, 0);
			if (i % 2000 == 1000)
				sim_stall(sim, SIM_SERVER, 7 * MS);
			CHECK(sim, sim_pass(sim, 5 * US));
			for (unsigned k = 0; k < 2; k++) {
				proven += p[k].suspect_stage == SUSPECT_CONFIRMED &&
					  was[k] < SUSPECT_CONFIRMED;
				left += p[k].suspect_stage == SUSPECT_MOVED &&
					was[k] < SUSPECT_MOVED;
				was[k] = p[k].suspect_stage;
			}
		}
		CHECK(sim, sim_finish(sim, SEC));
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
	print_message("# late 40 times: proven %u times, left %u\n", proven, left);
	assert_int_equal(left, 0);
	assert_int_equal(proven, 0);
}

/* Large messages on slow legs, over several source ports each: an answer to any of them counts. */
static void an_answer_to_any_source_port_counts(void **state)
{
	struct sim_config cfg = sim_clean;
	struct suspicions suspicions = {0};
	struct sim *sim;

	cfg.bits_per_s = 1000000000ULL;
	cfg.sources = 3;
	sim = sim_new(&cfg);
	CHECK(sim, sim_connect(sim, 100 * MS) && sim_pass(sim, 500 * MS));
	for (unsigned i = 0; i < 4; i++)
		CHECK(sim, sim->ends[1].links[0].by_source[i] > 0);
	for (unsigned i = 0; i < 100000; i++) {
		if (sim->n_open < 1)
			(void)sim_call(sim, 1, sim->n_calls % 2 ? 100 : 1U << 20,
				       sim->n_calls % 2 ? 1U << 20 : 100, 0);
		CHECK(sim, sim_pass(sim, 10 * US));
		suspicions_observe(sim, &suspicions);
	}
	print_message("# %u calls: %u suspicions\n", sim->n_calls, suspicions.begun);
	assert_true(sim->n_calls > 100);
	assert_int_equal(suspicions.begun, 0);
	CHECK(sim, sim_finish(sim, SEC));
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* A long path, and a port without timestamps while we sleep: the path's delay is not taken for our
 * own lateness. */
static void a_long_path_is_not_taken_for_lateness(void **state)
{
	struct sim *sim = late_world(&sim_clean);
	struct rudp_path *p = &paths_of(sim, 1)[0];

	p->rtt = (struct rudp_rtt){0};
	assert_true(rudp_rtt_net_rto(&p->rtt, RUDP_ACK_DELAY_NS, MS) > SEC); /* no sample yet */
	for (unsigned i = 0; i < 100; i++) {
		rudp_path_rtt(p, 50 * MS + i * US, 50 * MS, sim->now);
		assert_true(rudp_rtt_net_rto(&p->rtt, RUDP_ACK_DELAY_NS, MS) > 50 * MS);
	}
	assert_true(rudp_rtt_net_rto(&p->rtt, RUDP_ACK_DELAY_NS, MS) < 51 * MS);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* A leg's link goes down while the other is suspect: the peer is informed over that one at once. */
static void a_lost_link_is_reported_over_a_suspect_leg(void **state)
{
	struct sim *sim = late_world(&sim_clean);
	unsigned leg = answer_is_cut(sim);
	struct rudp_path *p = paths_of(sim, SIM_SERVER);

	sim->ends[1].links[leg].cut_in = false; /* our packets arrive */
	wait_stage(sim, &p[leg], SUSPECT_PROBED);
	sim_leg(sim, SIM_SERVER, 1 - leg, false, true);
	CHECK(sim, sim_pass(sim, 200 * US));
	CHECK(sim, sim->ends[1].events[RUDP_PATH_DOWN] == 1);
	CHECK(sim, sim->ends[1].last_code == -ENOLINK); /* not our own link */
	CHECK(sim, sim->ends[SIM_SERVER].last_code == -ENETDOWN);
	sim_leg(sim, 1, leg, true, false);
	CHECK(sim, sim_finish(sim, SEC));
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* A suspect leg with nothing in flight, because its port refused the PING or the other leg has
 * nothing left to answer: it is probed at the announced deadline. */
static void probes_leave_at_their_deadline(void **state)
{
	for (unsigned elsewhere = 0; elsewhere < 2; elsewhere++) {
		struct sim *sim = late_world(&sim_clean);
		struct rudp_path *p = paths_of(sim, SIM_SERVER);
		struct rudp_session *s = rudp_session_next(sim->ends[SIM_SERVER].r, NULL);
		unsigned leg = answer_is_cut(sim);
		struct rudp_path *asked = &p[elsewhere ? 1 - leg : leg];
		uint64_t due;

		sim_stall(sim, 1, 40 * MS);
		wait_stage(sim, &p[leg], SUSPECT_PROBED);
		CHECK(sim, p[0].sent.in_flight && p[1].sent.in_flight);
		rudp_loss_move_all(s, asked);
		CHECK(sim, asked->sent.in_flight == 0);
		due = rudp_path_deadline(s, &p[leg]);
		CHECK(sim, due > s->r->now && due <= s->r->now + RUDP_ACK_DELAY_NS);
		rudp_path_poll(s, &p[leg], due);
		CHECK(sim, asked->sent.in_flight && p[leg].suspect_stage == SUSPECT_PROBED);
		due = rudp_suspect_deadline(s, &p[leg]); /* nothing more to probe */
		CHECK(sim, due == RUDP_TIME_NEVER);
		sim_leg(sim, 1, leg, true, false);
		CHECK(sim, sim_finish(sim, SEC));
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_silent_leg_delays_calls_by_a_timeout),
		cmocka_unit_test(late_hosts_do_not_delay_the_detection),
		cmocka_unit_test(an_early_probe_is_repeated),
		cmocka_unit_test(a_leg_with_moved_packets_returns_only_after_an_answer),
		cmocka_unit_test(a_late_peer_makes_no_leg_suspect),
		cmocka_unit_test(an_answer_to_any_source_port_counts),
		cmocka_unit_test(a_long_path_is_not_taken_for_lateness),
		cmocka_unit_test(a_lost_link_is_reported_over_a_suspect_leg),
		cmocka_unit_test(probes_leave_at_their_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
