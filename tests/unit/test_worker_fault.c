/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Injected faults, over a back end that records sent packets: which packets they affect, how, in
 * which order and when; that they end, and what the page shows.
 */
#include "dataplane/worker/worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define N_PORTS 2
#define SENT_MAX 20000

struct bench {
	struct worker w;
	struct launch_config cfg;
	struct launch_stats stats;
	struct port_ops ops;
	struct rudp_ops rudp_ops;
	struct worker_role role;
	uint32_t sent[SENT_MAX]; /* content of each packet, in the order sent */
	uint8_t sent_by[SENT_MAX];
	unsigned n_sent, n_flushed;
};

static struct bench *bench;

static int on_tx(struct port *p, const struct datagram_addr *dst, const struct datagram *pkt)
{
	assert_true(bench->n_sent < SENT_MAX);
	assert_int_equal(pkt->payload_len, sizeof(uint32_t));
	assert_int_equal(pkt->hdr_len, 1);
	memcpy(&bench->sent[bench->n_sent], pkt->payload, sizeof(uint32_t));
	bench->sent_by[bench->n_sent++] = (uint8_t)p->index;
	return 0;
}

static void on_flush(struct port *p)
{
	bench->n_flushed = bench->n_sent;
}

static void on_close(struct port *p)
{
}

static const char *no_name(const struct worker *w, const struct rudp_session *s)
{
	return "";
}

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct rudp_config rc = {.identity = 7, .epoch = 1, .n_ports = N_PORTS};

	assert_non_null(b);
	bench = b;
	b->ops =
		(struct port_ops){.name = "udp", .tx = on_tx, .flush = on_flush, .close = on_close};
	b->role = (struct worker_role){.peer_name = no_name};
	b->cfg.n_ports = N_PORTS;
	b->w.cfg = &b->cfg;
	b->w.stats = &b->stats;
	b->w.ops = &b->ops;
	b->w.role = &b->role;
	b->w.control_fd = -1;
	b->w.now_ns = 50 * NSEC_PER_SEC;
	rc.ops = &b->rudp_ops;
	for (unsigned i = 0; i < N_PORTS; i++) {
		snprintf(b->cfg.ports[i].leg, sizeof(b->cfg.ports[i].leg), "leg-%c", 'a' + i);
		assert_int_equal(ip_prefix_parse("192.0.2.1/24", &b->cfg.ports[i].ip), 0);
		b->cfg.ports[i].mtu = 1500;
		b->w.ports[i] = (struct port){.ops = &b->ops, .index = i};
		b->w.port_open[i] = true;
		rc.ports[i] = (struct rudp_port_info){.local = {b->cfg.ports[i].ip.addr, 4420},
						      .prefix_len = 24,
						      .mtu = 1500,
						      .up = true};
	}
	assert_int_equal(rudp_new(&rc, b->w.now_ns, &b->w.rudp), 0);
	b->w.now_ns += NSEC_PER_SEC;
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	worker_fault_free(&b->w);
	rudp_free(b->w.rudp);
	free(b);
	bench = NULL;
	return 0;
}

static struct launch_fault fault(const struct bench *b, uint32_t id)
{
	return (struct launch_fault){.id = id,
				     .ways = LAUNCH_FAULT_IN | LAUNCH_FAULT_OUT,
				     .until_ns = b->w.now_ns + 60 * NSEC_PER_SEC};
}

static void set(struct bench *b, const struct launch_fault *f)
{
	assert_int_equal(worker_fault_set(&b->w, f), 0);
}

static struct datagram_addr host(const char *ip)
{
	struct datagram_addr a = {.port = 4420};

	assert_int_equal(ip_addr_parse(ip, &a.ip), 0);
	return a;
}

/* The payload belongs to the caller only until the flush. */
static void send_one(struct bench *b, unsigned way, const char *to, uint32_t what)
{
	struct datagram_addr dst = host(to);
	struct datagram pkt = {
		.hdr_len = 1, .payload_len = sizeof(what), .payload = (const uint8_t *)&what};

	assert_int_equal(worker_tx(&b->w, way, &dst, &pkt), 0);
}

