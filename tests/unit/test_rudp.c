/* SPDX-License-Identifier: BSD-3-Clause */
/* rudp in the simulator. PLENUM_RUDP_SEED runs the random worlds with that seed only;
 * PLENUM_RUDP_FROM and PLENUM_RUDP_RUNS run that many seeds from there on. */
#include "tests/lib/rudp/rudp_worlds.h"

#ifdef __SANITIZE_ADDRESS__
#define RUNS 150
#else
#define RUNS 5000
#endif

static void messages_of_all_sizes_arrive_intact(void **state)
{
	struct sim *sim = sim_new(&sim_clean);

	CHECK(sim, sim_connect(sim, 100 * MS));
	for (unsigned i = 0; i < 100; i++)
		assert_true(sim_call(sim, 1, 100 + i * 97, 100 + i * 211, 0));
	CHECK(sim, sim_finish(sim, SEC));
	for (unsigned i = 0; i < 20; i++)
		assert_true(
			sim_call(sim, 1, RUDP_MSG_BYTES_MAX, i % 2 ? 16 : RUDP_MSG_BYTES_MAX, 50));
	CHECK(sim, sim_finish(sim, SEC));
	for (unsigned i = 0; i < sim->n_calls; i++)
		assert_int_equal(sim->calls[i].status, 0);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

static double gbits(const struct sim *sim, uint64_t since, uint64_t bytes)
{
	return (double)bytes * 8 / (double)(sim->now - since);
}

/* Gb/s of 1 MiB requests, or responses, over links of 10 Gb/s each. */
static double throughput(unsigned legs, uint32_t loss, bool reads, uint64_t *ret_share)
{
	struct sim_config cfg = sim_clean;
	struct sim *sim;
	uint64_t since;
	double res;
	unsigned n = 200;

	cfg.legs = legs;
	cfg.loss = loss;
	cfg.delay_ns = 20 * US;
	sim = sim_new(&cfg);
	CHECK(sim, sim_connect(sim, 100 * MS));
	CHECK(sim, sim_pass(sim, 10 * MS));
	since = sim->now;
	CHECK(sim, sim_pump(sim, n, 8, reads ? 64 : 1 << 20, reads ? 1 << 20 : 64, NULL));
	res = gbits(sim, since, (uint64_t)n << 20);
	if (ret_share) {
		const struct sim_link *l = sim->ends[reads ? SIM_SERVER : 1].links;

		*ret_share = MIN_OF(l[0].bytes, l[1].bytes) * 100 / (l[0].bytes + l[1].bytes);
	}
	CHECK(sim, sim_close(sim));
	sim_free(sim);
	return res;
}

static void throughput_reaches_the_links_rate(void **state)
{
	uint64_t share[2];
	double one_w = throughput(1, 0, false, NULL), one_r = throughput(1, 0, true, NULL);
	double lossy = throughput(1, 10000, false, NULL),
	       lossy_r = throughput(1, 10000, true, NULL);
	double two_w = throughput(2, 0, false, &share[0]);
	double two_r = throughput(2, 0, true, &share[1]);

	print_message("# Gb/s: 1 leg %.2f write %.2f read; 1%% loss %.2f %.2f; 2 legs %.2f %.2f, "
		      "smaller share %d%% %d%%\n",
		      one_w, one_r, lossy, lossy_r, two_w, two_r, (int)share[0], (int)share[1]);
	assert_true(one_w > 8 && one_r > 8);
	assert_true(lossy > 5 && lossy_r > 5);
	assert_true(two_w > 14 && two_r > 14);
	assert_true(share[0] > 30 && share[1] > 30);
}

static void cut_announced(struct sim *sim)
{
	sim_leg(sim, 1, 0, false, true);
}

static void cut_silently(struct sim *sim)
{
	sim_leg(sim, SIM_SERVER, 0, false, false);
}

static void failover(bool announced, uint32_t req_len, uint32_t resp_len, unsigned depth,
		     uint64_t most_ns)
{
	struct sim *sim = sim_new(&sim_clean);
	struct sim_end *client = &sim->ends[1];
	uint64_t before[2], total;

	CHECK(sim, sim_connect(sim, 100 * MS));
	CHECK(sim, sim_pass(sim, 10 * MS));
	assert_int_equal(client->events[RUDP_PATH_UP], 2);
	CHECK(sim, sim_pump(sim, 300, depth, req_len, resp_len,
			    announced ? cut_announced : cut_silently));
	CHECK(sim, sim_pass(sim, 100 * MS));
	print_message("# %s, %u/%u bytes x %u: gap %.3f ms, pauses %.3f %.3f ms\n",
		      announced ? "announced" : "silent", req_len, resp_len, depth,
		      (double)sim->longest_gap_ns / 1e6, (double)sim_longest_pause(sim, 1) / 1e6,
		      (double)sim_longest_pause(sim, SIM_SERVER) / 1e6);
	CHECK(sim, sim->longest_gap_ns < most_ns);
	CHECK(sim, client->events[RUDP_PATH_DOWN] == 1);
	CHECK(sim,
	      sim_longest_pause(sim, 1) < most_ns && sim_longest_pause(sim, SIM_SERVER) < most_ns);
	/* it carries again after the hold time */
	sim_leg(sim, 1, 0, true, announced);
	sim_leg(sim, SIM_SERVER, 0, true, false);
	CHECK(sim, sim_pass(sim, 500 * MS));
	CHECK(sim, client->events[RUDP_PATH_UP] == 2);
	CHECK(sim, sim_pass(sim, 700 * MS));
	CHECK(sim, client->events[RUDP_PATH_UP] == 3);
	for (unsigned i = 0; i < 2; i++)
		before[i] = client->links[i].bytes + sim->ends[SIM_SERVER].links[i].bytes;
	CHECK(sim, sim_pump(sim, 100, 8, 1 << 20, 64, NULL));
	for (unsigned i = 0; i < 2; i++)
		before[i] =
			client->links[i].bytes + sim->ends[SIM_SERVER].links[i].bytes - before[i];
	total = before[0] + before[1];
	CHECK(sim, before[0] * 100 > total * 30 && before[1] * 100 > total * 30);
	for (unsigned i = 0; i < sim->n_calls; i++)
		CHECK(sim, sim->calls[i].status == 0);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

static void calls_survive_a_failover(void **state)
{
	failover(true, 1 << 20, 64, 8, 10 * MS);
	failover(true, 64, 1 << 20, 8, 10 * MS);
	failover(true, 100, 4096, 1, 10 * MS);
	failover(true, 100, 4096, 16, 10 * MS);
	failover(false, 1 << 20, 64, 8, 50 * MS);
	failover(false, 64, 1 << 20, 8, 50 * MS);
	failover(false, 100, 4096, 1, 50 * MS);
	failover(false, 100, 4096, 16, 50 * MS);
}

/* The server restarts with calls in every state; the client reconnects by itself. */
static void a_client_reconnects_after_a_server_restart(void **state)
{
	struct sim *sim = sim_new(&sim_clean);
	struct sim_end *client = &sim->ends[1];
	unsigned reset = 0, fine = 0;
	uint32_t epoch;

	CHECK(sim, sim_connect(sim, 100 * MS));
	for (unsigned i = 0; i < 60; i++)
		assert_true(sim_call(sim, 1, i % 3 ? 100 : 1 << 20, i % 2 ? 100 : 1 << 20, i * 10));
	CHECK(sim, sim_pass(sim, 2 * MS));
	sim_restart(sim, SIM_SERVER);
	CHECK(sim, sim_finish(sim, SEC));
	for (unsigned i = 0; i < sim->n_calls; i++) {
		reset += sim->calls[i].status == -ECONNRESET;
		fine += sim->calls[i].status == 0;
	}
	assert_int_equal(reset + fine, 60);
	assert_true(reset > 0 && fine > 0);
	CHECK(sim, sim_pass(sim, 100 * MS));
	assert_int_equal(client->events[RUDP_SESSION_RESTARTED], 1);
	assert_int_equal(client->events[RUDP_SESSION_UP], 2);
	assert_int_equal(rudp_session_peer(client->session, &epoch), 100);
	assert_int_equal(epoch, 2);
	CHECK(sim, sim_pump(sim, 50, 4, 10000, 10000, NULL));
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* The client restarts: its new incarnation ends the previous session at once. */
static void a_restarted_client_replaces_its_old_session(void **state)
{
	struct sim *sim = sim_new(&sim_clean);
	struct sim_end *server = &sim->ends[SIM_SERVER];

	CHECK(sim, sim_connect(sim, 100 * MS));
	for (unsigned i = 0; i < 8; i++)
		assert_true(sim_call(sim, 1, 1 << 20, 1 << 20, 1000));
	CHECK(sim, sim_pass(sim, 3 * MS));
	for (unsigned i = 0; i < sim->n_calls; i++) /* the process of the callers has ended too */
		sim_abandon(sim, i);
	sim_restart(sim, 1);
	CHECK(sim, sim_connect(sim, 100 * MS));
	CHECK(sim, sim_pump(sim, 20, 4, 10000, 10000, NULL));
	assert_int_equal(server->events[RUDP_SESSION_RESTARTED], 1);
	assert_int_equal(server->events[RUDP_SESSION_CLOSED], 1);
	CHECK(sim, sim_close(sim));
	assert_int_equal(server->events[RUDP_SESSION_CLOSED], 2);
	sim_free(sim);
}

/* The peer is silent: the session is lost, calls end, and it reconnects when the peer answers. */
static void a_lost_session_ends_its_calls_and_reconnects(void **state)
{
	struct sim *sim = sim_new(&sim_clean);
	struct sim_end *client = &sim->ends[1], *server = &sim->ends[SIM_SERVER];

	CHECK(sim, sim_connect(sim, 100 * MS));
	CHECK(sim, sim_pass(sim, 50 * MS));
	for (unsigned l = 0; l < 2; l++)
		sim_leg(sim, SIM_SERVER, l, false, false);
	assert_true(sim_call(sim, 1, 100, 100, 0));
	CHECK(sim, sim_finish(sim, 6 * SEC));
	assert_int_equal(sim->calls[0].status, -ECONNRESET);
	assert_true(sim->now - sim->calls[0].sent_ns > 4 * SEC);
	assert_int_equal(client->events[RUDP_SESSION_LOST], 1);
	CHECK(sim, sim_pass(sim, 2 * SEC));
	assert_int_equal(server->events[RUDP_SESSION_LOST], 1);
	assert_false(rudp_session_is_up(client->session));
	assert_true(sim_call(sim, 1, 100, 100, 0)); /* queued */
	for (unsigned l = 0; l < 2; l++)
		sim_leg(sim, SIM_SERVER, l, true, false);
	CHECK(sim, sim_finish(sim, SEC));
	assert_int_equal(sim->calls[1].status, 0);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* Threads are scheduled late. No packet is lost and no path goes down. */
static void late_threads_do_not_take_paths_down(void **state)
{
	struct sim *sim = sim_new(&sim_clean);
	struct rudp_path_info info[RUDP_PATHS_MAX];
	uint64_t since;

	CHECK(sim, sim_connect(sim, 100 * MS));
	CHECK(sim, sim_pump(sim, 100, 8, 1 << 20, 64, NULL));
	for (unsigned i = 0; i < 50; i++) {
		while (sim->n_open < 8)
			assert_true(sim_call(sim, 1, 1 << 20, 64, 0));
		sim_stall(sim, i % 2, 20 * MS);
		CHECK(sim, sim_pass(sim, 25 * MS));
	}
	CHECK(sim, sim_finish(sim, SEC));
	for (unsigned e = 0; e < 2; e++)
		CHECK(sim, sim->ends[e].events[RUDP_PATH_DOWN] == 0);
	assert_int_equal(rudp_session_paths(sim->ends[1].session, info, RUDP_PATHS_MAX), 2);
	print_message(
		"# after stalls: cwnd %u %u, lost %llu %llu, resent %llu %llu\n",
		info[0].cwnd_bytes, info[1].cwnd_bytes, (unsigned long long)info[0].lost_packets,
		(unsigned long long)info[1].lost_packets, (unsigned long long)info[0].retransmits,
		(unsigned long long)info[1].retransmits);
	assert_true(info[0].cwnd_bytes >= 64 << 10 && info[1].cwnd_bytes >= 64 << 10);
	since = sim->now;
	CHECK(sim, sim_pump(sim, 100, 8, 1 << 20, 64, NULL));
	assert_true(gbits(sim, since, 100ULL << 20) > 10);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* Hosts that take as long to send a window as a switch would to hold it: there is no queue, and the
 * window must not shrink. */
static void slow_hosts_do_not_shrink_the_window(void **state)
{
	struct sim_config cfg = sim_clean;
	struct rudp_path_info info[RUDP_PATHS_MAX];
	struct sim *sim;
	uint64_t since;

	cfg.bits_per_s = 100 * cfg.bits_per_s;
	cfg.send_bits_per_s = 40000000000ULL;
	cfg.delay_ns = 5 * US;
	sim = sim_new(&cfg);
	CHECK(sim, sim_connect(sim, 100 * MS));
	CHECK(sim, sim_pump(sim, 200, 4, 1 << 20, 64, NULL));
	since = sim->now;
	CHECK(sim, sim_pump(sim, 200, 4, 1 << 20, 64, NULL));
	assert_int_equal(rudp_session_paths(sim->ends[1].session, info, RUDP_PATHS_MAX), 2);
	print_message("# slow hosts: cwnd %u %u, %.1f Gb/s\n", info[0].cwnd_bytes,
		      info[1].cwnd_bytes, gbits(sim, since, 200ULL << 20));
	assert_true(info[0].cwnd_bytes >= 256 << 10 && info[1].cwnd_bytes >= 256 << 10);
	assert_true(gbits(sim, since, 200ULL << 20) > 30);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* Gb/s of bulk data in frames of 9000 bytes between hosts that poll every turn_us. */
static double seldom(unsigned turn_us, uint32_t loss, bool reads, uint64_t seed)
{
	struct sim_config cfg = sim_clean;
	uint32_t req = reads ? 64 : 1 << 20, resp = reads ? 1 << 20 : 64;
	struct sim *sim;
	uint64_t since;
	double r;

	cfg.seed = seed;
	cfg.legs = 1;
	cfg.mtu = 9000;
	cfg.jitter_ns = US;
	cfg.turn_ns = turn_us * US;
	cfg.loss = loss;
	sim = sim_new(&cfg);
	CHECK(sim, sim_connect(sim, 100 * MS));
	CHECK(sim, sim_pump(sim, 50, 4, req, resp, NULL));
	since = sim->now;
	CHECK(sim, sim_pump(sim, 100, 4, req, resp, NULL));
	r = gbits(sim, since, 100ULL << 20);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
	return r;
}

/* A window of a few large packets, too few for an unsolicited acknowledgement: the sender must not
 * wait for one that the peer delays for more packets. */
static void rare_polls_do_not_stall_bulk_data(void **state)
{
	static const unsigned turns_us[] = {10, 20};
	double least = 100, least_lossy = 100;

	for (unsigned i = 0; i < 2 * ARRAY_SIZE(turns_us); i++)
		for (uint64_t seed = 1; seed <= 4; seed++) {
			double r = seldom(turns_us[i / 2], 0, i % 2, seed);
			double lossy = seldom(turns_us[i / 2], 10000, i % 2, seed);

			least = MIN_OF(least, r);
			least_lossy = MIN_OF(least_lossy, lossy);
		}
	print_message("# hosts that look every 10 to 20 us: %.2f Gb/s at least, %.2f at 1%% loss\n",
		      least, least_lossy);
	assert_true(least > 6 && least_lossy > 4);
}

/* Big requests stay within the memory limit, and small ones pass them. */
static void big_requests_stay_within_their_memory_limit(void **state)
{
	struct sim_config cfg = sim_clean;
	struct sim *sim;
	uint64_t most = 0;

	cfg.limits.rx_bytes_per_session = 4U << 20;
	sim = sim_new(&cfg);
	CHECK(sim, sim_connect(sim, 100 * MS));
	for (unsigned i = 0; i < 100; i++)
		assert_true(sim_call(sim, 1, 1 << 20, 64, 3000));
	CHECK(sim, sim_pass(sim, 5 * MS));
	for (unsigned i = 0; i < 50; i++) {
		unsigned cookie = sim->n_calls;

		assert_true(sim_call(sim, 1, 100, 4096, 0));
		CHECK(sim, sim_pass(sim, MS));
		assert_int_equal(sim->calls[cookie].state, SIM_CALL_DONE);
		most = MAX_OF(most, sim->calls[cookie].done_ns - sim->calls[cookie].sent_ns);
	}
	CHECK(sim, sim_finish(sim, SEC));
	/* small requests do not count */
	assert_true(sim->ends[SIM_SERVER].request_bytes_most <= (4U << 20) + 50 * 100);
	assert_true(sim->ends[SIM_SERVER].request_bytes_most >= 3U << 20);
	print_message("# small beside big: at most %.3f ms\n", (double)most / 1e6);
	assert_true(most < MS);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

static void idle_sessions_send_only_keepalives(void **state)
{
	struct sim *sim = sim_new(&sim_clean);
	uint64_t turns[2];

	CHECK(sim, sim_connect(sim, 100 * MS));
	CHECK(sim, sim_pump(sim, 20, 4, 10000, 10000, NULL));
	CHECK(sim, sim_pass(sim, 100 * MS));
	for (unsigned i = 0; i < 2; i++)
		turns[i] = sim->ends[i].turns;
	CHECK(sim, sim_pass(sim, 60 * SEC));
	for (unsigned i = 0; i < 2; i++) {
		turns[i] = sim->ends[i].turns - turns[i];
		CHECK(sim, turns[i] < 60 * 10);
		CHECK(sim, sim->ends[i].events[RUDP_PATH_DOWN] == 0);
	}
	assert_true(rudp_session_is_up(sim->ends[1].session));
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* A leg that works in one direction only is avoided in the other. */
static void a_one_way_leg_is_avoided(void **state)
{
	for (unsigned way = 0; way < 2; way++) {
		struct sim *sim = sim_new(&sim_clean);

		CHECK(sim, sim_connect(sim, 100 * MS));
		CHECK(sim, sim_pass(sim, 10 * MS));
		if (way)
			sim->ends[1].links[0].cut_out = true;
		else
			sim->ends[1].links[0].cut_in = true;
		CHECK(sim, sim_pump(sim, 200, 8, 100000, 100000, NULL));
		CHECK(sim, sim->longest_gap_ns < 50 * MS);
		sim->ends[1].links[0].cut_in = sim->ends[1].links[0].cut_out = false;
		CHECK(sim, sim_pass(sim, 2 * SEC));
		CHECK(sim,
		      sim->ends[1].events[RUDP_PATH_UP] == 2 + sim->ends[1].events[RUDP_PATH_DOWN]);
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
}

/* Cross-label paths carry nothing while a same-label path is up, and everything otherwise. */
static void crosses_stand_by(const struct sim_config *cfg)
{
	struct sim *sim;
	struct rudp_path_info info[RUDP_PATHS_MAX];
	unsigned n;

	sim = sim_new(cfg);
	CHECK(sim, sim_connect(sim, 100 * MS));
	CHECK(sim, sim_pass(sim, 100 * MS));
	CHECK(sim, sim_pump(sim, 100, 8, 1 << 18, 1 << 18, NULL));
	n = rudp_session_paths(sim->ends[1].session, info, RUDP_PATHS_MAX);
	assert_int_equal(n, 4);
	for (unsigned i = 0; i < n; i++) {
		bool cross = info[i].remote.ip.bytes[cfg->ipv6 ? 15 : 3] - 1U != info[i].port;

		assert_true(info[i].up);
		assert_int_equal(info[i].standby, cross);
		assert_true(cross ? info[i].tx_bytes < 10000 : info[i].tx_bytes > 1000000);
	}
	sim_leg(sim, 1, 0, false, true); /* only cross-label paths are left: 1 here, 0 there */
	sim_leg(sim, SIM_SERVER, 1, false, true);
	CHECK(sim, sim_pump(sim, 100, 8, 1 << 18, 1 << 18, NULL));
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

static void standby_paths_carry_only_after_a_failure(void **state)
{
	struct sim_config cfg = sim_clean;

	cfg.one_subnet = true;
	cfg.labels = true;
	crosses_stand_by(&cfg);
	cfg.one_subnet = false;
	cfg.routed = true;
	crosses_stand_by(&cfg);
	cfg.labels = false; /* paired by address order */
	crosses_stand_by(&cfg);
	cfg.ipv6 = true;
	crosses_stand_by(&cfg);
}

/* More pairs of ports than paths allowed: each port and each address gets a path, and the remaining
 * ones suffice when a server's first legs are gone. */
static void every_port_gets_a_routed_path(void **state)
{
	for (unsigned legs = 3; legs <= SIM_LEGS_MAX; legs++) {
		struct sim_config cfg = sim_clean;
		struct sim *sim;
		struct rudp_path_info info[RUDP_PATHS_MAX];
		unsigned n, straight = 0;

		cfg.legs = legs;
		cfg.routed = true;
		sim = sim_new(&cfg);
		CHECK(sim, sim_connect(sim, 100 * MS));
		CHECK(sim, sim_pass(sim, 100 * MS));
		n = rudp_session_paths(sim->ends[1].session, info, RUDP_PATHS_MAX);
		assert_int_equal(n, RUDP_PATHS_MAX);
		for (unsigned i = 0; i < n; i++)
			if (info[i].up && !info[i].standby)
				straight |= 1U << info[i].port &
					    1U << (info[i].remote.ip.bytes[3] - 1U);
		assert_int_equal(straight, (1U << legs) - 1);
		sim_leg(sim, SIM_SERVER, 0, false, true);
		sim_leg(sim, SIM_SERVER, 1, false, true);
		CHECK(sim, sim_pump(sim, 100, 8, 1 << 18, 1 << 18, NULL));
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
}

/* A port without a router is not used for other subnets. */
static void a_port_without_router_is_used_in_its_subnet_only(void **state)
{
	struct sim_config cfg = sim_clean;
	struct sim *sim;
	struct rudp_path_info info[RUDP_PATHS_MAX];

	cfg.routed = true;
	cfg.unrouted = 2;
	sim = sim_new(&cfg);
	CHECK(sim, sim_connect(sim, 100 * MS));
	CHECK(sim, sim_pass(sim, 100 * MS));
	assert_int_equal(rudp_session_paths(sim->ends[1].session, info, RUDP_PATHS_MAX), 2);
	for (unsigned i = 0; i < 2; i++)
		assert_true(info[i].port == 0 && info[i].up);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* Random bytes for both ends, with partly valid numbers. */
static void garbage_packets_do_no_harm(void **state)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct sim_config cfg = sim_clean;
		struct sim *sim;

		cfg.seed = seed;
		cfg.garbage = 20000;
		cfg.loss = 10000;
		sim = sim_new(&cfg);
		CHECK(sim, sim_connect(sim, 30 * SEC));
		for (unsigned i = 0; i < 300; i++) {
			uint8_t junk[128];
			struct datagram_addr src = {{AF_INET, {10, 0, 1, 1}}, 7000};

			for (unsigned k = 0; k < sizeof(junk); k++)
				junk[k] = (uint8_t)sim_random(sim, 0);
			junk[0] = 0xa7;
			junk[1] = (uint8_t)(0x10 | sim_random(sim, 10));
			junk[2] = 0;
			(void)rudp_rx(sim->ends[SIM_SERVER].r, 0, &src, junk,
				      sim_random(sim, sizeof(junk)), sim->now);
			CHECK(sim, sim_pass(sim, 10 * US));
		}
		/* Altered payload, headers and numbers arrive that UDP's checksum would have
		 * caught: data may differ then, but nothing may crash or leak. */
		for (unsigned i = 0; i < 20; i++)
			sim_call(sim, 1, 20000, 20000, 0);
		sim_pass(sim, SEC);
		sim_free(sim);
	}
}

/* Errors of the caller. */
static void invalid_arguments_are_refused(void **state)
{
	struct sim_config cfg = sim_clean;
	struct sim *sim;
	struct rudp_session *s;
	struct datagram_addr none = {.port = 0};

	cfg.limits.calls_per_session = 4;
	sim = sim_new(&cfg);
	s = sim->ends[1].session;
	assert_int_equal(rudp_call_send(s, "", 0, 0), -EINVAL);
	assert_int_equal(rudp_call_send(s, "", RUDP_MSG_BYTES_MAX + 1U, 0), -EMSGSIZE);
	assert_int_equal(rudp_connect(sim->ends[1].r, &none, 1, NULL, 0, NULL, sim->now, &s),
			 -EINVAL);
	for (unsigned i = 0; i < 4; i++)
		assert_true(sim_call(sim, 1, 100, 100, 0));
	assert_false(sim_call(sim, 1, 100, 100, 0)); /* all queue until it is connected */
	CHECK(sim, sim_finish(sim, SEC));
	s = rudp_session_next(sim->ends[SIM_SERVER].r, NULL);
	assert_int_equal(rudp_call_send(s, "x", 1, 0), -EINVAL);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* A random world from a seed: faults of all kinds, and events during the run. */
static void random_config(uint64_t seed, struct sim_config *ret)
{
	uint64_t dice = seed * 77;
	struct sim_config c = {.seed = seed};

	c.legs = 1 + (unsigned)sim_random_of(&dice, 3);
	c.clients = 1 + (unsigned)sim_random_of(&dice, 3);
	c.bits_per_s = sim_random_of(&dice, 3) ? 1000000000ULL << sim_random_of(&dice, 5) : 0;
	c.delay_ns = (1 + sim_random_of(&dice, 100)) * US;
	c.jitter_ns = sim_random_of(&dice, 2) ? sim_random_of(&dice, 200) * US : 0;
	c.queue_bytes = 32768U << sim_random_of(&dice, 6);
	c.mtu = sim_random_of(&dice, 4) ? 1500 : 9000;
	c.loss = sim_random_of(&dice, 2) ? (uint32_t)sim_random_of(&dice, 100000) : 0;
	c.duplicate = sim_random_of(&dice, 2) ? (uint32_t)sim_random_of(&dice, 50000) : 0;
	c.reorder = sim_random_of(&dice, 2) ? (uint32_t)sim_random_of(&dice, 300000) : 0;
	c.reorder_ns = sim_random_of(&dice, 2 * MS);
	c.corrupt = sim_random_of(&dice, 2) ? (uint32_t)sim_random_of(&dice, 20000) : 0;
	c.eagain = sim_random_of(&dice, 2) ? (uint32_t)sim_random_of(&dice, 100000) : 0;
	c.no_buf = sim_random_of(&dice, 4) ? 0 : (uint32_t)sim_random_of(&dice, 300000);
	c.turn_ns = 1000 + sim_random_of(&dice, 20000);
	c.one_subnet = sim_random_of(&dice, 4) == 0;
	c.labels = sim_random_of(&dice, 2);
	c.ipv6 = sim_random_of(&dice, 4) == 0;
	if (sim_random_of(&dice, 3) == 0) { /* many share a downlink */
		c.clients += (unsigned)sim_random_of(&dice, 6);
		c.bits_per_s = c.down_bits_per_s = 1000000000ULL << sim_random_of(&dice, 5);
		c.down_queue_bytes = 65536U << sim_random_of(&dice, 5);
	}
	if (sim_random_of(&dice, 3) == 0) {
		c.bufs[0] = 16 + (unsigned)sim_random_of(&dice, 64);
		c.bufs[1] = 4 + (unsigned)sim_random_of(&dice, 16);
		c.bufs[2] = 1 + (unsigned)sim_random_of(&dice, 8);
	}
	c.limits.calls_per_session = 1 + (uint32_t)sim_random_of(&dice, 64);
	c.limits.rx_bytes_per_session = 2U << 20;
	if (sim_random_of(&dice, 3) == 0) { /* a rough network */
		c.jitter_ns = sim_random_of(&dice, 2 * MS);
		c.server_delay_ns = sim_random_of(&dice, 3) ? 0 : sim_random_of(&dice, 5 * MS);
		c.hold = (uint32_t)sim_random_of(&dice, 2000);
		c.hold_ns = sim_random_of(&dice, 2 * MS);
		c.burst = (uint32_t)sim_random_of(&dice, 3000);
		c.burst_packets = 1 + (unsigned)sim_random_of(&dice, 8);
	}
	c.rests = sim_random_of(&dice, 4) == 0;
	*ret = c;
}

static uint32_t random_len(struct sim *sim)
{
	uint64_t kind = sim_random(sim, 10);

	if (kind < 6)
		return (uint32_t)sim_random(sim, 6000);
	return (uint32_t)sim_random(sim, kind < 9 ? 100000 : RUDP_MSG_BYTES_MAX + 1);
}

static void random_event(struct sim *sim, bool restarts)
{
	unsigned end = (unsigned)sim_random(sim, sim->cfg.clients + 1);
	unsigned leg = (unsigned)sim_random(sim, sim->cfg.legs);

	switch (sim_random(sim, 12)) {
	case 0:
		sim_stall(sim, end, sim_random(sim, 20 * MS));
		break;
	case 1:
		sim_leg(sim, end, leg, false, true);
		break;
	case 2:
		sim_leg(sim, end, leg, false, false);
		break;
	case 3:
	case 4:
		sim_leg(sim, end, leg, true, true);
		break;
	case 6:
		if (restarts && sim_random(sim, 4) == 0)
			sim_restart(sim, SIM_SERVER);
		break;
	default:
		break;
	}
}

static struct {
	unsigned calls, done, reset, downs, restarts;
	uint64_t packets, dropped;
} totals;

static void random_count(const struct sim *sim)
{
	for (unsigned i = 0; i < sim->n_calls; i++) {
		const struct sim_call *c = &sim->calls[i];

		totals.calls++;
		totals.done += c->state == SIM_CALL_DONE && c->status == 0;
		totals.reset += c->status == -ECONNRESET;
	}
	for (unsigned e = 0; e <= sim->cfg.clients; e++) {
		totals.downs += sim->ends[e].events[RUDP_PATH_DOWN];
		totals.restarts += sim->ends[e].events[RUDP_SESSION_RESTARTED];
		for (unsigned l = 0; l < sim->cfg.legs; l++) {
			totals.packets += sim->ends[e].links[l].packets;
			totals.dropped += sim->ends[e].links[l].dropped;
		}
	}
}

/* Without restarts every call succeeds, except those of a client that was silent for too long while
 * memory for responses was short. */
static bool random_call_kept(const struct sim *sim, const struct sim_call *c)
{
	return c->state == SIM_CALL_ABANDONED || c->status == 0 ||
	       (c->status == -ECONNRESET && sim->ends[c->client].was_silent);
}

static void random_world(uint64_t seed)
{
	struct sim_config cfg;
	struct sim *sim;
	bool restarts = seed % 3 == 0;

	random_config(seed, &cfg);
	sim = sim_new(&cfg);
	CHECK(sim, sim_connect(sim, 30 * SEC));
	for (unsigned i = 0; i < 60; i++) {
		unsigned end = 1 + (unsigned)sim_random(sim, cfg.clients);

		sim_call(sim, end, random_len(sim), random_len(sim),
			 sim_random(sim, 2) ? (uint32_t)sim_random(sim, 2000) : 0);
		random_event(sim, restarts);
		CHECK(sim, sim_pass(sim, sim_random(sim, MS)));
	}
	for (unsigned e = 0; e <= cfg.clients; e++)
		for (unsigned l = 0; l < cfg.legs; l++)
			sim_leg(sim, e, l, true, true);
	CHECK(sim, sim_finish(sim, 60 * SEC));
	for (unsigned i = 0; i < sim->n_calls; i++)
		CHECK(sim, restarts || random_call_kept(sim, &sim->calls[i]));
	for (unsigned e = 0; e <= cfg.clients; e++)
		CHECK(sim, sim->ends[e].polls < 4000000);
	CHECK(sim, sim_close(sim));
	random_count(sim);
	sim_free(sim);
}

static void random_worlds_keep_every_promise(void **state)
{
	const char *only = getenv("PLENUM_RUDP_SEED");
	const char *n = getenv("PLENUM_RUDP_RUNS"), *from = getenv("PLENUM_RUDP_FROM");
	uint64_t runs = n ? strtoull(n, NULL, 0) : RUNS;
	uint64_t first = from ? strtoull(from, NULL, 0) : 1;

	if (only) {
		random_world(strtoull(only, NULL, 0));
		return;
	}
	for (uint64_t seed = first; seed < first + runs; seed++)
		random_world(seed);
	print_message("# %u calls: %u answered, %u reset; %u restarts seen, %u paths "
		      "down; %llu packets, %llu dropped\n",
		      totals.calls, totals.done, totals.reset, totals.restarts, totals.downs,
		      (unsigned long long)totals.packets, (unsigned long long)totals.dropped);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_of_all_sizes_arrive_intact),
		cmocka_unit_test(throughput_reaches_the_links_rate),
		cmocka_unit_test(calls_survive_a_failover),
		cmocka_unit_test(a_client_reconnects_after_a_server_restart),
		cmocka_unit_test(a_restarted_client_replaces_its_old_session),
		cmocka_unit_test(a_lost_session_ends_its_calls_and_reconnects),
		cmocka_unit_test(late_threads_do_not_take_paths_down),
		cmocka_unit_test(slow_hosts_do_not_shrink_the_window),
		cmocka_unit_test(rare_polls_do_not_stall_bulk_data),
		cmocka_unit_test(big_requests_stay_within_their_memory_limit),
		cmocka_unit_test(idle_sessions_send_only_keepalives),
		cmocka_unit_test(a_one_way_leg_is_avoided),
		cmocka_unit_test(standby_paths_carry_only_after_a_failure),
		cmocka_unit_test(every_port_gets_a_routed_path),
		cmocka_unit_test(a_port_without_router_is_used_in_its_subnet_only),
		cmocka_unit_test(garbage_packets_do_no_harm),
		cmocka_unit_test(invalid_arguments_are_refused),
		cmocka_unit_test(random_worlds_keep_every_promise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
