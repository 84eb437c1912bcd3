/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The worker's loop. Each turn handles packets, the role's work and timers; then the worker sleeps
 * or polls again. The loop knows the role and the back end only by their tables of operations.
 */
#include "dataplane/worker/run/worker_run.h"
#include "dataplane/worker/worker_identity.h"
#include "netcfg/base/log.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>

#define EVENTS_MAX 16
/* Interval at which a busy loop checks control messages and signals. */
#define EVENTS_EVERY_NS NSEC_PER_MSEC
#define HEARTBEAT_NS NSEC_PER_SEC
/* After this many reads without a packet, a port counts as unlikely to have packets. */
#define PORT_QUIET 32U
#define LOOK_ALL_EVERY 8U /* one of this many turns also polls unlikely sources */
#define STATS_EVERY_NS (100 * NSEC_PER_MSEC)
/* Each change of a session requires an update of the statistics page, whose cost grows with the
 * number of sessions. So the minimum time between two updates is this time multiplied by the number
 * of sessions. */
#define STATS_SESSION_NS (50 * NSEC_PER_USEC)
#define DRAIN_NS (2 * NSEC_PER_SEC)
/* A worker that always polls continues at full speed for this time after the last traffic. Then it
 * sleeps briefly between polls, so that programs that share its core can run, because the worker
 * may be waiting for one of them. */
#define POLLED_HOT_NS (300 * NSEC_PER_USEC)
#define POLLED_NAP_NS (50 * NSEC_PER_USEC)

/* ---- creating the worker ---- */

static uint64_t identity_of(const struct launch_config *cfg)
{
	uint64_t x = cfg->boot_id + (uint64_t)(cfg->worker_id + 1) * 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 31)) * 0xbf58476d1ce4e5b9ULL; /* Mix the bits, so that workers with similar
							ids get very different identities. */
	x ^= x >> 29;
	return x ? x : 1;
}

static int open_rudp(struct worker *w)
{
	const struct launch_config *cfg = w->cfg;
	struct rudp_config rc = {
		.identity = identity_of(cfg),
		.epoch = cfg->epoch,
		.ops = w->role->ops,
		.user = w,
		.security = (enum rudp_security)cfg->security,
		.n_keys = cfg->n_secrets,
		.n_ports = cfg->failover ? 1 : cfg->n_ports,
		/* one session more than the limit, so that the role can refuse the next client with
		 * a reason */
		.limits = {.sessions = launch_sessions(cfg) + LAUNCH_SESSIONS_OWING + 1}};
	int e;

	_Static_assert((int)LAUNCH_SECURITY_ENCRYPT == (int)RUDP_ENCRYPT &&
			       (int)LAUNCH_SECURITY_AUTH == (int)RUDP_AUTH &&
			       sizeof(rc.keys) == sizeof(cfg->secrets),
		       "launch.h and rudp.h agree");
	memcpy(rc.keys, cfg->secrets, sizeof(rc.keys));
	worker_identity_fill(w->cfg, &rc.host_key);
	if (getrandom(&rc.seed, sizeof(rc.seed), 0) != (ssize_t)sizeof(rc.seed))
		rc.seed = w->now_ns ^ rc.identity;
	memcpy(w->port_up, w->port_open, sizeof(w->port_up));
	for (unsigned i = 0; i < rc.n_ports; i++)
		rc.ports[i] = worker_port_info(&cfg->ports[i], w->port_open[i] || cfg->failover);
	e = rudp_new(&rc, w->now_ns, &w->rudp);
	/* Keep no copy of the keys besides the transport's, in case an attacker can read this
	 * process's memory. */
	explicit_bzero(rc.keys, sizeof(rc.keys));
	explicit_bzero(rc.host_key.secret, sizeof(rc.host_key.secret));
	explicit_bzero(w->cfg->secrets, sizeof(w->cfg->secrets));
	return e;
}

int worker_build(struct worker *w, struct reason *why)
{
	int e = open_rudp(w);

	if (e < 0) {
		reason_set_text(why, "cannot start the transport: %s", strerror(-e));
		return e;
	}
	return w->role->build(w, why);
}

static void watch_port(struct worker *w, unsigned i)
{
	int fd = w->ports[i].ops->fd ? w->ports[i].ops->fd(&w->ports[i]) : -1;

	if (fd < 0)
		w->spin.polled = true;
	worker_watch(w, fd, WORKER_SOURCE_PORT + i, EPOLLIN);
}

