/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Incast shares that are forged, flooded, or triggered by losses outside any queue. A peer can slow
 * traffic to itself only, and never stop it. Uses rudp's internal header, because no honest
 * endpoint sends such packets.
 */
#include "dataplane/rudp/rudp_internal.h"
#include "tests/lib/rudp/rudp_worlds.h"

static const struct sim_config world = {.seed = 1,
					.legs = 1,
					.bits_per_s = 10000000000ULL,
					.down_bits_per_s = 10000000000ULL,
					.down_queue_bytes = 256U << 10,
					.delay_ns = 20 * US};

static void call_again(struct sim *sim, unsigned client)
{
	(void)sim_call(sim, client, 4000, 4000, 0);
}

/* Each client keeps 16 calls open. */
static struct sim *busy_world(unsigned clients, enum rudp_security security)
{
	struct sim_config cfg = world;
	struct sim *sim;

	cfg.clients = clients;
	cfg.security = security;
	sim = sim_new(&cfg);
	CHECK(sim, sim_connect(sim, SEC));
	sim->on_done = call_again;
	for (unsigned e = 1; e <= clients; e++)
		for (unsigned i = 0; i < 16; i++)
			call_again(sim, e);
	CHECK(sim, sim_pass(sim, 5 * MS));
	return sim;
}

/* Every call ends with a response. */
static void world_end(struct sim *sim)
{
	sim->on_done = NULL;
	CHECK(sim, sim_finish(sim, 5 * SEC));
	for (unsigned i = 0; i < sim->n_calls; i++)
		CHECK(sim, sim->calls[i].status == 0);
	CHECK(sim, sim_close(sim));
	sim_free(sim);
}

/* Number of a client's ended calls. */
static unsigned done_of(const struct sim *sim, unsigned client)
{
	unsigned n = 0;

	for (unsigned i = 0; i < sim->n_calls; i++)
		n += sim->calls[i].client == client && sim->calls[i].state == SIM_CALL_DONE;
	return n;
}

static struct rudp_session *session_of_client(struct sim *sim, unsigned client)
{
	struct rudp_session *s = NULL;

	do
		s = rudp_session_next(sim->ends[SIM_SERVER].r, s);
	while (s && rudp_session_peer(s, NULL) != 100 + client);
	return s;
}

static size_t share_put(const struct rudp_session *s, uint32_t serial, uint32_t bytes, uint8_t *ret)
{
	struct wire_common c = {.type = WIRE_SHARE, .session = s->peer_number, .pn = serial};

	return wire_put_share(ret, &c, bytes);
}

/* Sends SHARE as the peer itself would, including its tag. */
static void share_say(struct rudp_session *s, uint32_t bytes)
{
	struct datagram pkt = {.payload = NULL};
	uint64_t serial = s->ack_serial + 1;

	pkt.hdr_len = (uint16_t)share_put(s, (uint32_t)serial, bytes, pkt.hdr);
	if (rudp_session_raw(s, s->paths[0].port, &s->paths[0].remote, &pkt, serial) == 0)
		s->ack_serial = serial;
	rudp_session_touch(s);
}

/* Calls of clients 1 and 2 that end within 5 ms while client 2's session sends these shares. */
static void flood(struct sim *sim, struct rudp_session *s, const uint32_t *shares, unsigned n,
		  unsigned ret[2])
{
	unsigned before[2] = {done_of(sim, 1), done_of(sim, 2)};

	for (unsigned i = 0; i < 500; i++) {
		for (unsigned k = 0; s && k < 4; k++)
			share_say(s, shares[sim_random(sim, n)]);
		CHECK(sim, sim_pass(sim, 10 * US));
	}
	for (unsigned i = 0; i < 2; i++)
		ret[i] = done_of(sim, i + 1) - before[i];
}

