/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Timeouts of a path expire exactly by their full formula, in simulations whose ends wake only for
 * packets and at rudp's deadlines.
 */
#include "dataplane/rudp/rudp_internal.h"
#include "tests/lib/rudp/rudp_worlds.h"

#ifdef __SANITIZE_ADDRESS__
#define SEEDS 4
#else
#define SEEDS 24
#endif
#define TURN_NS (2 * US)
#define LATE_NS (2 * TURN_NS) /* an end polls this often */

struct seen { /* coverage of the worlds */
	unsigned silent, suspect, suspicions;
};

/* When a timed-out path goes down, by the formula of rudp_path.c. */
static uint64_t given_up_at(const struct rudp_session *s, const struct rudp_path *p)
{
	uint64_t dead_ns = s->r->lim.path_dead_ns;
	uint64_t at = MAX_OF(p->sent.progress_ns + dead_ns, p->timed_out_ns);

	if (p->tx_error_ns && !rudp_path_is_only(s, p))
		return p->tx_error_ns + dead_ns;
	if (!p->alive_elsewhere_ns)
		return MAX_OF(at, p->timed_out_ns + SEC);
	return MAX_OF(at, p->alive_elsewhere_ns + MAX_OF(2 * MS, 2 * p->rtt.srtt));
}

/* It was not due before, and the reported deadline is not later. */
static void look_at(struct sim *sim, const struct rudp_session *s, uint64_t due)
{
	CHECK(sim, due + LATE_NS >= sim->now);
	if (due > sim->now)
		CHECK(sim, rudp_deadline(s->r) <= due);
}

static void path_look(struct sim *sim, const struct rudp_session *s, const struct rudp_path *p,
		      struct seen *seen)
{
	uint64_t next;

	if (p->state != PATH_UP)
		return;
	if (p->sent.in_flight) {
		seen->silent++;
		look_at(sim, s, rudp_path_pto(s, p));
	}
	if (p->timed_out) {
		seen->suspect++;
		look_at(sim, s, given_up_at(s, p));
	}
	if (p->sent.loss_deadline != RUDP_TIME_NEVER)
		look_at(sim, s, p->sent.loss_deadline);
	next = rudp_suspect_deadline(s, p);
	if (next != RUDP_TIME_NEVER && next > sim->now) {
		seen->suspicions++;
		CHECK(sim, rudp_deadline(s->r) <= MAX_OF(next, s->r->now + RUDP_ACK_DELAY_NS));
	}
}

static void world_look(struct sim *sim, struct seen *seen)
{
	for (unsigned e = 0; e <= sim->cfg.clients; e++) {
		struct rudp_session *s = rudp_session_next(sim->ends[e].r, NULL);

		for (; s; s = rudp_session_next(sim->ends[e].r, s))
			for (unsigned i = 0; s->state == SESSION_UP && i < s->n_paths; i++)
				path_look(sim, s, &s->paths[i], seen);
	}
}

/* Legs fall silent and recover, in one or both directions. */
static void world_turn(struct sim *sim)
{
	struct sim_link *link = &sim->ends[1].links[sim_random(sim, sim->cfg.legs)];

	if (sim_random(sim, 300) == 0)
		link->cut_out = !link->cut_out;
	if (sim_random(sim, 300) == 0)
		link->cut_in = !link->cut_in;
	if (sim_random(sim, 10) == 0 && sim->n_open < 20)
		(void)sim_call(sim, 1, 1 + (uint32_t)sim_random(sim, 40000),
			       (uint32_t)sim_random(sim, 40000), 0);
}

static void timeouts_expire_at_their_deadline(void **state)
{
	struct seen seen = {0};

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct sim_config cfg = sim_clean;
		struct sim *sim;

		cfg.seed = seed;
		cfg.legs = 1 + (unsigned)seed % 3;
		cfg.turn_ns = TURN_NS;
		cfg.delay_ns = (seed % 5 * 100 + 5) * US;
		cfg.jitter_ns = seed % 2 * 300 * US;
		cfg.loss = seed % 4 * 10000;
		sim = sim_new(&cfg);
		CHECK(sim, sim_connect(sim, SEC));
		for (unsigned i = 0; i < 20000; i++) {
			world_turn(sim);
			CHECK(sim, sim_pass(sim, 10 * US));
			world_look(sim, &seen);
		}
		for (unsigned i = 0; i < cfg.legs; i++)
			sim_leg(sim, 1, i, true, false);
		CHECK(sim, sim_finish(sim, 60 * SEC));
		CHECK(sim, sim_close(sim));
		sim_free(sim);
	}
	print_message("# looked at %u packets' timeouts, %u timed-out paths, %u suspect paths\n",
		      seen.silent, seen.suspect, seen.suspicions);
	assert_true(seen.silent > 1000 && seen.suspect > 1000 && seen.suspicions > 100);
}

/* No more answers: the path probes after its timeout, then after twice and four times as long,
 * exactly. */
