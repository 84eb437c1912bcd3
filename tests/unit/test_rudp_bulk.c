/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much bulk data a server sends in one poll: as much as the windows allow to hosts that are
 * alone, little to each host while another one gets small messages; and how hosts share it.
 */
#include "tests/lib/rudp/rudp_worlds.h"

#define MIB (1U << 20)
#define TURN_NS (100 * US)
#define READERS 2U
/* Less than three bursts, and the small messages. */
#define LITTLE_BYTES 160000U

static const struct sim_config world = {.seed = 1,
					.legs = 1,
					.clients = READERS + 1,
					.bits_per_s = 25000000000ULL,
					.delay_ns = 20 * US,
					.turn_ns = TURN_NS};

static void reads(struct sim *sim)
{
	for (unsigned e = 1; e <= READERS; e++)
		for (unsigned i = 0; i < 24; i++)
			assert_true(sim_call(sim, e, 100, MIB, 0));
}

/* Runs for 5 ms. Returns the most bytes that the server sent in one poll. small: another client
 * asks all the time. */
static uint64_t most_in_a_poll(struct sim *sim, bool small)
{
	const struct sim_end *server = &sim->ends[SIM_SERVER];
	uint64_t most = 0, until = sim->now + 5 * MS;

	while (sim->now < until && !sim->fault[0]) {
		uint64_t bytes = server->links[0].bytes, polls = server->polls;

		if (small && sim->n_open <= READERS * 24)
			assert_true(sim_call(sim, READERS + 1, 100, 100, 0));
		CHECK(sim, sim_pass(sim, US));
		if (server->polls > polls)
			most = MAX_OF(most,
				      (server->links[0].bytes - bytes) / (server->polls - polls));
	}
	return most;
}

static void bulk_of_a_poll_is_little_beside_small_messages_of_another_host(void **state)
{
	struct sim *sim = sim_new(&world);
	uint64_t alone, beside;

	CHECK(sim, sim_connect(sim, SEC));
	CHECK(sim, sim_pass(sim, 20 * MS));
	reads(sim);
	alone = most_in_a_poll(sim, false);
	CHECK(sim, sim_finish(sim, 10 * SEC));
	reads(sim);
	beside = most_in_a_poll(sim, true);
	print_message("%u bytes in a poll, %u beside another host\n", (unsigned)alone,
		      (unsigned)beside);
	CHECK(sim, alone > READERS * LITTLE_BYTES);
	CHECK(sim, beside <= READERS * LITTLE_BYTES);
	CHECK(sim, sim_finish(sim, 10 * SEC));
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* One host has many sessions that read, another has one; the server limits the rate, not the
 * network. */
static void hosts_share_bulk_data_whatever_their_sessions(void **state)
{
	const struct sim_config many = {.seed = 1,
					.legs = 1,
					.clients = 25,
					.ipv6 = true,
					.one_host = 24,
					.down_bits_per_s = 100000000000ULL,
					.down_queue_bytes = 64 * MIB,
					.delay_ns = 20 * US,
					.turn_ns = TURN_NS};
	struct sim *sim = sim_new(&many);
	uint64_t others = 0, one = 0;

	CHECK(sim, sim_connect(sim, SEC));
	CHECK(sim, sim_pass(sim, 20 * MS));
	for (unsigned e = 1; e <= many.clients; e++)
		for (unsigned i = 0; i < 24; i++)
			assert_true(sim_call(sim, e, 100, MIB, 0));
	CHECK(sim, sim_pass(sim, 3 * MS)); /* until the windows are open */
	for (unsigned e = 1; e <= many.clients; e++)
		(e == many.clients ? &one : &others)[0] -= sim->ends[e].links[0].down_bytes;
	CHECK(sim, sim_pass(sim, 5 * MS));
	for (unsigned e = 1; e <= many.clients; e++)
		(e == many.clients ? &one : &others)[0] += sim->ends[e].links[0].down_bytes;
	print_message("%u KiB for one session of a host, %u KiB for 24 of another\n",
		      (unsigned)(one >> 10), (unsigned)(others >> 10));
	CHECK(sim, one > others / 3);
	CHECK(sim, sim_finish(sim, 10 * SEC));
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bulk_of_a_poll_is_little_beside_small_messages_of_another_host),
		cmocka_unit_test(hosts_share_bulk_data_whatever_their_sessions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