static unsigned receive_one(struct bench *b, unsigned way, const char *from)
{
	uint8_t data[4] = {1, 2, 3, 4};
	struct port_rx pkt = {data, sizeof(data), host(from), 0};

	return b->w.faults ? worker_fault_rx(&b->w, way, &pkt) : 1;
}

static uint64_t after(struct bench *b, uint64_t ns)
{
	b->w.now_ns += ns;
	return worker_fault_turn(&b->w);
}

/* ---- selection of packets ---- */

static void test_a_fault_affects_its_leg_and_direction(void **state)
{
	struct bench *b = *state;
	struct launch_fault f = fault(b, 1);

	f.drop_ppm = LAUNCH_FAULT_PPM;
	f.ways = LAUNCH_FAULT_OUT;
	snprintf(f.leg, sizeof(f.leg), "leg-b");
	set(b, &f);
	send_one(b, 0, "192.0.2.9", 1);
	send_one(b, 1, "192.0.2.9", 2);
	assert_int_equal(b->n_sent, 1);
	assert_int_equal(b->sent[0], 1);
	assert_int_equal(receive_one(b, 1, "192.0.2.9"), 1);
	f.ways = LAUNCH_FAULT_IN;
	set(b, &f);
	send_one(b, 1, "192.0.2.9", 3);
	assert_int_equal(b->n_sent, 2);
	assert_int_equal(receive_one(b, 1, "192.0.2.9"), 0);
	assert_int_equal(receive_one(b, 0, "192.0.2.9"), 1);
}

static void test_a_fault_affects_its_peer(void **state)
{
	struct bench *b = *state;
	struct launch_fault f = fault(b, 1);

	f.drop_ppm = LAUNCH_FAULT_PPM;
	snprintf(f.peer, sizeof(f.peer), "192.0.2.7");
	set(b, &f);
	send_one(b, 0, "192.0.2.7", 1);
	send_one(b, 0, "192.0.2.8", 2);
	assert_int_equal(b->n_sent, 1);
	assert_int_equal(b->sent[0], 2);
	assert_int_equal(receive_one(b, 1, "192.0.2.7"), 0);
	assert_int_equal(receive_one(b, 1, "192.0.2.8"), 1);
}

/* A mount's server given by name matches before there is a session. */
static void test_a_peer_by_name_is_known_before_a_session(void **state)
{
	struct bench *b = *state;
	struct launch_fault f = fault(b, 1);
	struct launch_mount *m = &b->cfg.mounts[0];

	b->cfg.n_mounts = 1;
	snprintf(m->peer, sizeof(m->peer), "storage");
	m->addrs[0].ip = host("192.0.2.7").ip;
	m->n_addrs = 1;
	f.drop_ppm = LAUNCH_FAULT_PPM;
	snprintf(f.peer, sizeof(f.peer), "storage");
	set(b, &f);
	(void)after(b, 0);
	send_one(b, 0, "192.0.2.7", 1);
	send_one(b, 0, "192.0.2.8", 2);
	assert_int_equal(b->n_sent, 1);
	assert_int_equal(b->sent[0], 2);
}

/* ---- effects ---- */

static void test_the_given_share_is_lost(void **state)
{
	struct bench *b = *state;
	struct launch_fault f = fault(b, 1);

	f.drop_ppm = LAUNCH_FAULT_PPM / 10;
	set(b, &f);
	for (uint32_t i = 0; i < 10000; i++)
		send_one(b, 0, "192.0.2.9", i);
	/* Twelve standard deviations. */
	assert_in_range(b->n_sent, 10000 - 1000 - 360, 10000 - 1000 + 360);
	f.drop_ppm = 0;
	f.duplicate_ppm = LAUNCH_FAULT_PPM;
	set(b, &f);
	b->n_sent = 0;
	send_one(b, 0, "192.0.2.9", 5);
	assert_int_equal(b->n_sent, 2);
	assert_int_equal(b->sent[1], 5);
	assert_int_equal(receive_one(b, 0, "192.0.2.9"), 2);
}

