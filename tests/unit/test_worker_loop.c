/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ports a worker reads after a sleep: those that woke it, and all if the cause is unknown,
 * over two ports whose descriptors are event counters. The reads are counted between two sleeps.
 * And how often it updates the statistics page.
 */
#include "dataplane/worker/run/worker_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#define N_PORTS 2

struct step {			 /* before one sleep */
	unsigned tells[N_PORTS]; /* number of datagrams that arrive, one per read */
	bool hides;		 /* port 1 has a datagram without waking the worker */
	bool sleeps;		 /* sleeps until a timer is due */
	unsigned looks[N_PORTS]; /* least and most reads of each until the next sleep */
	unsigned looks_most[N_PORTS];
};

static struct bench {
	struct worker w;
	struct launch_config cfg;
	struct launch_stats stats;
	struct worker_role role;
	int fds[N_PORTS];
	unsigned looks[N_PORTS];
	const struct step *steps;
	unsigned n_steps, step;
	bool slept;
	uint64_t due_ns;
	unsigned turns_left; /* of a test that counts updates of the page */
} bench;

static int on_rx(struct port *p, struct port_rx *pkts, unsigned max)
{
	uint64_t n;

	bench.looks[p->index]++;
	if (read(bench.fds[p->index], &n, sizeof(n)) != (ssize_t)sizeof(n))
		return 0;
	pkts[0] = (struct port_rx){.data = (const uint8_t *)"x", .len = 1, .waited_ns = 0};
	return 1; /* of no session: the transport drops it */
}

static void on_flush(struct port *p)
{
}

static int on_fd(struct port *p)
{
	return bench.fds[p->index];
}

static void step_check(const struct step *s)
{
	for (unsigned i = 0; i < N_PORTS; i++)
		assert_in_range(bench.looks[i], s->looks[i], s->looks_most[i]);
}

/* By port 0, which is read first: checks the last sleep and sets up the next. */
static void step_next(void)
{
	const struct step *s;

	if (bench.slept)
		step_check(&bench.steps[bench.step++]);
	bench.slept = true;
	if (bench.step == bench.n_steps) {
		bench.w.stopped = true;
		bench.due_ns = 0;
		return;
	}
	s = &bench.steps[bench.step];
	for (unsigned i = 0; i < N_PORTS; i++) {
		uint64_t n = s->tells[i];

		bench.looks[i] = 0;
		if (n)
			assert_int_equal(write(bench.fds[i], &n, sizeof(n)), sizeof(n));
	}
	bench.due_ns = s->sleeps ? clock_now_ns() + NSEC_PER_MSEC : UINT64_MAX;
}

static bool on_arm(struct port *p)
{
	if (p->index == 0)
		step_next();
	return p->index == 0 || bench.w.stopped || !bench.steps[bench.step].hides;
}

/* Each turn a session changes. */
static unsigned on_turn(struct worker *w)
{
	if (bench.turns_left == 0)
		return 0;
	w->stats_ns = 0;
	w->stopped = --bench.turns_left == 0;
	return 1;
}

static uint64_t on_tick(struct worker *w)
{
	return bench.due_ns;
}

static void on_watch(struct worker *w)
{
}

static const struct port_ops ops = {
	.name = "udp", .rx = on_rx, .flush = on_flush, .fd = on_fd, .arm = on_arm};

static int on_tx(void *user, unsigned port, const struct datagram_addr *dst,
		 const struct datagram *pkt)
{
	return 0;
}

static void on_tx_flush(void *user)
{
}

static void on_event(void *user, struct rudp_session *s, enum rudp_event e, unsigned path, int code)
{
}

static const char *on_peer_name(const struct worker *w, const struct rudp_session *s)
{
	return "host-a";
}

static void on_rdma_bytes(const struct worker *w, const struct rudp_session *s, unsigned port,
			  uint64_t *ret_read, uint64_t *ret_write)
{
}

static void sessions_add(struct rudp *r, unsigned n)
{
	struct datagram_addr to = {.port = 4420};
	struct rudp_session *s;

	assert_int_equal(ip_addr_parse("192.0.2.9", &to.ip), 0);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(rudp_connect(r, &to, 1, NULL, 0, NULL, clock_now_ns(), &s), 0);
}

