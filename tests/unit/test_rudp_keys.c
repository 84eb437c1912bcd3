/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who has which keys: modes, keys that do not fit, and their change, by a restart and under
 * sessions that run.
 */
#include "tests/lib/auth_rig.h"

static void test_modes(void **state)
{
	for (unsigned server = RUDP_AUTH; server <= RUDP_ENCRYPT; server++) {
		for (unsigned client = RUDP_AUTH; client <= RUDP_ENCRYPT; client++) {
			struct rudp_path_info paths[RUDP_PATHS_MAX];

			g->cfg[SERVER].security = server;
			g->cfg[CLIENT].security = client;
			g->cfg[SERVER].n_keys = g->cfg[CLIENT].n_keys = 0;
			key_add(SERVER, 0);
			key_add(CLIENT, 0);
			begin();
			pass(50 * NSEC_PER_MSEC);
			assert_true(is_up());
			assert_int_equal(rudp_session_security(g->ends[CLIENT].s),
					 MAX_OF(server, client));
			assert_int_equal(rudp_session_paths(g->ends[CLIENT].s, paths, 8), 2);
			assert_true(paths[0].up && paths[1].up);
			call();
			pass(5 * NSEC_PER_MSEC);
			assert_int_equal(g->ends[CLIENT].answers, 1);
			assert_int_equal(rudp_rx_drops(g->ends[CLIENT].r), 0);
			assert_int_equal(rudp_rx_drops(g->ends[SERVER].r), 0);
			again();
		}
	}
}

/* Nobody gets in, and the client's operator learns why. */
static void expect_refused(const char *word)
{
	begin();
	pass(2 * NSEC_PER_SEC);
	assert_false(is_up());
	assert_int_equal(sessions(SERVER), 0);
	assert_int_equal(g->ends[SERVER].accepts, 0);
	assert_in_range(g->ends[CLIENT].events[RUDP_SESSION_REFUSED], 1, 5);
	assert_int_equal(g->ends[CLIENT].code, -EKEYREJECTED);
	assert_string_equal(g->ends[CLIENT].word, word);
}

static void test_wrong_key(void **state)
{
	key_add(SERVER, 0);
	key_add(CLIENT, 1);
	expect_refused("key-mismatch");
}

static void test_key_required(void **state)
{
	key_add(SERVER, 0);
	expect_refused("key-required");
}

static void test_no_key_here(void **state)
{
	key_add(CLIENT, 0);
	expect_refused("no-key-here");
}

/* Old on all, new beside it on all, new first on all, old taken away: at each step, whatever the
 * order in which hosts take it, everybody gets in. */
static void test_rotation(void **state)
{
	static const int steps[][2] = {{0, -1}, {0, 1}, {1, 0}, {1, -1}};

	for (unsigned i = 0; i < ARRAY_SIZE(steps); i++) {
		for (unsigned j = i ? i - 1 : 0; j < ARRAY_SIZE(steps) && j <= i + 1; j++) {
			for (unsigned k = 0; k < 2; k++) {
				if (steps[i][k] >= 0)
					key_add(SERVER, (unsigned)steps[i][k]);
				if (steps[j][k] >= 0)
					key_add(CLIENT, (unsigned)steps[j][k]);
			}
			begin();
			pass(50 * NSEC_PER_MSEC);
			assert_true(is_up());
			g->cfg[SERVER].n_keys = g->cfg[CLIENT].n_keys = 0;
			again();
		}
	}
}

/* The keys of an endpoint that runs: what its file says now; -1: no second one. */
static int take(unsigned end, int first, int second)
{
	uint8_t set[2][RUDP_KEY_BYTES];

	memcpy(set[0], keys[first], RUDP_KEY_BYTES);
	memcpy(set[1], keys[MAX_OF(second, 0)], RUDP_KEY_BYTES);
	return rudp_set_keys(g->ends[end].r, set, second < 0 ? 1 : 2, g->now);
}

static void calls_go_on(void)
{
	unsigned answers = g->ends[CLIENT].answers;

	pass(50 * NSEC_PER_MSEC);
	assert_true(is_up());
	call();
	pass(5 * NSEC_PER_MSEC);
	assert_int_equal(g->ends[CLIENT].answers, answers + 1);
}

/* A change of key under a session: nobody notices until the old one is dropped; then the session is
 * made anew, once, whichever end drops it first. */
static void test_rotation_of_running(void **state)
{
	for (unsigned first = SERVER; first <= CLIENT; first++) {
		key_add(SERVER, 0);
		key_add(CLIENT, 0);
		begin();
		calls_go_on();
		for (unsigned step = 0; step < 2; step++) {
			for (unsigned i = 0; i < 2; i++) {
				assert_int_equal(take(i ? !first : first, (int)step, !step), 0);
				calls_go_on();
			}
		}
		assert_int_equal(g->ends[CLIENT].events[RUDP_SESSION_UP], 1);
		assert_int_equal(take(first, 1, -1), 1);
		calls_go_on();
		assert_int_equal(take(!first, 1, -1), 0);
		calls_go_on();
		assert_int_equal(g->ends[CLIENT].events[RUDP_SESSION_ENDED], 1);
		assert_int_equal(g->ends[CLIENT].events[RUDP_SESSION_UP], 2);
		assert_int_equal(g->ends[CLIENT].events[RUDP_SESSION_LOST], 0);
		assert_int_equal(sessions(SERVER), 1);
		g->cfg[SERVER].n_keys = g->cfg[CLIENT].n_keys = 0;
		again();
	}
}

