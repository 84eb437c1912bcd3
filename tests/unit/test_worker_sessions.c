/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of sessions that a worker writes for operators: which entries an update writes. */
#include "dataplane/worker/worker.h"
#include "netcfg/base/os/memfd.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define START_NS (100 * NSEC_PER_SEC)
#define MANY (2 * LAUNCH_SESSIONS_AT_ONCE + 10)

static struct worker w;
static struct launch_config cfg;
static struct worker_role role;
static struct rudp_session *sessions[MANY];

static int on_tx(void *user, unsigned port, const struct datagram_addr *dst,
		 const struct datagram *pkt)
{
	return 0;
}

static void on_tx_flush(void *user)
{
}

static void on_response(void *user, struct rudp_session *s, uint64_t cookie, int status, void *buf,
			size_t len)
{
}

static void on_event(void *user, struct rudp_session *s, enum rudp_event e, unsigned path, int code)
{
}

static const char *on_peer_name(const struct worker *of, const struct rudp_session *s)
{
	return "host-b";
}

static void begin(size_t bytes)
{
	static const struct rudp_ops ops = {
		.tx = on_tx, .tx_flush = on_tx_flush, .response = on_response, .event = on_event};
	struct rudp_config rc = {.identity = 7, .epoch = 1, .n_ports = 1, .ops = &ops};
	autoclose int fd = memfd_new_shared("stats", bytes);

	assert_true(fd >= 0);
	w = (struct worker){.cfg = &cfg, .role = &role, .now_ns = START_NS};
	cfg.n_ports = 1;
	cfg.log_level = 5;
	cfg.ports[0].udp_port = 4420;
	assert_int_equal(ip_prefix_parse("192.0.2.1/24", &cfg.ports[0].ip), 0);
	role.peer_name = on_peer_name;
	rc.ports[0] = (struct rudp_port_info){
		.local = {cfg.ports[0].ip.addr, 4420}, .prefix_len = 24, .mtu = 1500, .up = true};
	assert_int_equal(rudp_new(&rc, w.now_ns, &w.rudp), 0);
	worker_sessions_open(&w, fd);
}

static void end(void)
{
	if (w.watch)
		munmap(w.watch, sizeof(*w.watch));
	rudp_free(w.rudp);
}

static void connect_to_peer(unsigned n)
{
	struct datagram_addr to = {.port = 4421};

	assert_int_equal(ip_addr_parse("192.0.2.9", &to.ip), 0);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(
			rudp_connect(w.rudp, &to, 1, NULL, 0, NULL, w.now_ns, &sessions[i]), 0);
}

/* Counts the entries that were written at that time; 0: all. */
static unsigned count(uint64_t at_ns)
{
	unsigned n = 0;

	for (unsigned i = 0; i < LAUNCH_SESSION_ENTRIES; i++)
		n += w.watch->sessions[i].looked_ns != 0 &&
		     (at_ns == 0 || w.watch->sessions[i].looked_ns == at_ns);
	return n;
}

static void publish(void)
{
	w.now_ns += NSEC_PER_SEC;
	worker_sessions_publish(&w);
}

static void test_a_session_is_described(void **state)
{
	const struct launch_session *e;
	static const char request[] = "request";

	begin(LAUNCH_WATCH_END);
	connect_to_peer(1);
	assert_int_equal(rudp_call_send(sessions[0], request, sizeof(request), 1), 0);
	publish();
	assert_int_equal(w.watch->magic, LAUNCH_WATCH_MAGIC);
	assert_int_equal(w.watch->size, sizeof(*w.watch));
	assert_int_equal(w.watch->log_level, 5);
	assert_int_equal(w.watch->n_sessions, 1);
	assert_int_equal(w.watch->n_entries, 1);
	e = &w.watch->sessions[rudp_session_index(sessions[0])];
	assert_int_equal(e->looked_ns, w.now_ns);
	assert_int_equal(e->seq, 2);
	assert_string_equal(e->peer, "host-b");
	assert_int_equal(e->state, LAUNCH_SESSION_CONNECTING);
	assert_int_equal(e->since_ns, START_NS);
	assert_int_equal(e->heard_ns, 0);
	assert_int_equal(e->in_flight, 0);
	assert_int_equal(e->waiting, 1); /* for the connection */
	assert_int_equal(e->n_paths, 1);
	assert_int_equal(e->paths[0].state, LAUNCH_PATH_JOINING);
	assert_int_equal(e->paths[0].local_port, 4420);
	assert_int_equal(e->paths[0].remote_port, 4421);
	end();
}

static void test_each_update_writes_a_bounded_part_in_turn(void **state)
{
	begin(LAUNCH_WATCH_END);
	connect_to_peer(MANY);
	publish();
	assert_int_equal(count(0), LAUNCH_SESSIONS_AT_ONCE);
	assert_int_equal(w.watch->n_sessions, MANY);
	publish();
	assert_int_equal(count(0), 2 * LAUNCH_SESSIONS_AT_ONCE);
	assert_int_equal(count(w.now_ns), LAUNCH_SESSIONS_AT_ONCE);
	publish();
	assert_int_equal(count(0), MANY);
	assert_int_equal(count(w.now_ns), LAUNCH_SESSIONS_AT_ONCE);
	assert_int_equal(w.watch->n_entries, MANY);
	end();
}

static void test_an_ended_session_leaves_the_list(void **state)
{
	unsigned i;

	begin(LAUNCH_WATCH_END);
	connect_to_peer(3);
	i = rudp_session_index(sessions[1]);
	publish();
	assert_int_equal(count(0), 3);
	rudp_session_close(sessions[1], w.now_ns);
	publish();
	assert_int_equal(count(0), 2);
	assert_int_equal(w.watch->sessions[i].looked_ns, 0);
	assert_int_equal(w.watch->n_sessions, 2);
	end();
}

/* An agent of another version makes the memfd smaller. */
static void test_without_room_there_is_no_list(void **state)
{
	begin(sizeof(struct launch_stats));
	assert_null(w.watch);
	connect_to_peer(1);
	publish();
	worker_sessions_set_log_level(&w, 7);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_session_is_described),
		cmocka_unit_test(test_each_update_writes_a_bounded_part_in_turn),
		cmocka_unit_test(test_an_ended_session_leaves_the_list),
		cmocka_unit_test(test_without_room_there_is_no_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
