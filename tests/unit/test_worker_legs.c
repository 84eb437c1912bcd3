/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker's reasons for its legs, over a back end with preset results: each leg's reason is kept
 * apart from the others', is reported by one event, and is cleared when it no longer holds.
 */
#include "dataplane/worker/worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define N_PORTS 3

struct bench {
	struct worker w;
	struct launch_config cfg;
	struct launch_stats stats;
	struct port_ops ops;
	int agent; /* the other end of the worker's control channel */
	int open_error[N_PORTS], join_error[N_PORTS];
	const char *open_why[N_PORTS], *join_why[N_PORTS];
	unsigned waits[N_PORTS];     /* looks until joining has a result */
	unsigned backlog[N_PORTS];   /* looks before these that leave packets to be read */
	unsigned looks[N_PORTS];     /* looks at joining so far */
	unsigned at_answer[N_PORTS]; /* ports that were probing at that time */
	unsigned kept[N_PORTS];	     /* reads of its packets, and ticks, after the result */
	unsigned bursts[N_PORTS];    /* full bursts waiting for it */
	unsigned rests;
	int probe; /* result of the later probe */
	unsigned probes;
	struct launch_port_counters counters;
};

static struct bench *bench;

/* Replaces the C library's. */
int __wrap_nanosleep(const struct timespec *t, struct timespec *left);

int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
	bench->rests++;
	return 0;
}

static int on_open(struct port *p, const struct launch_config *cfg, unsigned index,
		   struct reason *why)
{
	reason_set_text(why, "%s", bench->open_why[index]);
	return bench->open_error[index];
}

static int on_join(struct port *p, const struct launch_config *cfg, unsigned index,
		   struct reason *why)
{
	bench->looks[index]++;
	if (bench->backlog[index] > 0) {
		bench->backlog[index]--;
		return -EINPROGRESS;
	}
	if (bench->waits[index] > 0) {
		bench->waits[index]--;
		return -EAGAIN;
	}
	for (unsigned i = 0; i < N_PORTS; i++)
		bench->at_answer[index] += bench->looks[i] > 0;
	reason_set_text(why, "%s", bench->join_why[index]);
	return bench->join_error[index];
}

static int on_probe(struct port *p, struct reason *why)
{
	bench->probes++;
	if (bench->probe == -EADDRINUSE)
		reason_set_text(why, "taken");
	return bench->probe;
}

static int on_rx(struct port *p, struct port_rx *pkts, unsigned max)
{
	bench->kept[p->index]++;
	if (bench->bursts[p->index] == 0)
		return 0;
	bench->bursts[p->index]--;
	return (int)max;
}

static uint64_t on_tick(struct port *p, uint64_t now_ns)
{
	bench->kept[p->index] += 100;
	return UINT64_MAX;
}

static void on_close(struct port *p)
{
}

static void on_counters(const struct port *p, struct launch_port_counters *ret)
{
	*ret = bench->counters;
}

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct rudp_config rc = {.identity = 7, .epoch = 1, .n_ports = N_PORTS};
	static const struct rudp_ops rudp_ops;
	int fds[2];

	assert_non_null(b);
	bench = b;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fds), 0);
	b->ops = (struct port_ops){.name = "udp",
				   .reopens = true,
				   .open = on_open,
				   .join = on_join,
				   .probe = on_probe,
				   .rx = on_rx,
				   .tick = on_tick,
				   .close = on_close};
	b->cfg.n_ports = N_PORTS;
	b->w.cfg = &b->cfg;
	b->w.stats = &b->stats;
	b->w.ops = &b->ops;
	b->w.control_fd = fds[0];
	b->agent = fds[1];
	rc.ops = &rudp_ops;
	for (unsigned i = 0; i < N_PORTS; i++) {
		b->open_why[i] = b->join_why[i] = "";
		snprintf(b->cfg.ports[i].leg, sizeof(b->cfg.ports[i].leg), "leg-%c", 'a' + i);
		assert_int_equal(ip_prefix_parse("192.0.2.1/24", &b->cfg.ports[i].ip), 0);
		b->cfg.ports[i].ip.addr.bytes[3] += i;
		rc.ports[i] = (struct rudp_port_info){.local = {b->cfg.ports[i].ip.addr, 4420},
						      .prefix_len = 24,
						      .mtu = 1500,
						      .up = true};
	}
	assert_int_equal(rudp_new(&rc, NSEC_PER_SEC, &b->w.rudp), 0);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	rudp_free(b->w.rudp);
	close(b->w.control_fd);
	close(b->agent);
	free(b);
	bench = NULL;
	return 0;
}

