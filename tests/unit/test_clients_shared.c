/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests what many clients of a child share: streams of events, and answers of the agent. */
#include "tests/lib/agent/clients_rig.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cmocka.h>

static int streams[CLIENTS_STREAMS_UID_MAX];

#define GET_STREAM                                                            \
	"GET /v1/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n" \
	"Last-Event-ID: 0000000000000abc-0\r\n\r\n"

static void tell_events(struct clients_rig *w, unsigned n)
{
	char text[40];

	w->events.instance = 0xabc;
	while (n-- > 0) {
		snprintf(text, sizeof(text), "event %u", (unsigned)w->events.next);
		events_add_all(&w->events, LOG_LEVEL_NOTICE, "agent", text);
	}
	clients_note_event(w->clients, w->events.next, w->events.instance);
}

/* The first events are there before the stream; the others come while it is idle. */
static bool stream_has_all(struct clients_rig *w)
{
	if (w->stage == 0 && strstr(w->got, "id: 0000000000000abc-2\n")) {
		w->stage = 1;
		tell_events(w, 1);
	}
	return w->stage == 1 && strstr(w->got, "id: 0000000000000abc-3\n");
}

static void test_a_stream_of_events_goes_on(void **state)
{
	struct clients_rig *w = clients_rig_new("real", "api");

	tell_events(w, 2);
	clients_rig_ask(w, w->read_path, GET_STREAM);
	assert_true(clients_rig_run(w, stream_has_all));
	assert_non_null(strstr(w->got, "HTTP/1.1 200"));
	assert_non_null(strstr(w->got, "Content-Type: text/event-stream\r\n"));
	assert_non_null(strstr(w->got, "retry: 1000\n"));
	assert_non_null(strstr(w->got, "event 3\"}\n\n"));
	assert_null(strstr(w->got, "event: gap"));
	assert_int_equal(w->n_requests, 1);
	clients_rig_free(w);
}

/* Opens all streams, then one too many, then asks for the status, then adds an event and waits for
 * it on each stream. */
static bool streams_were_served(struct clients_rig *w)
{
	const unsigned n = ARRAY_SIZE(streams), i = w->stage;

	if (i < n && strstr(w->got, "id: 0000000000000abc-1\n")) {
		streams[i] = fd_take(w->client);
		clients_rig_next(w, GET_STREAM);
		w->stage++;
	} else if (i == n && strchr(w->got, '}')) {
		assert_non_null(strstr(w->got, "HTTP/1.1 429"));
		assert_int_equal(w->n_looks, 1);
		close(w->client);
		clients_rig_next(w, GET_PLAN);
		w->stage++;
	} else if (i == n + 1 && clients_rig_answered(w)) {
		close(w->client);
		tell_events(w, 1);
		w->stage++;
	} else if (i > n + 1 && strstr(w->got, "id: 0000000000000abc-2\n")) {
		close(w->client);
		w->stage++;
	} else {
		return false;
	}
	if (w->stage > n + 1) {
		w->n_got = 0;
		w->got[0] = '\0';
		w->client = w->stage < 2 * n + 2 ? streams[w->stage - n - 2] : -1;
	}
	return w->stage == 2 * n + 2;
}

/* All streams share one question to the monitor, and leave room for a command of the same user. */
static void test_streams_of_a_user_are_limited(void **state)
{
	struct clients_rig *w = clients_rig_new("real", "api");

	tell_events(w, 1);
	clients_rig_next(w, GET_STREAM);
	clients_rig_finish(w, streams_were_served);
	assert_int_equal(w->stage, 2 * ARRAY_SIZE(streams) + 2);
	assert_int_equal(w->n_looks, 2);
	clients_rig_free(w);
}

/* ---- answers for many clients ---- */

#define WAITING 8

/* Two requests for something else, one after the other: when the second one is answered, the child
 * has read all requests that were sent before the first. */
static bool all_have_one_answer(struct clients_rig *w)
{
	const unsigned i = w->stage - 2;

	if (!clients_rig_answered(w))
		return false;
	close(w->client);
	w->n_got = 0;
	w->got[0] = '\0';
	if (w->stage == 0) {
		clients_rig_next(w, GET_PLAN);
	} else if (w->stage == 1) {
		assert_int_equal(w->n_looks, 1);
		clients_rig_answer_look(w);
		w->client = streams[0];
	} else {
		w->client = i + 1 < WAITING ? streams[i + 1] : -1;
	}
	w->stage++;
	return w->stage == 2 + WAITING;
}

static void test_clients_that_wait_get_one_answer(void **state)
{
	struct clients_rig *w = clients_rig_new("real", "api");

	w->hold_looks = true;
	for (size_t i = 0; i < WAITING; i++) {
		clients_rig_ask(w, w->read_path, GET_STATUS);
		streams[i] = fd_take(w->client);
	}
	clients_rig_ask(w, w->read_path, GET_PLAN);
	clients_rig_finish(w, all_have_one_answer);
	assert_int_equal(w->stage, 2 + WAITING);
	assert_int_equal(w->n_looks, 1);
	clients_rig_free(w);
}

/* Idle connections of the same user arrive until one of them has to go, after the client that waits
 * for the answer. */
static bool place_was_kept(struct clients_rig *w)
{
	char c;

	if (!clients_rig_answered(w))
		return false;
	if (w->stage == CLIENTS_UID_MAX + 1) {
		assert_non_null(strstr(w->got, "{\"look\":1}"));
		return true;
	}
	streams[w->stage++] = fd_take(w->client);
	w->n_got = 0;
	w->got[0] = '\0';
	if (w->stage < CLIENTS_UID_MAX) {
		clients_rig_next(w, GET_PLAN);
	} else if (w->stage == CLIENTS_UID_MAX) {
		/* The first one that is idle has made room. */
		assert_int_equal(recv(streams[0], &c, 1, MSG_DONTWAIT), 0);
		assert_int_equal(w->n_looks, 1);
		clients_rig_answer_look(w);
		w->client = fd_take(w->waiting);
		w->stage++;
	}
	return false;
}

