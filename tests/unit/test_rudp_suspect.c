/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long an application waits when a leg falls silent, in a simulated world: no longer than where
 * none does, or little, though the hosts are late as those are that share their processors.
 */
#include <malloc.h>

#include "dataplane/rudp/rudp_internal.h"
#include "tests/lib/rudp_worlds.h"

#ifdef __SANITIZE_ADDRESS__
#define SEEDS 2
#define LATE_RUNS 4
#define LATE_FROM 4 /* it takes long: the latest hosts, under load */
#define LATE_TO 5
#define GRACE_NS (8 * MS) /* so few say little of waits */
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

/* Writes a block and reads it back, again and again, one call at a time. */
struct user {
	uint32_t block;
	bool reads, waits;
	unsigned cookie;
	uint64_t longest_ns; /* of the calls that ended since the failure */
};

struct late { /* a host waits for its processor so often, and so long: at most, and seldom */
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

/* What doubt did at both ends. */
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

/* One in the midst of small blocks and, where there is load, two of large ones; or one of those
 * alone, where nothing small is under way that could tell. How long they have waited at most since
 * the failure. */
static struct waits waits_in(uint64_t seed, enum failure how, enum load load, struct late late)
{
	struct user users[] = {
		{.block = 4096}, {.block = 1U << 20}, {.block = 1U << 20, .reads = true}};
	unsigned first = load == LARGE ? 2 : 0, n_users = load == ALONE ? 1 : ARRAY_SIZE(users);
	struct sim_config cfg = clean;
	uint64_t since = UINT64_MAX, begun;
	struct waits w = {0};
	struct sim *sim;

	cfg.seed = seed;
	cfg.turn_ns = 5 * US;
	cfg.bits_per_s = 40000000000ULL;
	cfg.send_bits_per_s = 30000000000ULL;
	cfg.queue_bytes = 4U << 20;
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
	for (unsigned i = first; i < n_users; i++) { /* also who waits still */
		if (sim->calls[users[i].cookie].state == SIM_CALL_OPEN)
			user_wait(sim, &users[i], since, sim->now);
		if (i == 0)
			w.small = users[i].longest_ns;
		else
			w.bulk = MAX_OF(w.bulk, users[i].longest_ns);
	}
	suspicions_end(sim, &w.suspicions);
	for (unsigned e = 0; e < 2; e++) /* the verdict comes all the same, and on that leg only */
		CHECK(sim, sim->ends[e].events[RUDP_PATH_DOWN] <= (how == NOTHING ? 0 : 1));
	CHECK(sim, how != SILENT || sim->ends[1].events[RUDP_PATH_DOWN] ||
			   sim->ends[SIM_SERVER].events[RUDP_PATH_DOWN]);
	CHECK(sim, sim_finish(sim, SEC));
	CHECK(sim, sim_close(sim));
	sim_free(sim);
	return w;
}

/* Hosts that are never late: what a silent leg kept goes by the other after a millisecond, the
 * least timeout, and so does the answer, wherever what was acknowledged meanwhile has gone. */
static void test_in_time(void **state)
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

struct spread { /* of many worlds: the median of the waits, and all but one of twenty */
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
		      "%u suspicions, %u legs left, %llu of %llu packets again\n",
		      (unsigned long long)(late.most_ns / MS), failures[how], loads[load],
		      (double)t.small[0] / 1e6, (double)t.small[1] / 1e6, (double)t.bulk[0] / 1e6,
		      (double)t.bulk[1] / 1e6, t.suspicions.begun, t.suspicions.left,
		      (unsigned long long)t.suspicions.retransmits,
		      (unsigned long long)t.suspicions.packets);
	return t;
}

/*
 * Hosts that are late, by up to 12 ms now and then: a timeout that has grown by it is not waited
 * for, while the peer answers by the other leg. Where none fails, none is left.
 */
static void test_late_hosts(void **state)
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

/* A world whose timeouts are long, because its hosts were late. */
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

/* The server's answer is on its way on both legs, all of it; the one falls silent that is asked
 * first. */
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

/* What was under way on the other leg left before it could tell, and the peer is late with its
 * answer: it is asked again, also where the port does not take the question at first. */
