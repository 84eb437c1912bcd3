/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports with several UDP source ports, in the simulator: which carry load, what happens if some do
 * not reach the peer, and which source addresses are accepted.
 */
#include <string.h>

#include "dataplane/rudp/rudp_internal.h"
#include "tests/lib/rudp/rudp_worlds.h"

#define CLIENT 1
#define SOURCES 3U
#define ALL 0xeU

static struct rudp_path_info path_of(struct sim *sim, unsigned end, unsigned leg)
{
	struct rudp_path_info info[RUDP_PATHS_MAX];
	struct rudp_session *s = rudp_session_next(sim->ends[end].r, NULL);
	unsigned n = s ? rudp_session_paths(s, info, RUDP_PATHS_MAX) : 0;

	for (unsigned i = 0; i < n; i++)
		if (info[i].port == leg)
			return info[i];
	return (struct rudp_path_info){.port = RUDP_PORTS_MAX};
}

static bool all_are(struct sim *sim, unsigned sources)
{
	for (unsigned end = 0; end < 2; end++)
		for (unsigned leg = 0; leg < sim->cfg.legs; leg++)
			if (path_of(sim, end, leg).sources != sources)
				return false;
	return true;
}

static bool wait_for_all(struct sim *sim, unsigned sources, uint64_t max_ns)
{
	for (uint64_t until = sim->now + max_ns; sim->now < until;)
		if (!sim_pass(sim, 10 * MS) || all_are(sim, sources))
			break;
	return all_are(sim, sources);
}

static struct sim *world(unsigned k)
{
	struct sim_config cfg = sim_clean;

	cfg.security = (enum rudp_security)(k % RUDP_SECURITY_MAX);
	cfg.ipv6 = k & 1;
	cfg.sources = SOURCES;
	return sim_new(&cfg);
}

static uint64_t least_by_source(const struct sim *sim, unsigned end)
{
	uint64_t least = UINT64_MAX;

	for (unsigned leg = 0; leg < sim->cfg.legs; leg++)
		for (unsigned k = 0; k <= SOURCES; k++)
			least = MIN_OF(least, sim->ends[end].links[leg].by_source[k]);
	return least;
}

/* Big messages rotate over all of them, in both directions and in every security mode; small ones
 * use source port 0. */