/* As at the start, and at each retry. */
static void opened(struct bench *b, unsigned n)
{
	struct worker_legs_why why;

	assert_int_equal(worker_ports_open(&b->w, &why), n);
	worker_legs_set_reasons(&b->w, &why);
}

static void joined(struct bench *b, unsigned n)
{
	struct worker_legs_why why;

	assert_int_equal(worker_ports_join(&b->w, &why), n);
	worker_legs_set_reasons(&b->w, &why);
}

static void expect_event(struct bench *b, int code, unsigned index, const char *text)
{
	struct launch_msg m;

	assert_int_equal(recv(b->agent, &m, sizeof(m), 0), sizeof(m));
	assert_int_equal(m.type, LAUNCH_MSG_EVENT);
	assert_int_equal(m.code, code);
	assert_int_equal(m.index, index);
	assert_string_equal(m.text, text);
}

static void expect_no_event(struct bench *b)
{
	struct launch_msg m;

	assert_true(recv(b->agent, &m, sizeof(m), 0) < 0);
}

#define BUSY "no-af-xdp: AF_PACKET is used: cannot use AF_XDP on eth1: another program uses it"

static void test_each_leg_has_its_own_reason(void **state)
{
	struct bench *b = *state;

	b->open_why[0] = BUSY;
	b->open_why[2] = "no such device";
	b->open_error[2] = -ENODEV;
	opened(b, 2);
	assert_string_equal(b->stats.ports[0].reason, "leg-a: " BUSY);
	assert_string_equal(b->stats.ports[1].reason, "");
	assert_string_equal(b->stats.ports[2].reason, "leg-c: no such device");
	assert_string_equal(b->stats.reason, "");
	assert_string_equal(b->stats.ports[0].by, "udp");
	assert_string_equal(b->stats.ports[2].by, "");
	expect_event(b, LAUNCH_EVENT_DEGRADED, 0, "leg-a: " BUSY);
	expect_event(b, LAUNCH_EVENT_DEGRADED, 2, "leg-c: no such device");
	expect_no_event(b);
}

/* A repeated failure is one event; the other legs' reasons stay meanwhile. */
static void test_a_restored_leg_is_reported_once(void **state)
{
	struct bench *b = *state;

	b->open_why[0] = BUSY;
	b->open_why[1] = "no such device";
	b->open_error[1] = -ENODEV;
	opened(b, 2);
	expect_event(b, LAUNCH_EVENT_DEGRADED, 0, "leg-a: " BUSY);
	expect_event(b, LAUNCH_EVENT_DEGRADED, 1, "leg-b: no such device");
	opened(b, 2);
	expect_no_event(b);
	b->open_why[1] = "";
	b->open_error[1] = 0;
	opened(b, 3);
	expect_event(b, LAUNCH_EVENT_RESTORED, 1, "leg-b works as configured again");
	expect_no_event(b);
	assert_string_equal(b->stats.ports[0].reason, "leg-a: " BUSY);
	assert_string_equal(b->stats.ports[1].reason, "");
}

/* The reasons from opening stay when joining adds more. */
static void test_joining_adds_to_the_reasons(void **state)
{
	struct bench *b = *state;

	b->open_why[0] = "it is slow";
	opened(b, 3);
	expect_event(b, LAUNCH_EVENT_DEGRADED, 0, "leg-a: it is slow");
	b->join_why[0] = "no link";
	b->join_why[1] = "taken";
	b->join_error[1] = -EADDRINUSE;
	joined(b, 2);
	assert_string_equal(b->stats.ports[0].reason, "leg-a: it is slow; no link");
	assert_string_equal(b->stats.ports[1].reason, "leg-b: taken");
	expect_event(b, LAUNCH_EVENT_DEGRADED, 0, "leg-a: it is slow; no link");
	expect_event(b, LAUNCH_EVENT_DEGRADED, 1, "leg-b: taken");
	expect_no_event(b);
}

/* All ports probe at the same time, none after it has its result; a port with a result answers for
 * its address while others probe. */
