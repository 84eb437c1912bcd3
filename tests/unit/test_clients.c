/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests clients at the monitor's sockets, and compromised child processes. The children
 * are this program, started as the monitor starts its roles: the real child, or one that breaks a
 * rule.
 */
#include "agent/api/api_internal.h"
#include "agent/clients/clients.h"
#include "agent/control/control_internal.h"
#include "tests/lib/agent/clients_rig.h"
#include <linux/capability.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

#define NOTES 900

/* ---- the children ---- */

static int next_message(struct privsep_msg *m)
{
	struct pollfd p = {.fd = PRIVSEP_FD_CONTROL, .events = POLLIN};
	const char *why;
	int fd = -1, r;

	do {
		poll(&p, 1, -1);
		r = privsep_recv(PRIVSEP_FD_CONTROL, PRIVSEP_MONITOR, m, &fd, &why);
	} while (r == -EAGAIN);
	return r; /* the socket of a waiting client stays open */
}

static void wait_for(enum privsep_type type, struct privsep_msg *m)
{
	do {
		if (next_message(m) <= 0)
			_exit(0);
	} while (m->type != type);
}

/* Skips the checks of the child's side, as a compromised child would. */
static void send_anyway(struct privsep_msg *m, size_t payload)
{
	m->size = (uint32_t)payload;
	if (send(PRIVSEP_FD_CONTROL, m, offsetof(struct privsep_msg, get) + payload, 0) < 0)
		_exit(3);
}

static void ask_about(uint64_t connection)
{
	struct privsep_msg m = {.type = PRIVSEP_GET, .connection = connection};

	send_anyway(&m, sizeof(m.get));
}

static int rogue(const char *kind)
{
	struct privsep_msg m, apply = {.type = PRIVSEP_APPLY}, next = {.type = PRIVSEP_NEXT};

	if (strcmp(kind, "unasked") == 0) {
		apply.connection = 1;
		send_anyway(&apply, sizeof(apply.apply));
	}
	wait_for(PRIVSEP_CONNECTION, &m);
	apply.connection = next.connection = m.connection;
	if (strcmp(kind, "forge") == 0) {
		ask_about(m.connection ^ 1);
	} else if (strcmp(kind, "change") == 0) {
		send_anyway(&apply, sizeof(apply.apply));
	} else if (strcmp(kind, "twice") == 0) {
		ask_about(m.connection);
		ask_about(m.connection);
	} else if (strcmp(kind, "early") == 0) {
		ask_about(m.connection);
		send_anyway(&next, 0);
	} else if (strcmp(kind, "again") == 0) {
		send_anyway(&apply, sizeof(apply.apply));
		wait_for(PRIVSEP_REPLY, &m);
		send_anyway(&next, 0);
	} else if (strcmp(kind, "after") == 0) {
		struct privsep_msg closed = {.type = PRIVSEP_CLOSED, .connection = m.connection};

		send_anyway(&closed, 0);
		ask_about(m.connection);
	} else if (strcmp(kind, "hoard") == 0) {
		struct privsep_msg pong = {.type = PRIVSEP_PONG};

		for (;;) {
			wait_for(PRIVSEP_PING, &m);
			send_anyway(&pong, 0);
		}
	} else if (strcmp(kind, "slow") == 0) {
		uint64_t connection = m.connection;

		raise(SIGSTOP);
		for (unsigned n = 0; n < NOTES; n++)
			wait_for(PRIVSEP_EVENT_NOTE, &m);
		ask_about(connection);
	}
	wait_for(PRIVSEP_TYPE_MAX, &m); /* until it is killed */
	return 0;
}

static int child(const char *kind)
{
	if (strcmp(kind, "socket") == 0) {
		if (api_sandbox_enter() < 0 || api_sandbox_seal(PRIVSEP_API) < 0)
			return 4;
		return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	}
	return rogue(kind);
}

static bool has_event(const struct clients_rig *w, const char *text)
{
	for (uint64_t n = 1; n < w->events.next; n++)
		if (strstr(w->events.ring[n % EVENTS_KEPT].text, text))
			return true;
	return false;
}

static bool event_came(struct clients_rig *w)
{
	return has_event(w, w->expected);
}