static void begin(const struct step *steps, unsigned n)
{
	static const struct rudp_ops rudp_ops = {
		.tx = on_tx, .tx_flush = on_tx_flush, .event = on_event};
	struct rudp_config rc = {.identity = 7, .epoch = 1, .n_ports = N_PORTS, .ops = &rudp_ops};
	struct worker *w = &bench.w;

	bench = (struct bench){.steps = steps, .n_steps = n, .due_ns = UINT64_MAX};
	bench.cfg.n_ports = N_PORTS;
	bench.role = (struct worker_role){.turn = on_turn,
					  .tick = on_tick,
					  .watch = on_watch,
					  .peer_name = on_peer_name,
					  .rdma_bytes = on_rdma_bytes};
	w->cfg = &bench.cfg;
	w->stats = &bench.stats;
	w->role = &bench.role;
	w->control_fd = w->signal_fd = -1;
	w->port_retry_ns = UINT64_MAX;
	w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	assert_true(w->epoll_fd >= 0);
	w->now_ns = clock_now_ns();
	for (unsigned i = 0; i < N_PORTS; i++) {
		struct ip_prefix ip;

		bench.fds[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
		assert_true(bench.fds[i] >= 0);
		w->ports[i] = (struct port){.ops = &ops, .index = i};
		w->port_open[i] = w->port_up[i] = true;
		assert_int_equal(ip_prefix_parse("192.0.2.1/24", &ip), 0);
		ip.addr.bytes[3] += i;
		rc.ports[i] = (struct rudp_port_info){
			.local = {ip.addr, 4420}, .prefix_len = 24, .mtu = 1500, .up = true};
	}
	assert_int_equal(rudp_new(&rc, w->now_ns, &w->rudp), 0);
}

static void end(void)
{
	rudp_free(bench.w.rudp);
	for (unsigned i = 0; i < N_PORTS; i++)
		close(bench.fds[i]);
	close(bench.w.epoll_fd);
}

static void run(const struct step *steps, unsigned n)
{
	begin(steps, n);
	worker_run(&bench.w);
	assert_int_equal(bench.step, n);
	end();
}

/* One read takes the datagram, another finds no more. */
static void test_a_port_that_wakes_the_worker_is_read(void **state)
{
	static const struct step steps[] = {
		{.tells = {1, 0}, .looks = {2, 0}, .looks_most = {2, 0}},
		{.tells = {0, 1}, .looks = {0, 2}, .looks_most = {0, 2}},
		{.tells = {1, 1}, .looks = {2, 2}, .looks_most = {2, 2}},
		{.tells = {3, 0}, .looks = {4, 0}, .looks_most = {4, 0}},
	};

	run(steps, ARRAY_SIZE(steps));
}

/* A timer, or a port that keeps packets back, says nothing about the other ports. */
static void test_a_timer_makes_all_ports_be_read(void **state)
{
	static const struct step steps[] = {
		{.tells = {1, 0}, .looks = {2, 0}, .looks_most = {2, 0}},
		{.hides = true, .looks = {1, 1}, .looks_most = {1, 1}},
		{.tells = {0, 1}, .looks = {0, 2}, .looks_most = {0, 2}},
		{.sleeps = true, .looks = {1, 1}, .looks_most = {1, 1}},
	};

	run(steps, ARRAY_SIZE(steps));
}

/* A port with ever more packets does not starve the other. */
static void test_a_busy_port_does_not_starve_the_other(void **state)
{
	static const struct step steps[] = {
		{.tells = {40, 0}, .looks = {41, 20}, .looks_most = {41, 41}},
	};

	run(steps, ARRAY_SIZE(steps));
}

/* The page lists sessions one by one, so that an update costs more the more there are. */
static void test_changes_of_many_sessions_do_not_keep_the_worker_busy(void **state)
{
	const unsigned n_turns = 300, n_sessions = 1000;
	uint64_t before, took;

	begin(NULL, 0);
	sessions_add(bench.w.rudp, n_sessions);
	bench.turns_left = n_turns;
	before = clock_now_ns();
	worker_run(&bench.w);
	took = clock_now_ns() - before;
	/* One for each 10 ms that passed, the first and the last. */
	assert_true(bench.stats.seq / 2 <= 2 + took / (10 * NSEC_PER_MSEC));
	assert_int_equal(launch_stat_get(&bench.stats.loops), n_turns);
	end();
}

static void test_changes_of_few_sessions_show_at_once(void **state)
{
	const unsigned n_turns = 20;

	begin(NULL, 0);
	bench.turns_left = n_turns;
	worker_run(&bench.w);
	assert_int_equal(bench.stats.seq / 2, n_turns + 1);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_port_that_wakes_the_worker_is_read),
		cmocka_unit_test(test_a_timer_makes_all_ports_be_read),
		cmocka_unit_test(test_a_busy_port_does_not_starve_the_other),
		cmocka_unit_test(test_changes_of_many_sessions_do_not_keep_the_worker_busy),
		cmocka_unit_test(test_changes_of_few_sessions_show_at_once),
	};

	/* A worker watches that number for its agent's exit: here it must be neither a port's nor
	 * one inherited from the test's caller. */
	if (dup2(eventfd(0, EFD_CLOEXEC), LAUNCH_FD_ALIVE) != LAUNCH_FD_ALIVE)
		return 99;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