static void test_a_delay_keeps_the_order(void **state)
{
	struct bench *b = *state;
	struct launch_fault f = fault(b, 1);
	uint64_t due;

	f.delay_us = 2000;
	set(b, &f);
	send_one(b, 0, "192.0.2.9", 1);
	b->w.now_ns += 500 * NSEC_PER_USEC;
	send_one(b, 1, "192.0.2.9", 2);
	assert_int_equal(b->n_sent, 0);
	due = after(b, 500 * NSEC_PER_USEC);
	assert_int_equal(due, b->w.now_ns + NSEC_PER_MSEC);
	due = after(b, NSEC_PER_MSEC);
	assert_int_equal(b->n_sent, 1);
	assert_int_equal(b->n_flushed, 1);
	assert_int_equal(b->sent[0], 1);
	assert_int_equal(due, b->w.now_ns + 500 * NSEC_PER_USEC);
	(void)after(b, 500 * NSEC_PER_USEC);
	assert_int_equal(b->n_sent, 2);
	assert_int_equal(b->sent_by[1], 1);
	/* Received packets are delayed too. */
	assert_int_equal(receive_one(b, 0, "192.0.2.9"), 0);
	assert_int_equal(rudp_rx_drops(b->w.rudp), 0);
	(void)after(b, 3 * NSEC_PER_MSEC);
	assert_int_equal(rudp_rx_drops(b->w.rudp), 1); /* rudp received it and dropped it as
							* invalid */
}

static void test_reordered_packets_arrive_late(void **state)
{
	struct bench *b = *state;
	struct launch_fault f = fault(b, 1);
	bool out_of_order = false;

	f.reorder_ppm = LAUNCH_FAULT_PPM / 2;
	set(b, &f);
	for (uint32_t i = 0; i < 200; i++)
		send_one(b, 0, "192.0.2.9", i);
	assert_in_range(b->n_sent, 1, 199);
	(void)after(b, WORKER_FAULT_REORDER_NS);
	assert_int_equal(b->n_sent, 200);
	for (unsigned i = 1; i < 200; i++)
		out_of_order |= b->sent[i] < b->sent[i - 1];
	assert_true(out_of_order);
}

/* The queue has a limit: packets beyond it are lost, no others. */
static void test_packets_beyond_the_queue_are_lost(void **state)
{
	struct bench *b = *state;
	struct launch_fault f = fault(b, 1);

	f.delay_us = 1000;
	set(b, &f);
	for (uint32_t i = 0; i < 19000; i++)
		send_one(b, 0, "192.0.2.9", i);
	(void)after(b, NSEC_PER_MSEC);
	assert_in_range(b->n_sent, 1000, 18999);
	for (unsigned i = 0; i < b->n_sent; i++)
		assert_int_equal(b->sent[i], i);
	b->n_sent = 0;
	send_one(b, 0, "192.0.2.9", 7);
	(void)after(b, NSEC_PER_MSEC);
	assert_int_equal(b->n_sent, 1);
}

/* Packets of a port that is added later may be larger than all before; delayed packets are not
 * lost. */
static void test_a_larger_port_keeps_delayed_packets(void **state)
{
	static uint8_t data[8000];
	struct bench *b = *state;
	struct launch_fault f = fault(b, 1);
	struct port_rx pkt = {data, sizeof(data), host("192.0.2.9"), 0};

	f.delay_us = 1000;
	set(b, &f);
	send_one(b, 0, "192.0.2.9", 1);
	worker_fault_port(&b->w);
	assert_int_equal(b->n_sent, 0);
	b->cfg.ports[1].mtu = 9000;
	worker_fault_port(&b->w);
	assert_int_equal(b->n_sent, 1);
	assert_int_equal(b->n_flushed, 1);
	assert_int_equal(worker_fault_rx(&b->w, 1, &pkt), 0);
	(void)after(b, NSEC_PER_MSEC);
	assert_int_equal(rudp_rx_drops(b->w.rudp), 1);
	send_one(b, 1, "192.0.2.9", 2);
	(void)after(b, NSEC_PER_MSEC);
	assert_int_equal(b->n_sent, 2);
}

