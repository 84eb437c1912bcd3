/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A thousand clients ask for as much as they may and fall silent, as a hostile host or a rack
 * without power does: the reads of a client that remains take at most twice their time, for a tenth
 * of a second at most.
 */
#include "tests/lib/rudp/rudp_worlds.h"
#include <string.h>

#define MIB (1U << 20)
#define SILENT 1000U
#define DEPTH 2U

/* As many buffers as the file system's server. */
static const struct sim_config world = {.seed = 1,
					.legs = 1,
					.clients = 1 + SILENT,
					.bits_per_s = 25000000000ULL,
					.delay_ns = 20 * US,
					.limits = {.sessions = 1100},
					.bufs = {8192, 512, 64}};

struct slow { /* reads of client 1 that took more than twice the usual time */
	uint64_t first_ns, last_ns;
	unsigned n;
};

/* Client 1 reads for this long. Returns the longest read. */
static uint64_t honest_reads(struct sim *sim, uint64_t ns, uint64_t usual_ns, struct slow *ret)
{
	unsigned first = sim->n_calls, n_open = 0;
	uint64_t until = sim->now + ns, longest = 0;

	while (sim->now < until && !sim->fault[0]) {
		n_open = 0;
		for (unsigned i = first; i < sim->n_calls; i++)
			n_open += sim->calls[i].client == 1 && sim->calls[i].state == SIM_CALL_OPEN;
		for (; n_open < DEPTH; n_open++)
			assert_true(sim_call(sim, 1, 100, MIB, 0));
		CHECK(sim, sim_pass(sim, 100 * US));
	}
	for (unsigned i = first; i < sim->n_calls; i++) {
		const struct sim_call *c = &sim->calls[i];
		uint64_t end = c->state == SIM_CALL_DONE ? c->done_ns : sim->now;

		if (c->client != 1)
			continue;
		CHECK(sim, c->state == SIM_CALL_OPEN || c->status == 0);
		longest = MAX_OF(longest, end - c->sent_ns);
		if (!ret || end - c->sent_ns <= 2 * usual_ns)
			continue;
		ret->first_ns = ret->n++ ? ret->first_ns : c->sent_ns;
		ret->last_ns = end;
	}
	return longest;
}

/* Each of the others reads 8 MiB, and is cut off while its requests are on their way. */
static void fall_silent(struct sim *sim)
{
	for (unsigned e = 2; e <= 1 + SILENT; e++)
		for (unsigned i = 0; i < 8; i++)
			assert_true(sim_call(sim, e, 100, MIB, 0));
	CHECK(sim, sim_pass(sim, 25 * US));
	for (unsigned e = 2; e <= 1 + SILENT; e++)
		sim_leg(sim, e, 0, false, false);
}

static void silence(unsigned reads_before)
{
	struct sim *sim = sim_new(&world);
	uint64_t usual;
	struct slow slow = {0};

	CHECK(sim, sim_connect(sim, 5 * SEC));
	for (unsigned e = 2; e <= 1 + SILENT; e++)
		for (unsigned i = 0; i < reads_before; i++)
			assert_true(sim_call(sim, e, 100, 4096, 0));
	CHECK(sim, sim_finish(sim, 10 * SEC));
	(void)honest_reads(sim, 20 * MS, 0, NULL);
	usual = honest_reads(sim, 20 * MS, 0, NULL);
	fall_silent(sim);
	(void)honest_reads(sim, 300 * MS, usual, &slow);
	print_message("usual %.3f ms, %u slow ones within %.1f ms\n", (double)usual / 1e6, slow.n,
		      (double)(slow.last_ns - slow.first_ns) / 1e6);
	CHECK(sim, slow.last_ns - slow.first_ns <= 100 * MS);
	sim_free(sim);
}

static void a_thousand_new_clients_that_fall_silent_hardly_delay_another(void **state)
{
	silence(0);
}

static void a_thousand_old_clients_that_fall_silent_hardly_delay_another(void **state)
{
	silence(1);
}

