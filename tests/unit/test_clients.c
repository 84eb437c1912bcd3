/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests rights: clients at the monitor's sockets, and compromised child processes. The children
 * are this program, started as the monitor starts its roles; PLENUM_TEST_CHILD selects the real
 * child or the rule that it breaks.
 */
#include "agent/api/api_internal.h"
#include "agent/api/clients.h"
#include "agent/control/control_internal.h"
#include "netcfg/base/os/memfd.h"
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

#define PATIENCE_NS (60 * NSEC_PER_SEC)
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
	struct privsep_msg m, apply = {.type = PRIVSEP_APPLY};

	if (strcmp(kind, "unasked") == 0) {
		apply.connection = 1;
		send_anyway(&apply, sizeof(apply.apply));
	}
	wait_for(PRIVSEP_CONNECTION, &m);
	apply.connection = m.connection;
	if (strcmp(kind, "forge") == 0) {
		ask_about(m.connection ^ 1);
	} else if (strcmp(kind, "change") == 0) {
		send_anyway(&apply, sizeof(apply.apply));
	} else if (strcmp(kind, "twice") == 0) {
		ask_about(m.connection);
		ask_about(m.connection);
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

static int child(const char *role)
{
	const char *kind = getenv("PLENUM_TEST_CHILD");
	enum privsep_role r = strcmp(role, "admin") == 0 ? PRIVSEP_ADMIN : PRIVSEP_API;
	const char *only = getenv("PLENUM_TEST_ROLE");

	if (strcmp(kind, "real") == 0 || strcmp(only, role) != 0)
		return api_main(r, LOG_LEVEL_ERR);
	if (strcmp(kind, "socket") == 0) {
		if (api_sandbox_enter() < 0 || api_sandbox_seal() < 0)
			return 4;
		return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	}
	return rogue(kind);
}

/* ---- the monitor ---- */

struct world {
	char dir[64], read_path[96], admin_path[96];
	struct loop *loop;
	struct loop_source *timer;
	struct events events;
	struct clients *clients;
	uint64_t give_up_ns;
	bool (*done)(struct world *w);
	const char *expected; /* text of an event */
	int client;
	char got[2048];
	size_t n_got;
	/* the last request */
	unsigned n_requests;
	bool may_change, change_allowed, hold_answer, notes;
	int waiting;
	struct clients_peer peer;
	struct privsep_msg last;
	unsigned stage;
};

static void answer(struct world *w, uint64_t id)
{
	static const char text[] = "{\"fine\":true}";
	const struct privsep_reply reply = {200, PRIVSEP_JSON, strlen(text), 0};
	autoclose int fd = memfd_new_sealed("reply", text, strlen(text));

	assert_int_equal(clients_answer(w->clients, id, &reply, fd), 0);
}

static void on_request(void *user, struct client *c, const struct privsep_msg *m, int fd)
{
	struct world *w = user;

	w->n_requests++;
	w->peer = c->peer;
	w->last = *m;
	w->may_change = clients_may_change(w->clients, c);
	w->change_allowed |= w->may_change && privsep_is_change((enum privsep_type)m->type);
	if (!w->hold_answer)
		answer(w, c->id);
}

static bool has_event(const struct world *w, const char *text)
{
	for (uint64_t n = 1; n < w->events.next; n++)
		if (strstr(w->events.ring[n % EVENTS_KEPT].text, text))
			return true;
	return false;
}

static bool event_came(struct world *w)
{
	return has_event(w, w->expected);
}

static int on_timer(void *user)
{
	struct world *w = user;
	ssize_t n;

	if (w->client >= 0) {
		n = recv(w->client, w->got + w->n_got, sizeof(w->got) - 1 - w->n_got, MSG_DONTWAIT);
		if (n > 0)
			w->n_got += (size_t)n;
		w->got[w->n_got] = '\0';
	}
	if (w->done(w) || clock_now_ns() > w->give_up_ns)
		loop_exit(w->loop, 0);
	else
		loop_timer_arm(w->timer, 5 * NSEC_PER_MSEC);
	return 0;
}

/* kind: of the child that serves `role`; the other child is the real one. */
static struct world *world_new(const char *kind, const char *role)
{
	struct world *w = calloc(1, sizeof(*w));
	struct clients_setup setup = {.log_level = LOG_LEVEL_ERR, .on_request = on_request};

	assert_non_null(w);
	setenv("PLENUM_TEST_CHILD", kind, 1);
	setenv("PLENUM_TEST_ROLE", role, 1);
	w->client = w->waiting = -1;
	strcpy(w->dir, "/tmp/plenum-clients.XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->read_path, sizeof(w->read_path), "%s/plenumd.sock", w->dir);
	snprintf(w->admin_path, sizeof(w->admin_path), "%s/plenumd-admin.sock", w->dir);
	events_init(&w->events);
	log_set_level(LOG_LEVEL_ERR - 1);
	assert_int_equal(loop_new(&w->loop), 0);
	assert_int_equal(loop_add_timer(w->loop, NSEC_PER_MSEC, on_timer, w, &w->timer), 0);
	setup.loop = w->loop;
	setup.idle_ns = strcmp(role, "none") == 0 || strcmp(kind, "hoard") == 0 ? NSEC_PER_SEC
										: CLIENTS_IDLE_NS;
	setup.events = &w->events;
	setup.read_path = w->read_path;
	setup.admin_path = w->admin_path;
	setup.user = w;
	assert_int_equal(clients_new(&setup, &w->clients), 0);
	return w;
}

static void world_free(struct world *w)
{
	cleanup_close(&w->client);
	cleanup_close(&w->waiting);
	clients_free(w->clients);
	assert_int_equal(access(w->read_path, F_OK), -1);
	loop_source_free(w->timer);
	loop_free(w->loop);
	rmdir(w->dir);
	free(w);
}

static bool run(struct world *w, bool (*done)(struct world *w))
{
	w->done = done;
	w->give_up_ns = clock_now_ns() + PATIENCE_NS;
	loop_timer_arm(w->timer, 0);
	assert_int_equal(loop_run(w->loop), 0);
	return done(w);
}

static int connect_to(const char *path)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(sun.sun_path, path);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	return fd;
}

static void client_asks(struct world *w, const char *path, const char *request)
{
	w->client = connect_to(path);
	assert_int_equal(send(w->client, request, strlen(request), MSG_NOSIGNAL), strlen(request));
}

#define GET_STATUS "GET /v1/status HTTP/1.1\r\nHost: plenum\r\n\r\n"
#define POST_APPLY "POST /v1/apply HTTP/1.1\r\nHost: plenum\r\nContent-Length: 0\r\n\r\n"

static bool answered(struct world *w)
{
	const char *body = strstr(w->got, "\r\n\r\n");

	return body && strchr(body, '}');
}

static void test_a_reader_is_served(void **state)
{
	struct world *w = world_new("real", "api");

	client_asks(w, w->read_path, GET_STATUS);
	assert_true(run(w, answered));
	assert_non_null(strstr(w->got, "HTTP/1.1 200"));
	assert_non_null(strstr(w->got, "{\"fine\":true}"));
	assert_int_equal(w->n_requests, 1);
	assert_int_equal(w->peer.uid, geteuid());
	assert_int_equal(w->peer.pid, getpid());
	assert_false(w->may_change); /* refused even for root on the read-only socket */
	world_free(w);
}

static void test_a_reader_changes_nothing(void **state)
{
	struct world *w = world_new("real", "api");

	client_asks(w, w->read_path, POST_APPLY);
	assert_true(run(w, answered));
	assert_non_null(strstr(w->got, "HTTP/1.1 403"));
	assert_non_null(strstr(w->got, "plenumd-admin.sock"));
	assert_int_equal(w->n_requests, 0);
	world_free(w);
}

static void test_an_administrator_makes_changes(void **state)
{
	struct world *w = world_new("real", "api");
	struct stat st;

	if (geteuid() != 0) {
		world_free(w);
		skip();
	}
	assert_int_equal(stat(w->admin_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	client_asks(w, w->admin_path, POST_APPLY);
	assert_true(run(w, answered));
	assert_non_null(strstr(w->got, "HTTP/1.1 200"));
	assert_int_equal(w->n_requests, 1);
	assert_int_equal(w->last.type, PRIVSEP_APPLY);
	assert_true(w->change_allowed);
	world_free(w);
}

/* A change is carried out only while its client is connected to get the answer. */
static void test_a_change_needs_its_client(void **state)
{
	struct world *w = world_new("real", "api");

	if (geteuid() != 0) {
		world_free(w);
		skip();
	}
	client_asks(w, w->admin_path, POST_APPLY);
	close(w->client);
	client_asks(w, w->admin_path, GET_STATUS); /* one after the other, by the same child */
	assert_true(run(w, answered));
	assert_false(w->change_allowed);
	world_free(w);
}

/* Errors found before the library parses the request are JSON too. */
static void test_an_error_before_parsing_is_json(void **state)
{
	static char head[12000];
	struct world *w = world_new("real", "api");

	memset(head, 'x', sizeof(head) - 1);
	memcpy(head, "GET / HTTP/1.1\r\nHost: x\r\nX: ", 28);
	client_asks(w, w->read_path, head);
	assert_true(run(w, answered));
	assert_non_null(strstr(w->got, "HTTP/1.1 431"));
	assert_non_null(strstr(w->got, "application/problem+json"));
	assert_non_null(strstr(w->got, "\"code\":\"too-large\""));
	world_free(w);
}

/* A second client is served first, which proves that the waiting client's request has been read. */
static bool waiting_one_is_answered(struct world *w)
{
	if (w->stage == 0 && answered(w)) {
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
	return w->stage == 1 && answered(w);
}

/* The answer waits for the next event or for the end of the wait. */
static void test_a_client_can_wait_for_events(void **state)
{
	static const char *const waits[] = {"30", "1"};

	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		struct world *w = world_new("real", "api");
		char request[128];

		w->notes = i == 0;
		clients_note_event(w->clients, 7, 0xabc);
		snprintf(request, sizeof(request),
			 "GET /v1/events?since=7&wait=%s&instance=abc HTTP/1.1\r\nHost: x\r\n\r\n",
			 waits[i]);
		client_asks(w, w->read_path, request);
		w->waiting = fd_take(w->client);
		client_asks(w, w->read_path, GET_STATUS);
		assert_true(run(w, waiting_one_is_answered));
		assert_int_equal(w->n_requests, 2);
		assert_int_equal(w->last.type, PRIVSEP_GET_EVENTS);
		assert_int_equal(w->last.get_events.since, 7);
		world_free(w);
	}
}

static bool is_closed(struct world *w)
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
		struct world *w = world_new("real", "none");

		client_asks(w, w->read_path, sends[i]);
		assert_true(run(w, is_closed));
		assert_int_equal(w->n_requests, 0);
		assert_int_equal(w->events.next,
				 1); /* a client that sends nothing is not an error */
		world_free(w);
	}
}

/* ---- compromised children ---- */

static void breaks(const char *kind, const char *role, const char *expected)
{
	struct world *w = world_new(kind, role);

	w->hold_answer = true;
	w->client = connect_to(strcmp(role, "admin") == 0 ? w->admin_path : w->read_path);
	w->expected = expected;
	assert_true(run(w, event_came));
	if (strcmp(kind, "twice") != 0)
		assert_int_equal(w->n_requests, 0);
	assert_false(w->may_change);
	world_free(w);
}

static void test_forged_connections_are_refused(void **state)
{
	breaks("forge", "api", "api process sent a forbidden message (unknown connection");
	breaks("after", "api", "api process sent a forbidden message (unknown connection");
}

static void test_the_read_only_child_cannot_make_changes(void **state)
{
	breaks("change", "api", "api process sent a forbidden message (message type not allowed");
	breaks("unasked", "api", "api process sent a forbidden message (message type not allowed");
}

static void test_a_child_cannot_make_changes_without_a_client(void **state)
{
	if (geteuid() != 0)
		skip();
	breaks("unasked", "admin", "admin process sent a forbidden message (unknown connection");
}

/* The child lives and answers but never closes its clients' connections, which would fill the
 * table for good. */
static void test_a_child_that_keeps_connections_is_restarted(void **state)
{
	breaks("hoard", "api", "api process did not close the connections that the agent dropped");
}

static void test_a_second_request_is_refused(void **state)
{
	breaks("twice", "api", "api process sent a forbidden message (second request");
}

static void test_a_forbidden_system_call_kills_the_child(void **state)
{
	char expected[96], call[40];
	struct world *w = world_new("socket", "api");

	snprintf(expected, sizeof(expected), "api process tried the system call %s",
		 privsep_syscall_to_string(SYS_socket, call, sizeof(call)));
	w->expected = expected;
	assert_true(run(w, event_came));
	world_free(w);
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

static bool slow_one_asked(struct world *w)
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
	struct world *w = world_new("slow", "api");

	w->client = connect_to(w->read_path);
	assert_true(run(w, slow_one_asked));
	assert_false(has_event(w, "does not read"));
	world_free(w);
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

/* ---- rights ---- */

static void test_rights_follow_uids_and_groups(void **state)
{
	char *users[] = {"root", "4711", "no-such-user"}, *groups[] = {"root", "815"};
	gid_t of_groups[] = {7, 815}, of_none[] = {7, 816};
	struct clients_peer p = {.uid = 1, .gid = 1};
	struct clients_rights r;
	struct events ev;

	events_init(&ev);
	log_set_level(LOG_LEVEL_ERR);
	assert_int_equal(clients_rights_resolve(users, 3, groups, 2, &ev, &r), 0);
	assert_int_equal(r.n_users, 2);
	assert_int_equal(r.n_groups, 2);
	assert_non_null(strstr(ev.ring[1].text, "unknown user no-such-user"));
	r.readers = 100;
	assert_false(clients_rights_change(&r, &p));
	assert_false(clients_rights_read(&r, &p));
	p.uid = 4711;
	assert_true(clients_rights_change(&r, &p));
	p = (struct clients_peer){1, 1, 1, of_groups, 2};
	assert_true(clients_rights_change(&r, &p));
	p.groups = of_none;
	assert_false(clients_rights_change(&r, &p));
	p.gid = 100; /* the readers' group grants reading only */
	assert_true(clients_rights_read(&r, &p));
	assert_false(clients_rights_change(&r, &p));
	clients_rights_done(&r);
	/* Without an admin list only root may make changes. */
	assert_int_equal(clients_rights_resolve(NULL, 0, NULL, 0, &ev, &r), 0);
	p = (struct clients_peer){.uid = UINT32_MAX, .gid = UINT32_MAX};
	assert_false(clients_rights_change(&r, &p));
	assert_false(clients_rights_read(&r, &p));
	p.uid = 0;
	assert_true(clients_rights_change(&r, &p));
	clients_rights_done(&r);
}

/* ---- eviction of connections ---- */

static struct client table[3 * CLIENTS_MAX];

static struct client *fill(size_t n, uid_t first_uid, size_t of_each, enum client_state state)
{
	memset(table, 0, sizeof(table));
	for (size_t i = 0; i < n; i++) {
		table[i].id = i + 1;
		table[i].role = PRIVSEP_API;
		table[i].peer.uid = first_uid + (uid_t)(i / of_each);
		table[i].state = state;
		table[i].next = i + 1 < n ? &table[i + 1] : NULL;
	}
	return table;
}

static struct client *victim(struct client *list, uid_t uid, bool *full)
{
	return clients_victim(list, PRIVSEP_API, uid, full);
}

static void test_the_uid_with_most_connections_is_evicted(void **state)
{
	bool full;

	assert_null(victim(NULL, 0, &full));
	assert_false(full);
	/* A uid at its limit loses its own oldest connection, and none of another child. */
	fill(CLIENTS_UID_MAX, 1, CLIENTS_UID_MAX, CLIENT_NEW);
	assert_null(victim(table, 2, &full));
	assert_false(full);
	assert_ptr_equal(victim(table, 1, &full), &table[0]);
	assert_null(clients_victim(table, PRIVSEP_ADMIN, 1, &full));
	table[0].state = CLIENT_HELD; /* idle connections go before waiting ones */
	assert_ptr_equal(victim(table, 1, &full), &table[1]);
	fill(CLIENTS_UID_MAX, 1, CLIENTS_UID_MAX, CLIENT_HELD);
	assert_ptr_equal(victim(table, 1, &full), &table[0]);
	/* All connections of the uid wait for the monitor: it gets no more. */
	fill(CLIENTS_UID_MAX, 1, CLIENTS_UID_MAX, CLIENT_ASKED);
	assert_null(victim(table, 1, &full));
	assert_true(full);
	/* Many uids fill the table: the uid with the most connections loses one, so a uid with a
	 * single connection keeps it. */
	fill(CLIENTS_MAX, 1, 16, CLIENT_NEW);
	table[0].peer.uid = 99;
	assert_ptr_equal(victim(table, 50, &full), &table[16]);
	assert_false(full);
	/* A child that closes no connection. */
	fill(CLIENTS_MAX, 1, 1, CLIENT_DROPPED);
	assert_null(victim(table, 50, &full));
	assert_true(full);
}

/* A cleanup tool or an administrator removed the sockets from the run directory. */
static void test_removed_sockets_are_created_again(void **state)
{
	struct world *w = world_new("real", "api");
	struct stat st;

	assert_int_equal(clients_restore(w->clients), 0);
	assert_int_equal(unlink(w->read_path), 0);
	assert_int_equal(unlink(w->admin_path), 0);
	assert_int_equal(clients_restore(w->clients), 2);
	assert_int_equal(clients_restore(w->clients), 0);
	assert_int_equal(stat(w->admin_path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	client_asks(w, w->read_path, GET_STATUS);
	assert_true(run(w, answered));
	assert_non_null(strstr(w->got, "HTTP/1.1 200"));
	world_free(w);
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
		cmocka_unit_test(test_a_forbidden_system_call_kills_the_child),
		cmocka_unit_test(test_messages_wait_for_a_child_that_does_not_read),
		cmocka_unit_test(test_durations_are_rounded),
		cmocka_unit_test(test_rights_follow_uids_and_groups),
		cmocka_unit_test(test_the_uid_with_most_connections_is_evicted),
		cmocka_unit_test(test_removed_sockets_are_created_again),
		cmocka_unit_test(test_a_child_without_an_empty_root_stops),
	};

	if (argc > 2 && strcmp(argv[1], "--role") == 0)
		return child(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