/* ---- begin and end ---- */

static void test_a_fault_ends_at_its_time(void **state)
{
	struct bench *b = *state;
	struct launch_fault f = fault(b, 1), g = fault(b, 2);

	f.drop_ppm = LAUNCH_FAULT_PPM;
	g.delay_us = 1000000;
	g.until_ns = f.until_ns + NSEC_PER_SEC;
	set(b, &f);
	set(b, &g);
	assert_non_null(strstr(b->w.fault_why, "fault-injected: faults are active (2 in all)"));
	assert_string_equal(b->stats.reason, b->w.fault_why);
	(void)after(b, 60 * NSEC_PER_SEC);
	send_one(b, 0, "192.0.2.9", 1);
	assert_int_equal(b->n_sent, 0); /* it is delayed */
	/* After the last fault ends no packet is delayed or lost. */
	assert_int_equal(after(b, NSEC_PER_SEC), UINT64_MAX);
	assert_null(b->w.faults);
	assert_int_equal(b->n_sent, 1);
	assert_string_equal(b->stats.reason, "");
}

static void test_the_agent_ends_a_fault(void **state)
{
	struct bench *b = *state;
	struct launch_fault f = fault(b, 1), none = {.id = 1, .ways = 1};

	f.delay_us = 1000;
	set(b, &f);
	send_one(b, 0, "192.0.2.9", 1);
	set(b, &none);
	assert_null(b->w.faults);
	assert_int_equal(b->n_sent, 1);
	set(b, &none); /* again: same result */
	send_one(b, 0, "192.0.2.9", 2);
	assert_int_equal(b->n_sent, 2);
}

static void test_the_page_lists_the_faults(void **state)
{
	struct bench *b = *state;
	struct launch_fault f = fault(b, 9);

	f.drop_ppm = LAUNCH_FAULT_PPM;
	set(b, &f);
	for (uint32_t i = 0; i < 3; i++)
		send_one(b, 0, "192.0.2.9", i);
	worker_stats_publish(&b->w);
	assert_int_equal(b->stats.faults[0].fault.id, 9);
	assert_int_equal(b->stats.faults[0].touched, 3);
	assert_int_equal(b->stats.faults[1].fault.id, 0);
	f.until_ns = 0;
	set(b, &f);
	worker_stats_publish(&b->w);
	assert_int_equal(b->stats.faults[0].fault.id, 0);
}

static void test_invalid_faults_are_refused(void **state)
{
	struct bench *b = *state;
	struct launch_fault f = fault(b, 1);

	f.drop_ppm = LAUNCH_FAULT_PPM + 1;
	assert_int_equal(worker_fault_set(&b->w, &f), -EINVAL);
	f = fault(b, 1);
	f.ways = 4;
	assert_int_equal(worker_fault_set(&b->w, &f), -EINVAL);
	f = fault(b, 1);
	memset(f.peer, 'x', sizeof(f.peer));
	assert_int_equal(worker_fault_set(&b->w, &f), -EINVAL);
	f = fault(b, 0);
	assert_int_equal(worker_fault_set(&b->w, &f), -EINVAL);
	assert_null(b->w.faults);
	for (uint32_t i = 1; i <= LAUNCH_FAULTS_MAX; i++) {
		f = fault(b, i);
		set(b, &f);
	}
	f = fault(b, 100);
	assert_int_equal(worker_fault_set(&b->w, &f), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_fault_affects_its_leg_and_direction, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_fault_affects_its_peer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_peer_by_name_is_known_before_a_session,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_given_share_is_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_delay_keeps_the_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reordered_packets_arrive_late, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_packets_beyond_the_queue_are_lost, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_larger_port_keeps_delayed_packets, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_fault_ends_at_its_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_agent_ends_a_fault, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_page_lists_the_faults, setup, teardown),
		cmocka_unit_test_setup_teardown(test_invalid_faults_are_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
