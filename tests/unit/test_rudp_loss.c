/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loss per path and direction in the simulator: idle and loaded paths, which end knows what, what
 * is not loss, and where the load goes. Uses rudp's internal header to forge reports.
 */
#include "dataplane/rudp/rudp_internal.h"
#include "tests/lib/rudp/rudp_worlds.h"

#define CLIENT 1U
#define PERCENT 10000U /* in packets per million */

/* Slow links, so that seconds of load are soon simulated. */
static struct sim_config slow_links(void)
{
	struct sim_config cfg = sim_clean;

	cfg.bits_per_s = 100000000;
	cfg.queue_bytes = 2U << 20;
	return cfg;
}

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

static bool is_lossy(struct sim *sim, unsigned end, unsigned leg)
{
	struct rudp_path_info i = path_of(sim, end, leg);

	return i.lossy_out || i.lossy_in;
}

static bool any_is_lossy(struct sim *sim)
{
	for (unsigned leg = 0; leg < sim->cfg.legs; leg++)
		if (is_lossy(sim, SIM_SERVER, leg) || is_lossy(sim, CLIENT, leg))
			return true;
	return false;
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

static void load_end(struct sim *sim)
{
	sim->on_done = NULL;
	CHECK(sim, sim_finish(sim, 5 * SEC));
	for (unsigned i = 0; i < sim->n_calls; i++)
		CHECK(sim, sim->calls[i].status == 0);
}

static struct sim *world(const struct sim_config *cfg)
{
	struct sim *sim = sim_new(cfg);

	CHECK(sim, sim_connect(sim, SEC));
	CHECK(sim, sim_pass(sim, 3 * SEC));
	CHECK(sim, !any_is_lossy(sim));
	return sim;
}

/* Runs until both ends have the verdict about the leg, or no longer have it. */
static bool both_know(struct sim *sim, unsigned leg, bool lossy, uint64_t max_ns)
{
	uint64_t until = sim->now + max_ns;

	while (sim->now < until && !sim->fault[0]) {
		if (is_lossy(sim, SIM_SERVER, leg) == lossy && is_lossy(sim, CLIENT, leg) == lossy)
			return true;
		sim_pass(sim, 100 * MS);
	}
	return false;
}

static void end_world(struct sim *sim)
{
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

static bool is_about(uint32_t ppm, uint32_t percent)
{
	return ppm > percent * PERCENT * 2 / 3 && ppm < percent * PERCENT * 3 / 2;
}

static void both_ends_of_an_idle_path_know_the_share_and_the_direction(void **state)
{
	for (unsigned from = SIM_SERVER; from <= CLIENT; from++) {
		struct sim_config cfg = sim_clean;
		struct rudp_path_info sender, receiver;
		struct sim *sim;

		cfg.seed = 7 + from;
		sim = world(&cfg);
		sim->ends[from].links[0].out_loss = 30 * PERCENT;
		CHECK(sim, both_know(sim, 0, true, 10 * SEC));
		CHECK(sim, sim_pass(sim, 3 * SEC));
		sender = path_of(sim, from, 0);
		receiver = path_of(sim, !from, 0);
		CHECK(sim, sender.lossy_out && !sender.lossy_in);
		CHECK(sim, receiver.lossy_in && !receiver.lossy_out);
		CHECK(sim, is_about(sender.loss_out_ppm, 30));
		CHECK(sim, is_about(receiver.loss_in_ppm, 30));
		CHECK(sim, sender.loss_in_ppm < PERCENT && receiver.loss_out_ppm < PERCENT);
		CHECK(sim, !is_lossy(sim, from, 1) && !is_lossy(sim, !from, 1));
		CHECK(sim, sim->ends[from].events[RUDP_PATH_LOSS] == 1);
		sim->ends[from].links[0].out_loss = 0;
		CHECK(sim, both_know(sim, 0, false, 15 * SEC));
		CHECK(sim, path_of(sim, from, 0).loss_out_ppm < PERCENT);
		end_world(sim);
	}
}

static void ten_percent_on_both_idle_legs_are_found(void **state)
{
	struct sim *sim = world(&sim_clean);

	for (unsigned leg = 0; leg < 2; leg++)
		sim->ends[CLIENT].links[leg].out_loss = 10 * PERCENT;
	CHECK(sim, both_know(sim, 0, true, 20 * SEC));
	CHECK(sim, both_know(sim, 1, true, 20 * SEC));
	CHECK(sim, !path_of(sim, CLIENT, 0).avoided && !path_of(sim, CLIENT, 1).avoided);
	end_world(sim);
}

static void one_percent_is_found_under_load_and_a_tenth_is_only_shown(void **state)
{
	struct sim_config cfg = slow_links();
	struct sim *sim = world(&cfg);

	load_begin(sim);
	sim->ends[SIM_SERVER].links[0].out_loss = PERCENT / 10;
	CHECK(sim, sim_pass(sim, 5 * SEC));
	CHECK(sim, !any_is_lossy(sim));
	CHECK(sim, path_of(sim, CLIENT, 0).loss_in_ppm > PERCENT / 20);
	CHECK(sim, path_of(sim, SIM_SERVER, 0).loss_out_ppm > PERCENT / 20);
	CHECK(sim, path_of(sim, CLIENT, 0).rx_lost_packets > 10);
	sim->ends[SIM_SERVER].links[0].out_loss = PERCENT;
	CHECK(sim, both_know(sim, 0, true, 10 * SEC));
	CHECK(sim, path_of(sim, CLIENT, 0).lossy_in && path_of(sim, SIM_SERVER, 0).lossy_out);
	load_end(sim);
	end_world(sim);
}

static void load_leaves_a_lossy_leg_and_returns(void **state)
{
	struct sim_config cfg = slow_links();
	struct sim *sim = world(&cfg);
	uint64_t before, lossy, all;

	load_begin(sim);
	sim->ends[SIM_SERVER].links[0].out_loss = 30 * PERCENT;
	CHECK(sim, both_know(sim, 0, true, 10 * SEC));
	CHECK(sim, path_of(sim, SIM_SERVER, 0).avoided && path_of(sim, CLIENT, 0).avoided);
	before = sim->ends[SIM_SERVER].links[0].bytes;
	all = sim->ends[SIM_SERVER].links[1].bytes;
	CHECK(sim, sim_pass(sim, 2 * SEC));
	lossy = sim->ends[SIM_SERVER].links[0].bytes - before;
	CHECK(sim, lossy < (sim->ends[SIM_SERVER].links[1].bytes - all) / 100);
	sim->ends[SIM_SERVER].links[0].out_loss = 0;
	CHECK(sim, both_know(sim, 0, false, 20 * SEC));
	before = sim->ends[SIM_SERVER].links[0].bytes;
	all = sim->ends[SIM_SERVER].links[1].bytes;
	CHECK(sim, sim_pass(sim, SEC));
	CHECK(sim, sim->ends[SIM_SERVER].links[0].bytes - before >
			   (sim->ends[SIM_SERVER].links[1].bytes - all) / 4);
	load_end(sim);
	end_world(sim);
}

static void a_lossy_leg_carries_the_load_when_the_other_dies(void **state)
{
	struct sim_config cfg = slow_links();
	struct sim *sim = world(&cfg);
	unsigned done;

	sim->ends[CLIENT].links[0].out_loss = 10 * PERCENT;
	CHECK(sim, both_know(sim, 0, true, 20 * SEC));
	load_begin(sim);
	CHECK(sim, sim_pass(sim, 100 * MS));
	sim_leg(sim, CLIENT, 1, false, true);
	CHECK(sim, sim_pass(sim, 100 * MS));
	done = sim->n_calls;
	CHECK(sim, sim_pass(sim, SEC));
	CHECK(sim, sim->n_calls > done + 10);
	load_end(sim);
	end_world(sim);
}

/* Nothing here drops a packet in the network. */
static void what_is_not_lost_is_not_called_loss(void **state)
{
	for (unsigned k = 0; k < 6; k++) {
		struct sim_config cfg = slow_links();
		struct sim *sim;

		cfg.seed = 20 + k;
		cfg.reorder = k == 0 ? 20 * PERCENT : 0;
		cfg.reorder_ns = 3 * MS;
		cfg.duplicate = k == 1 ? 20 * PERCENT : 0;
		cfg.no_buf = k == 2 ? 20 * PERCENT : 0;
		if (k == 3) {
			cfg.mtu = 9000;
			cfg.path_mtu[0] = 1500;
		}
		cfg.eagain = k == 4 ? 20 * PERCENT : 0;
		cfg.jitter_ns = k == 5 ? 2 * MS : 0;
		sim = world(&cfg);
		for (unsigned loaded = 0; loaded < 2; loaded++) {
			if (loaded)
				load_begin(sim);
			for (unsigned i = 0; i < 100; i++) {
				CHECK(sim, sim_pass(sim, 100 * MS));
				CHECK(sim, !any_is_lossy(sim));
			}
		}
		/* Packets that are late just now may show. */
		for (unsigned leg = 0; leg < 2; leg++) {
			CHECK(sim, path_of(sim, CLIENT, leg).loss_in_ppm < PERCENT / 2);
			CHECK(sim, path_of(sim, SIM_SERVER, leg).loss_in_ppm < PERCENT / 2);
		}
		load_end(sim);
		end_world(sim);
	}
}

/* Each end probes the size of its own packets, also on paths that no message uses. */
static void lost_jumbo_frames_of_an_idle_path_are_found_within_a_minute(void **state)
{
	for (unsigned from = SIM_SERVER; from <= CLIENT; from++) {
		struct sim_config cfg = sim_clean;
		struct rudp_path_info info;
		struct sim *sim;

		cfg.mtu = 9000;
		sim = world(&cfg);
		CHECK(sim, path_of(sim, from, 0).mtu_found == 9000);
		CHECK(sim, sim_pass(sim, 20 * SEC));
		sim->ends[from].links[0].out_mtu = 1500;
		CHECK(sim, sim_pass(sim, 60 * SEC));
		info = path_of(sim, from, 0);
		CHECK(sim, info.mtu_found == 1500 && info.mtu_most == 9000);
		CHECK(sim, path_of(sim, from, 1).mtu_found == 9000);
		CHECK(sim, path_of(sim, !from, 0).mtu_found == 9000);
		end_world(sim);
	}
}

/* Enough large packets are lost in a row to make an end search the size again and again. */
static void random_loss_is_not_called_a_smaller_path_mtu(void **state)
{
	for (unsigned k = 0; k < 4; k++) {
		struct sim_config cfg = slow_links();
		struct sim *sim;

		cfg.seed = 40 + k;
		cfg.mtu = 9000;
		sim = world(&cfg);
		for (unsigned leg = 0; leg < 2; leg++)
			sim->ends[SIM_SERVER].links[leg].out_loss = (k % 2 ? 30 : 50) * PERCENT;
		load_begin(sim);
		CHECK(sim, sim_pass(sim, 60 * SEC));
		for (unsigned leg = 0; leg < 2; leg++)
			CHECK(sim, path_of(sim, SIM_SERVER, leg).mtu_found == 9000);
		CHECK(sim, sim->ends[SIM_SERVER].events[RUDP_PATH_MTU] == 0);
		for (unsigned leg = 0; leg < 2; leg++)
			sim->ends[SIM_SERVER].links[leg].out_loss = 0;
		load_end(sim);
		end_world(sim);
	}
}

/* A cable that is pulled, or a switch that restarts, is an outage: the path's state shows it. */
static void outages_are_not_called_loss(void **state)
{
	struct sim_config cfg = slow_links();
	struct sim *sim = world(&cfg);

	load_begin(sim);
	for (unsigned i = 0; i < 6; i++) {
		bool announced = i % 2;

		sim_leg(sim, CLIENT, 0, false, announced);
		CHECK(sim, sim_pass(sim, (200 + 1900 * (i / 2)) * MS));
		sim_leg(sim, CLIENT, 0, true, announced);
		for (unsigned k = 0; k < 40; k++) {
			CHECK(sim, sim_pass(sim, 100 * MS));
			CHECK(sim, !any_is_lossy(sim));
		}
	}
	load_end(sim);
	end_world(sim);
}

static void idle_paths_get_few_probes(void **state)
{
	struct sim *sim = world(&sim_clean);
	uint64_t before;

	CHECK(sim, sim_pass(sim, 10 * SEC)); /* the first ones come sooner */
	before = sim->ends[CLIENT].links[0].packets;
	CHECK(sim, sim_pass(sim, 10 * SEC));
	/* Its probes, and acknowledgements of the server's. */
	CHECK(sim, sim->ends[CLIENT].links[0].packets - before < 10 * 3);
	CHECK(sim, path_of(sim, CLIENT, 0).loss_in_ppm == 0);
	CHECK(sim, path_of(sim, CLIENT, 0).loss_out_ppm == 0);
	end_world(sim);
}

static uint64_t server_packets(const struct sim *sim)
{
	return sim->ends[SIM_SERVER].links[0].packets + sim->ends[SIM_SERVER].links[1].packets;
}

/*
 * Idle clients together cost the server some hundred packets a second: its own probes, and
 * acknowledgements of theirs. Each client knows only its own session, so it must follow the server.
 */
static void many_sessions_share_the_rate_of_probes(void **state)
{
	static const unsigned clients[] = {100, 400};

	for (unsigned i = 0; i < ARRAY_SIZE(clients); i++) {
		struct sim_config cfg = sim_clean;
		uint64_t before;
		struct sim *sim;

		cfg.clients = clients[i];
		sim = sim_new(&cfg);
		CHECK(sim, sim_connect(sim, SEC));
		CHECK(sim, sim_pass(sim, 10 * SEC));
		before = server_packets(sim);
		CHECK(sim, sim_pass(sim, 10 * SEC));
		CHECK(sim, server_packets(sim) - before < 10 * 500);
		end_world(sim);
	}
}

/* A server with that many sessions reports to each of them only every ten seconds. */
static void a_client_of_a_crowded_server_knows_what_it_loses(void **state)
{
	struct sim_config cfg = slow_links();
	struct sim *sim;
	uint64_t until;

	cfg.clients = 1000;
	sim = sim_new(&cfg);
	CHECK(sim, sim_connect(sim, SEC));
	CHECK(sim, sim_pass(sim, 40 * SEC));
	load_begin(sim);
	sim->ends[CLIENT].links[0].out_loss = 30 * PERCENT;
	for (until = sim->now + 60 * SEC; sim->now < until && !is_lossy(sim, CLIENT, 0);)
		CHECK(sim, sim_pass(sim, SEC));
	CHECK(sim, path_of(sim, CLIENT, 0).lossy_out);
	load_end(sim);
	end_world(sim);
}

static int forge(struct sim *sim, uint8_t flags, size_t len, uint32_t top, uint32_t arrived)
{
	struct rudp_session *s = rudp_session_next(sim->ends[SIM_SERVER].r, NULL);
	struct rudp_path *p = &s->paths[0];
	struct wire_common c = {.type = WIRE_PING,
				.flags = flags,
				.path = 0,
				.session = s->number,
				.pn = (uint32_t)(p->acks.top + 1)};
	struct wire_report w = {.top = top, .arrived = arrived};
	uint8_t bytes[WIRE_REPORT_BYTES];

	(void)wire_put_report(bytes, &c, &w);
	return rudp_rx(sim->ends[SIM_SERVER].r, p->port, &p->remote, bytes, len, sim->now);
}

/* A peer that reports nonsense changes nothing; one without reports is answered as before. */
static void impossible_and_missing_reports_are_harmless(void **state)
{
	struct sim *sim = world(&sim_clean);
	uint32_t next =
		(uint32_t)rudp_session_next(sim->ends[SIM_SERVER].r, NULL)->paths[0].sent.next_pn;

	assert_int_equal(forge(sim, WIRE_F_REPORT, WIRE_REPORT_BYTES, next, 0), -EBADMSG);
	assert_int_equal(forge(sim, WIRE_F_REPORT, WIRE_COMMON_BYTES, 0, 0), -EBADMSG);
	assert_int_equal(forge(sim, 0, WIRE_REPORT_BYTES, next + 99, 0), 0);
	assert_int_equal(forge(sim, WIRE_F_REPORT, WIRE_REPORT_BYTES, next - 1, UINT32_MAX), 0);
	assert_int_equal(forge(sim, WIRE_F_REPORT, WIRE_REPORT_BYTES, next - 1, 0), 0);
	CHECK(sim, path_of(sim, SIM_SERVER, 0).up);
	CHECK(sim, !is_lossy(sim, SIM_SERVER, 0));
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ends_of_an_idle_path_know_the_share_and_the_direction),
		cmocka_unit_test(ten_percent_on_both_idle_legs_are_found),
		cmocka_unit_test(one_percent_is_found_under_load_and_a_tenth_is_only_shown),
		cmocka_unit_test(load_leaves_a_lossy_leg_and_returns),
		cmocka_unit_test(a_lossy_leg_carries_the_load_when_the_other_dies),
		cmocka_unit_test(what_is_not_lost_is_not_called_loss),
		cmocka_unit_test(lost_jumbo_frames_of_an_idle_path_are_found_within_a_minute),
		cmocka_unit_test(random_loss_is_not_called_a_smaller_path_mtu),
		cmocka_unit_test(outages_are_not_called_loss),
		cmocka_unit_test(idle_paths_get_few_probes),
		cmocka_unit_test(many_sessions_share_the_rate_of_probes),
		cmocka_unit_test(a_client_of_a_crowded_server_knows_what_it_loses),
		cmocka_unit_test(impossible_and_missing_reports_are_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
