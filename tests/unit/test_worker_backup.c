/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker whose ports share one address, over a back end that records the calls: which port joins,
 * stands by, announces; with and without an agent; and the reasons that the worker reports.
 */
#include "dataplane/worker/run/worker_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#define N_PORTS 2
#define HOLD_MS 5000U

struct bench {
	struct worker w;
	struct launch_config cfg;
	struct launch_stats stats;
	struct port_ops ops;
	struct rudp_ops rudp_ops;
	bool link[N_PORTS]; /* as the device reports */
	bool wanted_back[N_PORTS];
	int join_error[N_PORTS]; /* 0: joins */
	bool stands_by[N_PORTS], closed[N_PORTS];
	unsigned joins[N_PORTS], probes[N_PORTS], announced[N_PORTS];
};

static struct bench *bench;

static int on_join(struct port *p, const struct launch_config *cfg, unsigned index,
		   struct reason *why)
{
	assert_false(bench->stands_by[index]);
	bench->joins[index]++;
	if (bench->join_error[index])
		reason_set_text(why, "taken");
	return bench->join_error[index];
}

static int on_probe(struct port *p, struct reason *why)
{
	assert_false(bench->stands_by[p->index]);
	bench->probes[p->index]++;
	return 0;
}

static void on_close(struct port *p)
{
	bench->closed[p->index] = true;
}

static void on_stand_by(struct port *p, bool stands_by)
{
	bench->stands_by[p->index] = stands_by;
}

static bool on_link(struct port *p)
{
	return bench->link[p->index];
}

static bool on_wanted_back(struct port *p)
{
	assert_false(bench->closed[p->index]);
	return bench->wanted_back[p->index];
}

static void on_announce(struct port *p)
{
	assert_false(bench->stands_by[p->index]);
	bench->announced[p->index]++;
}

static uint64_t on_tick(struct port *p, uint64_t now_ns)
{
	return now_ns;
}

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct rudp_config rc = {.identity = 7, .epoch = 1, .n_ports = 1};

	assert_non_null(b);
	bench = b;
	b->ops = (struct port_ops){.name = "dpdk",
				   .join = on_join,
				   .probe = on_probe,
				   .close = on_close,
				   .stand_by = on_stand_by,
				   .tick = on_tick,
				   .link = on_link,
				   .wanted_back = on_wanted_back,
				   .announce = on_announce};
	b->cfg.n_ports = N_PORTS;
	b->cfg.failover = true;
	b->cfg.hold_ms = HOLD_MS;
	b->w.cfg = &b->cfg;
	b->w.stats = &b->stats;
	b->w.ops = &b->ops;
	b->w.control_fd = -1;
	b->w.now_ns = 50 * NSEC_PER_SEC;
	for (unsigned i = 0; i < N_PORTS; i++) {
		snprintf(b->cfg.ports[i].leg, sizeof(b->cfg.ports[i].leg), "leg-%c", 'a' + i);
		snprintf(b->cfg.ports[i].label, sizeof(b->cfg.ports[i].label), "switch-%u", i);
		assert_int_equal(ip_prefix_parse("192.0.2.1/24", &b->cfg.ports[i].ip), 0);
		b->w.ports[i] = (struct port){.ops = &b->ops, .index = i};
		b->w.port_open[i] = true;
		b->w.port_up[i] = b->link[i] = true;
	}
	rc.ops = &b->rudp_ops;
	rc.ports[0] = (struct rudp_port_info){.local = {b->cfg.ports[0].ip.addr, 4420},
					      .prefix_len = 24,
					      .mtu = 1500,
					      .up = true};
	assert_int_equal(rudp_new(&rc, b->w.now_ns, &b->w.rudp), 0);
	worker_backup_init(&b->w);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	rudp_free(b->w.rudp);
	free(b);
	bench = NULL;
	return 0;
}

static void joined(struct bench *b, unsigned n)
{
	struct worker_legs_why why;

	assert_int_equal(worker_backup_join(&b->w, &why), n);
	worker_legs_set_reasons(&b->w, &why);
}

/* A message of the agent about a link. */
static void agent_reports(struct bench *b, unsigned i, bool up)
{
	b->w.carrier_lost[i] = !up;
	worker_link_judge(&b->w, i);
}

/* A report of the device about its link. */
static void device_reports(struct bench *b, unsigned i, bool up)
{
	b->link[i] = up;
	worker_link_look(&b->w, i);
}

