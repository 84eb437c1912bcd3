/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cluster keys: security modes, mismatched keys, and rotation by restart and in running sessions.
 */
#include "tests/lib/rudp/auth_rig.h"

static void the_stronger_mode_applies(void **state)
{
	for (unsigned server = RUDP_AUTH; server <= RUDP_ENCRYPT; server++) {
		for (unsigned client = RUDP_AUTH; client <= RUDP_ENCRYPT; client++) {
			struct rudp_path_info paths[RUDP_PATHS_MAX];

			auth->cfg[SERVER].security = server;
			auth->cfg[CLIENT].security = client;
			auth->cfg[SERVER].n_keys = auth->cfg[CLIENT].n_keys = 0;
			auth_key_add(SERVER, 0);
			auth_key_add(CLIENT, 0);
			auth_begin();
			auth_pass(50 * NSEC_PER_MSEC);
			assert_true(auth_is_up());
			assert_int_equal(rudp_session_security(auth->ends[CLIENT].s),
					 MAX_OF(server, client));
			assert_int_equal(rudp_session_paths(auth->ends[CLIENT].s, paths, 8), 2);
			assert_true(paths[0].up && paths[1].up);
			auth_call();
			auth_pass(5 * NSEC_PER_MSEC);
			assert_int_equal(auth->ends[CLIENT].answers, 1);
			assert_int_equal(rudp_rx_drops(auth->ends[CLIENT].r), 0);
			assert_int_equal(rudp_rx_drops(auth->ends[SERVER].r), 0);
			auth_restart();
		}
	}
}

/* The client is refused, and its operator gets this reason. */
static void expect_refused(const char *word)
{
	auth_begin();
	auth_pass(2 * NSEC_PER_SEC);
	assert_false(auth_is_up());
	assert_int_equal(auth_sessions(SERVER), 0);
	assert_int_equal(auth->ends[SERVER].accepts, 0);
	assert_in_range(auth->ends[CLIENT].events[RUDP_SESSION_REFUSED], 1, 5);
	assert_int_equal(auth->ends[CLIENT].code, -EKEYREJECTED);
	assert_string_equal(auth->ends[CLIENT].word, word);
}

static void a_wrong_key_is_refused(void **state)
{
	auth_key_add(SERVER, 0);
	auth_key_add(CLIENT, 1);
	expect_refused("key-mismatch");
}

static void a_client_without_key_is_refused(void **state)
{
	auth_key_add(SERVER, 0);
	expect_refused("key-required");
}

static void a_key_is_refused_by_a_server_without_key(void **state)
{
	auth_key_add(CLIENT, 0);
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
					auth_key_add(SERVER, (unsigned)steps[i][k]);
				if (steps[j][k] >= 0)
					auth_key_add(CLIENT, (unsigned)steps[j][k]);
			}
			auth_begin();
			auth_pass(50 * NSEC_PER_MSEC);
			assert_true(auth_is_up());
			auth->cfg[SERVER].n_keys = auth->cfg[CLIENT].n_keys = 0;
			auth_restart();
		}
	}
}

/* Sets the keys of a running endpoint; -1: no second key. */
static int take(unsigned end, int first, int second)
{
	uint8_t set[2][RUDP_KEY_BYTES];

	memcpy(set[0], auth_keys[first], RUDP_KEY_BYTES);
	memcpy(set[1], auth_keys[MAX_OF(second, 0)], RUDP_KEY_BYTES);
	return rudp_set_keys(auth->ends[end].r, set, second < 0 ? 1 : 2, auth->now);
}

static void calls_continue(void)
{
	unsigned answers = auth->ends[CLIENT].answers;

	auth_pass(50 * NSEC_PER_MSEC);
	assert_true(auth_is_up());
	auth_call();
	auth_pass(5 * NSEC_PER_MSEC);
	assert_int_equal(auth->ends[CLIENT].answers, answers + 1);
}

/* Rotation in a running session: nothing happens until the old key is dropped; then the session
 * reconnects once, whichever end drops it first. */
static void running_sessions_survive_a_key_rotation(void **state)
{
	for (unsigned first = SERVER; first <= CLIENT; first++) {
		auth_key_add(SERVER, 0);
		auth_key_add(CLIENT, 0);
		auth_begin();
		calls_continue();
		for (unsigned step = 0; step < 2; step++) {
			for (unsigned i = 0; i < 2; i++) {
				assert_int_equal(take(i ? !first : first, (int)step, !step), 0);
				calls_continue();
			}
		}
		assert_int_equal(auth->ends[CLIENT].events[RUDP_SESSION_UP], 1);
		assert_int_equal(take(first, 1, -1), 1);
		calls_continue();
		assert_int_equal(take(!first, 1, -1), 0);
		calls_continue();
		assert_int_equal(auth->ends[CLIENT].events[RUDP_SESSION_ENDED], 1);
		assert_int_equal(auth->ends[CLIENT].events[RUDP_SESSION_UP], 2);
		assert_int_equal(auth->ends[CLIENT].events[RUDP_SESSION_LOST], 0);
		assert_int_equal(auth_sessions(SERVER), 1);
		auth->cfg[SERVER].n_keys = auth->cfg[CLIENT].n_keys = 0;
		auth_restart();
	}
}