static void watch_all(struct worker *w)
{
	worker_watch(w, w->control_fd, WORKER_SOURCE_CONTROL, EPOLLIN);
	worker_watch(w, LAUNCH_FD_ALIVE, WORKER_SOURCE_ALIVE, EPOLLIN);
	worker_watch(w, w->signal_fd, WORKER_SOURCE_SIGNAL, EPOLLIN);
	w->role->watch(w);
	for (unsigned i = 0; i < w->cfg->n_ports; i++)
		if (w->port_open[i])
			watch_port(w, i);
	worker_rdma_watch(w);
}

/* ---- one turn ---- */

/* Returns whether to read the port in this turn. Skips a port that had no packets when the worker
 * woke up: a read is a system call, and the port's descriptor will report new packets. */
static bool is_looked_at(const struct worker *w, unsigned i)
{
	if (!w->port_open[i] || (!w->looks_all && w->port_quiet[i] >= PORT_QUIET))
		return false;
	return !w->knows_ports || (w->ports_ready >> i & 1);
}

static unsigned turn_receive(struct worker *w)
{
	struct port_rx pkts[PORT_BURST_MAX];
	uint64_t looked_ns = w->looked_ns;
	unsigned total = 0, times;

	w->looked_ns = w->now_ns;
	for (unsigned i = 0; i < w->cfg->n_ports; i++) {
		int n;

		if (!is_looked_at(w, i))
			continue;
		n = w->ports[i].ops->rx(&w->ports[i], pkts, PORT_BURST_MAX);
		w->port_quiet[i] = n > 0 ? 0 : w->port_quiet[i] + 1;
		if (n <= 0) { /* ignore errors of the link: rudp detects by itself that the port is
				 silent */
			w->ports_ready &= ~(1U << i);
			continue;
		}
		/* Update the clock, because reading these packets and the earlier ports took
		 * time. */
		w->now_ns = clock_now_ns();
		for (int k = 0; k < n; k++) {
			bool known = pkts[k].waited_ns != UINT64_MAX;

			/* If the port does not report how long the packet has waited, assume that
			 * it arrived right after the last read. */
			rudp_rx_waited(w->rudp, known ? pkts[k].waited_ns : w->now_ns - looked_ns);
			times = w->faults ? worker_fault_rx(w, worker_way(w, i), &pkts[k]) : 1;
			for (; times > 0; times--)
				(void)rudp_rx(w->rudp, worker_way(w, i), &pkts[k].src, pkts[k].data,
					      pkts[k].len, w->now_ns);
		}
		total += (unsigned)n;
	}
	return total;
}

static uint64_t turn_port_ticks(struct worker *w)
{
	uint64_t due = UINT64_MAX;

	for (unsigned i = 0; i < w->cfg->n_ports; i++) {
		if (!w->port_open[i] || !w->ports[i].ops->tick)
			continue;
		if (w->now_ns >= w->port_tick_ns[i]) {
			w->port_tick_ns[i] = w->ports[i].ops->tick(&w->ports[i], w->now_ns);
			worker_link_look(w, i);
			worker_release_look(w, i);
			worker_probe_look(w, i);
		}
		due = MIN_OF(due, w->port_tick_ns[i]);
	}
	return due;
}

/* Tries again to open ports that could not be opened. The legs of these ports are missing until
 * that succeeds. */
static void turn_port_retry(struct worker *w)
{
	bool was_open[LAUNCH_PORTS_MAX];
	struct worker_legs_why why;

	if (w->now_ns < w->port_retry_ns)
		return;
	memcpy(was_open, w->port_open, sizeof(was_open));
	(void)worker_ports_open(w, &why);
	for (unsigned i = 0; i < w->cfg->n_ports; i++) {
		if (!w->port_open[i] || was_open[i])
			continue;
		log_notice("%s: opened the port", w->cfg->ports[i].leg);
		watch_port(w, i);
		worker_link_judge(w, i);
	}
	worker_legs_set_reasons(w, &why);
}

/* Reports to rudp the packets that the kernel found too large after port_ops.tx() had accepted
 * them. */