static void big_messages_spread_over_source_ports(void **state)
{
	for (unsigned k = 0; k < 2 * RUDP_SECURITY_MAX; k++) {
		struct sim *sim = world(k);

		CHECK(sim, sim_connect(sim, SEC));
		CHECK(sim, wait_for_all(sim, 1 + SOURCES, SEC));
		CHECK(sim, sim_pump(sim, 200, 8, 1000, 1000, NULL));
		for (unsigned end = 0; end < 2; end++)
			for (unsigned leg = 0; leg < 2; leg++)
				for (unsigned i = 1; i <= SOURCES; i++)
					CHECK(sim, sim->ends[end].links[leg].by_source[i] <= 2);
		CHECK(sim, sim_pump(sim, 64, 4, 1 << 20, 1 << 20, NULL));
		for (unsigned end = 0; end < 2; end++) {
			CHECK(sim, least_by_source(sim, end) > 2000);
			for (unsigned leg = 0; leg < 2; leg++) {
				struct rudp_path_info info = path_of(sim, end, leg);

				/* Packets of source port 0 show the queues. */
				CHECK(sim, info.lost_packets * 25 < info.tx_packets);
				CHECK(sim, path_of(sim, end, leg).sources_lost == 0);
			}
			CHECK(sim, sim->ends[end].events[RUDP_PATH_DOWN] == 0);
			CHECK(sim, sim->ends[end].events[RUDP_PATH_SRC_PORTS] == 0);
			CHECK(sim, rudp_rx_drops(sim->ends[end].r) == 0);
		}
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
}

/* A firewall blocks some from the start: they are not used, and reported. Then it opens. */
static void a_blocked_source_port_is_reported(void **state)
{
	for (unsigned k = 0; k < RUDP_SECURITY_MAX; k++) {
		struct sim *sim = world(k);

		for (unsigned leg = 0; leg < 2; leg++)
			sim->ends[CLIENT].links[leg].sources_out = 1U << 2;
		CHECK(sim, sim_connect(sim, SEC));
		CHECK(sim, sim_pump(sim, 64, 4, 1 << 20, 1 << 20, NULL));
		CHECK(sim, sim_pass(sim, 4 * SEC));
		for (unsigned leg = 0; leg < 2; leg++) {
			/* Only the probes. */
			CHECK(sim, sim->ends[CLIENT].links[leg].by_source[2] < 20);
			CHECK(sim, path_of(sim, CLIENT, leg).sources == SOURCES);
			CHECK(sim, path_of(sim, CLIENT, leg).sources_lost == 1U << 2);
			CHECK(sim, path_of(sim, SIM_SERVER, leg).sources_lost == 0);
			sim->ends[CLIENT].links[leg].sources_out = 0;
		}
		CHECK(sim, sim->ends[CLIENT].events[RUDP_PATH_SRC_PORTS] == 2);
		CHECK(sim, sim->ends[CLIENT].last_code == 1);
		CHECK(sim, wait_for_all(sim, 1 + SOURCES, 12 * SEC));
		CHECK(sim, sim->ends[CLIENT].events[RUDP_PATH_SRC_PORTS] == 4);
		CHECK(sim, sim->ends[CLIENT].last_code == 0);
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
}

/* They fail silently under load: no path goes down, delays are short, and it is detected. */
static void a_failing_source_port_is_replaced(void **state)
{
	for (unsigned k = 0; k < 2 * RUDP_SECURITY_MAX; k++) {
		uint8_t gone = k & 1 ? ALL : 1U << 3;
		struct sim *sim = world(k);

		CHECK(sim, sim_connect(sim, SEC));
		CHECK(sim, wait_for_all(sim, 1 + SOURCES, SEC));
		CHECK(sim, sim_pump(sim, 16, 4, 1 << 20, 1 << 20, NULL));
		for (unsigned end = 0; end < 2; end++)
			for (unsigned leg = 0; leg < 2; leg++)
				sim->ends[end].links[leg].sources_out = gone;
		sim->longest_gap_ns = 0;
		CHECK(sim, sim_pump(sim, 64, 4, 1 << 20, 1 << 20, NULL));
		CHECK(sim, sim->longest_gap_ns < 40 * MS);
		CHECK(sim, sim_pass(sim, 4 * SEC));
		for (unsigned end = 0; end < 2; end++) {
			CHECK(sim, sim->ends[end].events[RUDP_PATH_DOWN] == 0);
			CHECK(sim, sim->ends[end].events[RUDP_PATH_GSO] == 0);
			CHECK(sim, sim->ends[end].events[RUDP_PATH_MTU] == 0);
			for (unsigned leg = 0; leg < 2; leg++)
				CHECK(sim, path_of(sim, end, leg).sources_lost == gone);
		}
		CHECK(sim, sim_pump(sim, 16, 4, 1 << 20, 1 << 20, NULL));
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
}

/* Routes of different length, as with queues emptied by different processors: packets are reordered
 * by far more than a round trip, which is learnt and costs little. */
static void uneven_routes_cost_little(void **state)
{
	for (unsigned k = 0; k < 3; k++) {
		struct sim *sim = world(k);
		uint64_t even_ns, begun_ns;

		CHECK(sim, sim_connect(sim, SEC));
		CHECK(sim, wait_for_all(sim, 1 + SOURCES, SEC));
		CHECK(sim, sim_pump(sim, 128, 8, 1 << 20, 1 << 20, NULL));
		begun_ns = sim->now;
		CHECK(sim, sim_pump(sim, 128, 8, 1 << 20, 1 << 20, NULL));
		even_ns = sim->now - begun_ns;
		for (unsigned end = 0; end < 2; end++)
			for (unsigned leg = 0; leg < 2; leg++)
				sim->ends[end].links[leg].source_lag_ns = 50 * US << k;
		CHECK(sim, sim_pump(sim, 128, 8, 1 << 20, 1 << 20, NULL));
		begun_ns = sim->now;
		CHECK(sim, sim_pump(sim, 128, 8, 1 << 20, 1 << 20, NULL));
		CHECK(sim, sim->now - begun_ns < 2 * even_ns);
		for (unsigned end = 0; end < 2; end++) {
			CHECK(sim, sim->ends[end].events[RUDP_PATH_DOWN] == 0);
			CHECK(sim, sim->ends[end].events[RUDP_PATH_SRC_PORTS] == 0);
		}
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
}

/* A forged packet of the client's session, from port `from` of its address. */
static int forge(struct sim *sim, uint8_t type, uint8_t flags, size_t len, uint16_t from)
{
	struct rudp_session *s = rudp_session_next(sim->ends[SIM_SERVER].r, NULL);
	struct rudp_path_info info[RUDP_PATHS_MAX];
	uint8_t p[WIRE_SOURCE_BYTES + 16] = {0};
	struct wire_common c = {.type = type, .flags = flags, .pn = 1};
	struct datagram_addr src;

	assert_true(rudp_session_paths(s, info, RUDP_PATHS_MAX) > 0);
	src = info[0].remote;
	src.port = from;
	c.session = s->number;
	wire_put_common(p, &c);
	p[WIRE_COMMON_BYTES] = 1;
	return rudp_rx(sim->ends[SIM_SERVER].r, info[0].port, &src, p, len, sim->now);
}

/* An attacker that knows a session's number and addresses but not its key is rejected from any
 * port; one that knows everything is accepted only from validated ports, and only for data. */
static void only_validated_source_ports_are_accepted(void **state)
{
	struct sim *sim = world(RUDP_AUTH);

	CHECK(sim, sim_connect(sim, SEC));
	CHECK(sim, wait_for_all(sim, 1 + SOURCES, SEC));
	assert_int_equal(forge(sim, WIRE_LABEL, WIRE_F_SOURCE, 40, 9000), -EBADMSG);
	assert_int_equal(forge(sim, WIRE_PING, 0, 32, 9000), -EBADMSG);
	sim_free(sim);
	sim = world(RUDP_SECURITY_NONE);
	CHECK(sim, sim_connect(sim, SEC));
	CHECK(sim, wait_for_all(sim, 1 + SOURCES, SEC));
	assert_int_equal(forge(sim, WIRE_PING, 0, 16, 7000), 0);
	for (uint16_t port = 7001; port < 7005; port++) { /* a validated source port, and others */
		assert_int_equal(forge(sim, WIRE_PING, 0, 16, port), -EBADMSG);
		assert_int_equal(forge(sim, WIRE_ACK, 0, 36, port), -EBADMSG);
		assert_int_equal(forge(sim, WIRE_CLOSE, 0, 16, port), -EBADMSG);
		assert_int_equal(forge(sim, WIRE_LABEL, 0, 20, port), -EBADMSG);
		assert_int_equal(forge(sim, WIRE_LABEL, WIRE_F_SOURCE | WIRE_F_HEARD, 24, port),
				 -EBADMSG);
	}
	assert_int_equal(forge(sim, WIRE_LABEL, WIRE_F_SOURCE, 20, 9000), -EBADMSG);
	assert_int_equal(forge(sim, WIRE_LABEL, WIRE_F_SOURCE, 24, 9000), 0);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* A peer of an older version without the message: all packets use source port 0. */
static void a_peer_without_source_ports_works(void **state)
{
	struct rudp_src_ports t = {.n = 0};
	enum rudp_src_ports_news news;
	uint64_t now = SEC, last = 0;
	unsigned asked = 0, changed = 0;

	assert_int_equal(rudp_src_ports_deadline(&t), UINT64_MAX);
	rudp_src_ports_begin(&t, 9, now, now);
	assert_int_equal(t.n, RUDP_SOURCES_MAX - 1);
	rudp_src_ports_begin(&t, 2, now, now);
	for (; now < 100 * SEC; now = rudp_src_ports_deadline(&t)) {
		unsigned k = rudp_src_ports_probe(&t, now, &news);

		assert_in_range(k, 1, 2);
		changed += news == RUDP_SOURCES_CHANGED;
		asked++;
		last = now;
	}
	assert_true(now - last <= 10 * SEC);
	assert_in_range(asked, 2 * 15, 2 * 30);
	assert_int_equal(changed, 2);
	assert_int_equal(t.lost, 6);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(rudp_src_ports_choose(&t, i), 0);
	assert_int_equal(rudp_src_ports_confirmed(&t, 3), RUDP_SOURCES_NO_NEWS);
	assert_int_equal(rudp_src_ports_confirmed(&t, 0), RUDP_SOURCES_NO_NEWS);
	assert_int_equal(t.usable, 0);
	assert_int_equal(rudp_src_ports_confirmed(&t, 2), RUDP_SOURCES_CHANGED);
	assert_int_equal(rudp_src_ports_confirmed(&t, 2), RUDP_SOURCES_NO_NEWS);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(rudp_src_ports_choose(&t, i), i % 2 ? 2 : 0);
	for (unsigned i = 0; i < 8; i++) {
		rudp_src_ports_packet_lost(&t, 2, now);
		assert_int_equal(rudp_src_ports_choose(&t, 1), i < 7 ? 2 : 0);
	}
	assert_int_equal(rudp_src_ports_probe(&t, now, &news), 1);
}

/* A source port passes small packets only: it is retried at growing intervals and reported. An
 * unavailable source port is not probed. */
static void a_source_port_that_loses_large_packets_is_retried_rarely(void **state)
{
	struct rudp_src_ports t = {0};
	enum rudp_src_ports_news news = RUDP_SOURCES_NO_NEWS;
	uint64_t now = SEC, waited = 0, before;

	rudp_src_ports_begin(&t, 2, 1, now);
	rudp_src_ports_unusable(&t, 2);
	for (unsigned turn = 0; turn < 9; turn++) {
		before = waited;
		waited = rudp_src_ports_deadline(&t) - now;
		assert_true(turn < 2 ? waited == 0 : waited > before);
		now += waited;
		assert_int_equal(rudp_src_ports_probe(&t, now, &news), 1);
		assert_int_equal(news, turn == 7 ? RUDP_SOURCES_CHANGED : RUDP_SOURCES_NO_NEWS);
		rudp_src_ports_confirmed(&t, 1);
		assert_int_equal(t.usable, 2);
		assert_int_equal(t.lost, turn < 7 ? 0 : 2);
		for (unsigned i = 0; turn < 8 && i < 8; i++)
			rudp_src_ports_packet_lost(&t, 1, now);
	}
	for (unsigned i = 0; i < RUDP_SOURCES_RECOVERED; i++) {
		assert_int_equal(t.lost, 2);
		rudp_src_ports_acked(&t, 1);
	}
	assert_int_equal(t.lost, 0);
	for (unsigned i = 0; i < 8; i++)
		rudp_src_ports_packet_lost(&t, 1, now);
	assert_true(rudp_src_ports_deadline(&t) == now);
}

/* Probes are lost, duplicated, late and damaged; ends restart meanwhile. */
static void random_worlds_with_source_ports_keep_every_promise(void **state)
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct sim_config cfg = sim_clean;
		struct sim *sim;

		cfg.seed = seed;
		cfg.sources = 1 + (unsigned)(seed % 7);
		cfg.loss = cfg.reorder = 50000;
		cfg.duplicate = 20000;
		cfg.reorder_ns = 2 * MS;
		cfg.security = (enum rudp_security)(seed % RUDP_SECURITY_MAX);
		sim = sim_new(&cfg);
		CHECK(sim, sim_connect(sim, 10 * SEC));
		for (unsigned life = 0; life < 3; life++) {
			CHECK(sim, sim_pump(sim, 16, 4, 1 << 18, 1 << 18, NULL));
			sim->ends[life & 1].links[life & 1].sources_out ^= (uint8_t)(seed << 1);
			CHECK(sim, sim_pump(sim, 16, 4, 1 << 18, 1 << 18, NULL));
			sim_restart(sim, SIM_SERVER);
			CHECK(sim, sim_connect(sim, 10 * SEC));
		}
		CHECK(sim, sim_pump(sim, 16, 4, 1 << 18, 1 << 18, NULL));
		CHECK(sim, sim->ends[CLIENT].session && sim_close(sim));
		sim_free(sim);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(big_messages_spread_over_source_ports),
		cmocka_unit_test(a_blocked_source_port_is_reported),
		cmocka_unit_test(a_failing_source_port_is_replaced),
		cmocka_unit_test(only_validated_source_ports_are_accepted),
		cmocka_unit_test(uneven_routes_cost_little),
		cmocka_unit_test(a_peer_without_source_ports_works),
		cmocka_unit_test(a_source_port_that_loses_large_packets_is_retried_rarely),
		cmocka_unit_test(random_worlds_with_source_ports_keep_every_promise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