static void test_asks_again(void **state)
{
	for (unsigned full = 0; full < 2; full++) {
		struct sim *sim = late_world(&clean);
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

/* A leg that was left, and whose port took no question, is not whole before it answers. */
static void test_left_stays_left(void **state)
{
	struct sim *sim = late_world(&clean);
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
	CHECK(sim, p->sent.in_flight); /* it has been asked */
	CHECK(sim, sim->ends[SIM_SERVER].events[RUDP_PATH_DOWN] == 0);
	sim_leg(sim, 1, leg, true, false);
	CHECK(sim, sim_pass(sim, 100 * MS));
	CHECK(sim, !p->suspect_stage && !p->timed_out);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* A peer is late, again and again, while small requests leave by both legs: it answers on both when
 * it wakes, not at the same moment, and neither is to blame. */
static void test_late_peer(void **state)
{
	struct sim_config cfg = clean;
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

/* Large messages on slow legs, by several sources each: an answer is an answer, whichever of them
 * it is to. */
static void test_sources(void **state)
{
	struct sim_config cfg = clean;
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

/* A long way, and a port that does not know how long a packet waited for us, who sleep for as long
 * as it takes: the way is not taken for our lateness. */
static void test_long_way(void **state)
{
	struct sim *sim = late_world(&clean);
	struct rudp_path *p = &paths_of(sim, 1)[0];

	p->rtt = (struct rudp_rtt){0};
	assert_true(rudp_rtt_net_rto(&p->rtt, RUDP_ACK_DELAY_NS, MS) > SEC); /* nothing is known */
	for (unsigned i = 0; i < 100; i++) {
		rudp_path_rtt(p, 50 * MS + i * US, 50 * MS, sim->now);
		assert_true(rudp_rtt_net_rto(&p->rtt, RUDP_ACK_DELAY_NS, MS) > 50 * MS);
	}
	assert_true(rudp_rtt_net_rto(&p->rtt, RUDP_ACK_DELAY_NS, MS) < 51 * MS);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* A leg's link falls while the other one is in doubt: the peer is told by that one, at once. */
static void test_fall_is_told(void **state)
{
	struct sim *sim = late_world(&clean);
	unsigned leg = answer_is_cut(sim);
	struct rudp_path *p = paths_of(sim, SIM_SERVER);

	sim->ends[1].links[leg].cut_in = false; /* our words arrive */
	wait_stage(sim, &p[leg], SUSPECT_PROBED);
	sim_leg(sim, SIM_SERVER, 1 - leg, false, true);
	CHECK(sim, sim_pass(sim, 200 * US));
	CHECK(sim, sim->ends[1].events[RUDP_PATH_DOWN] == 1);
	CHECK(sim, sim->ends[1].last_code == -ENOLINK); /* it is not ours */
	CHECK(sim, sim->ends[SIM_SERVER].last_code == -ENETDOWN);
	sim_leg(sim, 1, leg, true, false);
	CHECK(sim, sim_finish(sim, SEC));
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* A leg in doubt of which nothing is on its way, as where its port took no question, or the other
 * one, where nothing is any more that could tell: it is asked when that was said to be due. */
static void test_asks_in_time(void **state)
{
	for (unsigned elsewhere = 0; elsewhere < 2; elsewhere++) {
		struct sim *sim = late_world(&clean);
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
		due = rudp_suspect_deadline(s, &p[leg]); /* nothing more to ask */
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
		cmocka_unit_test(test_in_time),	     cmocka_unit_test(test_late_hosts),
		cmocka_unit_test(test_asks_again),   cmocka_unit_test(test_left_stays_left),
		cmocka_unit_test(test_late_peer),    cmocka_unit_test(test_sources),
		cmocka_unit_test(test_long_way),     cmocka_unit_test(test_fall_is_told),
		cmocka_unit_test(test_asks_in_time),
	};

	/* Megabytes come and go: the kernel need not hear of each. */
	(void)mallopt(M_MMAP_THRESHOLD, 32 << 20);
	(void)mallopt(M_TRIM_THRESHOLD, 256 << 20);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