static void expect_carrier(const struct bench *b, unsigned carries)
{
	assert_int_equal(worker_port(&b->w, 0), carries);
	for (unsigned i = 0; i < N_PORTS; i++) {
		assert_int_equal(b->stands_by[i], i != carries);
		assert_int_equal(worker_way(&b->w, i), 0);
	}
}

static void expect_reason(const struct bench *b, const char *part)
{
	if (!strstr(b->stats.reason, part))
		fail_msg("'%s' does not say '%s'", b->stats.reason, part);
}

/* Runs turns as the loop does until the time has passed. */
static void pass(struct bench *b, uint64_t ns)
{
	const uint64_t end = b->w.now_ns + ns;

	while (b->w.now_ns < end) {
		uint64_t due = worker_backup_turn(&b->w);

		assert_true(due > b->w.now_ns);
		b->w.now_ns = MIN_OF(due, end);
	}
	(void)worker_backup_turn(&b->w);
}

static void test_the_agents_link_report_moves_the_address(void **state)
{
	struct bench *b = *state;

	joined(b, 2);
	expect_carrier(b, 0);
	assert_int_equal(b->joins[0], 1);
	assert_int_equal(b->joins[1], 0); /* it would find our own address */
	agent_reports(b, 0, false);
	expect_carrier(b, 1);
	assert_int_equal(b->announced[1], 1);
	expect_reason(b, "on-backup: leg-b carries traffic, because leg-a has no link");
	agent_reports(b, 0, true);
	expect_carrier(b, 1);
	expect_reason(b, "leg-a is back, and takes over if its link lasts 5 s");
	pass(b, HOLD_MS * (NSEC_PER_SEC / 1000));
	expect_carrier(b, 0);
	assert_int_equal(b->announced[0], 1);
	assert_string_equal(b->stats.reason, "");
	agent_reports(b, 1, false); /* not the active port */
	expect_carrier(b, 0);
	assert_string_equal(b->stats.reason, "");
}

/* Its own device reports the loss, although no agent runs. */
static void test_the_device_reports_a_loss_without_an_agent(void **state)
{
	struct bench *b = *state;

	joined(b, 2);
	b->w.orphan_ns = b->w.now_ns;
	device_reports(b, 0, false);
	expect_carrier(b, 1);
	assert_int_equal(b->announced[1], 1);
	device_reports(b, 0, true);
	pass(b, HOLD_MS * (NSEC_PER_SEC / 1000));
	expect_carrier(b, 0);
}

/* Either may report a loss first; both must report the recovery. */
static void test_agent_and_device_must_both_report_recovery(void **state)
{
	struct bench *b = *state;

	joined(b, 2);
	device_reports(b, 0, false);
	agent_reports(b, 0, false);
	expect_carrier(b, 1);
	assert_int_equal(b->announced[1], 1);
	device_reports(b, 0, true);
	pass(b, 2 * HOLD_MS * (NSEC_PER_SEC / 1000));
	expect_carrier(b, 1);
	agent_reports(b, 0, true);
	pass(b, HOLD_MS * (NSEC_PER_SEC / 1000));
	expect_carrier(b, 0);
}

static void test_a_backup_carries_if_the_first_has_no_link(void **state)
{
	struct bench *b = *state;

	b->link[0] = false;
	joined(b, 2);
	expect_carrier(b, 1);
	assert_int_equal(b->joins[1], 1);
	pass(b, NSEC_PER_SEC);
	expect_reason(b, "on-backup: leg-b carries traffic, because leg-a has no link");
}

/*
 * No port had a link to probe with: of several ports with one address the first with a link probes.
 */
static void test_the_first_port_with_a_link_probes_the_address(void **state)
{
	struct bench *b = *state;

	b->link[0] = b->link[1] = false;
	b->join_error[0] = b->join_error[1] = 1;
	joined(b, 2);
	assert_string_equal(b->stats.ports[0].reason, "leg-a: taken");
	device_reports(b, 1, true);
	expect_carrier(b, 1);
	assert_int_equal(b->probes[1], 1);
	assert_string_equal(b->stats.ports[1].reason, "");
	device_reports(b, 0, true);
	assert_int_equal(b->probes[0], 0);
	assert_string_equal(b->stats.ports[0].reason, "");
}

