/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clients of the network at the monitor: what a process of the role api-tls can do that an attacker
 * has taken over. It is this program, started as the monitor starts its roles; it has the hashes of
 * the tokens that it "has seen", and claims what it likes.
 */
#include "agent/clients/clients.h"
#include "netcfg/base/file.h"
#include "tests/lib/agent/clients_rig.h"
#include <arpa/inet.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cmocka.h>

#define VIEW "1100000000000000000000000000000000000000000000000000000000000000"
#define ADMIN "2200000000000000000000000000000000000000000000000000000000000000"

/* ---- the process ---- */

static void wait_for(enum privsep_type type, struct privsep_msg *m)
{
	struct pollfd p = {.fd = PRIVSEP_FD_CONTROL, .events = POLLIN};
	struct privsep_msg pong = {.type = PRIVSEP_PONG};
	const char *why;
	int fd = -1, r;

	do {
		poll(&p, 1, -1);
		r = privsep_recv(PRIVSEP_FD_CONTROL, PRIVSEP_MONITOR, m, &fd, &why);
		if (r == 0 || (r < 0 && r != -EAGAIN))
			_exit(0);
		if (r > 0 && m->type == PRIVSEP_PING)
			privsep_send(PRIVSEP_FD_CONTROL, PRIVSEP_API_TLS, &pong, -1);
	} while (r <= 0 || m->type != type);
}

static void tell(struct privsep_msg *m)
{
	if (privsep_send(PRIVSEP_FD_CONTROL, PRIVSEP_API_TLS, m, -1) < 0)
		_exit(3);
}

static void login(uint64_t connection, uint8_t first)
{
	struct privsep_msg m = {.type = PRIVSEP_LOGIN,
				.connection = connection,
				.login = {.has_token = 1, .hash = {first}}};

	tell(&m);
}

static int rogue(const char *kind)
{
	struct privsep_msg m, good = {.type = PRIVSEP_TLS_STATE, .tls_state = {.good = 1}};
	struct privsep_msg look = {.type = PRIVSEP_SHARED_READ,
				   .shared_read = {.what = PRIVSEP_STATUS}};
	struct privsep_msg apply = {.type = PRIVSEP_APPLY}, held = {.type = PRIVSEP_HELD};

	wait_for(PRIVSEP_TLS_FILES, &m);
	tell(&good);
	if (strcmp(kind, "curious") == 0)
		tell(&look);
	wait_for(PRIVSEP_CONNECTION, &m);
	if (strcmp(kind, "dies") == 0)
		return 9;
	apply.connection = held.connection = m.connection;
	if (strcmp(kind, "guesses") == 0)
		login(m.connection, 0x33);
	else if (strcmp(kind, "viewer") == 0)
		login(m.connection, 0x11);
	else if (strcmp(kind, "admin") == 0 || strcmp(kind, "late") == 0)
		login(m.connection, 0x22);
	if (strcmp(kind, "waits") == 0)
		tell(&held);
	tell(&apply);
	if (strcmp(kind, "late") == 0)
		login(m.connection, 0x22);
	wait_for(PRIVSEP_TYPE_MAX, &m); /* until it is killed */
	return 0;
}

/* ---- the monitor ---- */

static uint16_t free_port(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	return ntohs(at.sin_port);
}

static uint16_t port;
static char files[3][128];

static void put(struct clients_rig *w, unsigned i, const char *name, const char *text)
{
	snprintf(files[i], sizeof(files[i]), "%s/%s", w->dir, name);
	assert_int_equal(file_write(files[i], text, strlen(text), 0600), 0);
}

/* Serves the network with a process of that kind. */
static struct clients_rig *network_new(const char *kind)
{
	struct clients_rig *w = clients_rig_new(kind, "api-tls");
	struct network_config c;

	put(w, 0, "certificate", "a certificate, which the monitor does not read");
	put(w, 1, "key", "a key");
	put(w, 2, "tokens", "ann view " VIEW "\nbob admin " ADMIN "\n");
	port = free_port();
	c = (struct network_config){.port = port,
				    .certificate = strdup(files[0]),
				    .key = strdup(files[1]),
				    .tokens = strdup(files[2])};
	assert_int_equal(ip_addr_parse("127.0.0.1", &c.listen), 0);
	clients_set_network(w->clients, &c);
	return w;
}

static void network_free(struct clients_rig *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		unlink(files[i]);
	clients_rig_free(w);
}

static const char *event_with(const struct clients_rig *w, const char *text)
{
	for (uint64_t n = 1; n < w->events.next; n++)
		if (strstr(w->events.ring[n % EVENTS_KEPT].text, text))
			return w->events.ring[n % EVENTS_KEPT].text;
	return NULL;
}

static void connect_once(struct clients_rig *w)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	if (w->client >= 0 || !event_with(w, "the API is served at 127.0.0.1"))
		return;
	w->client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(w->client, (struct sockaddr *)&at, sizeof(at)), 0);
}

static bool event_came(struct clients_rig *w)
{
	connect_once(w);
	return event_with(w, w->expected);
}

