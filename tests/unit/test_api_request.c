/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time limits of requests in a process that serves the API: the test is the monitor, which answers
 * late, and the client. The clock is what the test passes to api_request_tick().
 */
#include "agent/api/api_internal.h"
#include "agent/api/api_snapshot.h"
#include "netcfg/base/os/memfd.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define CONNECTION 4711
#define GET_PLAN "GET /v1/plan HTTP/1.1\r\nHost: plenum\r\n\r\n"
#define GET_INVENTORY "GET /v1/inventory HTTP/1.1\r\nHost: plenum\r\n\r\n"
#define GIVE_UP_NS (30 * NSEC_PER_SEC)

static struct api api;
static int monitor, client; /* the test's ends */
static char got[8192];
static size_t n_got;
static unsigned n_gets;			/* requests that the process has passed to the monitor */
static struct api_snapshots *snapshots; /* kept until the end of the program */

/* The test passes the monitor's messages itself. */
static void catch_up(struct api *a)
{
}

static int setup(void **state)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -1;
	monitor = fcntl(pair[0], F_DUPFD_CLOEXEC, PRIVSEP_FD_CONTROL + 1);
	if (monitor < 0 || dup2(pair[1], PRIVSEP_FD_CONTROL) < 0)
		return -1;
	for (size_t i = 0; i < 2; i++)
		if (pair[i] != PRIVSEP_FD_CONTROL)
			close(pair[i]);
	api = (struct api){.role = PRIVSEP_API, .catch_up = catch_up};
	n_gets = 0;
	if (!snapshots && api_snapshots_new(&snapshots) < 0)
		return -1;
	api.snapshots = snapshots;
	if (loop_new(&api.loop) < 0 || api_run_open(&api) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	client = pair[0];
	api_client_accept(&api, CONNECTION, false, pair[1]);
	return 0;
}

static int teardown(void **state)
{
	while (api.clients) {
		api_client_drop(&api, CONNECTION);
		api.run(&api);
	}
	close(client);
	close(monitor);
	close(PRIVSEP_FD_CONTROL);
	loop_source_free(api.timer);
	loop_source_free(api.again);
	loop_free(api.loop);
	return 0;
}

/* Returns the next message to the monitor, or 0 if there is none. */
static enum privsep_type next_message(struct privsep_msg *m)
{
	const char *why = "";
	int fd = -1, r = privsep_recv(monitor, PRIVSEP_API, m, &fd, &why);

	cleanup_close(&fd);
	assert_true(r == 1 || r == -EAGAIN);
	n_gets += r == 1 && m->type == PRIVSEP_GET;
	return r == 1 ? (enum privsep_type)m->type : 0;
}

/* Runs the process until it has sent a message of that type. */
static void expect_message(enum privsep_type type, struct privsep_msg *ret)
{
	const uint64_t until = clock_now_ns() + GIVE_UP_NS;
	enum privsep_type is = 0;

	while (is != type && clock_now_ns() < until) {
		is = next_message(ret);
		if (!is)
			assert_true(loop_turn(api.loop, NSEC_PER_MSEC) >= 0);
	}
	assert_int_equal(is, type);
}

static void say(const char *request)
{
	assert_int_equal(send(client, request, strlen(request), MSG_NOSIGNAL), strlen(request));
}

static bool receive(void)
{
	ssize_t n = recv(client, got + n_got, sizeof(got) - 1 - n_got, MSG_DONTWAIT);

	n_got += n > 0 ? (size_t)n : 0;
	got[n_got] = '\0';
	return n > 0;
}

/* Runs the process until the client has received an answer with that status line. */
static void expect_answer(const char *line)
{
	const uint64_t until = clock_now_ns() + GIVE_UP_NS;

	n_got = 0;
	got[0] = '\0';
	while (!strstr(got, "}") && clock_now_ns() < until)
		if (!receive())
			assert_true(loop_turn(api.loop, NSEC_PER_MSEC) >= 0);
	assert_non_null(strstr(got, line));
}

static void pass(uint64_t ns)
{
	api_request_tick(&api, clock_now_ns() + ns);
	api.run(&api);
}

static int text_fd(const char *text)
{
	int fd = memfd_new_sealed("reply", text, strlen(text));

	assert_true(fd >= 0);
	return fd;
}

