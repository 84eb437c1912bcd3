/* SPDX-License-Identifier: BSD-3-Clause */
/* Legs added while sessions run, in the simulator: at the client, at the server or at both. Each
 * leg finally carries, and no call is harmed. */
#include "dataplane/rudp/rudp_internal.h"
#include "tests/lib/rudp/rudp_worlds.h"

#ifdef __SANITIZE_ADDRESS__
#define RANDOM_RUNS 20
#else
#define RANDOM_RUNS 400
#endif
#define CLIENT 1

static const struct sim_config world = {.seed = 1,
					.legs = 2,
					.clients = 1,
					.bits_per_s = 10000000000ULL,
					.delay_ns = 20 * US,
					.queue_bytes = 512U << 10};

/* 0: one of them is not up. */
static unsigned count_loaded(struct sim *sim, unsigned end)
{
	struct rudp_session *s = rudp_session_next(sim->ends[end].r, NULL);
	struct rudp_path_info info[RUDP_PATHS_MAX];
	unsigned n = s ? rudp_session_paths(s, info, RUDP_PATHS_MAX) : 0, n_loaded = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!info[i].up)
			return 0;
		n_loaded += !info[i].standby;
	}
	return n_loaded;
}

static bool settle(struct sim *sim, unsigned n_paths, uint64_t max_ns)
{
	for (uint64_t until = sim->now + max_ns; sim->now < until; sim_pass(sim, MS))
		if (count_loaded(sim, CLIENT) == n_paths &&
		    count_loaded(sim, SIM_SERVER) == n_paths)
			return true;
	return false;
}