static void test_a_reader_is_served(void **state)
{
	struct clients_rig *w = clients_rig_new("real", "api");

	clients_rig_ask(w, w->read_path, GET_PLAN);
	assert_true(clients_rig_run(w, clients_rig_answered));
	assert_non_null(strstr(w->got, "HTTP/1.1 200"));
	assert_non_null(strstr(w->got, "{\"fine\":true}"));
	assert_int_equal(w->n_requests, 1);
	assert_int_equal(w->peer.uid, geteuid());
	assert_int_equal(w->peer.pid, getpid());
	assert_false(w->may_change); /* refused even for root on the read-only socket */
	clients_rig_free(w);
}

static void test_a_reader_changes_nothing(void **state)
{
	struct clients_rig *w = clients_rig_new("real", "api");

	clients_rig_ask(w, w->read_path, POST_APPLY);
	assert_true(clients_rig_run(w, clients_rig_answered));
	assert_non_null(strstr(w->got, "HTTP/1.1 403"));
	assert_non_null(strstr(w->got, "plenumd-admin.sock"));
	assert_int_equal(w->n_requests, 0);
	clients_rig_free(w);
}

static void test_an_administrator_makes_changes(void **state)
{
	struct clients_rig *w = clients_rig_new("real", "api");
	struct stat st;

	if (geteuid() != 0) {
		clients_rig_free(w);
		skip();
	}
	assert_int_equal(stat(w->admin_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	clients_rig_ask(w, w->admin_path, POST_APPLY);
	assert_true(clients_rig_run(w, clients_rig_answered));
	assert_non_null(strstr(w->got, "HTTP/1.1 200"));
	assert_int_equal(w->n_requests, 1);
	assert_int_equal(w->last.type, PRIVSEP_APPLY);
	assert_true(w->change_allowed);
	clients_rig_free(w);
}

/* A change is carried out only while its client is connected to get the answer. */
static void test_a_change_needs_its_client(void **state)
{
	struct clients_rig *w = clients_rig_new("real", "api");

	if (geteuid() != 0) {
		clients_rig_free(w);
		skip();
	}
	clients_rig_ask(w, w->admin_path, POST_APPLY);
	close(w->client);
	clients_rig_ask(w, w->admin_path, GET_PLAN); /* one after the other, by the same child */
	assert_true(clients_rig_run(w, clients_rig_answered));
	assert_false(w->change_allowed);
	clients_rig_free(w);
}

/* Errors of HTTP are JSON too. */
static void test_an_error_before_parsing_is_json(void **state)
{
	static char head[12000];
	struct clients_rig *w = clients_rig_new("real", "api");

	memset(head, 'x', sizeof(head) - 1);
	memcpy(head, "GET / HTTP/1.1\r\nHost: x\r\nX: ", 28);
	clients_rig_ask(w, w->read_path, head);
	assert_true(clients_rig_run(w, clients_rig_answered));
	assert_non_null(strstr(w->got, "HTTP/1.1 431"));
	assert_non_null(strstr(w->got, "application/problem+json"));
	assert_non_null(strstr(w->got, "\"code\":\"too-large\""));
	clients_rig_free(w);
}

/* A second client is served first, which proves that the waiting client's request has been read. */
static bool waiting_one_is_answered(struct clients_rig *w)
{
	if (w->stage == 0 && clients_rig_answered(w)) {
		assert_int_equal(w->n_requests, 1);
		assert_int_equal(w->last.type, PRIVSEP_GET);
		close(w->client);
		w->client = fd_take(w->waiting);
		w->n_got = 0;
		w->got[0] = '\0';
		w->stage = 1;
		if (w->notes)
			clients_note_event(w->clients, 8, 0xabc);
	}
	return w->stage == 1 && clients_rig_answered(w);
}

/* The answer waits for the next event or for the end of the wait. */
static void test_a_client_can_wait_for_events(void **state)
{
	static const char *const waits[] = {"30", "1"};

	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		struct clients_rig *w = clients_rig_new("real", "api");
		char request[128];

		w->notes = i == 0;
		clients_note_event(w->clients, 7, 0xabc);
		snprintf(request, sizeof(request),
			 "GET /v1/events?since=7&wait=%s&instance=abc HTTP/1.1\r\nHost: x\r\n\r\n",
			 waits[i]);
		clients_rig_ask(w, w->read_path, request);
		w->waiting = fd_take(w->client);
		clients_rig_ask(w, w->read_path, GET_PLAN);
		assert_true(clients_rig_run(w, waiting_one_is_answered));
		assert_int_equal(w->n_requests, 2);
		assert_int_equal(w->last.type, PRIVSEP_GET_EVENTS);
		assert_int_equal(w->last.get_events.since, 7);
		clients_rig_free(w);
	}
}

static bool is_closed(struct clients_rig *w)
{
	struct pollfd p = {.fd = w->client};

	return poll(&p, 1, 0) == 1 && (p.revents & POLLHUP);
}

static void test_a_silent_client_is_closed(void **state)
{
	static const char *const sends[] = {
		"", "GET /v1/status HT",
		"PUT /v1/config/staged HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhost"};

	for (size_t i = 0; i < ARRAY_SIZE(sends); i++) {
		struct clients_rig *w = clients_rig_new("real", "none");

		clients_rig_ask(w, w->read_path, sends[i]);
		assert_true(clients_rig_run(w, is_closed));
		assert_int_equal(w->n_requests, 0);
		assert_int_equal(w->events.next,
				 1); /* a client that sends nothing is not an error */
		clients_rig_free(w);
	}
}

/* ---- compromised children ---- */

static void breaks(const char *kind, const char *role, const char *expected)
{
	struct clients_rig *w = clients_rig_new(kind, role);

	w->hold_answer = true;
	w->client = clients_rig_connect(strcmp(role, "admin") == 0 ? w->admin_path : w->read_path);
	w->expected = expected;
	assert_true(clients_rig_run(w, event_came));
	if (strcmp(kind, "twice") != 0 && strcmp(kind, "early") != 0)
		assert_int_equal(w->n_requests, 0);
	assert_false(w->may_change);
	clients_rig_free(w);
}

static void test_forged_connections_are_refused(void **state)
{
	breaks("forge", "api", "api process sent a forbidden message (unknown connection");
	breaks("after", "api", "api process sent a forbidden message (unknown connection");
}

static void test_the_read_only_child_cannot_make_changes(void **state)
{
	breaks("change", "api",
	       "api process sent a forbidden message (this sender may not send messages of this "
	       "type");
	breaks("unasked", "api",
	       "api process sent a forbidden message (this sender may not send messages of this "
	       "type");
}

static void test_a_child_cannot_make_changes_without_a_client(void **state)
{
	if (geteuid() != 0)
		skip();
	breaks("unasked", "admin", "admin process sent a forbidden message (unknown connection");
}

/* The child lives and answers but never closes its clients' connections, which would fill the
 * table permanently. */
static void test_a_child_that_keeps_connections_is_restarted(void **state)
{
	breaks("hoard", "api", "api process did not close the connections that the agent dropped");
}

static void test_a_second_request_is_refused(void **state)
{
	breaks("twice", "api", "api process sent a forbidden message (second request");
	breaks("early", "api", "api process sent a forbidden message (another request before the");
}

static void test_a_connection_carries_one_change(void **state)
{
	struct clients_rig *w;

	if (geteuid() != 0)
		skip();
	w = clients_rig_new("again", "admin");
	w->client = clients_rig_connect(w->admin_path);
	w->expected = "admin process sent a forbidden message (another request on a connection "
		      "that has made a change";
	assert_true(clients_rig_run(w, event_came));
	assert_int_equal(w->n_requests, 1);
	clients_rig_free(w);
}

static void test_a_forbidden_system_call_kills_the_child(void **state)
{
	char expected[96], call[40];
	struct clients_rig *w = clients_rig_new("socket", "api");

	snprintf(expected, sizeof(expected), "api process tried the system call %s",
		 privsep_syscall_to_string(SYS_socket, call, sizeof(call)));
	w->expected = expected;
	assert_true(clients_rig_run(w, event_came));
	clients_rig_free(w);
}

static bool child_is_stopped(pid_t pid)
{
	char path[64], text[256] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f || !fgets(text, sizeof(text), f))
		text[0] = '\0';
	if (f)
		fclose(f);
	return strstr(text, ") T ");
}

