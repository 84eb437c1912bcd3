/* SPDX-License-Identifier: BSD-3-Clause */
/* The receiver's memory: order of requests, and clients that hold memory do not block others. */
#include <inttypes.h>

#include "tests/lib/rudp/rudp_worlds.h"

#define MIB (1U << 20)

/* As many buffers as the file system's server. */
static const struct sim_config world = {.seed = 1,
					.legs = 2,
					.bits_per_s = 10000000000ULL,
					.down_bits_per_s = 10000000000ULL,
					.down_queue_bytes = 1U << 20,
					.delay_ns = 20 * US,
					.bufs = {8192, 512, 64}};

static struct sim *world_of(unsigned clients)
{
	struct sim_config cfg = world;
	struct sim *sim;

	cfg.clients = clients;
	sim = sim_new(&cfg);
	CHECK(sim, sim_connect(sim, SEC));
	CHECK(sim, sim_pass(sim, 10 * MS));
	return sim;
}

static void world_end(struct sim *sim)
{
	for (unsigned e = 0; e <= sim->cfg.clients; e++)
		CHECK(sim, sim->ends[e].events[RUDP_PATH_DOWN] == 0);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* More writers than memory. */
static void many_writers_share_little_memory(void **state)
{
	struct sim *sim = world_of(15);
	uint64_t since = sim->now;

	for (unsigned e = 1; e <= 15; e++)
		for (unsigned i = 0; i < 16; i++)
			assert_true(sim_call(sim, e, MIB, 64, 100));
	CHECK(sim, sim_finish(sim, SEC));
	/* 240 MiB over two legs of 10 Gb/s take 100 ms */
	CHECK(sim, sim->now - since < 250 * MS);
	for (unsigned i = 0; i < sim->n_calls; i++)
		CHECK(sim, sim->calls[i].status == 0);
	world_end(sim);
}

/* Client 1's calls, one after the other, while others misbehave: each ends soon. */
static void others_continue(struct sim *sim, uint32_t req_len, uint32_t resp_len, uint64_t most_ns)
{
	for (unsigned i = 0; i < 50; i++) {
		unsigned cookie = sim->n_calls;
		uint64_t until = sim->now + most_ns;

		assert_true(sim_call(sim, 1, req_len, resp_len, 0));
		while (sim->calls[cookie].state == SIM_CALL_OPEN && sim->now < until)
			CHECK(sim, sim_pass(sim, 50 * US));
		CHECK(sim, sim->calls[cookie].state == SIM_CALL_DONE);
	}
}

/* Clients that announce and begin requests, small and large, and then stall. */
static void stalled_requests_do_not_block_other_clients(void **state)
{
	struct sim *sim = world_of(9);
	unsigned held = 0;

	for (unsigned e = 2; e <= 9; e++) {
		sim->ends[e].half_sender = true;
		for (unsigned i = 0; i < 128; i++)
			sim_call(sim, e, i % 2 ? 16000 : MIB, 64, 0);
	}
	CHECK(sim, sim_pass(sim, 20 * MS));
	for (unsigned i = 0; i < SIM_BUF_CLASSES; i++)
		held += sim->ends[SIM_SERVER].requests.used[i][0] +
			sim->ends[SIM_SERVER].requests.used[i][1];
	assert_true(held > 64); /* the attack takes effect */
	others_continue(sim, MIB, 64, 20 * MS);
	others_continue(sim, 16000, 64, 5 * MS);
	others_continue(sim, 100, 100, 5 * MS);
	/* Their requests are requested again, and complete once the clients recover. */
	for (unsigned e = 2; e <= 9; e++)
		sim->ends[e].half_sender = false;
	CHECK(sim, sim_finish(sim, 60 * SEC));
	for (unsigned i = 0; i < sim->n_calls; i++)
		CHECK(sim, sim->calls[i].status == 0);
	world_end(sim);
}

/* A client stalls in mid-request: its memory is released although its session stays up. */
static void a_stalled_requests_memory_is_released(void **state)
{
	struct sim *sim = world_of(1);
	struct sim_memory *m = &sim->ends[SIM_SERVER].requests;

	/* With a window for all four at once: lost chunks go before new big messages, and here they
	 * are lost forever, which does not happen on a network. */
	others_continue(sim, MIB, 64, 20 * MS);
	sim->ends[1].half_sender = true;
	for (unsigned i = 0; i < 4; i++)
		assert_true(sim_call(sim, 1, i % 2 ? 16000 : MIB, 64, 0));
	CHECK(sim, sim_pass(sim, 100 * MS));
	assert_int_equal(m->used[1][0] + m->used[2][1], 4);
	sim_leg(sim, 1, 0, false, false); /* nothing new comes from it now */
	sim_leg(sim, 1, 1, false, false);
	CHECK(sim, sim_pass(sim, SEC));
	assert_int_equal(m->used[1][0] + m->used[2][1], 0);
	assert_true(rudp_session_is_up(rudp_session_next(sim->ends[SIM_SERVER].r, NULL)));
	sim->ends[1].half_sender = false;
	sim_leg(sim, 1, 0, true, false);
	sim_leg(sim, 1, 1, true, false);
	CHECK(sim, sim_finish(sim, 10 * SEC));
	for (unsigned i = 0; i < sim->n_calls; i++)
		CHECK(sim, sim->calls[i].status == 0 && sim->calls[i].executed == 1);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* Clients that read but take no responses. */
static void slow_readers_do_not_block_other_clients(void **state)
{
	struct sim *sim = world_of(5);
	struct sim_end *server = &sim->ends[SIM_SERVER];

	for (unsigned e = 2; e <= 5; e++) {
		sim->ends[e].slow_reader = true;
		for (unsigned i = 0; i < 64; i++)
			assert_true(sim_call(sim, e, 100, MIB, 0));
	}
	CHECK(sim, sim_pass(sim, 50 * MS));
	assert_int_equal(server->answers.used[2][1], 32); /* their shares */
	others_continue(sim, 100, MIB, 20 * MS);
	others_continue(sim, MIB, 100, 20 * MS);
	for (unsigned e = 2; e <= 5; e++)
		sim->ends[e].slow_reader = false;
	CHECK(sim, sim_finish(sim, 10 * SEC));
	world_end(sim);
}

/* Clients that acknowledge responses never, or one chunk at a time, and otherwise behave: they hold
 * all memory only for a limited time, and when they reconnect others have been served meanwhile. */
static void clients_that_take_no_responses_make_room_for_others(void **state)
{
	struct sim *sim = world_of(12);
	struct sim_end *server = &sim->ends[SIM_SERVER];
	unsigned done = 0, turn = sim->n_calls;

	for (unsigned e = 2; e <= 12; e++) {
		sim->ends[e].slow_reader = e % 2;
		sim->ends[e].trickler = !(e % 2);
		for (unsigned i = 0; i < 64; i++)
			assert_true(sim_call(sim, e, 100, MIB, 0));
	}
	CHECK(sim, sim_pass(sim, 400 * MS));
	assert_true(server->answers.used[2][1] > 40); /* the attack takes effect */
	turn = sim->n_calls;
	for (unsigned i = 0; i < 20; i++)
		assert_true(sim_call(sim, 1, 100, MIB, 0));
	CHECK(sim, sim_pass(sim, SEC));
	for (unsigned i = turn; i < sim->n_calls; i++)
		done += sim->calls[i].state == SIM_CALL_DONE && sim->calls[i].status == 0;
	assert_int_equal(done, 20);
	CHECK(sim, sim_pass(sim, 10 * SEC));
	assert_int_equal(server->events[RUDP_SESSION_STUCK], 11);
	for (unsigned i = 0; i < turn; i++)
		CHECK(sim, sim->calls[i].status == -ECONNRESET);
	/* They may reconnect, and are served once they acknowledge. */
	for (unsigned e = 2; e <= 12; e++) {
		sim->ends[e].slow_reader = sim->ends[e].trickler = false;
		assert_true(sim_call(sim, e, 100, MIB, 0));
	}
	CHECK(sim, sim_finish(sim, 5 * SEC));
	for (unsigned i = turn; i < sim->n_calls; i++)
		CHECK(sim, sim->calls[i].status == 0);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* While no other client needs their memory, such clients last for limits.answer_ns. */
static void clients_that_take_no_responses_are_closed(void **state)
{
	struct sim *sim = world_of(4);
	struct sim_end *server = &sim->ends[SIM_SERVER];

	for (unsigned e = 2; e <= 4; e++) {
		sim->ends[e].slow_reader = e % 2;
		sim->ends[e].trickler = !(e % 2);
		for (unsigned i = 0; i < 64; i++)
			assert_true(sim_call(sim, e, 100, MIB, 0));
	}
	CHECK(sim, sim_pass(sim, 9 * SEC));
	others_continue(sim, 100, MIB, 20 * MS);
	assert_int_equal(server->events[RUDP_SESSION_CLOSED], 0);
	CHECK(sim, sim_pass(sim, 3 * SEC));
	assert_int_equal(server->events[RUDP_SESSION_STUCK], 3);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* Over a slow link the last of many responses completes late; no client is closed. */
static void a_slow_link_does_not_close_clients(void **state)
{
	struct sim_config cfg = world;
	struct sim *sim;

	cfg.clients = 8;
	cfg.legs = 1;
	cfg.bits_per_s = 100000000;
	cfg.bufs[2] = 192;
	cfg.queue_bytes = 256U << 10;
	sim = sim_new(&cfg);
	CHECK(sim, sim_connect(sim, SEC));
	for (unsigned i = 0; i < 192; i++)
		assert_true(sim_call(sim, 1 + i % 8, 100, MIB, 0));
	CHECK(sim, sim_finish(sim, 60 * SEC));
	assert_true(sim->last_answer_ns > 25 * SEC); /* the simulation starts at 10 s */
	assert_int_equal(sim->ends[SIM_SERVER].events[RUDP_SESSION_STUCK], 0);
	world_end(sim);
}

/* Short requests do not wait for long ones, and long ones do not starve. */
static void short_requests_pass_long_ones(void **state)
{
	struct sim *sim = world_of(12);
	uint64_t longest = 0;

	for (unsigned e = 1; e <= 10; e++)
		for (unsigned i = 0; i < 32; i++)
			assert_true(sim_call(sim, e, MIB, 64, 0));
	CHECK(sim, sim_pass(sim, 10 * MS));
	for (unsigned i = 0; i < 50; i++) {
		unsigned cookie = sim->n_calls;

		assert_true(sim_call(sim, 11, 40000, 64, 0));
		while (sim->calls[cookie].state == SIM_CALL_OPEN)
			CHECK(sim, sim_pass(sim, 50 * US));
		longest = MAX_OF(longest, sim->calls[cookie].done_ns - sim->calls[cookie].sent_ns);
	}
	print_message("# 40000 bytes behind 320 MiB: at most %.3f ms\n", (double)longest / 1e6);
	CHECK(sim, longest < 15 * MS);
	CHECK(sim, sim_finish(sim, 5 * SEC));
	/* Many short ones; client 12's long one still gets its turn. */
	for (unsigned e = 1; e <= 10; e++)
		for (unsigned i = 0; i < 100; i++)
			assert_true(sim_call(sim, e, 30000, 64, 0));
	assert_true(sim_call(sim, 12, MIB, 64, 0));
	while (sim->calls[sim->n_calls - 1].state == SIM_CALL_OPEN)
		CHECK(sim, sim_pass(sim, 50 * US));
	CHECK(sim, sim->n_open > 100);
	CHECK(sim, sim_finish(sim, 5 * SEC));
	world_end(sim);
}

/* A single sender waits for no grant, which on a path this long is a quarter of the time. Measures
 * the fastest of several calls. */
static void a_single_sender_needs_no_grants(void **state)
{
	struct sim_config cfg = world;
	uint64_t least = UINT64_MAX;
	struct sim *sim;

	cfg.clients = 2;
	cfg.delay_ns = 200 * US;
	sim = sim_new(&cfg);
	CHECK(sim, sim_connect(sim, SEC));
	CHECK(sim, sim_pass(sim, 10 * MS));
	for (unsigned i = 0; i < 40; i++) {
		assert_true(sim_call(sim, 1, MIB, 64, 0));
		while (sim->n_open > 0)
			CHECK(sim, sim_pass(sim, 10 * US));
		least = MIN_OF(least, sim->calls[i].done_ns - sim->calls[i].sent_ns);
	}
	print_message("# 1 MiB, 400 us there and back: %.0f us\n", (double)least / 1e3);
	assert_true(least < 1000 * US);
	world_end(sim);
}

static uint32_t flood_bytes;

static void call_again(struct sim *sim, unsigned client)
{
	(void)sim_call(sim, client, flood_bytes, 64, 0);
}

struct figures {
	double jain;
	unsigned done;
	uint64_t packets, dropped;
};

/* Each client keeps `depth` requests of this size open; results of ns, after a warm-up. */
static struct figures flood(const struct sim_config *cfg, unsigned depth, uint32_t bytes,
			    uint64_t ns)
{
	struct sim *sim = sim_new(cfg);
	const struct sim_link *link = &sim->ends[SIM_SERVER].links[0];
	double got[SIM_CLIENTS_MAX + 1] = {0}, sum = 0, squares = 0;
	struct figures f = {0};
	uint64_t since;

	CHECK(sim, sim_connect(sim, SEC));
	flood_bytes = bytes;
	sim->on_done = call_again;
	for (unsigned e = 1; e <= cfg->clients; e++)
		for (unsigned i = 0; i < depth; i++)
			call_again(sim, e);
	CHECK(sim, sim_pass(sim, 20 * MS));
	since = sim->now;
	f.packets = link->down_packets;
	f.dropped = link->down_dropped;
	CHECK(sim, sim_pass(sim, ns));
	f.packets = link->down_packets - f.packets;
	f.dropped = link->down_dropped - f.dropped;
	for (unsigned i = 0; i < sim->n_calls; i++)
		if (sim->calls[i].state == SIM_CALL_DONE && sim->calls[i].done_ns >= since)
			got[sim->calls[i].client]++;
	for (unsigned e = 1; e <= cfg->clients; e++) {
		sum += got[e];
		squares += got[e] * got[e];
	}
	f.done = (unsigned)sum;
	f.jain = sum * sum / ((double)cfg->clients * squares);
	sim->on_done = NULL;
	CHECK(sim, sim_finish(sim, SEC));
	world_end(sim);
	print_message("# %u done, fairness %.3f, %" PRIu64 " of %" PRIu64 " packets dropped\n",
		      f.done, f.jain, f.dropped, f.packets);
	return f;
}

/* Many senders of small requests behind a queue with space for two packets of each. */
static void incast_shares_fit_a_shallow_queue(void **state)
{
	struct sim_config cfg = world;
	struct figures f;

	cfg.clients = 64;
	cfg.legs = 1;
	cfg.delay_ns = 10 * US;
	cfg.down_queue_bytes = 128U << 10;
	f = flood(&cfg, 32, 4096, 40 * MS);
	assert_true(f.dropped * 100 < f.packets);
	assert_true(f.jain > 0.95);
	assert_true(f.done * 4096ULL * 8 * 100 > 88 * 40 * MS * 10); /* of 10 bits per ns */
}

/* Many waiting clients with large requests, behind a queue with space for the windows of two: fewer
 * grants at a time. */
static void fewer_grants_fit_a_short_queue(void **state)
{
	struct sim_config cfg = world;
	struct figures f;

	cfg.clients = 64;
	cfg.legs = 1;
	cfg.delay_ns = 10 * US;
	cfg.down_queue_bytes = 64U << 10;
	f = flood(&cfg, 4, MIB, 50 * MS);
	assert_true(f.dropped * 100 < f.packets);
	assert_true(f.done * 8ULL * MIB * 100 > 85 * 50 * MS * 10);
}

/* Losses of a bad cable are not a queue's: fewer bytes in flight do not reduce them, and the limit
 * does not last. */
static void cable_losses_limit_senders_only_briefly(void **state)
{
	struct sim_config cfg = world;
	struct figures whole, lossy;

	cfg.clients = 16;
	cfg.legs = 1;
	whole = flood(&cfg, 32, 4096, 100 * MS);
	cfg.loss = 30000;
	lossy = flood(&cfg, 32, 4096, 100 * MS);
	assert_int_equal(lossy.dropped, 0);
	assert_true(lossy.done > whole.done / 2);
}

/* The second request, of client `who`, waits for memory of the first: it is granted when that is
 * freed, not at the next periodic check. */
static void waits_for_first(const struct sim_config *cfg, unsigned who, uint32_t work_us)
{
	const uint32_t len = 600000; /* in the largest buffers; two exceed a share */
	struct sim *sim = sim_new(cfg);
	struct sim_end *server = &sim->ends[SIM_SERVER];
	const unsigned *used = &server->requests.used[SIM_BUF_CLASSES - 1][1];

	CHECK(sim, sim_connect(sim, SEC) && sim_pass(sim, 10 * MS));
	CHECK(sim, sim_call(sim, 1, len, 64, work_us));
	for (unsigned i = 0; i < 1000 && !sim->calls[0].executed; i++)
		CHECK(sim, sim_pass(sim, US));
	CHECK(sim, sim_call(sim, who, len, 64, 0) && sim_pass(sim, MS));
	CHECK(sim, server->request_bytes == len && *used == 1);
	for (unsigned i = 0; i < 5000 && server->request_bytes; i++)
		CHECK(sim, sim_pass(sim, US));
	CHECK(sim, !server->request_bytes && sim_pass(sim, 5 * US));
	CHECK(sim, *used == 1 && !sim->calls[1].executed); /* it has memory and is in flight */
	CHECK(sim, sim_finish(sim, SEC));
	world_end(sim);
}

static void freed_memory_is_granted_at_once(void **state)
{
	for (uint32_t work_us = 2000; work_us < 2500; work_us += 97) {
		struct sim_config few = world, share = world;

		few.clients = 2;
		few.bufs[SIM_BUF_CLASSES - 1] = 1;
		waits_for_first(&few, 2, work_us); /* another client, for memory */
		share.clients = 1;
		share.limits.rx_bytes_per_session = RUDP_MSG_BYTES_MAX;
		waits_for_first(&share, 1, work_us); /* the same client, for its share */
	}
}

static void one_more(struct sim *sim, unsigned client)
{
	if (sim->n_calls < 200)
		CHECK(sim, sim_call(sim, client, 100, 100, 0));
}

/* A new request does not overtake waiting ones when space becomes free. */
static void waiting_requests_keep_their_order(void **state)
{
	struct sim_config cfg = world;
	struct sim *sim;

	cfg.clients = cfg.legs = 1;
	cfg.limits.calls_per_session = 4;
	sim = sim_new(&cfg);
	CHECK(sim, sim_connect(sim, SEC));
	sim->on_done = one_more;
	for (unsigned i = 0; i < 7; i++) /* of which three wait */
		CHECK(sim, sim_call(sim, 1, 100, 100, 0));
	CHECK(sim, sim_finish(sim, SEC));
	assert_int_equal(sim->n_calls, 200);
	for (unsigned i = 1; i < sim->n_calls; i++)
		CHECK(sim, sim->calls[i].done_ns >= sim->calls[i - 1].done_ns);
	world_end(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_writers_share_little_memory),
		cmocka_unit_test(stalled_requests_do_not_block_other_clients),
		cmocka_unit_test(a_stalled_requests_memory_is_released),
		cmocka_unit_test(slow_readers_do_not_block_other_clients),
		cmocka_unit_test(clients_that_take_no_responses_make_room_for_others),
		cmocka_unit_test(clients_that_take_no_responses_are_closed),
		cmocka_unit_test(a_slow_link_does_not_close_clients),
		cmocka_unit_test(short_requests_pass_long_ones),
		cmocka_unit_test(a_single_sender_needs_no_grants),
		cmocka_unit_test(freed_memory_is_granted_at_once),
		cmocka_unit_test(waiting_requests_keep_their_order),
		cmocka_unit_test(incast_shares_fit_a_shallow_queue),
		cmocka_unit_test(fewer_grants_fit_a_short_queue),
		cmocka_unit_test(cable_losses_limit_senders_only_briefly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