static void comes(const struct sim_config *cfg, unsigned first, unsigned second, unsigned n_paths)
{
	struct sim *sim = sim_new(cfg);
	unsigned life;

	CHECK(sim, sim_connect(sim, SEC));
	life = sim->ends[CLIENT].events[RUDP_SESSION_UP];
	assert_true(sim_call(sim, CLIENT, 1 << 20, 1 << 20, 0)); /* one call is in progress */
	assert_int_equal(sim_port_add(sim, first), 0);
	if (second != first)
		assert_int_equal(sim_port_add(sim, second), 0);
	CHECK(sim, settle(sim, n_paths, SEC));
	CHECK(sim, sim_pump(sim, 200, 8, 8000, 8000, NULL));
	/* The same session, with load on both legs. */
	assert_int_equal(sim->ends[CLIENT].events[RUDP_SESSION_UP], life);
	assert_true(sim->ends[CLIENT].links[1].packets > 50);
	assert_true(sim->ends[SIM_SERVER].links[1].packets > 50);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

static void a_client_leg_added_later_carries(void **state)
{
	struct sim_config cfg = world;

	cfg.late_client = 1;
	comes(&cfg, CLIENT, CLIENT, 2);
	cfg.one_subnet = true;
	comes(&cfg, CLIENT, CLIENT, 2);
}

static void a_server_leg_added_later_carries(void **state)
{
	struct sim_config cfg = world;

	cfg.late_server = 1;
	comes(&cfg, SIM_SERVER, SIM_SERVER, 2);
	cfg.security = RUDP_ENCRYPT;
	comes(&cfg, SIM_SERVER, SIM_SERVER, 2);
	cfg.ipv6 = true;
	comes(&cfg, SIM_SERVER, SIM_SERVER, 2);
}

static void legs_added_at_both_ends_carry(void **state)
{
	struct sim_config cfg = world;

	cfg.late_server = cfg.late_client = 1;
	comes(&cfg, SIM_SERVER, CLIENT, 2);
	comes(&cfg, CLIENT, SIM_SERVER, 2);
}

/* Added while connecting; and invalid ports. */
static void ports_are_added_while_connecting_and_validated(void **state)
{
	struct sim_config cfg = world;
	struct rudp_port_info none = {.mtu = 1500};
	struct sim *sim;

	cfg.late_client = cfg.late_server = 1;
	sim = sim_new(&cfg);
	assert_int_equal(rudp_port_add(sim->ends[CLIENT].r, &none, sim->now), -EINVAL);
	assert_int_equal(sim_port_add(sim, CLIENT), 0);
	assert_int_equal(sim_port_add(sim, SIM_SERVER), 0);
	CHECK(sim, sim_connect(sim, SEC));
	CHECK(sim, settle(sim, 2, SEC));
	none = sim->ends[CLIENT].r->cfg.ports[0];
	for (unsigned i = 2; i < RUDP_PORTS_MAX; i++) {
		none.local.ip.bytes[1]++;
		none.up = false;
		assert_int_equal(rudp_port_add(sim->ends[CLIENT].r, &none, sim->now), 0);
	}
	assert_int_equal(rudp_port_add(sim->ends[CLIENT].r, &none, sim->now), -ENOSPC);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* The server's address in LABEL: invalid ones are refused. */
static void invalid_addresses_are_refused(void **state)
{
	const struct wire_common c = {.type = WIRE_LABEL, .flags = WIRE_F_ADDRESS, .session = 7};
	struct wire_addr a = {.ip = {10, 1, 2, 3}, .family = 4, .prefix_len = 16, .port = 7000}, b;
	uint8_t addr[WIRE_ADDR_BYTES], p[WIRE_ADDRESS_BYTES], index;

	wire_put_addr(addr, &a);
	assert_int_equal(wire_put_address(p, &c, 3, addr), sizeof(p));
	assert_int_equal(wire_get_address(p, sizeof(p), &index, &b), 0);
	assert_int_equal(index, 3);
	assert_int_equal(b.port, 7000);
	assert_memory_equal(b.ip, a.ip, sizeof(a.ip));
	assert_int_equal(wire_get_address(p, sizeof(p) - 1, &index, &b), -EBADMSG);
	p[WIRE_COMMON_BYTES] = WIRE_ADDRS_MAX;
	assert_int_equal(wire_get_address(p, sizeof(p), &index, &b), -EBADMSG);
	p[WIRE_COMMON_BYTES] = 3;
	p[WIRE_COMMON_BYTES + 4] = 5; /* invalid family */
	assert_int_equal(wire_get_address(p, sizeof(p), &index, &b), -EBADMSG);
}

static void random_port_additions_converge(void **state)
{
	for (uint64_t seed = 1; seed <= RANDOM_RUNS; seed++) {
		struct sim_config cfg = world;
		struct sim *sim;

		cfg.seed = seed;
		cfg.loss = cfg.reorder = 100000;
		cfg.duplicate = 50000;
		cfg.reorder_ns = 5 * MS;
		cfg.one_subnet = seed & 1;
		cfg.legs = cfg.one_subnet ? 2 : 3;
		cfg.late_client = (unsigned)(seed % cfg.legs);
		cfg.late_server = (unsigned)(seed / 3 % cfg.legs);
		cfg.security = (enum rudp_security)(seed % RUDP_SECURITY_MAX);
		sim = sim_new(&cfg);
		CHECK(sim, sim_connect(sim, 10 * SEC));
		for (unsigned i = 0; i < 2; i++) {
			while (sim->n_open < 4)
				assert_true(sim_call(sim, CLIENT, 4096, 65536, 10));
			CHECK(sim, sim_pass(sim, sim_random(sim, 20 * MS)));
			if (i < cfg.late_client)
				assert_int_equal(sim_port_add(sim, CLIENT), 0);
			CHECK(sim, sim_pass(sim, sim_random(sim, 5 * MS)));
			if (i < cfg.late_server)
				assert_int_equal(sim_port_add(sim, SIM_SERVER), 0);
		}
		CHECK(sim, sim_finish(sim, 10 * SEC));
		CHECK(sim, settle(sim, cfg.legs, 60 * SEC));
		assert_int_equal(sim->ends[CLIENT].events[RUDP_SESSION_UP], 1);
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_leg_added_later_carries),
		cmocka_unit_test(a_server_leg_added_later_carries),
		cmocka_unit_test(legs_added_at_both_ends_carry),
		cmocka_unit_test(ports_are_added_while_connecting_and_validated),
		cmocka_unit_test(invalid_addresses_are_refused),
		cmocka_unit_test(random_port_additions_converge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
