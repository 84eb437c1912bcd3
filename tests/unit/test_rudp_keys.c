/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cluster keys: security modes, mismatched keys, and rotation by restart and in running sessions.
 */
#include "tests/lib/auth_rig.h"

static void the_stronger_mode_applies(void **state)
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

/* The client is refused, and its operator gets this reason. */
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

static void a_wrong_key_is_refused(void **state)
{
	key_add(SERVER, 0);
	key_add(CLIENT, 1);
	expect_refused("key-mismatch");
}

static void a_client_without_key_is_refused(void **state)
{
	key_add(SERVER, 0);
	expect_refused("key-required");
}

static void a_key_is_refused_by_a_server_without_key(void **state)
{
	key_add(CLIENT, 0);
	expect_refused("no-key-here");
}

/* Old key on all hosts, new one added on all, new one first on all, old one removed: at each step,
 * in any order of hosts, every client connects. */
static void keys_rotate_host_by_host(void **state)
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

/* Sets the keys of a running endpoint; -1: no second key. */
static int take(unsigned end, int first, int second)
{
	uint8_t set[2][RUDP_KEY_BYTES];

	memcpy(set[0], keys[first], RUDP_KEY_BYTES);
	memcpy(set[1], keys[MAX_OF(second, 0)], RUDP_KEY_BYTES);
	return rudp_set_keys(g->ends[end].r, set, second < 0 ? 1 : 2, g->now);
}

static void calls_continue(void)
{
	unsigned answers = g->ends[CLIENT].answers;

	pass(50 * NSEC_PER_MSEC);
	assert_true(is_up());
	call();
	pass(5 * NSEC_PER_MSEC);
	assert_int_equal(g->ends[CLIENT].answers, answers + 1);
}

/* Rotation in a running session: nothing happens until the old key is dropped; then the session
 * reconnects once, whichever end drops it first. */
static void running_sessions_survive_a_key_rotation(void **state)
{
	for (unsigned first = SERVER; first <= CLIENT; first++) {
		key_add(SERVER, 0);
		key_add(CLIENT, 0);
		begin();
		calls_continue();
		for (unsigned step = 0; step < 2; step++) {
			for (unsigned i = 0; i < 2; i++) {
				assert_int_equal(take(i ? !first : first, (int)step, !step), 0);
				calls_continue();
			}
		}
		assert_int_equal(g->ends[CLIENT].events[RUDP_SESSION_UP], 1);
		assert_int_equal(take(first, 1, -1), 1);
		calls_continue();
		assert_int_equal(take(!first, 1, -1), 0);
		calls_continue();
		assert_int_equal(g->ends[CLIENT].events[RUDP_SESSION_ENDED], 1);
		assert_int_equal(g->ends[CLIENT].events[RUDP_SESSION_UP], 2);
		assert_int_equal(g->ends[CLIENT].events[RUDP_SESSION_LOST], 0);
		assert_int_equal(sessions(SERVER), 1);
		g->cfg[SERVER].n_keys = g->cfg[CLIENT].n_keys = 0;
		again();
	}
}

/* A host that knows only the dropped key loses its session at once and stays out. */
static void a_dropped_key_ends_its_sessions(void **state)
{
	key_add(SERVER, 0);
	key_add(CLIENT, 0);
	begin();
	calls_continue();
	assert_int_equal(take(SERVER, 1, -1), 1);
	pass(10 * NSEC_PER_MSEC);
	assert_false(is_up());
	pass(2 * NSEC_PER_SEC);
	assert_false(is_up());
	assert_int_equal(sessions(SERVER), 0);
	assert_int_equal(g->ends[SERVER].accepts, 1);
	assert_string_equal(g->ends[CLIENT].word, "key-mismatch");
	assert_int_equal(take(CLIENT, 1, -1), 0); /* still connecting: no session ends */
	pass(NSEC_PER_SEC);
	calls_continue();
}

static bool swallow_answers(struct rig *rig, struct hop *h)
{
	return h->to == CLIENT && (h->data[1] & 0x0f) == WIRE_ACCEPT;
}

/* The keys change during a handshake. */
static void keys_rotate_during_a_handshake(void **state)
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
	calls_continue();
	assert_int_equal(sessions(SERVER), 1);
}

/* A server that got the new key as its second one still proves its identity with it after the old
 * key was removed everywhere and it lost its memory. */
static void a_reset_works_after_a_rotation(void **state)
{
	key_add(SERVER, 0);
	key_add(SERVER, 1);
	key_add(CLIENT, 1);
	begin();
	calls_continue();
	assert_int_equal(take(SERVER, 1, -1), 0);
	rudp_free(g->ends[SERVER].r);
	g->cfg[SERVER].n_keys = 0;
	key_add(SERVER, 1);
	end_start(SERVER);
	call();
	pass(100 * NSEC_PER_MSEC);
	assert_int_equal(g->ends[CLIENT].events[RUDP_SESSION_RESTARTED], 1);
	calls_continue();
}

/* More CLOSE packets at once than the queue holds. */
static void many_sessions_end_with_their_key(void **state)
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

static void invalid_keys_are_refused(void **state)
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
	calls_continue();
	assert_int_equal(g->ends[CLIENT].events[RUDP_SESSION_UP], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(the_stronger_mode_applies),
		RIG_TEST(a_wrong_key_is_refused),
		RIG_TEST(a_client_without_key_is_refused),
		RIG_TEST(a_key_is_refused_by_a_server_without_key),
		RIG_TEST(keys_rotate_host_by_host),
		RIG_TEST(running_sessions_survive_a_key_rotation),
		RIG_TEST(a_dropped_key_ends_its_sessions),
		RIG_TEST(keys_rotate_during_a_handshake),
		RIG_TEST(a_reset_works_after_a_rotation),
		RIG_TEST(many_sessions_end_with_their_key),
		RIG_TEST(invalid_keys_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
