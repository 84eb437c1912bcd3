/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server with thousands of sessions: packets that anyone may send do not make it look at the
 * sessions of others, and the index that it finds sessions by is right in all cases.
 */
#include "tests/lib/process/touched.h"
#include "tests/lib/rudp/auth_rig.h"

#define MANY 3000U
/* Packets that a poll may send while sessions are late: a few for each timer it serves. */
#define LATE_PACKETS_MAX (RUDP_POLL_TIMERS * 4)
/* Packets for each session with a silent peer: timeouts of two paths within a second, then probes,
 * whose rate has a limit for all sessions together. */
#define SILENT_PACKETS_MAX 64U
/* Other sessions that are accessed when a new session is inserted into the lists: its neighbours.
 */
#define TOUCHED_MAX 6U

static struct hop kept;
static bool keeps;

/* Keeps the first HELLO with a cookie instead of delivering it. */
static bool keep_hello(struct rig *rig, struct hop *h)
{
	struct wire_common c;
	struct wire_hello hello;

	if (!keeps || h->to != SERVER || wire_get_common(h->data, h->len, &c) ||
	    c.type != WIRE_HELLO || wire_get_hello(h->data, h->len, &hello) || !hello.cookie)
		return false;
	kept = *h;
	keeps = false;
	return true;
}

/* All sessions are of one client's worker, the worst case for a search by its identity. */
static void many_begin(void)
{
	for (unsigned i = 0; i < 2; i++) {
		auth->cfg[i].limits.sessions = MANY + 8;
		auth->cfg[i].limits.calls_per_session = 1;
	}
	auth->middle = keep_hello;
	auth_begin();
	for (unsigned i = 1; i < MANY; i++) {
		auth_connect("hello");
		if (i % 50 == 0)
			auth_pass(120 * NSEC_PER_MSEC); /* within the budget of an address */
	}
	auth_pass(NSEC_PER_SEC);
	assert_int_equal(auth_sessions(SERVER), MANY);
}

static void sessions_watch(void)
{
	const struct rudp *r = auth->ends[SERVER].r;

	for (unsigned i = 0; i < r->n_sessions; i++)
		if (r->sessions[i])
			touched_watch(r->sessions[i], sizeof(*r->sessions[i]));
}

/* Captures the HELLO of a further session; its cookie is valid. */
static void hello_keep(void)
{
	keeps = true;
	auth_connect("hello");
	while (keeps)
		auth_turn();
	/* Sessions that wait for the next poll are neighbours in its list. */
	auth_turn();
}

static void an_accepted_hello_touches_few_other_sessions(void **state)
{
	unsigned touched;

	many_begin();
	hello_keep();
	sessions_watch();
	assert_int_equal(auth_deliver(&kept), 0);
	touched = touched_end();
	assert_int_equal(auth_sessions(SERVER), MANY + 1);
	assert_true(touched <= TOUCHED_MAX);
	/* Its ACCEPT was lost, and the client repeats the HELLO. */
	sessions_watch();
	assert_int_equal(auth_deliver(&kept), 0);
	touched = touched_end();
	assert_int_equal(auth_sessions(SERVER), MANY + 1);
	assert_true(touched <= TOUCHED_MAX);
}

static void a_repeated_hello_of_an_ended_session_touches_none(void **state)
{
	struct rudp_session *s;
	uint64_t number;

	many_begin();
	hello_keep();
	assert_int_equal(auth_deliver(&kept), 0);
	number = auth->ends[CLIENT].s->number;
	for (s = NULL; (s = rudp_session_next(auth->ends[SERVER].r, s));)
		if (s->peer_number == number)
			break;
	assert_non_null(s);
	rudp_session_close(s, auth->now);
	sessions_watch();
	assert_int_equal(auth_deliver(&kept), -EBADMSG);
	assert_int_equal(touched_end(), 0);
	assert_int_equal(auth_sessions(SERVER), MANY);
}

static void a_reset_for_an_unknown_session_touches_few(void **state)
{
	struct wire_common c = {.type = WIRE_RESET, .session = 0x1234567812345678};
	struct hop h = {.to = SERVER, .src = auth_victim};

	many_begin();
	h.len = wire_put_common(h.data, &c) + WIRE_TOKEN_BYTES;
	sessions_watch();
	assert_int_equal(auth_deliver(&h), -EBADMSG);
	assert_int_equal(touched_end(), 0);
}

/* All sessions of the client's former incarnation end, whichever of them the index names. */
static void a_restarted_client_ends_all_its_former_sessions(void **state)
{
	many_begin();
	for (unsigned i = 0; i < 10; i++) { /* among them the first one of the identity */
		struct rudp_session *s = rudp_session_next(auth->ends[SERVER].r, NULL);

		rudp_session_close(s, auth->now);
	}
	rudp_free(auth->ends[CLIENT].r);
	auth->n_hops = 0;
	auth_end_start(CLIENT);
	auth_connect("hello");
	auth_pass(50 * NSEC_PER_MSEC);
	assert_true(auth_is_up());
	assert_int_equal(auth_sessions(SERVER), 1);
	assert_int_equal(auth->ends[SERVER].events[RUDP_SESSION_RESTARTED], MANY - 10);
}