static void test_ports_probe_at_the_same_time(void **state)
{
	struct bench *b = *state;

	opened(b, 3);
	b->waits[0] = 2;
	b->backlog[0] = 1;
	b->waits[1] = 1;
	b->waits[2] = 2;
	b->join_why[1] = "taken";
	b->join_error[1] = -EADDRINUSE;
	joined(b, 2);
	assert_int_equal(b->looks[0], 4);
	assert_int_equal(b->looks[1], 2);
	assert_int_equal(b->looks[2], 3);
	for (unsigned i = 0; i < N_PORTS; i++)
		assert_int_equal(b->at_answer[i], N_PORTS);
	assert_int_equal(b->kept[0], 0);
	assert_int_equal(b->kept[1], 0); /* the address belongs to another host */
	assert_int_equal(b->kept[2], 101);
	assert_true(b->w.port_open[0] && !b->w.port_open[1] && b->w.port_open[2]);
	expect_event(b, LAUNCH_EVENT_DEGRADED, 1, "leg-b: taken");
	expect_no_event(b);
}

/* Between looks the worker rests, except while packets wait to be read: for a probing port, or for
 * one that has its address already. */
static void test_a_backlog_is_read_without_rest(void **state)
{
	struct bench *b = *state;
	struct worker_legs_why why = {.leg = {{.code = ""}}};

	opened(b, 3);
	b->waits[0] = 5;
	joined(b, 3);
	assert_int_equal(b->rests, 5);
	b->backlog[0] = 5;
	b->rests = 0;
	joined(b, 3);
	assert_int_equal(b->rests, 0);
	b->waits[0] = 5;
	b->backlog[2] = 3;
	joined(b, 3);
	assert_int_equal(b->rests, 2);
	b->waits[0] = 5;
	b->bursts[1] = 4;
	b->rests = 0;
	joined(b, 3);
	assert_int_equal(b->rests, 1); /* it is looked at from the second turn on */
	b->backlog[1] = 3;
	b->waits[1] = 2;
	b->rests = 0;
	assert_int_equal(worker_port_join(&b->w, 1, &why), 0);
	assert_int_equal(b->rests, 2);
}

/* A link that comes up later clears the reason for its lack, once the address was probed. */
static void test_a_later_link_clears_the_reason(void **state)
{
	struct bench *b = *state;

	b->open_why[0] = "it is slow";
	opened(b, 3);
	expect_event(b, LAUNCH_EVENT_DEGRADED, 0, "leg-a: it is slow");
	b->join_why[0] = b->join_why[1] = "no link";
	b->join_error[0] = b->join_error[1] = 1;
	joined(b, 3);
	expect_event(b, LAUNCH_EVENT_DEGRADED, 0, "leg-a: it is slow; no link");
	expect_event(b, LAUNCH_EVENT_DEGRADED, 1, "leg-b: no link");
	for (unsigned i = 0; i < N_PORTS; i++)
		b->w.port_up[i] = true;
	for (unsigned i = 0; i < N_PORTS; i++)
		worker_probe_look(&b->w, i); /* after a tick: no report of a link yet */
	assert_int_equal(b->probes, 0);
	b->probe = -EAGAIN;
	b->w.port_tick_ns[0] = UINT64_MAX;
	worker_probe_begin(&b->w, 0, true);
	worker_probe_begin(&b->w, 1, false);
	worker_probe_begin(&b->w, 2, true); /* it probed when it joined */
	assert_int_equal(b->probes, 1);
	assert_true(b->w.port_tick_ns[0] < UINT64_MAX);
	worker_probe_look(&b->w, 0);
	assert_int_equal(b->probes, 2);
	expect_no_event(b);
	b->probe = 0;
	worker_probe_look(&b->w, 0);
	expect_event(b, LAUNCH_EVENT_DEGRADED, 0, "leg-a: it is slow");
	assert_string_equal(b->stats.ports[0].reason, "leg-a: it is slow");
	worker_probe_begin(&b->w, 1, true);
	expect_event(b, LAUNCH_EVENT_RESTORED, 1, "leg-b works as configured again");
	worker_probe_look(&b->w, 0);
	worker_probe_look(&b->w, 1);
	assert_int_equal(b->probes, 4);
	expect_no_event(b);
}

static void test_a_taken_address_closes_the_port(void **state)
{
	struct bench *b = *state;

	opened(b, 3);
	b->join_why[0] = "no link";
	b->join_error[0] = 1;
	joined(b, 3);
	expect_event(b, LAUNCH_EVENT_DEGRADED, 0, "leg-a: no link");
	b->w.port_up[0] = true;
	b->probe = -EADDRINUSE;
	worker_probe_begin(&b->w, 0, true);
	expect_event(b, LAUNCH_EVENT_DEGRADED, 0, "leg-a: taken");
	assert_false(b->w.port_open[0]);
	assert_false(b->w.port_up[0]);
	worker_probe_begin(&b->w, 0, true);
	assert_int_equal(b->probes, 1);
	expect_no_event(b);
}