/* The client sends it to the server, or the server to the client. */
static void false_shares_slow_only_their_sender(void **state)
{
	static const uint32_t least[] = {1}, none[] = {0}, all[] = {UINT32_MAX},
			      any[] = {0, 1, 64, 1500, 65536, 1U << 31, UINT32_MAX};
	static const struct {
		const uint32_t *shares;
		unsigned n;
		bool slows;
	} lies[] = {
		{least, 1, true}, {none, 1, false}, {all, 1, false}, {any, ARRAY_SIZE(any), true}};

	for (unsigned k = 0; k < 2 * ARRAY_SIZE(lies); k++) {
		struct sim *sim = busy_world(2, (k ^ k / 2) & 1 ? RUDP_AUTH : RUDP_SECURITY_NONE);
		unsigned honest[2], lied[2], after[2];
		struct rudp_session *s = k % 2 ? session_of_client(sim, 2) : sim->ends[2].session;

		flood(sim, NULL, NULL, 0, honest);
		flood(sim, s, lies[k / 2].shares, lies[k / 2].n, lied);
		CHECK(sim, sim_pass(sim, 105 * MS));
		flood(sim, NULL, NULL, 0, after);
		print_message("# %u and %u calls; with false shares %u and %u; then %u and %u\n",
			      honest[0], honest[1], lied[0], lied[1], after[0], after[1]);
		CHECK(sim, lied[0] > honest[0] / 2);
		CHECK(sim, after[0] > honest[0] / 2 && after[1] > honest[1] / 2);
		CHECK(sim, lied[1] > (lies[k / 2].slows ? 0 : honest[1] / 2));
		CHECK(sim, rudp_session_is_up(sim->ends[2].session));
		for (unsigned e = 0; e <= 2; e++) /* not more than before, whatever SHARE says */
			CHECK(sim, sim->ends[e].links[0].down_dropped * 100 <=
					   sim->ends[e].links[0].down_packets);
		world_end(sim);
	}
}

/* Without the key it is rejected, even from the right address with valid numbers. */
static void forged_shares_are_ignored(void **state)
{
	for (enum rudp_security k = RUDP_AUTH; k <= RUDP_ENCRYPT; k++) {
		struct sim *sim = busy_world(2, k);
		struct rudp_session *s = session_of_client(sim, 2);
		struct sim_end *client = &sim->ends[2];
		struct datagram_addr from = client->session->paths[0].remote;
		unsigned honest[2], forged[2];
		uint8_t pkt[WIRE_SHARE_BYTES + RUDP_SECURE_BYTES] = {0};
		uint64_t drops = rudp_rx_drops(client->r);

		flood(sim, NULL, NULL, 0, honest);
		forged[1] = done_of(sim, 2);
		for (unsigned i = 0; i < 500; i++) {
			size_t len = share_put(s, (uint32_t)s->ack_serial + 1 + i % 3, 1, pkt);

			len += i % 2 ? RUDP_SECURE_BYTES : 0;
			assert_int_equal(rudp_rx(client->r, 0, &from, pkt, len, sim->now),
					 -EBADMSG);
			CHECK(sim, sim_pass(sim, 10 * US));
		}
		forged[1] = done_of(sim, 2) - forged[1];
		CHECK(sim, forged[1] > honest[1] / 10 * 9);
		CHECK(sim, rudp_rx_drops(client->r) == drops + 500);
		world_end(sim);
	}
}

/* Eight senders lose most packets on their own cables, so the server takes it for a queue's losses:
 * the healthy sender continues, and recovers most of its rate once the limit proves futile. */
static void lossy_senders_do_not_slow_a_healthy_one(void **state)
{
	static const uint32_t losses[] = {500000, 900000};

	for (unsigned k = 0; k < ARRAY_SIZE(losses); k++) {
		struct sim *sim = busy_world(9, RUDP_SECURITY_NONE);
		unsigned ends[3];

		for (unsigned i = 0; i < ARRAY_SIZE(ends); i++) {
			ends[i] = done_of(sim, 1);
			CHECK(sim, sim_pass(sim, 15 * MS));
			ends[i] = done_of(sim, 1) - ends[i];
			for (unsigned e = 2; e <= 9; e++)
				sim->ends[e].links[0].out_loss = losses[k];
		}
		print_message("# %u calls beside honest senders, %u and %u beside lossy ones\n",
			      ends[0], ends[1], ends[2]);
		CHECK(sim, ends[1] > ends[0] / 4 && ends[2] > ends[0] / 4);
		for (unsigned e = 2; e <= 9; e++)
			sim->ends[e].links[0].out_loss = 0;
		world_end(sim);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(false_shares_slow_only_their_sender),
		cmocka_unit_test(forged_shares_are_ignored),
		cmocka_unit_test(lossy_senders_do_not_slow_a_healthy_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