static void test_a_backup_carries_if_the_first_is_not_open(void **state)
{
	struct bench *b = *state;

	b->w.port_open[0] = b->w.port_up[0] = false;
	joined(b, 1);
	assert_int_equal(worker_port(&b->w, 0), 1);
	pass(b, 10 * NSEC_PER_SEC); /* it never works, so it never returns */
	assert_int_equal(worker_port(&b->w, 0), 1);
	agent_reports(b, 0, true);
	assert_int_equal(worker_port(&b->w, 0), 1);
}

/* Another host has the address: found by whichever port probes. */
static void test_a_taken_address_closes_all_ports(void **state)
{
	struct bench *b = *state;

	b->join_error[0] = b->join_error[1] = -EADDRINUSE;
	joined(b, 0);
	assert_true(b->closed[0] && b->closed[1]);
	assert_false(b->w.port_open[0] || b->w.port_open[1]);
	assert_string_equal(b->stats.ports[0].reason, "leg-a: taken");
	assert_string_equal(b->stats.ports[1].reason, "leg-b: taken");
}

static void test_traffic_resumes_after_all_ports_were_down(void **state)
{
	struct bench *b = *state;

	joined(b, 2);
	agent_reports(b, 1, false);
	agent_reports(b, 0, false);
	assert_false(b->w.carries);
	expect_reason(b, "no-link");
	agent_reports(b, 1, true);
	assert_true(b->w.carries);
	expect_carrier(b, 1);
	expect_reason(b, "on-backup");
}

/* The port stays closed until the worker's restart. */
static void test_a_device_the_host_takes_back_is_closed(void **state)
{
	struct bench *b = *state;
	int fds[2];
	struct launch_msg m;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fds), 0);
	b->w.control_fd = fds[0];
	snprintf(b->cfg.ports[0].device, sizeof(b->cfg.ports[0].device), "0000:3b:02.1");
	joined(b, 2);
	worker_release_look(&b->w, 0);
	assert_false(b->closed[0]);
	b->wanted_back[0] = true;
	worker_release_look(&b->w, 0);
	assert_true(b->closed[0] && !b->closed[1]);
	assert_false(b->w.port_open[0] || b->w.port_up[0]);
	assert_int_equal(worker_port(&b->w, 0), 1);
	assert_string_equal(b->stats.ports[0].reason,
			    "device-taken: leg-a: the host reclaimed 0000:3b:02.1");
	expect_reason(b, "on-backup: leg-b carries traffic, because leg-a has no link");
	agent_reports(b, 0, true); /* its carrier no longer matters */
	pass(b, 2 * HOLD_MS * (NSEC_PER_SEC / 1000));
	assert_int_equal(worker_port(&b->w, 0), 1);
	do
		assert_int_equal(recv(fds[1], &m, sizeof(m), 0), sizeof(m));
	while (m.type != LAUNCH_MSG_RELEASED);
	assert_int_equal(m.index, 0);
	while (recv(fds[1], &m, sizeof(m), 0) > 0)
		assert_int_not_equal(m.type, LAUNCH_MSG_RELEASED);
	worker_release_report(&b->w); /* to the next agent */
	assert_int_equal(recv(fds[1], &m, sizeof(m), 0), sizeof(m));
	assert_int_equal(m.type, LAUNCH_MSG_RELEASED);
	close(fds[0]);
	close(fds[1]);
}

static void test_failover_without_dpdk_is_refused(void **state)
{
	struct bench *b = *state;
	struct reason why = {.code = ""};

	b->cfg.magic = LAUNCH_MAGIC;
	b->cfg.version = LAUNCH_VERSION;
	b->cfg.size = sizeof(b->cfg);
	b->cfg.transport = LAUNCH_DPDK;
	assert_int_equal(worker_config_check(&b->cfg, &why), 0);
	b->cfg.transport = LAUNCH_UDP;
	assert_int_equal(worker_config_check(&b->cfg, &why), -EINVAL);
	assert_non_null(strstr(why.text, "needs transport dpdk"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_the_agents_link_report_moves_the_address),
		TEST(test_the_device_reports_a_loss_without_an_agent),
		TEST(test_agent_and_device_must_both_report_recovery),
		TEST(test_a_backup_carries_if_the_first_has_no_link),
		TEST(test_the_first_port_with_a_link_probes_the_address),
		TEST(test_a_backup_carries_if_the_first_is_not_open),
		TEST(test_a_taken_address_closes_all_ports),
		TEST(test_traffic_resumes_after_all_ports_were_down),
		TEST(test_a_device_the_host_takes_back_is_closed),
		TEST(test_failover_without_dpdk_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