static bool slow_one_asked(struct clients_rig *w)
{
	pid_t pid = clients_child_pid(w->clients, PRIVSEP_API);

	if (w->stage == 0 && child_is_stopped(pid)) {
		for (uint64_t i = 1; i <= NOTES; i++)
			clients_note_event(w->clients, i, 1);
		w->stage = 1;
		kill(pid, SIGCONT);
	}
	return w->n_requests > 0;
}

/* More than the socket's buffer while the child does not read: the message waits and nothing is
 * lost. */
static void test_messages_wait_for_a_child_that_does_not_read(void **state)
{
	struct clients_rig *w = clients_rig_new("slow", "api");

	w->client = clients_rig_connect(w->read_path);
	assert_true(clients_rig_run(w, slow_one_asked));
	assert_false(has_event(w, "does not read"));
	clients_rig_free(w);
}

/* Durations for people are rounded. */
static void test_durations_are_rounded(void **state)
{
	struct control_reply r = {.http_status = 200};

	r.json = json_pack("{s:f, s:f, s:I}", "rtt_us", 254.985, "third", 1.0 / 3, "bytes",
			   (json_int_t)9007199254740993);
	assert_string_equal(control_text(&r), "{\"rtt_us\":254.985,\"third\":0.333333333333333,"
					      "\"bytes\":9007199254740993}");
	free(r.text);
}