static void turn_too_big(struct worker *w)
{
	struct datagram_addr dst;
	uint32_t bytes;

	for (unsigned i = 0; i < w->cfg->n_ports; i++)
		if (w->port_open[i] && w->ports[i].ops->too_big &&
		    w->ports[i].ops->too_big(&w->ports[i], &dst, &bytes))
			rudp_too_big(w->rudp, worker_way(w, i), &dst, bytes, w->now_ns);
}

/* Decides which sources this turn reads. A worker that polls reads likely sources in each turn, and
 * unlikely sources only now and then, because each read is a system call. For some turns after a
 * sleep, it reads only the sources that woke it. */
static void turn_begin(struct worker *w)
{
	if (w->knows_ports && ++w->n_known > LOOK_ALL_EVERY)
		w->knows_ports = false;
	w->looks_all = w->looks_all_next || w->spin.polled || !worker_spin_wanted(&w->spin, 0) ||
		       ++w->n_partial >= LOOK_ALL_EVERY;
	w->looks_all_next = false;
	if (w->looks_all)
		w->n_partial = 0;
}

/* Updates the statistics page if an update is due. Returns when an update that is due may be made;
 * UINT64_MAX: none is due. */
static uint64_t turn_stats(struct worker *w)
{
	uint64_t may_ns = w->stats_made_ns + rudp_session_count(w->rudp) * STATS_SESSION_NS;

	if (w->now_ns - w->stats_ns >= STATS_EVERY_NS && w->now_ns >= may_ns) {
		worker_stats_publish(w);
		w->stats_ns = w->stats_made_ns = w->now_ns;
	}
	return w->stats_ns ? UINT64_MAX : may_ns;
}

/* Runs one turn. Returns true if there was work, so that there may be more at once. */
static bool turn(struct worker *w, uint64_t *ret_due_ns)
{
	unsigned work = 0;
	bool more;

	turn_begin(w);
	if (w->role->begin)
		work = w->role->begin(w);
	if (work > 0)
		w->now_ns = clock_now_ns();
	if (w->looks_all || !w->role->awaits || w->role->awaits(w))
		work += turn_receive(w);

	work += w->role->turn(w);
	/* Update the clock, so that the time of this work does not count in the round trips of the
	 * packets that are sent now. */
	if (work > 0)
		w->now_ns = clock_now_ns();
	*ret_due_ns = w->role->tick(w);
	*ret_due_ns = MIN_OF(*ret_due_ns, worker_fault_turn(w));
	rudp_ack_at_once(w->rudp, worker_spin_rests(&w->spin));
	more = rudp_poll(w->rudp, w->now_ns);
	turn_too_big(w);
	*ret_due_ns = MIN_OF(*ret_due_ns, turn_port_ticks(w));
	*ret_due_ns = MIN_OF(*ret_due_ns, w->port_retry_ns);
	*ret_due_ns = MIN_OF(*ret_due_ns, worker_backup_turn(w));
	*ret_due_ns = MIN_OF(*ret_due_ns, worker_rdma_turn(w));
	turn_port_retry(w);
	if (PLENUM_UNLIKELY(w->capture.sent != NULL))
		worker_capture_keys(w);
	launch_stat_add(&w->stats->loops, 1);
	launch_stat_set(&w->stats->heartbeat_ns, w->now_ns);
	*ret_due_ns = MIN_OF(*ret_due_ns, turn_stats(w));
	return work > 0 || more;
}

/* ---- between the turns ---- */

/* Records for which ports a wait has reported packets. After a timeout this is unknown. */
static void ports_know(struct worker *w, bool slept, int n, uint32_t ready)
{
	if (slept) {
		w->knows_ports = !w->spin.polled && n > 0 && n < EVENTS_MAX;
		w->ports_ready = 0;
		w->n_known = 0;
	}
	w->ports_ready |= ready;
}