/* Who knows the dropped key alone is out at once, and stays so. */
static void test_dropped_key_ends(void **state)
{
	key_add(SERVER, 0);
	key_add(CLIENT, 0);
	begin();
	calls_go_on();
	assert_int_equal(take(SERVER, 1, -1), 1);
	pass(10 * NSEC_PER_MSEC);
	assert_false(is_up());
	pass(2 * NSEC_PER_SEC);
	assert_false(is_up());
	assert_int_equal(sessions(SERVER), 0);
	assert_int_equal(g->ends[SERVER].accepts, 1);
	assert_string_equal(g->ends[CLIENT].word, "key-mismatch");
	assert_int_equal(take(CLIENT, 1, -1), 0); /* it is connecting: nothing ends */
	pass(NSEC_PER_SEC);
	calls_go_on();
}

static bool swallow_answers(struct rig *rig, struct hop *h)
{
	return h->to == CLIENT && (h->data[1] & 0x0f) == WIRE_ACCEPT;
}

/* The keys change while a handshake is under way. */
static void test_rotation_in_handshake(void **state)
{
	key_add(SERVER, 0);
	key_add(CLIENT, 0);
	g->middle = swallow_answers;
	begin();
	pass(5 * NSEC_PER_MSEC);
	assert_int_equal(g->ends[SERVER].accepts, 1);
	assert_int_equal(take(CLIENT, 1, -1), 1);
	assert_int_equal(take(SERVER, 1, -1), 1);
	g->middle = NULL;
	calls_go_on();
	assert_int_equal(sessions(SERVER), 1);
}

/* A server that was told of the new key second proves itself by it all the same, once the old one
 * is forgotten by all and it has lost its memory. */
static void test_reset_after_rotation(void **state)
{
	key_add(SERVER, 0);
	key_add(SERVER, 1);
	key_add(CLIENT, 1);
	begin();
	calls_go_on();
	assert_int_equal(take(SERVER, 1, -1), 0);
	rudp_free(g->ends[SERVER].r);
	g->cfg[SERVER].n_keys = 0;
	key_add(SERVER, 1);
	end_start(SERVER);
	call();
	pass(100 * NSEC_PER_MSEC);
	assert_int_equal(g->ends[CLIENT].events[RUDP_SESSION_RESTARTED], 1);
	calls_go_on();
}

/* More goodbyes at once than there is room for. */
static void test_rotation_of_many(void **state)
{
	enum { MANY = 60 };
	struct datagram_addr to = addr_of(SERVER, 0);
	struct rudp_session *s;

	g->cfg[SERVER].limits.sessions = g->cfg[CLIENT].limits.sessions = MANY;
	key_add(SERVER, 0);
	key_add(CLIENT, 0);
	begin();
	for (unsigned i = 1; i < MANY; i++)
		assert_int_equal(
			rudp_connect(g->ends[CLIENT].r, &to, 1, "more", 4, NULL, g->now, &s), 0);
	pass(200 * NSEC_PER_MSEC);
	assert_int_equal(g->ends[CLIENT].events[RUDP_SESSION_UP], MANY);
	assert_int_equal(take(CLIENT, 1, 0), 0);
	assert_int_equal(take(SERVER, 1, -1), MANY);
	pass(500 * NSEC_PER_MSEC);
	assert_int_equal(g->ends[CLIENT].events[RUDP_SESSION_ENDED], MANY);
	assert_int_equal(g->ends[CLIENT].events[RUDP_SESSION_UP], 2 * MANY);
	assert_int_equal(g->ends[CLIENT].events[RUDP_SESSION_LOST], 0);
}

static void test_keys_that_cannot_be_taken(void **state)
{
	uint8_t set[RUDP_KEYS_MAX + 1][RUDP_KEY_BYTES] = {{9}};

	begin();
	assert_int_equal(take(SERVER, 0, -1), -EINVAL); /* it has no security */
	again();
	key_add(SERVER, 0);
	key_add(CLIENT, 0);
	begin();
	assert_int_equal(rudp_set_keys(g->ends[SERVER].r, set, 0, g->now), -EINVAL);
	assert_int_equal(rudp_set_keys(g->ends[SERVER].r, set, RUDP_KEYS_MAX + 1, g->now), -EINVAL);
	calls_go_on();
	assert_int_equal(g->ends[CLIENT].events[RUDP_SESSION_UP], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_modes),
		RIG_TEST(test_wrong_key),
		RIG_TEST(test_key_required),
		RIG_TEST(test_no_key_here),
		RIG_TEST(test_rotation),
		RIG_TEST(test_rotation_of_running),
		RIG_TEST(test_dropped_key_ends),
		RIG_TEST(test_rotation_in_handshake),
		RIG_TEST(test_reset_after_rotation),
		RIG_TEST(test_rotation_of_many),
		RIG_TEST(test_keys_that_cannot_be_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