/* A cleanup tool or an administrator removed the sockets from the run directory. */
static void test_removed_sockets_are_created_again(void **state)
{
	struct clients_rig *w = clients_rig_new("real", "api");
	struct stat st;

	assert_int_equal(clients_restore(w->clients), 0);
	assert_int_equal(unlink(w->read_path), 0);
	assert_int_equal(unlink(w->admin_path), 0);
	assert_int_equal(clients_restore(w->clients), 2);
	assert_int_equal(clients_restore(w->clients), 0);
	assert_int_equal(stat(w->admin_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	clients_rig_ask(w, w->read_path, GET_PLAN);
	assert_true(clients_rig_run(w, clients_rig_answered));
	assert_non_null(strstr(w->got, "HTTP/1.1 200"));
	clients_rig_free(w);
}

/* As in a container that may not make mount namespaces. */
static void test_a_child_without_an_empty_root_stops(void **state)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	int status;
	pid_t pid;

	if (geteuid() != 0)
		skip();
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (syscall(SYS_capget, &head, data) < 0)
			_exit(2);
		data[0].effective &= ~(1U << CAP_SYS_ADMIN);
		data[0].permitted &= ~(1U << CAP_SYS_ADMIN);
		if (syscall(SYS_capset, &head, data) < 0)
			_exit(3);
		_exit(api_sandbox_enter() == -EPERM ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_reader_is_served),
		cmocka_unit_test(test_a_reader_changes_nothing),
		cmocka_unit_test(test_an_administrator_makes_changes),
		cmocka_unit_test(test_a_change_needs_its_client),
		cmocka_unit_test(test_an_error_before_parsing_is_json),
		cmocka_unit_test(test_a_client_can_wait_for_events),
		cmocka_unit_test(test_a_silent_client_is_closed),
		cmocka_unit_test(test_forged_connections_are_refused),
		cmocka_unit_test(test_the_read_only_child_cannot_make_changes),
		cmocka_unit_test(test_a_child_cannot_make_changes_without_a_client),
		cmocka_unit_test(test_a_child_that_keeps_connections_is_restarted),
		cmocka_unit_test(test_a_second_request_is_refused),
		cmocka_unit_test(test_a_connection_carries_one_change),
		cmocka_unit_test(test_a_forbidden_system_call_kills_the_child),
		cmocka_unit_test(test_messages_wait_for_a_child_that_does_not_read),
		cmocka_unit_test(test_durations_are_rounded),
		cmocka_unit_test(test_removed_sockets_are_created_again),
		cmocka_unit_test(test_a_child_without_an_empty_root_stops),
	};

	if (clients_rig_is_child(argc, argv))
		return clients_rig_child(argv, child);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