/* Waits for an event until due_ns; with 0, only polls. */
static void wait_for_more(struct worker *w, uint64_t due_ns)
{
	struct epoll_event ev[EVENTS_MAX];
	uint64_t wait_ns = due_ns > w->now_ns ? due_ns - w->now_ns : 0;
	struct timespec ts = {.tv_sec = (time_t)(wait_ns / NSEC_PER_SEC),
			      .tv_nsec = (long)(wait_ns % NSEC_PER_SEC)};
	uint32_t ready = 0;
	int n;

	if (wait_ns > 0)
		launch_stat_add(&w->stats->sleeps, 1);
	w->looks_all_next = wait_ns > 0;
	n = epoll_pwait2(w->epoll_fd, ev, EVENTS_MAX, &ts, NULL);
	w->now_ns = clock_now_ns();
	w->events_ns = w->now_ns;
	for (int i = 0; i < n; i++) {
		if (ev[i].data.u32 == WORKER_SOURCE_CONTROL)
			worker_control_read(w);
		else if (ev[i].data.u32 == WORKER_SOURCE_ALIVE)
			worker_alive_read(w);
		else if (ev[i].data.u32 == WORKER_SOURCE_SIGNAL)
			worker_signal_read(w);
		else if (ev[i].data.u32 == WORKER_SOURCE_RDMA)
			port_rdma_look(w->rdma); /* handle the device event in the next turn */
		else if (ev[i].data.u32 >= WORKER_SOURCE_PORT)
			ready |= 1U << (ev[i].data.u32 - WORKER_SOURCE_PORT);
	}
	ports_know(w, wait_ns > 0, n, ready);
}

static bool ports_arm(struct worker *w)
{
	for (unsigned i = 0; i < w->cfg->n_ports; i++)
		if (w->port_open[i] && w->ports[i].ops->arm && !w->ports[i].ops->arm(&w->ports[i]))
			return false;
	return port_rdma_arm(w->rdma) && (!w->role->arm || w->role->arm(w));
}

/* Call after a turn without work: polls again at once, or sleeps until the next timer. */
static void idle(struct worker *w, uint64_t due_ns)
{
	uint64_t idle_ns = w->now_ns - w->work_ns;

	if (w->spin.polled) {
		if (idle_ns < POLLED_HOT_NS && w->now_ns - w->events_ns < EVENTS_EVERY_NS)
			return;
		due_ns = MIN_OF(due_ns, idle_ns < POLLED_HOT_NS ? 0 : w->now_ns + POLLED_NAP_NS);
		wait_for_more(w, due_ns);
		return;
	}
	if (worker_spin_wanted(&w->spin, idle_ns)) {
		w->knows_ports = false; /* Packets may arrive from now on that the last wait did not
					   report. */
		return;
	}
	/* Before sleeping, poll all sources once more: a descriptor may not report packets that
	 * have arrived before. */
	if (!w->looks_all) {
		w->looks_all_next = true;
		return;
	}
	due_ns = MIN_OF(due_ns, rudp_deadline(w->rudp));
	due_ns = MIN_OF(due_ns, w->now_ns + HEARTBEAT_NS);
	if (w->stopping)
		due_ns = MIN_OF(due_ns, w->stop_ns + DRAIN_NS);
	if (ports_arm(w))
		wait_for_more(w, due_ns);
	else
		w->knows_ports = false;
}

/* Runs turns until the pending requests are finished, before the worker stops. */
static void drain(struct worker *w)
{
	unsigned left = w->role->left(w);

	if (w->stop_ns == 0)
		w->stop_ns = w->now_ns;
	if (left == 0 || w->now_ns - w->stop_ns >= DRAIN_NS)
		w->stopped = true;
}

void worker_run(struct worker *w)
{
	uint64_t due_ns;

	watch_all(w);
	w->work_ns = w->now_ns;
	while (!w->stopped) {
		w->now_ns = clock_now_ns();
		if (turn(w, &due_ns)) {
			if (w->now_ns > w->work_ns)
				worker_spin_learn(&w->spin, w->now_ns - w->work_ns);
			w->work_ns = w->now_ns;
			w->spin.awaits = w->role->awaits && w->role->awaits(w);
			if (w->now_ns - w->events_ns >= EVENTS_EVERY_NS)
				wait_for_more(w, 0);
		} else {
			idle(w, due_ns);
		}
		if (w->stopping)
			drain(w);
		if (w->orphan_ns && w->now_ns - w->orphan_ns >= w->cfg->orphan_s * NSEC_PER_SEC) {
			w->exit_status = LAUNCH_EXIT_ORPHAN;
			w->stopping = true;
		}
	}
	(void)rudp_poll(w->rudp, clock_now_ns()); /* rudp may still have CLOSE messages to send */
	worker_stats_publish(w);
}