/* The monitor answers the request of the connection. */
static void reply(const char *text)
{
	const struct privsep_msg m = {.type = PRIVSEP_REPLY,
				      .connection = CONNECTION,
				      .reply = {200, PRIVSEP_JSON, strlen(text), 0, ""}};
	int fd = text_fd(text);

	api_request_reply(&api, &m, &fd);
	cleanup_close(&fd);
	api.run(&api);
}

/* The monitor answers the read for many clients. */
static void reply_shared(const char *text)
{
	const struct privsep_msg m = {
		.type = PRIVSEP_SHARED_ANSWER,
		.shared_answer = {PRIVSEP_INVENTORY, {200, PRIVSEP_JSON, strlen(text), 0, ""}}};
	autoclose int fd = text_fd(text);

	api_request_seen(&api, &m, fd);
	api.run(&api);
}

static void test_a_read_without_an_answer_fails_after_its_limit(void **state)
{
	struct privsep_msg m;

	say(GET_PLAN);
	expect_message(PRIVSEP_GET, &m);
	pass(API_ANSWER_LIMIT_NS / 2);
	assert_false(receive());
	pass(API_ANSWER_LIMIT_NS);
	expect_answer("HTTP/1.1 504 ");
	assert_non_null(strstr(got, "\"code\":\"timeout\""));
	assert_non_null(strstr(got, "Connection: close\r\n"));
}

/* The monitor does not say which request it answers, so a late answer could be taken for that to
 * the request behind. */
static void test_a_late_answer_reaches_no_further_request(void **state)
{
	struct privsep_msg m;

	say(GET_PLAN GET_PLAN);
	expect_message(PRIVSEP_GET, &m);
	pass(API_ANSWER_LIMIT_NS);
	expect_answer("HTTP/1.1 504 ");
	reply("{\"late\":true}");
	shutdown(client, SHUT_WR);
	expect_message(PRIVSEP_CLOSED, &m);
	assert_int_equal(m.connection, CONNECTION);
	assert_int_equal(n_gets, 1);
	while (receive())
		;
	assert_null(strstr(got, "late"));
	assert_null(api.clients);
}

/* The connection is kept, because the monitor has no request of it. */
static void test_a_late_shared_answer_reaches_no_client_that_was_refused(void **state)
{
	struct privsep_msg m;

	say(GET_INVENTORY);
	expect_message(PRIVSEP_WAITS, &m); /* before the read, so that the place is kept */
	assert_int_equal(m.connection, CONNECTION);
	assert_int_equal(next_message(&m), PRIVSEP_SHARED_READ);
	assert_int_equal(m.shared_read.what, PRIVSEP_INVENTORY);
	pass(API_ANSWER_LIMIT_NS / 2);
	assert_false(receive());
	pass(API_ANSWER_LIMIT_NS);
	expect_answer("HTTP/1.1 504 ");
	assert_null(strstr(got, "Connection: close"));
	expect_message(PRIVSEP_NEXT, &m);
	reply_shared("{\"late\":true}");
	assert_false(receive());
	say(GET_INVENTORY);
	expect_message(PRIVSEP_WAITS, &m);
	assert_int_equal(next_message(&m), PRIVSEP_SHARED_READ);
	reply_shared("{\"fresh\":true}");
	expect_answer("HTTP/1.1 200 ");
	assert_non_null(strstr(got, "{\"fresh\":true}"));
	expect_message(PRIVSEP_NEXT, &m);
}

/* Otherwise its connection could not be replaced until the client has read all. */
static void test_the_monitor_hears_of_a_shared_answer_before_it_is_read(void **state)
{
	static char text[4 << 20];
	struct privsep_msg m;

	memset(text, 'x', sizeof(text) - 1);
	text[0] = text[sizeof(text) - 2] = '"';
	say(GET_INVENTORY);
	expect_message(PRIVSEP_WAITS, &m);
	assert_int_equal(next_message(&m), PRIVSEP_SHARED_READ);
	reply_shared(text);
	expect_message(PRIVSEP_NEXT, &m);
	assert_int_equal(m.connection, CONNECTION);
	assert_non_null(api.clients);
	assert_true(api_send_is_pending(api.clients));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_read_without_an_answer_fails_after_its_limit,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_late_answer_reaches_no_further_request,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_late_shared_answer_reaches_no_client_that_was_refused, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			test_the_monitor_hears_of_a_shared_answer_before_it_is_read, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
