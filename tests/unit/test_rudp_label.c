/* SPDX-License-Identifier: BSD-3-Clause */
/* Labels that change while sessions run, in the simulator: both ends finally agree on the standby
 * paths, whatever was lost, and no call is harmed. */
#include <string.h>

#include "tests/lib/rudp/rudp_worlds.h"

#ifdef __SANITIZE_ADDRESS__
#define RANDOM_RUNS 10
#else
#define RANDOM_RUNS 200
#endif
#define CLIENT 1

static const struct sim_config world = {.seed = 1,
					.legs = 2,
					.clients = 1,
					.bits_per_s = 10000000000ULL,
					.delay_ns = 20 * US,
					.queue_bytes = 512U << 10,
					.one_subnet = true,
					.labels = true};

/* Current labels of the ends' ports. */
static uint32_t labels[2][2];

static void label(struct sim *sim, unsigned end, unsigned port, uint32_t value)
{
	labels[end][port] = value;
	rudp_port_set_label(sim->ends[end].r, port, value, sim->now);
}

static struct sim *world_new(const struct sim_config *cfg)
{
	struct sim *sim = sim_new(cfg);

	assert_non_null(sim);
	for (unsigned end = 0; end < 2; end++)
		for (unsigned port = 0; port < 2; port++)
			label(sim, end, port, port + 1);
	return sim;
}

static unsigned port_at(const struct sim *sim, const struct rudp_path_info *i)
{
	struct rudp_session *s = rudp_session_next(sim->ends[CLIENT].r, NULL);
	struct rudp_path_info all[RUDP_PATHS_MAX];
	unsigned n = rudp_session_paths(s, all, RUDP_PATHS_MAX);

	/* The server's ports in the order of their addresses at the client: by value. */
	for (unsigned k = 0; k < n; k++)
		if (memcmp(&all[k].remote.ip, &i->remote.ip, sizeof(i->remote.ip)) < 0)
			return 1;
	return 0;
}

/* Whether all four paths are up at the client, with standby flags according to the labels. */
static bool client_agrees(struct sim *sim)
{
	struct rudp_session *s = rudp_session_next(sim->ends[CLIENT].r, NULL);
	struct rudp_path_info info[RUDP_PATHS_MAX];
	unsigned n = s ? rudp_session_paths(s, info, RUDP_PATHS_MAX) : 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned there = port_at(sim, &info[i]);
		uint32_t own = labels[CLIENT][info[i].port], other = labels[SIM_SERVER][there];
		bool standby = own && other ? own != other : info[i].port != there;

		if (!info[i].up || info[i].standby != standby)
			return false;
	}
	return n == 4;
}

/* The server counts as many standby paths as the client. */
static bool server_agrees(struct sim *sim)
{
	struct rudp_path_info a[RUDP_PATHS_MAX], b[RUDP_PATHS_MAX];
	struct rudp_session *server = rudp_session_next(sim->ends[SIM_SERVER].r, NULL);
	unsigned n =
		rudp_session_paths(rudp_session_next(sim->ends[CLIENT].r, NULL), a, RUDP_PATHS_MAX);

	if (!server || rudp_session_paths(server, b, RUDP_PATHS_MAX) != n)
		return false;
	for (unsigned i = 0; i < n; i++) /* a path has the same index at both ends */
		if (a[i].standby != b[i].standby)
			return false;
	return true;
}

static bool settle(struct sim *sim, uint64_t max_ns)
{
	for (uint64_t until = sim->now + max_ns; sim->now < until; sim_pass(sim, MS))
		if (client_agrees(sim) && server_agrees(sim))
			return true;
	return false;
}

static void label_changes_reach_both_ends(void **state)
{
	struct sim *sim = world_new(&world);

	CHECK(sim, sim_connect(sim, SEC));
	CHECK(sim, settle(sim, SEC));
	label(sim, CLIENT, 0, 2); /* the client's cables are swapped */
	label(sim, CLIENT, 1, 1);
	CHECK(sim, settle(sim, 100 * MS));
	label(sim, SIM_SERVER, 0, 7); /* the server's are on another switch */
	CHECK(sim, settle(sim, 500 * MS));
	label(sim, SIM_SERVER, 0, 0); /* then unknown */
	CHECK(sim, settle(sim, 500 * MS));
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* A label of ACCEPT is outdated when a path joins. */
static void a_joining_path_learns_the_new_label(void **state)
{
	struct sim *sim = world_new(&world);

	sim_leg(sim, CLIENT, 1, false, true);
	CHECK(sim, sim_connect(sim, SEC));
	CHECK(sim, sim_pass(sim, 100 * MS));
	label(sim, SIM_SERVER, 0, 2);
	label(sim, SIM_SERVER, 1, 1);
	CHECK(sim, sim_pass(sim, 100 * MS));
	sim_leg(sim, CLIENT, 1, true, true);
	CHECK(sim, settle(sim, 5 * SEC));
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* A change while the leg is down is sent when it is up again. */
static void a_label_change_is_sent_after_a_leg_recovers(void **state)
{
	struct sim *sim = world_new(&world);

	CHECK(sim, sim_connect(sim, SEC));
	CHECK(sim, settle(sim, SEC));
	sim_leg(sim, SIM_SERVER, 1, false, false);
	CHECK(sim, sim_pass(sim, 200 * MS));
	label(sim, SIM_SERVER, 1, 1);
	CHECK(sim, sim_pass(sim, 3 * SEC));
	sim_leg(sim, SIM_SERVER, 1, true, false);
	CHECK(sim, settle(sim, 60 * SEC));
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

static void random_label_changes_converge(void **state)
{
	for (uint64_t seed = 1; seed <= RANDOM_RUNS; seed++) {
		struct sim_config cfg = world;
		struct sim *sim;

		cfg.seed = seed;
		cfg.loss = cfg.reorder = 100000;
		cfg.duplicate = 50000;
		cfg.reorder_ns = 5 * MS;
		cfg.security = seed % RUDP_SECURITY_MAX;
		sim = world_new(&cfg);
		CHECK(sim, sim_connect(sim, 10 * SEC));
		for (unsigned i = 0; i < 40; i++) {
			label(sim, (unsigned)sim_random(sim, 2), (unsigned)sim_random(sim, 2),
			      (uint32_t)sim_random(sim, 3));
			while (sim->n_open < 4)
				assert_true(sim_call(sim, CLIENT, 4096, 65536, 10));
			CHECK(sim, sim_pass(sim, sim_random(sim, 20 * MS)));
		}
		CHECK(sim, sim_finish(sim, 10 * SEC));
		CHECK(sim, settle(sim, 60 * SEC));
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(label_changes_reach_both_ends),
		cmocka_unit_test(a_joining_path_learns_the_new_label),
		cmocka_unit_test(a_label_change_is_sent_after_a_leg_recovers),
		cmocka_unit_test(random_label_changes_converge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