/* A host that knows only the dropped key loses its session at once and stays out. */
static void a_dropped_key_ends_its_sessions(void **state)
{
	auth_key_add(SERVER, 0);
	auth_key_add(CLIENT, 0);
	auth_begin();
	calls_continue();
	assert_int_equal(take(SERVER, 1, -1), 1);
	auth_pass(10 * NSEC_PER_MSEC);
	assert_false(auth_is_up());
	auth_pass(2 * NSEC_PER_SEC);
	assert_false(auth_is_up());
	assert_int_equal(auth_sessions(SERVER), 0);
	assert_int_equal(auth->ends[SERVER].accepts, 1);
	assert_string_equal(auth->ends[CLIENT].word, "key-mismatch");
	assert_int_equal(take(CLIENT, 1, -1), 0); /* still connecting: no session ends */
	auth_pass(NSEC_PER_SEC);
	calls_continue();
}

static bool swallow_answers(struct rig *rig, struct hop *h)
{
	return h->to == CLIENT && (h->data[1] & 0x0f) == WIRE_ACCEPT;
}

/* The keys change during a handshake. */
static void keys_rotate_during_a_handshake(void **state)
{
	auth_key_add(SERVER, 0);
	auth_key_add(CLIENT, 0);
	auth->middle = swallow_answers;
	auth_begin();
	auth_pass(5 * NSEC_PER_MSEC);
	assert_int_equal(auth->ends[SERVER].accepts, 1);
	assert_int_equal(take(CLIENT, 1, -1), 1);
	assert_int_equal(take(SERVER, 1, -1), 1);
	auth->middle = NULL;
	calls_continue();
	assert_int_equal(auth_sessions(SERVER), 1);
}

/* A server that got the new key as its second one still proves its identity with it after the old
 * key was removed everywhere and it lost its memory. */
static void a_reset_works_after_a_rotation(void **state)
{
	auth_key_add(SERVER, 0);
	auth_key_add(SERVER, 1);
	auth_key_add(CLIENT, 1);
	auth_begin();
	calls_continue();
	assert_int_equal(take(SERVER, 1, -1), 0);
	rudp_free(auth->ends[SERVER].r);
	auth->cfg[SERVER].n_keys = 0;
	auth_key_add(SERVER, 1);
	auth_end_start(SERVER);
	auth_call();
	auth_pass(100 * NSEC_PER_MSEC);
	assert_int_equal(auth->ends[CLIENT].events[RUDP_SESSION_RESTARTED], 1);
	calls_continue();
}

/* More CLOSE packets at once than the queue holds. */
static void many_sessions_end_with_their_key(void **state)
{
	enum { MANY = 60 };
	struct datagram_addr to = auth_addr(SERVER, 0);
	struct rudp_session *s;

	auth->cfg[SERVER].limits.sessions = auth->cfg[CLIENT].limits.sessions = MANY;
	auth_key_add(SERVER, 0);
	auth_key_add(CLIENT, 0);
	auth_begin();
	for (unsigned i = 1; i < MANY; i++)
		assert_int_equal(
			rudp_connect(auth->ends[CLIENT].r, &to, 1, "more", 4, NULL, auth->now, &s),
			0);
	auth_pass(200 * NSEC_PER_MSEC);
	assert_int_equal(auth->ends[CLIENT].events[RUDP_SESSION_UP], MANY);
	assert_int_equal(take(CLIENT, 1, 0), 0);
	assert_int_equal(take(SERVER, 1, -1), MANY);
	auth_pass(500 * NSEC_PER_MSEC);
	assert_int_equal(auth->ends[CLIENT].events[RUDP_SESSION_ENDED], MANY);
	assert_int_equal(auth->ends[CLIENT].events[RUDP_SESSION_UP], 2 * MANY);
	assert_int_equal(auth->ends[CLIENT].events[RUDP_SESSION_LOST], 0);
}

static void invalid_keys_are_refused(void **state)
{
	uint8_t set[RUDP_KEYS_MAX + 1][RUDP_KEY_BYTES] = {{9}};

	auth_begin();
	assert_int_equal(take(SERVER, 0, -1), -EINVAL); /* it has no security */
	auth_restart();
	auth_key_add(SERVER, 0);
	auth_key_add(CLIENT, 0);
	auth_begin();
	assert_int_equal(rudp_set_keys(auth->ends[SERVER].r, set, 0, auth->now), -EINVAL);
	assert_int_equal(rudp_set_keys(auth->ends[SERVER].r, set, RUDP_KEYS_MAX + 1, auth->now),
			 -EINVAL);
	calls_continue();
	assert_int_equal(auth->ends[CLIENT].events[RUDP_SESSION_UP], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		AUTH_TEST(the_stronger_mode_applies),
		AUTH_TEST(a_wrong_key_is_refused),
		AUTH_TEST(a_client_without_key_is_refused),
		AUTH_TEST(a_key_is_refused_by_a_server_without_key),
		AUTH_TEST(keys_rotate_host_by_host),
		AUTH_TEST(running_sessions_survive_a_key_rotation),
		AUTH_TEST(a_dropped_key_ends_its_sessions),
		AUTH_TEST(keys_rotate_during_a_handshake),
		AUTH_TEST(a_reset_works_after_a_rotation),
		AUTH_TEST(many_sessions_end_with_their_key),
		AUTH_TEST(invalid_keys_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