/* A worker without any port is useless: it exits with the reason, as if none had opened. */
static void test_a_worker_without_ports_exits(void **state)
{
	struct bench *b = *state;
	struct launch_msg m;

	opened(b, 3);
	b->join_why[0] = "no link";
	b->join_error[0] = 1;
	joined(b, 3);
	expect_event(b, LAUNCH_EVENT_DEGRADED, 0, "leg-a: no link");
	b->w.port_open[1] = b->w.port_open[2] = false;
	b->w.port_up[0] = true;
	b->probe = -EADDRINUSE;
	worker_probe_begin(&b->w, 0, true);
	expect_event(b, LAUNCH_EVENT_DEGRADED, 0, "leg-a: taken");
	assert_int_equal(recv(b->agent, &m, sizeof(m), MSG_DONTWAIT), sizeof(m));
	assert_int_equal(m.type, LAUNCH_MSG_FAILED);
	assert_string_equal(m.text, "leg-a: taken");
	assert_true(b->w.stopped);
	assert_int_equal(b->w.exit_status, LAUNCH_EXIT_TRANSPORT);
}

/* If no port can be opened all reasons are in one line, however long. */
static void test_all_reasons_fit_in_one_line(void **state)
{
	struct bench *b = *state;
	struct worker_legs_why why = {.leg = {{.code = ""}}};
	struct reason line, one;
	char words[400] = "many words";

	worker_legs_format(&why, &line);
	assert_false(reason_is_set(&line));
	reason_set_text(&one, "taken");
	worker_legs_add(&b->w, &why, 0, &one);
	reason_set(&one, "few-buffers", "no memory");
	worker_legs_add(&b->w, &why, 2, &one);
	worker_legs_format(&why, &line);
	assert_string_equal(line.text, "leg-a: taken; leg-c: few-buffers: no memory");
	while (strlen(words) + 6 < sizeof(words))
		strcat(words, " words");
	reason_set_text(&one, "%s", words);
	for (unsigned i = 0; i < 3; i++)
		worker_legs_add(&b->w, &why, 2, &one);
	assert_non_null(strstr(why.leg[2].text, "words ..."));
	snprintf(b->cfg.ports[1].leg, sizeof(b->cfg.ports[1].leg), "%s",
		 "a-leg-of-thirty-one-characters-");
	reason_set_text(&one, "whole");
	worker_legs_add(&b->w, &why, 1, &one);
	assert_string_equal(why.leg[1].text, "a-leg-of-thirty-one-characters-: whole");
	worker_legs_format(&why, &line);
	assert_string_equal(line.text + strlen(line.text) - 9, "words ...");

	/* On the page and in the event a leg has less room. */
	reason_clear(&why.leg[0]);
	worker_legs_set_reasons(&b->w, &why);
	assert_true(strlen(b->stats.ports[2].reason) > LAUNCH_REASON_MAX - 12);
	assert_non_null(strstr(b->stats.ports[2].reason, "words ..."));
}

static void test_port_counters_are_shown(void **state)
{
	struct bench *b = *state;

	opened(b, 3);
	assert_int_equal(b->stats.ports[0].counts, 0); /* the kernel counts */
	b->ops.counters = on_counters;
	b->counters = (struct launch_port_counters){
		1, 2,  3,  4,  5,  6,  7,  8,
		9, 10, 11, 12, 13, 14, 15, {16, 17, 18, 19, 20, 21, 22, 23}};
	worker_legs_publish(&b->w);
	assert_int_equal(b->stats.ports[1].counts, 1);
	assert_memory_equal(&b->stats.ports[1].counters, &b->counters, sizeof(b->counters));
	b->w.port_open[1] = false; /* it counts no more, and its last values stay */
	b->counters.tx_packets = 100;
	worker_legs_publish(&b->w);
	assert_int_equal(b->stats.ports[0].counters.tx_packets, 100);
	assert_int_equal(b->stats.ports[1].counters.tx_packets, 1);
	assert_string_equal(b->stats.ports[1].by, "");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_each_leg_has_its_own_reason),
		TEST(test_a_restored_leg_is_reported_once),
		TEST(test_joining_adds_to_the_reasons),
		TEST(test_all_reasons_fit_in_one_line),
		TEST(test_ports_probe_at_the_same_time),
		TEST(test_a_later_link_clears_the_reason),
		TEST(test_a_taken_address_closes_the_port),
		TEST(test_a_worker_without_ports_exits),
		TEST(test_port_counters_are_shown),
		TEST(test_a_backlog_is_read_without_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