static bool request_came(struct clients_rig *w)
{
	connect_once(w);
	return w->n_requests > 0;
}

static void breaks(const char *kind, const char *rule)
{
	struct clients_rig *w = network_new(kind);
	char expected[128];

	snprintf(expected, sizeof(expected), "the api-tls process sent a forbidden message (%s",
		 rule);
	w->expected = expected;
	assert_true(clients_rig_run(w, event_came));
	assert_false(w->change_allowed && strcmp(kind, "late") != 0);
	assert_int_equal(w->n_looks, 0);
	network_free(w);
}

static void test_a_process_without_a_token_asks_for_nothing(void **state)
{
	breaks("nameless", "request without a login");
	breaks("guesses", "request without a login");
	breaks("waits", "wait message without a login");
	breaks("curious", "read for many clients before any login");
}

static void test_a_token_gives_its_role_and_no_more(void **state)
{
	struct clients_rig *w = network_new("viewer");

	assert_true(clients_rig_run(w, request_came));
	assert_false(w->may_change);
	assert_int_equal(w->peer.uid, CLIENTS_NO_UID);
	network_free(w);
	w = network_new("admin");
	assert_true(clients_rig_run(w, request_came));
	assert_true(w->may_change);
	network_free(w);
}

static void test_a_request_keeps_the_role_with_which_it_came(void **state)
{
	breaks("late", "login after the request");
}

static unsigned count_events(const struct clients_rig *w, const char *text)
{
	unsigned found = 0;

	for (uint64_t n = 1; n < w->events.next; n++)
		found += strstr(w->events.ring[n % EVENTS_KEPT].text, text) != NULL;
	return found;
}

/* Each client comes while there is no process, and ends the next one. */
static bool process_died_six_times(struct clients_rig *w)
{
	unsigned n_deaths = count_events(w, "the api-tls process ended");

	if (w->client >= 0 && n_deaths >= w->stage) {
		close(w->client);
		w->client = -1;
		w->stage++;
	}
	connect_once(w);
	return n_deaths >= 6;
}

/* The pauses between deaths grow beyond the monitor's tick, so that nothing else serves them. */
static void test_clients_that_come_while_the_process_restarts_are_served(void **state)
{
	struct clients_rig *w = network_new("dies");

	w->stage = 1;
	assert_true(clients_rig_run(w, process_died_six_times));
	network_free(w);
}

static void test_a_wrong_token_is_recorded_with_its_address(void **state)
{
	struct clients_rig *w = network_new("guesses");

	w->expected = "refused 127.0.0.1: wrong token";
	assert_true(clients_rig_run(w, event_came));
	network_free(w);
}

static bool problems_have(const struct clients_rig *w, const char *text)
{
	json_t *list = clients_network_problems(w->clients), *line;
	bool found = false;
	size_t i;

	json_array_foreach (list, i, line)
		found = found || strstr(json_string_value(line), text);
	json_decref(list);
	return found;
}

static bool token_problem_came(struct clients_rig *w)
{
	return problems_have(w, w->expected);
}

static void test_files_that_others_can_read_are_refused(void **state)
{
	static const char *const codes[] = {"api-certificate: ", "api-tokens: "};

	for (unsigned i = 0; i < 2; i++) {
		struct clients_rig *w = network_new("admin");

		assert_int_equal(chmod(files[1 + i], 0640), 0);
		w->expected = codes[i];
		assert_true(clients_rig_run(w, token_problem_came));
		assert_true(problems_have(w, "other users can read or write the file"));
		network_free(w);
	}
}

static void test_users_of_records_are_told_apart(void **state)
{
	struct client ann = {.role = PRIVSEP_API_TLS, .access = ACCESS_VIEW, .name = "ann"};
	struct client bob = {.role = PRIVSEP_API_TLS, .access = ACCESS_ADMIN, .name = "bob"};
	struct client root = {.role = PRIVSEP_ADMIN};
	char by[REQUESTER_MAX];

	assert_int_equal(ip_addr_parse("2001:db8::1", &ann.peer.address), 0);
	clients_describe(&ann, by, sizeof(by));
	assert_string_equal(by, "token ann (view), 2001:db8::1");
	assert_true(clients_is_by(by, clients_user(&ann)));
	assert_false(clients_is_by(by, clients_user(&bob)));
	assert_false(clients_is_by(by, clients_user(&root)));
	clients_describe(&root, by, sizeof(by));
	assert_true(clients_is_by(by, 0));
	assert_false(clients_is_by(by, clients_user(&ann)));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_process_without_a_token_asks_for_nothing),
		cmocka_unit_test(test_a_token_gives_its_role_and_no_more),
		cmocka_unit_test(test_a_request_keeps_the_role_with_which_it_came),
		cmocka_unit_test(test_clients_that_come_while_the_process_restarts_are_served),
		cmocka_unit_test(test_a_wrong_token_is_recorded_with_its_address),
		cmocka_unit_test(test_files_that_others_can_read_are_refused),
		cmocka_unit_test(test_users_of_records_are_told_apart),
	};

	if (clients_rig_is_child(argc, argv))
		return clients_rig_child(argv, rogue);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