/* The first read of a client that has just connected, while a thousand others hold memory. */
static void a_new_client_reads_although_a_thousand_are_silent(void **state)
{
	struct sim *sim = sim_new(&world);
	unsigned cookie;

	CHECK(sim, sim_connect(sim, 5 * SEC));
	fall_silent(sim);
	CHECK(sim, sim_pass(sim, MS));
	cookie = sim->n_calls;
	assert_true(sim_call(sim, 1, 100, MIB, 0));
	CHECK(sim, sim_pass(sim, 100 * MS));
	CHECK(sim, sim->calls[cookie].state == SIM_CALL_DONE && sim->calls[cookie].status == 0);
	sim_free(sim);
}

/* All fall silent, and the application keeps some of those that hold memory. */
static void clients_that_the_application_keeps_stay_although_they_are_silent(void **state)
{
	struct sim_config cfg = world;
	struct sim *sim;
	unsigned n_ended = 0;

	cfg.keeps = 20;
	sim = sim_new(&cfg);
	CHECK(sim, sim_connect(sim, 5 * SEC));
	fall_silent(sim);
	(void)honest_reads(sim, 300 * MS, SEC, NULL);
	for (unsigned e = 2; e <= 1 + SILENT; e++) {
		CHECK(sim, e > cfg.keeps || !sim->ends[e].was_silent);
		n_ended += sim->ends[e].was_silent;
	}
	CHECK(sim, n_ended > 0);
	sim_free(sim);
}

#define READERS 24U

static void cut_off_server(struct sim *sim, uint64_t ns)
{
	sim_leg(sim, SIM_SERVER, 0, false, false);
	CHECK(sim, sim_pass(sim, ns));
	sim_leg(sim, SIM_SERVER, 0, true, false);
}

/* Readers hold all of the server's large buffers when the server is cut off for longer than
 * a client may be silent. Then the first client asks for such a buffer, before the readers
 * have answered: they are alive, and keep their sessions. */
static void outage(uint64_t ns)
{
	struct sim_config cfg = world;
	struct sim *sim;

	cfg.clients = 1 + READERS;
	cfg.bufs[2] = 16;
	sim = sim_new(&cfg);
	CHECK(sim, sim_connect(sim, 5 * SEC));
	CHECK(sim, sim_pass(sim, 100 * MS));
	for (unsigned e = 2; e <= 1 + READERS; e++)
		assert_true(sim_call(sim, e, 100, MIB, 0));
	CHECK(sim, sim_pass(sim, 200 * US));
	cut_off_server(sim, ns);
	assert_true(sim_call(sim, 1, 100, MIB, 0));
	CHECK(sim, sim_finish(sim, 5 * SEC));
	for (unsigned i = 0; i < sim->n_calls; i++)
		CHECK(sim, sim->calls[i].status == 0);
	CHECK(sim, sim->ends[SIM_SERVER].events[RUDP_SESSION_STUCK] == 0);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

static void an_outage_of_the_server_ends_no_session(void **state)
{
	for (uint64_t ms = 40; ms < 200; ms += 10)
		outage(ms * MS);
	/* Longer than a client may leave its responses unacknowledged. */
	outage(600 * MS);
	outage(900 * MS);
}

/* The server probes hundreds of silent clients rarely, and still uses a path soon after the client
 * is back. */
static void hundreds_of_clients_are_served_soon_after_an_outage(void **state)
{
	struct sim_config cfg = world;
	struct sim *sim;

	cfg.clients = 600;
	memset(cfg.bufs, 0, sizeof(cfg.bufs));
	sim = sim_new(&cfg);
	CHECK(sim, sim_connect(sim, 5 * SEC));
	CHECK(sim, sim_pass(sim, 100 * MS));
	for (unsigned e = 1; e <= cfg.clients; e++)
		assert_true(sim_call(sim, e, 100, 100, 0));
	CHECK(sim, sim_pass(sim, 25 * US)); /* the responses are lost */
	cut_off_server(sim, 2 * SEC);
	CHECK(sim, sim_pass(sim, 40 * MS));
	CHECK(sim, sim->n_open == 0);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_outage_of_the_server_ends_no_session),
		cmocka_unit_test(hundreds_of_clients_are_served_soon_after_an_outage),
		cmocka_unit_test(a_thousand_new_clients_that_fall_silent_hardly_delay_another),
		cmocka_unit_test(a_thousand_old_clients_that_fall_silent_hardly_delay_another),
		cmocka_unit_test(a_new_client_reads_although_a_thousand_are_silent),
		cmocka_unit_test(clients_that_the_application_keeps_stay_although_they_are_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
