/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long an application waits when a leg falls silent, in a simulated world: no longer than where
 * none does, or little, though the hosts are late as those are that share their processors.
 */
#include "tests/lib/rudp_worlds.h"
#include <malloc.h>

#ifdef __SANITIZE_ADDRESS__
#define LATE_RUNS 10
#define LATE_FROM 3 /* it takes long: the latest hosts, under load */
#else
#define LATE_RUNS 16
#define LATE_FROM 0
#endif

enum failure { NOTHING, SILENT, DEAF, MUTE, FAILURES };
static const char *const failures[] = {"nothing fails", "a leg is silent", "deaf", "mute"};

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

static void user_turn(struct sim *sim, struct user *u, uint64_t since)
{
	if (u->waits && sim->calls[u->cookie].state == SIM_CALL_OPEN)
		return;
	if (u->waits && sim->calls[u->cookie].done_ns >= since)
		u->longest_ns = MAX_OF(u->longest_ns, sim->calls[u->cookie].done_ns -
							      sim->calls[u->cookie].sent_ns);
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

/* Two in the midst of large blocks, where there is load, and the one who is asked: how long it has
 * waited at most since the failure. */
static uint64_t wait_of(uint64_t seed, enum failure how, bool load, struct late late)
{
	struct user users[] = {
		{.block = 4096}, {.block = 1U << 20}, {.block = 1U << 20, .reads = true}};
	struct sim_config cfg = clean;
	uint64_t since = UINT64_MAX, begun;
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
		for (unsigned i = 0; i < (load ? ARRAY_SIZE(users) : 1); i++)
			user_turn(sim, &users[i], since);
		if (since == UINT64_MAX && sim->now > begun + 30 * MS + seed % 10 * MS) {
			since = sim->now;
			leg_fails(sim, how);
		}
		hosts_late(sim, &late);
		CHECK(sim, sim_pass(sim, 10 * US));
	}
	for (unsigned e = 0; e < 2; e++) /* the verdict comes all the same, and on that leg only */
		CHECK(sim, sim->ends[e].events[RUDP_PATH_DOWN] <= (how == NOTHING ? 0 : 1));
	CHECK(sim, how != SILENT || sim->ends[1].events[RUDP_PATH_DOWN] ||
			   sim->ends[SIM_SERVER].events[RUDP_PATH_DOWN]);
	CHECK(sim, sim_finish(sim, SEC));
	CHECK(sim, sim_close(sim));
	sim_free(sim);
	return users[0].longest_ns;
}

/* Hosts that are never late: what a silent leg kept goes by the other after a millisecond, the
 * least timeout, and so does the answer, wherever what was acknowledged meanwhile has gone. */
static void test_in_time(void **state)
{
	for (unsigned how = SILENT; how < 2 * FAILURES; how++) {
		uint64_t most = 0;

		if (how % FAILURES == NOTHING)
			continue;
		for (uint64_t seed = 1; seed <= 8; seed++)
			most = MAX_OF(most, wait_of(seed, how % FAILURES, how / FAILURES,
						    (struct late){0}));
		print_message("# %s%s: %.3f ms at most\n", failures[how % FAILURES],
			      how / FAILURES ? ", under load" : "", (double)most / 1e6);
		assert_true(most < 2 * MS);
	}
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Of so many worlds with late hosts: the median of the waits, and all but one of twenty. */
static void waits_of(enum failure how, bool load, struct late late, uint64_t ret[2])
{
	uint64_t waits[LATE_RUNS];

	for (unsigned i = 0; i < LATE_RUNS; i++)
		waits[i] = wait_of(i + 1, how, load, late);
	qsort(waits, LATE_RUNS, sizeof(*waits), by_size);
	ret[0] = waits[LATE_RUNS / 2];
	ret[1] = waits[LATE_RUNS - 1 - LATE_RUNS / 20];
	print_message("# late by %llu ms, %s%s: %.3f, %.3f ms\n",
		      (unsigned long long)(late.most_ns / MS), failures[how],
		      load ? ", under load" : "", (double)ret[0] / 1e6, (double)ret[1] / 1e6);
}

/*
 * Hosts that are late, by up to 12 ms now and then: a timeout that has grown by it is not waited
 * for, while the peer answers by the other leg. No leg is left where none fails, which wait_of
 * checks.
 */
static void test_late_hosts(void **state)
{
	static const struct late late[] = {{3 * MS, 3 * MS / 2, 4 * MS, {0}},
					   {4 * MS, 4 * MS, 12 * MS, {0}}};

	for (unsigned k = LATE_FROM; k < 2 * ARRAY_SIZE(late); k++) {
		uint64_t sound[2], failed[2];

		waits_of(NOTHING, k % 2, late[k / 2], sound);
		for (unsigned how = SILENT; how < FAILURES; how++) {
			waits_of(how, k % 2, late[k / 2], failed);
			assert_true(failed[0] < sound[0] + 2 * MS);
			assert_true(failed[1] < sound[1] + 5 * MS);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_time),
		cmocka_unit_test(test_late_hosts),
	};

	/* Megabytes come and go: the kernel need not hear of each. */
	(void)mallopt(M_MMAP_THRESHOLD, 32 << 20);
	(void)mallopt(M_TRIM_THRESHOLD, 256 << 20);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