/* More HELLOs than the memory of used ones holds: those of live sessions are still known. */
static void many_sessions_come_and_go(void **state)
{
	auth->middle = keep_hello;
	auth_begin();
	auth_pass(50 * NSEC_PER_MSEC);
	hello_keep();
	assert_int_equal(auth_deliver(&kept), 0);
	for (unsigned i = 0; i < 100; i++) {
		auth_connect("hello");
		auth_pass(20 * NSEC_PER_MSEC);
		assert_true(auth_is_up());
		rudp_session_close(auth->ends[CLIENT].s, auth->now);
		auth_pass(20 * NSEC_PER_MSEC);
	}
	assert_int_equal(auth_sessions(SERVER), 2);
	assert_int_equal(auth_deliver(&kept), 0);
	assert_int_equal(auth_sessions(SERVER), 2);
	assert_int_equal(auth->ends[SERVER].accepts, 102);
}

static struct rudp_session *honest;

/* All sessions but the honest one are cut off. */
static bool cut_off_others(struct rig *rig, struct hop *h)
{
	struct wire_common c;

	return wire_get_common(h->data, h->len, &c) ||
	       c.session != (h->to == SERVER ? honest->peer_number : honest->number);
}

static void deliver_all(void)
{
	static struct hop batch[QUEUE_MAX];
	unsigned n = auth->n_hops;

	memcpy(batch, auth->hops, n * sizeof(batch[0]));
	auth->n_hops = 0;
	for (unsigned i = 0; i < n; i++)
		if (!auth->middle(auth, &batch[i]))
			auth_deliver(&batch[i]);
}

/* Thousands of clients do not answer, and the server has paused for longer than their timeouts. */
static void all_late(void)
{
	many_begin();
	honest = auth->ends[CLIENT].s;
	auth->middle = cut_off_others;
	auth->n_hops = 0;
	auth->now += 3 * NSEC_PER_SEC;
}

/* Timers of the server that should have run before `at`. */
static unsigned n_late(uint64_t at)
{
	const struct rudp *r = auth->ends[SERVER].r;
	unsigned n = 0;

	for (unsigned i = 0; i < r->n_heap; i++)
		n += r->heap[i].at_ns < at;
	return n;
}

/* A request of the honest client arrives; then the server polls once. Returns the number of packets
 * that it sends. */
static unsigned honest_request(void)
{
	unsigned answers = auth->ends[CLIENT].answers, n;

	auth->now += STEP_NS;
	auth_call();
	(void)rudp_poll(auth->ends[CLIENT].r, auth->now);
	deliver_all();
	auth->n_hops = 0;
	assert_true(rudp_poll(auth->ends[SERVER].r, auth->now) || n_late(auth->now) == 0);
	n = auth->n_hops;
	deliver_all();
	assert_int_equal(auth->ends[CLIENT].answers, answers + 1);
	return n;
}

static void a_request_waits_for_few_of_thousands_of_late_timers(void **state)
{
	unsigned before, n = 0;

	all_late();
	before = n_late(auth->now);
	assert_true(before > MANY / 2);
	while (n_late(auth->now) > 0) {
		assert_true(honest_request() <= LATE_PACKETS_MAX);
		n++;
	}
	assert_true(n >= before / RUDP_POLL_TIMERS);
}

static void late_timers_are_served_in_order_beside_requests(void **state)
{
	unsigned before;
	uint64_t begin;

	all_late();
	begin = auth->now;
	before = n_late(begin);
	for (unsigned n = 0; n < before; n += RUDP_POLL_TIMERS) {
		assert_int_equal(n_late(begin), before - n);
		(void)honest_request();
	}
	assert_int_equal(n_late(begin), 0);
}

/* Counts the packets that the server sends to a silent client until the session ends. */
static void a_silent_client_among_thousands_gets_few_packets(void **state)
{
	struct rudp_session *s = NULL;
	uint64_t n = 0;

	many_begin();
	while ((s = rudp_session_next(auth->ends[CLIENT].r, s))) {
		auth->ends[CLIENT].s = s;
		auth_call();
	}
	auth_pass(NSEC_PER_MSEC);
	assert_int_equal(auth->ends[CLIENT].answers, MANY);
	while (auth_sessions(SERVER) > 0) {
		auth->now += NSEC_PER_MSEC;
		while (rudp_poll(auth->ends[SERVER].r, auth->now) || auth->n_hops > 0) {
			n += auth->n_hops;
			auth->n_hops = 0;
		}
	}
	print_message("# %.1f packets for each session\n", (double)n / MANY);
	assert_true(n <= (uint64_t)SILENT_PACKETS_MAX * MANY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		AUTH_TEST(an_accepted_hello_touches_few_other_sessions),
		AUTH_TEST(a_repeated_hello_of_an_ended_session_touches_none),
		AUTH_TEST(a_reset_for_an_unknown_session_touches_few),
		AUTH_TEST(a_restarted_client_ends_all_its_former_sessions),
		AUTH_TEST(many_sessions_come_and_go),
		AUTH_TEST(a_request_waits_for_few_of_thousands_of_late_timers),
		AUTH_TEST(late_timers_are_served_in_order_beside_requests),
		AUTH_TEST(a_silent_client_among_thousands_gets_few_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