static void silence_of(uint64_t delay_ns)
{
	struct sim_config cfg = sim_clean;
	const struct rudp_session *s;
	const struct rudp_path *p;
	struct sim *sim;

	cfg.legs = 1;
	cfg.turn_ns = TURN_NS;
	cfg.delay_ns = delay_ns;
	sim = sim_new(&cfg);
	CHECK(sim, sim_connect(sim, SEC));
	for (unsigned i = 0; i < 20; i++)
		CHECK(sim, sim_call(sim, 1, 100, 100, 0) && sim_finish(sim, SEC));
	CHECK(sim, sim_pass(sim, 100 * MS));
	s = rudp_session_next(sim->ends[1].r, NULL);
	p = &s->paths[0];
	CHECK(sim, p->sent.in_flight == 0);
	sim_leg(sim, 1, 0, false, false);
	CHECK(sim, sim_call(sim, 1, 100, 100, 0) && sim_pass(sim, 2 * TURN_NS));
	for (unsigned fires = 1; fires <= 4; fires++) {
		uint64_t due = rudp_path_pto(s, p), packets = p->tx_packets;

		CHECK(sim, due == p->sent.pto_base + (rudp_path_rto(s, p) << (fires - 1)));
		CHECK(sim, sim_pass(sim, due - sim->now - 1));
		CHECK(sim, p->sent.pto_count == fires - 1 && p->tx_packets == packets);
		CHECK(sim, sim_pass(sim, LATE_NS));
		CHECK(sim, p->sent.pto_count == fires && p->tx_packets > packets);
	}
	sim_leg(sim, 1, 0, true, false);
	CHECK(sim, sim_finish(sim, 10 * SEC));
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

static void timeouts_double_during_silence(void **state)
{
	silence_of(5 * US);
	silence_of(450 * US);
	silence_of(700 * US);
	silence_of(3 * MS);
}

/* A silent path goes down on time: soon if the peer answers on another path, and after a second if
 * the peer answers on no path. */
static void given_up_of(unsigned legs)
{
	struct sim_config cfg = sim_clean;
	const struct rudp_session *s;
	const struct rudp_path *p;
	struct sim *sim;
	uint64_t due = 0;

	cfg.legs = legs;
	cfg.turn_ns = TURN_NS;
	sim = sim_new(&cfg);
	CHECK(sim, sim_connect(sim, SEC) && sim_pass(sim, 100 * MS));
	s = rudp_session_next(sim->ends[1].r, NULL);
	p = &s->paths[0];
	sim_leg(sim, 1, 0, false, false);
	while (p->state == PATH_UP) {
		if (sim->n_open < 8)
			CHECK(sim, sim_call(sim, 1, 100, 100, 0));
		CHECK(sim, sim_pass(sim, US));
		if (p->state == PATH_UP && p->timed_out)
			due = given_up_at(s, p);
		CHECK(sim, !due || sim->now < due + LATE_NS);
	}
	CHECK(sim, due && sim->now >= due);
	sim_leg(sim, 1, 0, true, false);
	CHECK(sim, sim_finish(sim, 10 * SEC));
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

static void a_silent_path_goes_down_on_time(void **state)
{
	given_up_of(1);
	given_up_of(2);
}

/* A response is acknowledged by the next request, or after the delay; with rudp_ack_at_once
 * immediately, unless another response is due or a request still has one to come. */
static void acknowledged_of(bool rests)
{
	struct sim_config cfg = sim_clean;
	const struct rudp_session *s;
	const struct rudp_path *p;
	struct sim *sim;
	uint64_t sent, had;

	cfg.legs = 1;
	cfg.turn_ns = TURN_NS;
	cfg.delay_ns = 5 * US;
	cfg.rests = rests;
	sim = sim_new(&cfg);
	CHECK(sim, sim_connect(sim, SEC) && sim_pass(sim, 100 * MS));
	s = rudp_session_next(sim->ends[1].r, NULL);
	p = &s->paths[0];
	CHECK(sim, sim_call(sim, 1, 100, 100, 0) && sim_finish(sim, SEC) && sim_pass(sim, LATE_NS));
	CHECK(sim, (p->acks.pending == 0) == rests);
	CHECK(sim, sim_pass(sim, RUDP_ACK_DELAY_NS) && p->acks.pending == 0);

	/* The server takes 100 us for the second: its response alone acknowledges it. */
	sent = p->tx_packets;
	had = p->rx_packets;
	CHECK(sim, sim_call(sim, 1, 100, 100, 0) && sim_call(sim, 1, 100, 100, 100));
	CHECK(sim, sim_pass(sim, 50 * US));
	CHECK(sim, sim->n_open == 1 && p->acks.pending == 1);
	CHECK(sim, p->tx_packets == sent + 2 && p->rx_packets == had + 1);
	CHECK(sim, sim_finish(sim, SEC) && sim_pass(sim, LATE_NS));
	CHECK(sim, p->rx_packets == had + 2 && (p->acks.pending == 0) == rests);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

static void a_response_is_acknowledged_in_time(void **state)
{
	acknowledged_of(false);
	acknowledged_of(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timeouts_expire_at_their_deadline),
		cmocka_unit_test(timeouts_double_during_silence),
		cmocka_unit_test(a_silent_path_goes_down_on_time),
		cmocka_unit_test(a_response_is_acknowledged_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