static void test_a_client_that_waits_for_the_answer_keeps_its_place(void **state)
{
	struct clients_rig *w = clients_rig_new("real", "api");

	w->hold_looks = true;
	clients_rig_ask(w, w->read_path, GET_STATUS);
	w->waiting = fd_take(w->client);
	clients_rig_next(w, GET_PLAN);
	clients_rig_finish(w, place_was_kept);
	assert_int_equal(w->stage, CLIENTS_UID_MAX + 1);
	for (size_t i = 0; i < CLIENTS_UID_MAX; i++)
		close(streams[i]);
	clients_rig_free(w);
}

#define READS 150

/* With w->notes there is a change before each request. */
static bool reads_are_done(struct clients_rig *w)
{
	char fresh[40];

	if (!clients_rig_answered(w))
		return false;
	snprintf(fresh, sizeof(fresh), "{\"look\":%u}", w->stage + 1);
	assert_true(!w->notes || strstr(w->got, fresh));
	close(w->client);
	w->client = -1;
	if (++w->stage == READS)
		return true;
	if (w->notes)
		clients_note_event(w->clients, w->stage + 1, 0xabc);
	clients_rig_next(w, GET_STATUS);
	return false;
}

/* A hammering client gets answers of up to 250 ms of age, and none from before a change. */
static void test_an_answer_is_given_again_until_a_change(void **state)
{
	for (int notes = 0; notes < 2; notes++) {
		struct clients_rig *w = clients_rig_new("real", "api");
		const uint64_t begin_ns = clock_now_ns();
		uint64_t took_ms;

		w->notes = notes;
		clients_rig_next(w, GET_STATUS);
		clients_rig_finish(w, reads_are_done);
		assert_int_equal(w->stage, READS);
		took_ms = (clock_now_ns() - begin_ns) / NSEC_PER_MSEC;
		if (!notes) /* each question, each end of an age, each ping of the monitor */
			assert_in_range(w->n_looks, 1, 17 + took_ms / 20 + took_ms / 200);
		clients_rig_free(w);
	}
}

#define CHANGES 5
#define AT_ONCE 20 /* more than may be asked at once */

/* Each change, made through the other child, is followed by many reads at once. */
static bool changes_are_read(struct clients_rig *w)
{
	const unsigned i = w->stage % (AT_ONCE + 1);
	const char *look = strstr(w->got, "{\"look\":");

	if (!clients_rig_answered(w))
		return false;
	close(w->client);
	if (i == 0) { /* the change has been answered */
		w->n_looks_before = w->n_looks;
		for (size_t n = 0; n < AT_ONCE; n++) {
			clients_rig_ask(w, w->read_path, GET_STATUS);
			streams[n] = fd_take(w->client);
		}
	} else {
		assert_non_null(look);
		assert_true((unsigned)atoi(look + 8) > w->n_looks_before);
	}
	w->n_got = 0;
	w->got[0] = '\0';
	if (++w->stage == CHANGES * (AT_ONCE + 1))
		return true;
	if (i < AT_ONCE)
		w->client = streams[i];
	else
		clients_rig_ask(w, w->admin_path, POST_APPLY);
	return false;
}

static void test_a_client_reads_its_own_change(void **state)
{
	struct clients_rig *w = clients_rig_new("real", "api");

	if (geteuid() != 0) {
		clients_rig_free(w);
		skip();
	}
	clients_rig_ask(w, w->admin_path, POST_APPLY);
	clients_rig_finish(w, changes_are_read);
	assert_int_equal(w->stage, CHANGES * (AT_ONCE + 1));
	w->client = -1;
	clients_rig_free(w);
}

/* Anyone may reach the admin socket if the configuration names administrators. */
static void test_a_client_without_rights_gets_no_shared_answer(void **state)
{
	struct clients_rig *w = clients_rig_new("real", "api");
	struct clients_rights rights = {.readers = (gid_t)-1};

	if (geteuid() != 0) {
		clients_rig_free(w);
		skip();
	}
	rights.users = calloc(1, sizeof(*rights.users));
	rights.n_users = 1;
	*rights.users = 4711;
	clients_set_rights(w->clients, &rights);
	assert_int_equal(chmod(w->dir, 0755), 0);
	assert_int_equal(seteuid(65534), 0);
	clients_rig_ask(w, w->admin_path, GET_STATUS);
	assert_int_equal(seteuid(0), 0);
	assert_true(clients_rig_run(w, clients_rig_answered));
	assert_int_equal(w->n_requests, 1); /* the agent refuses it */
	assert_int_equal(w->n_looks, 0);
	clients_rig_free(w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_stream_of_events_goes_on),
		cmocka_unit_test(test_streams_of_a_user_are_limited),
		cmocka_unit_test(test_clients_that_wait_get_one_answer),
		cmocka_unit_test(test_a_client_that_waits_for_the_answer_keeps_its_place),
		cmocka_unit_test(test_an_answer_is_given_again_until_a_change),
		cmocka_unit_test(test_a_client_reads_its_own_change),
		cmocka_unit_test(test_a_client_without_rights_gets_no_shared_answer),
	};

	if (clients_rig_is_child(argc, argv))
		return clients_rig_child(argv, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
