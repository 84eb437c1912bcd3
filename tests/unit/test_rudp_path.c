/* SPDX-License-Identifier: BSD-3-Clause */
/* Life cycles of sessions and paths in the simulator: restarts at critical moments, and path MTU.
 */
#include <string.h>

#include "dataplane/rudp/path/rudp_mtu.h"
#include "tests/lib/rudp/rudp_worlds.h"

#ifdef __SANITIZE_ADDRESS__
#define RECONNECT_RUNS 6
#else
#define RECONNECT_RUNS 60
#endif

/* The server restarts repeatedly with many packets in flight, some late or duplicated: packets of a
 * path's previous incarnation must not count in the next. */
static void late_packets_of_an_old_incarnation_are_ignored(void **state)
{
	for (uint64_t seed = 1; seed <= RECONNECT_RUNS; seed++) {
		struct sim_config cfg = sim_clean;
		struct sim *sim;

		cfg.seed = seed;
		cfg.legs = 1 + seed % 2;
		cfg.bits_per_s <<= seed % 3;
		cfg.delay_ns = (100 + seed % 10 * 100) * US;
		cfg.queue_bytes = 8U << 20;
		cfg.duplicate = 20000;
		cfg.loss = seed % 2 ? 30000 : 3000;
		cfg.reorder = 100000;
		cfg.reorder_ns = (1 + seed % 20) * MS;
		sim = sim_new(&cfg);
		CHECK(sim, sim_connect(sim, SEC));
		for (unsigned life = 0; life < 12; life++) {
			while (sim->n_open < 16)
				assert_true(sim_call(sim, 1, 1 << 20, 1000, 10));
			CHECK(sim, sim_pass(sim, 2 * MS + sim_random(sim, 10 * MS)));
			sim_restart(sim, SIM_SERVER);
			CHECK(sim, sim_connect(sim, SEC));
		}
		CHECK(sim, sim_finish(sim, 10 * SEC));
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
}

/* The server restarts during the handshake, so that two incarnations may accept the same HELLO:
 * packets of the first must not count in the second. */
static void a_restart_during_the_handshake_gives_one_session(void **state)
{
	for (uint64_t seed = 1; seed <= 8 * RECONNECT_RUNS; seed++) {
		struct sim_config cfg = sim_clean;
		struct sim *sim;

		cfg.seed = seed;
		cfg.legs = 1 + seed % 2;
		cfg.loss = cfg.reorder = 200000;
		cfg.reorder_ns = 20 * MS;
		sim = sim_new(&cfg);
		for (unsigned life = 0; life < 40; life++) {
			CHECK(sim, sim_pass(sim, MS + sim_random(sim, 20 * MS)));
			sim_restart(sim, SIM_SERVER);
			CHECK(sim, sim_connect(sim, 10 * SEC));
			for (unsigned i = 0; i < 4; i++)
				assert_true(sim_call(sim, 1, 100, 100, 0));
			CHECK(sim, sim_finish(sim, 10 * SEC));
			sim_restart(sim, SIM_SERVER);
		}
		sim_free(sim);
	}
}

/* A failover, and before any packet arrived on the other leg the server restarts. The pause ends
 * with that session; the next failover reports its own. */
static void a_pause_ends_with_its_session(void **state)
{
	struct sim *sim = sim_new(&sim_clean);

	CHECK(sim, sim_connect(sim, 100 * MS));
	CHECK(sim, sim_pass(sim, 10 * MS));
	for (unsigned i = 0; i < 8; i++)
		assert_true(sim_call(sim, 1, 1 << 20, 100, 0));
	CHECK(sim, sim_pass(sim, MS));
	sim_leg(sim, 1, 1, false, true);
	CHECK(sim, sim_pass(sim, 5 * US));
	sim_restart(sim, SIM_SERVER);
	CHECK(sim, sim_finish(sim, SEC));
	sim_leg(sim, 1, 1, true, true);
	assert_true(sim_call(sim, 1, 1 << 20, 100, 0));
	CHECK(sim, sim_finish(sim, SEC));
	CHECK(sim, sim_pass(sim, 2 * SEC));
	sim_leg(sim, 1, 1, false, true); /* now with nothing in flight */
	CHECK(sim, sim_pass(sim, 100 * MS));
	CHECK(sim, sim_longest_pause(sim, 1) < SEC);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* All client packets after CHALLENGE, or all packets to the client, are lost for a while: it
 * connects soon afterwards. */
static void a_client_connects_after_lost_handshake_packets(void **state)
{
	for (unsigned way = 0; way < 2; way++) {
		struct sim_config cfg = sim_clean;
		struct sim *sim;
		struct sim_link *link;

		cfg.legs = 1;
		sim = sim_new(&cfg);
		link = &sim->ends[1].links[0];
		CHECK(sim, sim_pass(sim, way ? 60 * US : 30 * US));
		if (way)
			link->cut_in = true;
		else
			link->cut_out = true;
		CHECK(sim, sim_pass(sim, 300 * MS));
		assert_false(rudp_session_is_up(sim->ends[1].session));
		link->cut_in = link->cut_out = false;
		CHECK(sim, sim_connect(sim, 200 * MS));
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
}

/* The MTU found in the sender's direction on a leg. */
static unsigned mtu_of(struct sim *sim, unsigned end, unsigned leg)
{
	struct rudp_path_info info[RUDP_PATHS_MAX];
	unsigned n =
		rudp_session_paths(rudp_session_next(sim->ends[end].r, NULL), info, RUDP_PATHS_MAX);

	for (unsigned i = 0; i < n; i++)
		if (info[i].port == leg) {
			assert_int_equal(info[i].mtu_most, sim->cfg.mtu);
			return info[i].mtu == info[i].mtu_found ? info[i].mtu : 0;
		}
	return 0;
}

/* Hosts with a larger MTU than the fabric, from the start. */
static void the_path_mtu_of_a_narrow_fabric_is_found(void **state)
{
	static const unsigned narrow[][2] = {
		{1500, 1500}, {9000, 1500}, {4096, 1280}, {8950, 1450}};

	for (unsigned k = 0; k < 2 * ARRAY_SIZE(narrow); k++) {
		struct sim_config cfg = sim_clean;
		struct sim *sim;

		cfg.mtu = 9000;
		cfg.ipv6 = k % 2;
		for (unsigned l = 0; l < 2; l++)
			cfg.path_mtu[l] = narrow[k / 2][l];
		sim = sim_new(&cfg);
		CHECK(sim, sim_connect(sim, 100 * MS));
		/* Once while nothing is known, and once after. */
		for (unsigned i = 0; i < 2; i++) {
			CHECK(sim, sim_pump(sim, 50, 8, i ? 1 << 20 : 64, i ? 64 : 1 << 20, NULL));
			CHECK(sim, sim_pump(sim, 100, 8, 5000, 9000, NULL));
		}
		CHECK(sim, sim_pass(sim, 500 * MS));
		for (unsigned e = 0; e < 2; e++) {
			for (unsigned l = 0; l < 2; l++) {
				/* The simulator counts IPv6 headers as IPv4's. */
				unsigned most = cfg.path_mtu[l] + (cfg.ipv6 ? 20U : 0);

				most = MIN_OF(most, cfg.mtu);
				CHECK(sim, mtu_of(sim, e, l) <= most &&
						   mtu_of(sim, e, l) + RUDP_MTU_STEP >= most);
			}
			CHECK(sim, sim->ends[e].events[RUDP_PATH_DOWN] == 0);
			CHECK(sim, sim->ends[e].events[RUDP_PATH_MTU] ==
					   (cfg.path_mtu[0] < 9000 ? 1U : 0) +
						   (cfg.path_mtu[1] < 9000 ? 1U : 0));
		}
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
}

/* A NIC that advertises segmentation but corrupts bursts. */
static void lost_gso_bursts_are_detected(void **state)
{
	for (unsigned k = 0; k < 4; k++) {
		struct sim_config cfg = sim_clean;
		struct sim *sim;
		uint64_t begun_ns;

		cfg.mtu = k % 2 ? 9000 : 1500;
		cfg.security = k / 2 ? RUDP_ENCRYPT : RUDP_SECURITY_NONE;
		cfg.drops_bursts = true;
		sim = sim_new(&cfg);
		CHECK(sim, sim_connect(sim, 1000 * MS));
		begun_ns = sim->now;
		CHECK(sim, sim_pump(sim, 3, 1, 1 << 20, 1 << 20, NULL));
		CHECK(sim, sim->now - begun_ns < 200 * MS); /* and no more after the detection */
		CHECK(sim, sim_pump(sim, 20, 4, 1 << 20, 1 << 20, NULL));
		CHECK(sim, sim->now - begun_ns < 300 * MS);
		for (unsigned e = 0; e < 2; e++)
			CHECK(sim, sim->ends[e].events[RUDP_PATH_GSO] > 0);
		/* A working NIC: detected in time. */
		sim->cfg.drops_bursts = false;
		CHECK(sim, sim_pass(sim, 100000 * MS));
		CHECK(sim, sim_pump(sim, 20, 4, 1 << 20, 1 << 20, NULL));
		for (unsigned e = 0; e < 2; e++)
			CHECK(sim, sim->ends[e].events[RUDP_PATH_GSO] % 2 == 0);
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
}

/* The fabric begins to lose large packets while the mount is not used. */
static void a_smaller_path_mtu_is_found_on_idle_paths(void **state)
{
	struct sim_config cfg = sim_clean;
	struct sim *sim;

	cfg.mtu = 9000;
	sim = sim_new(&cfg);
	CHECK(sim, sim_connect(sim, 1000 * MS));
	CHECK(sim, sim_pass(sim, 20000 * MS));
	sim->ends[0].links[0].out_mtu = 1500;
	CHECK(sim, sim_pass(sim, 60000 * MS));
	CHECK(sim, mtu_of(sim, 0, 0) <= 1500 && mtu_of(sim, 0, 0) > 1400);
	CHECK(sim, mtu_of(sim, 0, 1) == 9000 && mtu_of(sim, 1, 0) == 9000);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* A network with much loss, independent of bursts. */
static void random_loss_does_not_disable_gso(void **state)
{
	for (uint64_t seed = 1; seed < 9; seed++) {
		struct sim_config cfg = sim_clean;
		struct sim *sim;

		cfg.seed = seed;
		cfg.loss = (uint32_t)(seed % 3) * 100000;
		cfg.queue_bytes = seed % 3 ? 0 : 30000;
		cfg.bits_per_s = 1000000000;
		sim = sim_new(&cfg);
		CHECK(sim, sim_connect(sim, 10000 * MS));
		CHECK(sim, sim_pump(sim, 8, 4, 1 << 18, 1 << 18, NULL));
		for (unsigned e = 0; e < 2; e++)
			CHECK(sim, sim->ends[e].events[RUDP_PATH_GSO] == 0);
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
}

static void shrink_both(struct sim *sim)
{
	sim->cfg.path_mtu[0] = sim->cfg.path_mtu[1] = 1500;
}

static void shrink_one(struct sim *sim)
{
	sim->cfg.path_mtu[0] = 1500;
}

static void shrink_requests(struct sim *sim)
{
	sim->ends[1].links[0].out_mtu = sim->ends[1].links[1].out_mtu = 1500;
}

static void shrink_responses(struct sim *sim)
{
	sim->ends[SIM_SERVER].links[0].out_mtu = 4096;
	sim->ends[SIM_SERVER].links[1].out_mtu = 1500;
}

/* The fabric shrinks under load: messages still arrive without long delays; after the repair large
 * packets are used again. */
static void a_shrinking_mtu_does_not_delay_calls(void **state)
{
	static void (*const shrink[])(struct sim *) = {shrink_both, shrink_one, shrink_requests,
						       shrink_responses};

	for (unsigned k = 0; k < 2 * ARRAY_SIZE(shrink); k++) {
		struct sim_config cfg = sim_clean;
		bool reads = k % 2;
		struct sim *sim;

		cfg.mtu = 9000;
		cfg.legs = k / 2 == 0 ? 1 : 2;
		sim = sim_new(&cfg);
		CHECK(sim, sim_connect(sim, 100 * MS));
		CHECK(sim, sim_pump(sim, 200, 8, reads ? 64 : 1 << 20, reads ? 1 << 20 : 64,
				    shrink[k / 2]));
		print_message("# the fabric shrinks, %s: longest gap %.3f ms\n",
			      reads ? "reads" : "writes", (double)sim->longest_gap_ns / 1e6);
		CHECK(sim, sim->longest_gap_ns < 50 * MS);
		CHECK(sim, sim_pump(sim, 50, 8, 1 << 20, 1 << 20, NULL));
		for (unsigned e = 0; e < 2; e++)
			CHECK(sim, sim->ends[e].events[RUDP_PATH_DOWN] == 0);
		memset(sim->cfg.path_mtu, 0, sizeof(sim->cfg.path_mtu));
		for (unsigned e = 0; e < 2; e++)
			for (unsigned l = 0; l < 2; l++)
				sim->ends[e].links[l].out_mtu = 0;
		CHECK(sim, sim_pass(sim, 2 * SEC));
		for (unsigned e = 0; e < 2; e++)
			for (unsigned l = 0; l < cfg.legs; l++)
				CHECK(sim, mtu_of(sim, e, l) == 9000);
		CHECK(sim, sim_pump(sim, 50, 8, 1 << 20, 1 << 20, NULL));
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
}

/* The fabric shrinks while large messages go one way only. The other direction detects it soon and
 * reports it, so a large message there is not delayed; nor for long if it is sent earlier. */
static void a_shrinking_mtu_is_found_without_own_traffic(void **state)
{
	for (unsigned k = 0; k < 4; k++) {
		struct sim_config cfg = sim_clean;
		bool reads = k % 2, early = k / 2;
		unsigned idle = reads ? 1 : SIM_SERVER;
		struct sim *sim;

		cfg.mtu = 9000;
		sim = sim_new(&cfg);
		CHECK(sim, sim_connect(sim, 100 * MS));
		CHECK(sim, sim_pump(sim, 100, 8, 1 << 20, 1 << 20, NULL));
		(reads ? shrink_requests : shrink_responses)(sim);
		for (unsigned i = 0; i < (early ? 1 : 240); i++) {
			CHECK(sim, sim_pump(sim, 2, 1, reads ? 64 : 1 << 20, reads ? 1 << 20 : 64,
					    NULL));
			CHECK(sim, sim_pass(sim, 50 * MS));
		}
		if (!early) {
			CHECK(sim, sim->ends[idle].events[RUDP_PATH_MTU] == 2);
			CHECK(sim, mtu_of(sim, idle, 1) == 1500);
			CHECK(sim, mtu_of(sim, idle, 0) == (reads ? 1500 : 4096));
		}
		CHECK(sim, mtu_of(sim, !idle, 0) == 9000 && mtu_of(sim, !idle, 1) == 9000);
		sim->longest_gap_ns = 0;
		for (unsigned i = 0; i < 20; i++) /* one packet each, with nothing behind it */
			CHECK(sim, sim_pump(sim, 1, 1, reads ? 8000 : 64, reads ? 64 : 8000, NULL));
		CHECK(sim, sim->longest_gap_ns < (early ? 50 : 2) * MS);
		CHECK(sim, sim_pump(sim, 20, 4, 1 << 20, 1 << 20, NULL));
		print_message("# the fabric shrinks unseen, %s%s: longest gap %.3f ms\n",
			      reads ? "reads" : "writes", early ? ", at once" : "",
			      (double)sim->longest_gap_ns / 1e6);
		CHECK(sim, sim->longest_gap_ns < 50 * MS);
		for (unsigned e = 0; e < 2; e++)
			CHECK(sim, sim->ends[e].events[RUDP_PATH_DOWN] == 0);
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
}

static void call_small(struct sim *sim, unsigned client)
{
	(void)sim_call(sim, client, 100, 4096, 1000);
}

/* Time from the repair of a client's second leg until it carries again. */
static uint64_t mended_after(struct sim *sim, bool announced)
{
	const struct sim_end *client = &sim->ends[1];
	unsigned ups = client->events[RUDP_PATH_UP];
	uint64_t since = sim->now;

	sim_leg(sim, 1, 1, true, announced);
	while (client->events[RUDP_PATH_UP] == ups)
		CHECK(sim, sim_pass(sim, 10 * MS) && sim->now < since + 100 * SEC);
	return sim->now - since;
}

/* A repaired leg carries data again after a second, or after two seconds if it fails again soon.
 * The wait does not grow with the number of earlier failures. */
static void a_repaired_leg_is_used_after_its_hold_time(void **state)
{
	struct sim *sim = sim_new(&sim_clean);
	const struct sim_end *client = &sim->ends[1];

	CHECK(sim, sim_connect(sim, 100 * MS));
	CHECK(sim, sim_pass(sim, 10 * MS));
	for (unsigned i = 0; i < 24; i++) {
		bool steady = i % 12 == 0;
		uint64_t wait;

		if (steady)
			CHECK(sim, sim_pass(sim, 20 * SEC));
		sim_leg(sim, 1, 1, false, i % 2);
		CHECK(sim, sim_pump(sim, 10, 2, 1000, 1 << 20, NULL));
		CHECK(sim, client->events[RUDP_PATH_DOWN] == i + 1);
		wait = mended_after(sim, i % 2);
		CHECK(sim, wait > (steady ? 900 : 1900) * MS);
		CHECK(sim, wait < (steady ? 1200 : 2200) * MS);
	}
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

static void unplug_late(struct sim *sim)
{
	sim_stall(sim, 1, MS);
	CHECK(sim, sim_pass(sim, MS / 2)); /* arrived packets have not been read yet */
	sim_leg(sim, 1, 1, false, true);
}

/* Cables are unplugged under load: packets that arrived before, and are read after, are no answers
 * of the leg. It is held for its time after its return, however long it was away. */
static void late_answers_do_not_revive_a_leg(void **state)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct sim_config cfg = sim_clean;
		struct sim *sim;

		cfg.seed = seed;
		sim = sim_new(&cfg);
		CHECK(sim, sim_connect(sim, 100 * MS));
		CHECK(sim, sim_pass(sim, 10 * MS));
		CHECK(sim, sim_pump(sim, 40 + (unsigned)seed, 8, 1 << 18, 1 << 18, unplug_late));
		CHECK(sim, sim_pass(sim, 5 * SEC));
		CHECK(sim, mended_after(sim, true) > 900 * MS);
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
}

/*
 * A leg that flaps under load. If faster than its hold time, it is avoided after a turn or two; if
 * slower, each turn costs a short pause only, and more is done than without the leg.
 */
static void a_flapping_leg_costs_little(void **state)
{
	static const struct {
		uint64_t up_ns, down_ns;
		unsigned falls_most;
		bool announced;
	} how[] = {
		{300 * MS, 30 * MS, 1, true},	  {900 * MS, 500 * MS, 1, false},
		{1900 * MS, 300 * MS, 2, true},	  {1900 * MS, 500 * MS, 2, false},
		{1600 * MS, 500 * MS, 2, false},  {3000 * MS, 300 * MS, 12, true},
		{3000 * MS, 500 * MS, 12, false},
	};

	for (unsigned k = 0; k < ARRAY_SIZE(how); k++) {
		struct sim_config cfg = sim_clean;
		struct sim *sim;
		const struct sim_end *client;

		cfg.bits_per_s = 10000000; /* few packets: this is about long times */
		cfg.queue_bytes = 0;
		sim = sim_new(&cfg);
		client = &sim->ends[1];
		CHECK(sim, sim_connect(sim, 100 * MS) && sim_pass(sim, SEC));
		sim->on_done = call_small;
		call_small(sim, 1);
		for (unsigned i = 0; i < 12; i++) {
			sim_leg(sim, 1, 1, false, how[k].announced);
			CHECK(sim, sim_pass(sim, how[k].down_ns));
			sim_leg(sim, 1, 1, true, how[k].announced);
			CHECK(sim, sim_pass(sim, how[k].up_ns));
		}
		sim->on_done = NULL;
		CHECK(sim, sim_finish(sim, SEC));
		print_message("# up for %4u ms, down for %3u: %2u falls, longest gap %.3f ms\n",
			      (unsigned)(how[k].up_ns / MS), (unsigned)(how[k].down_ns / MS),
			      client->events[RUDP_PATH_DOWN], (double)sim->longest_gap_ns / 1e6);
		CHECK(sim, client->events[RUDP_PATH_DOWN] <= how[k].falls_most);
		CHECK(sim, sim->longest_gap_ns < (how[k].announced ? 10 : 50) * MS);
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
}

/* Flaps until both ends of the leg hold it back for longer. */
static void flap(struct sim *sim)
{
	for (unsigned i = 0; i < 2; i++) {
		unsigned ups = sim->ends[1].events[RUDP_PATH_UP];
		unsigned ours = sim->ends[SIM_SERVER].events[RUDP_PATH_UP];

		sim_leg(sim, 1, 1, false, true);
		CHECK(sim, sim_pass(sim, 10 * MS));
		sim_leg(sim, 1, 1, true, true);
		if (i == 1)
			break;
		while (sim->ends[1].events[RUDP_PATH_UP] == ups ||
		       sim->ends[SIM_SERVER].events[RUDP_PATH_UP] == ours)
			CHECK(sim, sim_pass(sim, 10 * MS));
	}
}

static void stall_client(struct sim *sim, uint64_t ns)
{
	sim_stall(sim, 1, ns);
	CHECK(sim, sim_pass(sim, ns));
}

static void stall_server(struct sim *sim, uint64_t ns)
{
	sim_stall(sim, SIM_SERVER, ns);
	CHECK(sim, sim_pass(sim, ns));
}

static void lose_most(struct sim *sim, uint64_t ns)
{
	sim->ends[1].links[1].out_loss = (uint32_t)ns;
}

static void cut_leg(struct sim *sim, uint64_t ns)
{
	sim_leg(sim, 1, 1, false, false);
	CHECK(sim, sim_pass(sim, ns));
	sim_leg(sim, 1, 1, true, false);
}

/*
 * A held leg returns although the hosts, or the leg, are late for a moment each second; but not if
 * it is silent for longer, or loses most packets.
 */
static void a_held_leg_returns_despite_late_hosts(void **state)
{
	static const struct {
		void (*harm)(struct sim *, uint64_t);
		uint64_t ns, delay_ns;
		bool load, back;
	} how[] = {
		{stall_client, 700 * MS, 20 * US, true, true},
		{stall_client, 700 * MS, 20 * US, false, true},
		{stall_server, 900 * MS, 20 * US, true, true},
		{stall_server, 900 * MS, 20 * US, false, true},
		{cut_leg, 200 * MS, 20 * US, true, true},
		{cut_leg, 200 * MS, 20 * US, false, true},
		{cut_leg, 1, 200 * MS, false, true},
		{lose_most, 200000, 20 * US, false, true}, /* per million packets */
		{lose_most, 700000, 20 * US, false, false},
		{cut_leg, 500 * MS, 20 * US, true, false},
		{cut_leg, 500 * MS, 20 * US, false, false},
	};

	for (unsigned k = 0; k < ARRAY_SIZE(how); k++) {
		struct sim_config cfg = sim_clean;
		struct sim *sim;
		unsigned ups[2];

		cfg.delay_ns = how[k].delay_ns;
		sim = sim_new(&cfg);
		CHECK(sim, sim_connect(sim, 5 * SEC) && sim_pass(sim, SEC));
		flap(sim);
		for (unsigned e = 0; e < 2; e++)
			ups[e] = sim->ends[e].events[RUDP_PATH_UP];
		/* Until it returns; if it must not, for several times as long. */
		for (unsigned i = 0; i < (how[k].back ? 4U : 20U); i++) {
			how[k].harm(sim, how[k].ns);
			if (how[k].load)
				CHECK(sim, sim_pump(sim, 4, 2, 1000, 1 << 18, NULL));
			CHECK(sim, sim_pass(sim, 700 * MS));
		}
		for (unsigned e = 0; e < 2; e++)
			CHECK(sim, (sim->ends[e].events[RUDP_PATH_UP] > ups[e]) == how[k].back);
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
}

/* A client with two legs and calls in flight; the second leg is repaired already, and held. */
static struct sim *mending_world(unsigned depth)
{
	struct sim *sim = sim_new(&sim_clean);

	CHECK(sim, sim_connect(sim, 100 * MS) && sim_pass(sim, SEC));
	sim_leg(sim, 1, 1, false, true);
	CHECK(sim, sim_pass(sim, 10 * MS));
	sim_leg(sim, 1, 1, true, true);
	sim->on_done = call_small;
	for (unsigned i = 0; i < depth; i++)
		call_small(sim, 1);
	return sim;
}

static void mending_world_end(struct sim *sim)
{
	sim->on_done = NULL;
	CHECK(sim, sim_finish(sim, SEC));
	for (unsigned e = 0; e < 2; e++) /* only the affected leg */
		CHECK(sim, sim->ends[e].events[RUDP_PATH_DOWN] == 1);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* A leg returns while the peer is late, as busy hosts are: its return proves nothing about the
 * peer, which is silent on both legs. The other leg stays up. */
static void a_late_peer_does_not_blame_the_other_leg(void **state)
{
	for (unsigned early = 2; early <= 42; early += 4) {
		struct sim *sim = mending_world(1);

		CHECK(sim, sim_pass(sim, (1000 - early) * MS));
		CHECK(sim, sim->ends[1].events[RUDP_PATH_UP] == 2);
		stall_server(sim, 45 * MS);
		CHECK(sim, sim->ends[1].events[RUDP_PATH_UP] == 3);
		CHECK(sim, sim_pass(sim, 200 * MS));
		mending_world_end(sim);
	}
}

/* The peer is late and loses what arrived on one leg: once it answers on the other leg, the first
 * is probed again before it goes down. */
static void a_silent_leg_is_probed_before_it_goes_down(void **state)
{
	for (unsigned ms = 5; ms <= 100; ms += 5) {
		struct sim *sim = mending_world(16);
		struct sim_link *link = &sim->ends[SIM_SERVER].links[0];

		CHECK(sim, sim_pass(sim, 1500 * MS));
		link->cut_in = true;
		CHECK(sim, sim_pass(sim, 2 * MS)); /* earlier packets are answered */
		stall_server(sim, ms * MS);
		link->cut_in = false;
		CHECK(sim, sim_pass(sim, 200 * MS));
		mending_world_end(sim);
	}
}

/* The active leg falls silent while the other is held: that one answers, so it is used. */
static void a_held_leg_replaces_a_silent_one(void **state)
{
	for (unsigned end = 0; end < 2; end++) {
		struct sim *sim = mending_world(4);

		CHECK(sim, sim_pass(sim, 300 * MS));
		CHECK(sim, sim->ends[1].events[RUDP_PATH_UP] == 2);
		sim_leg(sim, end, 0, false, false);
		CHECK(sim, sim_pass(sim, 600 * MS));
		sim->on_done = NULL;
		CHECK(sim, sim_finish(sim, 5 * SEC));
		print_message("# silent while the other is held: longest gap %.3f ms\n",
			      (double)sim->longest_gap_ns / 1e6);
		CHECK(sim, sim->longest_gap_ns < 100 * MS);
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
}

struct rough {
	uint64_t delay_ns, jitter_ns, server_delay_ns, reorder_ns, hold_ns;
	uint32_t reorder, hold, burst;
};

static void call_again(struct sim *sim, unsigned client)
{
	(void)sim_call(sim, client, (uint32_t)sim_random(sim, 6000),
		       (uint32_t)sim_random(sim, 40000), 0);
}

/* Retransmissions of the clients. */
static uint64_t sent_again(const struct sim *sim)
{
	uint64_t n = 0;

	for (unsigned e = 1; e <= sim->cfg.clients; e++) {
		struct rudp_path_info paths[SIM_LEGS_MAX];
		unsigned n_paths = rudp_session_paths(sim->ends[e].session, paths, SIM_LEGS_MAX);

		for (unsigned i = 0; i < n_paths; i++)
			n += paths[i].retransmits;
	}
	return n;
}

/* Random delay per packet and path, links that stall and lose bursts: every call ends, no path goes
 * down, and few packets are retransmitted needlessly. Returns the calls answered in 30 ms. */
static unsigned rough_way(const struct rough *w, uint64_t seed)
{
	struct sim_config cfg = {.seed = seed,
				 .legs = 2,
				 .clients = 3,
				 .bits_per_s = 10000000000ULL,
				 .delay_ns = 20 * US + w->delay_ns,
				 .jitter_ns = w->jitter_ns,
				 .server_delay_ns = w->server_delay_ns,
				 .reorder = w->reorder,
				 .reorder_ns = w->reorder_ns,
				 .hold = w->hold,
				 .hold_ns = w->hold_ns,
				 .burst = w->burst,
				 .burst_packets = 6};
	struct sim *sim = sim_new(&cfg);
	uint64_t packets = 0, dropped = 0, again;
	unsigned calls;

	CHECK(sim, sim_connect(sim, SEC));
	sim->on_done = call_again;
	for (unsigned e = 1; e <= cfg.clients; e++)
		for (unsigned i = 0; i < 8; i++)
			call_again(sim, e);
	CHECK(sim, sim_pass(sim, 30 * MS));
	calls = sim->n_calls - sim->n_open;
	sim->on_done = NULL;
	CHECK(sim, sim_finish(sim, SEC));
	for (unsigned e = 1; e <= cfg.clients; e++) {
		CHECK(sim, sim->ends[e].events[RUDP_PATH_DOWN] == 0);
		for (unsigned l = 0; l < cfg.legs; l++) {
			packets += sim->ends[e].links[l].packets;
			dropped += sim->ends[e].links[l].dropped;
		}
	}
	again = sent_again(sim);
	print_message("# jitter %4u us, back %5u us: %u calls; %6llu packets, %4llu dropped, "
		      "%4llu retransmitted\n",
		      (unsigned)(w->jitter_ns / US), (unsigned)(w->server_delay_ns / US), calls,
		      (unsigned long long)packets, (unsigned long long)dropped,
		      (unsigned long long)again);
	CHECK(sim, again <= dropped + packets / 50 + 20);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
	return calls;
}

static void rough_networks_take_no_path_down(void **state)
{
	static const struct rough ways[] = {
		{.jitter_ns = 50 * US},
		{.jitter_ns = 500 * US},
		{.jitter_ns = 3 * MS},
		{.server_delay_ns = 2 * MS},
		{.server_delay_ns = 10 * MS, .jitter_ns = MS},
		{.reorder = 100000, .reorder_ns = 200 * US},
		{.reorder = 300000, .reorder_ns = 2 * MS},
		{.hold = 2000, .hold_ns = MS},
		{.hold = 500, .hold_ns = 5 * MS, .jitter_ns = 100 * US},
		{.burst = 3000},
		{.burst = 3000, .jitter_ns = 300 * US, .reorder = 50000, .reorder_ns = MS},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(ways); i++)
		rough_way(&ways[i], i + 1);
}

/* Jitter is not a queue: with random delays the throughput is nearly that with constant delays of
 * the same average. */
static void jitter_does_not_cost_throughput(void **state)
{
	for (unsigned us = 50; us <= 3200; us *= 4) {
		unsigned noisy = rough_way(&(struct rough){.jitter_ns = us * US}, us);
		unsigned steady = rough_way(&(struct rough){.delay_ns = us * US / 2}, us);

		assert_true(2 * noisy > steady);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(late_packets_of_an_old_incarnation_are_ignored),
		cmocka_unit_test(a_restart_during_the_handshake_gives_one_session),
		cmocka_unit_test(a_pause_ends_with_its_session),
		cmocka_unit_test(a_client_connects_after_lost_handshake_packets),
		cmocka_unit_test(the_path_mtu_of_a_narrow_fabric_is_found),
		cmocka_unit_test(lost_gso_bursts_are_detected),
		cmocka_unit_test(random_loss_does_not_disable_gso),
		cmocka_unit_test(a_smaller_path_mtu_is_found_on_idle_paths),
		cmocka_unit_test(a_shrinking_mtu_does_not_delay_calls),
		cmocka_unit_test(a_shrinking_mtu_is_found_without_own_traffic),
		cmocka_unit_test(a_repaired_leg_is_used_after_its_hold_time),
		cmocka_unit_test(late_answers_do_not_revive_a_leg),
		cmocka_unit_test(a_flapping_leg_costs_little),
		cmocka_unit_test(a_held_leg_returns_despite_late_hosts),
		cmocka_unit_test(a_late_peer_does_not_blame_the_other_leg),
		cmocka_unit_test(a_silent_leg_is_probed_before_it_goes_down),
		cmocka_unit_test(a_held_leg_replaces_a_silent_one),
		cmocka_unit_test(rough_networks_take_no_path_down),
		cmocka_unit_test(jitter_does_not_cost_throughput),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
