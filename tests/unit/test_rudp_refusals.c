/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handshakes that fail: refused clients, sessions that end at once and servers that reject every
 * cookie cost neither end more than a few packets a second, and a client gets its session soon
 * after the cause has gone.
 */
#include "tests/lib/rudp/rudp_worlds.h"

#define CLIENTS 100U

static struct sim *refused_world(int code)
{
	struct sim_config cfg = sim_clean;
	struct sim *sim;

	cfg.clients = CLIENTS;
	cfg.refuse = code;
	cfg.limits.sessions = 2 * CLIENTS;
	sim = sim_new(&cfg);
	return sim;
}

static uint64_t packets_of_clients(const struct sim *sim)
{
	uint64_t n = 0;

	for (unsigned i = 1; i <= sim->cfg.clients; i++)
		for (unsigned leg = 0; leg < sim->cfg.legs; leg++)
			n += sim->ends[i].links[leg].packets;
	return n;
}

static uint64_t packets_in(struct sim *sim, uint64_t ns)
{
	uint64_t before = packets_of_clients(sim);

	sim_pass(sim, ns);
	return packets_of_clients(sim) - before;
}

static void a_hundred_refused_clients_send_a_few_packets_a_second(void **state)
{
	struct sim *sim = refused_world(-ENOENT);
	uint64_t first = packets_in(sim, SEC), later;

	/* Two rounds on two paths, each with a HELLO without a cookie on both and one with it. */
	CHECK(sim, first < 20 * (uint64_t)CLIENTS);
	sim_pass(sim, 20 * SEC);
	later = packets_in(sim, 10 * SEC);
	CHECK(sim, later < 30 * (uint64_t)CLIENTS);
	CHECK(sim, later > 5 * (uint64_t)CLIENTS); /* they do retry */
	for (unsigned i = 1; i <= CLIENTS; i++)
		CHECK(sim, sim->ends[i].last_code == -ENOENT);
	sim_free(sim);
}

static void refused_clients_that_began_together_drift_apart(void **state)
{
	struct sim *sim = refused_world(-EACCES);
	uint64_t most = 0, total = 0;

	sim_pass(sim, 30 * SEC);
	for (unsigned i = 0; i < 100; i++) {
		uint64_t n = packets_in(sim, 100 * MS);

		most = MAX_OF(most, n);
		total += n;
	}
	/* A tenth of a second has a hundredth of the packets if they are spread evenly. */
	CHECK(sim, most < total / 20);
	sim_free(sim);
}

static void refused_clients_are_served_soon_after_the_cause_has_gone(void **state)
{
	struct sim *sim = refused_world(-EACCES);

	sim_pass(sim, 60 * SEC);
	sim->cfg.refuse = 0;
	CHECK(sim, sim_connect(sim, 6 * SEC));
	sim_free(sim);
}

static void a_client_of_a_busy_server_is_served_within_a_second(void **state)
{
	struct sim *sim = refused_world(-EBUSY);
	uint64_t n;

	sim_pass(sim, 10 * SEC);
	n = packets_in(sim, SEC);
	CHECK(sim, n < 20 * (uint64_t)CLIENTS);
	sim->cfg.refuse = 0;
	CHECK(sim, sim_connect(sim, SEC));
	sim_free(sim);
}

/* Each session ends within a millisecond. */
static void end_sessions(struct sim *sim, uint64_t ns)
{
	uint64_t until = sim->now + ns;

	while (sim->now < until) {
		struct rudp_session *s;

		sim_pass(sim, MS);
		while ((s = rudp_session_next(sim->ends[SIM_SERVER].r, NULL)))
			rudp_session_close(s, sim->now);
	}
}

static void clients_whose_sessions_end_at_once_reconnect_after_a_pause(void **state)
{
	struct sim *sim = refused_world(0);
	uint64_t before;

	end_sessions(sim, 10 * SEC);
	before = packets_of_clients(sim);
	end_sessions(sim, 10 * SEC);
	CHECK(sim, packets_of_clients(sim) - before < 50 * (uint64_t)CLIENTS);
	CHECK(sim, sim_connect(sim, 6 * SEC));
	sim_free(sim);
}

static void a_session_that_lasted_is_replaced_at_once(void **state)
{
	struct sim *sim = refused_world(0);

	CHECK(sim, sim_connect(sim, SEC));
	sim_pass(sim, 2 * SEC);
	for (struct rudp_session *s = NULL; (s = rudp_session_next(sim->ends[SIM_SERVER].r, NULL));)
		rudp_session_close(s, sim->now);
	sim_pass(sim, MS);
	CHECK(sim, sim_connect(sim, 10 * MS));
	sim_free(sim);
}

/* One leg of the server loses all packets, and no end is informed. */
static void paths_that_stay_silent_are_probed_less_often(void **state)
{
	struct sim *sim = refused_world(0);
	const struct sim_link *out = &sim->ends[SIM_SERVER].links[1];
	uint64_t before;

	CHECK(sim, sim_connect(sim, SEC));
	sim_pass(sim, SEC);
	sim_leg(sim, SIM_SERVER, 1, false, false);
	sim_pass(sim, 20 * SEC);
	before = out->packets;
	sim_pass(sim, 10 * SEC);
	CHECK(sim, out->packets - before < 50 * (uint64_t)CLIENTS);
	sim_leg(sim, SIM_SERVER, 1, true, false);
	sim_pass(sim, 3 * SEC);
	for (unsigned i = 1; i <= CLIENTS; i++) {
		struct rudp_path_info info[RUDP_PATHS_MAX];
		unsigned n = rudp_session_paths(sim->ends[i].session, info, RUDP_PATHS_MAX);

		CHECK(sim, n == 2 && info[0].up && info[1].up);
	}
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hundred_refused_clients_send_a_few_packets_a_second),
		cmocka_unit_test(refused_clients_that_began_together_drift_apart),
		cmocka_unit_test(refused_clients_are_served_soon_after_the_cause_has_gone),
		cmocka_unit_test(a_client_of_a_busy_server_is_served_within_a_second),
		cmocka_unit_test(clients_whose_sessions_end_at_once_reconnect_after_a_pause),
		cmocka_unit_test(a_session_that_lasted_is_replaced_at_once),
		cmocka_unit_test(paths_that_stay_silent_are_probed_less_often),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
