/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker/worker.h"
#include "netcfg/base/log.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>

#define EVENTS_MAX 16
#define EVENTS_EVERY_NS NSEC_PER_MSEC /* a busy loop looks at control and signals this often */
#define HEARTBEAT_NS NSEC_PER_SEC
#define STATS_EVERY_NS (100 * NSEC_PER_MSEC)
#define DRAIN_NS (2 * NSEC_PER_SEC)
/* A polling core without traffic: full speed for the first time, then short naps, so that a core
 * that is shared after all is not taken from the programs that wait for us. */
#define POLLED_HOT_NS (300 * NSEC_PER_USEC)
#define POLLED_NAP_NS (50 * NSEC_PER_USEC)
/* A burst of this many packets takes long enough for the clock to be read again. */
#define CLOCK_BURST 32

/* ---- rudp's callbacks: `user` is the worker; the role decides which end is asked ---- */

static bool is_front(const struct worker *w)
{
	return w->cfg->role == LAUNCH_FRONTEND;
}

static int worker_tx(void *user, unsigned port, const struct datagram_addr *dst,
		     const struct datagram *pkt)
{
	struct worker *w = user;

	return w->port_open[port] ? w->ops->tx(&w->ports[port], dst, pkt) : -ENETDOWN;
}

static void worker_tx_flush(void *user)
{
	struct worker *w = user;

	for (unsigned i = 0; i < w->cfg->n_ports; i++)
		if (w->port_open[i])
			w->ops->flush(&w->ports[i]);
}

static void *worker_buf_get(void *user, struct rudp_session *s, bool is_response, uint64_t cookie,
			    size_t len)
{
	struct worker *w = user;

	if (is_front(w) != is_response)
		return NULL; /* a frontend serves nothing, a server asks nothing */
	return is_response ? fuse_front_buf_get(rudp_session_user(s), cookie, len)
			   : fuse_back_buf_get(w->back, len);
}

static void worker_buf_put(void *user, struct rudp_session *s, void *buf)
{
	struct worker *w = user;

	if (is_front(w))
		fuse_front_buf_put(rudp_session_user(s), buf);
	else
		fuse_back_buf_put(w->back, buf);
}

static void worker_request(void *user, struct rudp_session *s, struct rudp_call *call, void *buf,
			   size_t len)
{
	fuse_back_request(rudp_session_user(s), call, buf, len);
}

static void worker_call_gone(void *user, struct rudp_session *s, struct rudp_call *call)
{
	fuse_back_call_gone(rudp_session_user(s), call);
}

static void worker_response(void *user, struct rudp_session *s, uint64_t cookie, int status,
			    void *buf, size_t len)
{
	struct worker *w = user;

	fuse_front_response(rudp_session_user(s), cookie, status, buf, len, w->now_ns);
}

static void worker_sent(void *user, struct rudp_session *s, void *token)
{
	struct worker *w = user;

	fuse_back_sent(w->back, token);
}

static int worker_accept(void *user, struct rudp_session *s, const void *hello, size_t len,
			 void **ret_user)
{
	struct worker *w = user;
	struct fuse_back_client *client;
	struct fuse_hello h;
	int e;

	if (is_front(w))
		return -EOPNOTSUPP;
	e = fuse_back_accept(w->back, s, hello, len, &client);
	if (e < 0)
		return e;
	if (len >= sizeof(h)) {
		memcpy(&h, hello, sizeof(h));
		h.client_host[sizeof(h.client_host) - 1] = '\0';
		worker_peer_set(w, s, h.client_host);
	}
	*ret_user = client;
	return 0;
}

static void worker_event(void *user, struct rudp_session *s, enum rudp_event e, unsigned path,
			 int code)
{
	struct worker *w = user;
	void *end = rudp_session_user(s);

	worker_report(w, s, e, path, code);
	if (is_front(w)) {
		fuse_front_event(end, e, code, w->now_ns);
	} else if (e == RUDP_SESSION_CLOSED) {
		if (end)
			fuse_back_client_gone(end);
		worker_peer_set(w, s, NULL);
	}
}

static const struct rudp_ops worker_rudp_ops = {
	.tx = worker_tx,
	.tx_flush = worker_tx_flush,
	.buf_get = worker_buf_get,
	.buf_put = worker_buf_put,
	.request = worker_request,
	.call_gone = worker_call_gone,
	.response = worker_response,
	.sent = worker_sent,
	.accept = worker_accept,
	.event = worker_event,
};

/* ---- building ---- */

/* FNV-1a: equal labels give equal numbers on all hosts. No label gives 0. */
static uint32_t label_hash(const char *label)
{
	uint32_t h = 2166136261U;

	if (!label[0])
		return 0;
	for (; *label; label++)
		h = (h ^ (uint8_t)*label) * 16777619U;
	return h ? h : 1;
}

static uint64_t worker_identity(const struct launch_config *cfg)
{
	uint64_t x = cfg->boot_id + (uint64_t)(cfg->worker_id + 1) * 0x9e3779b97f4a7c15ULL;

	x = (x ^ (x >> 31)) * 0xbf58476d1ce4e5b9ULL; /* spreads ids that lie close together */
	x ^= x >> 29;
	return x ? x : 1;
}

static int worker_rudp_new(struct worker *w)
{
	const struct launch_config *cfg = w->cfg;
	struct rudp_config rc = {.identity = worker_identity(cfg),
				 .epoch = cfg->epoch,
				 .ops = &worker_rudp_ops,
				 .user = w,
				 .n_ports = cfg->n_ports};

	if (getrandom(&rc.seed, sizeof(rc.seed), 0) != (ssize_t)sizeof(rc.seed))
		rc.seed = w->now_ns ^ rc.identity;
	for (unsigned i = 0; i < cfg->n_ports; i++)
		rc.ports[i] = (struct rudp_port_info){
			.local = {.ip = cfg->ports[i].ip.addr, .port = cfg->ports[i].udp_port},
			.prefix_len = cfg->ports[i].ip.len,
			.mtu = cfg->ports[i].mtu,
			.label = label_hash(cfg->ports[i].label),
			.up = w->port_open[i]};
	return rudp_new(&rc, w->now_ns, &w->rudp);
}

int worker_build(struct worker *w, char *why)
{
	const struct launch_config *cfg = w->cfg;
	int e = worker_rudp_new(w);

	if (e < 0) {
		snprintf(why, LAUNCH_REASON_MAX, "the transport cannot start: %s", strerror(-e));
		return e;
	}
	if (cfg->role == LAUNCH_COMPUTE) {
		e = fuse_back_new(cfg, LAUNCH_FD_STATE, w->rudp, w->stats, worker_hold, w,
				  &w->back);
		if (e < 0)
			snprintf(why, LAUNCH_REASON_MAX, "the exports cannot be served: %s",
				 strerror(-e));
		return e;
	}
	for (unsigned i = 0; i < cfg->n_mounts; i++) {
		e = fuse_front_new(cfg, i, LAUNCH_FD_STATE, w->rudp, w->stats, w->now_ns,
				   &w->fronts[i]);
		if (e < 0) {
			snprintf(why, LAUNCH_REASON_MAX, "%.60s cannot be served: %s",
				 cfg->mounts[i].path, strerror(-e));
			return e;
		}
	}
	return 0;
}

static void worker_watch(struct worker *w, int fd, uint32_t source, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.u32 = source};

	if (fd >= 0)
		(void)epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

static void worker_watch_port(struct worker *w, unsigned i)
{
	int fd = w->ops->fd ? w->ops->fd(&w->ports[i]) : -1;

	if (fd < 0)
		w->spin.polled = true;
	worker_watch(w, fd, WORKER_SOURCE_PORT + i, EPOLLIN);
}

static void worker_watch_all(struct worker *w)
{
	worker_watch(w, w->control_fd, WORKER_SOURCE_CONTROL, EPOLLIN);
	worker_watch(w, LAUNCH_FD_ALIVE, WORKER_SOURCE_ALIVE, EPOLLIN);
	worker_watch(w, w->signal_fd, WORKER_SOURCE_SIGNAL, EPOLLIN);
	if (w->back)
		worker_watch(w, fuse_back_fd(w->back), WORKER_SOURCE_DISK, EPOLLIN);
	/* Edge-triggered: with all slots in use, requests wait in the kernel without waking us. */
	for (unsigned i = 0; i < w->cfg->n_mounts; i++)
		if (w->fronts[i])
			worker_watch(w, fuse_front_fd(w->fronts[i]), WORKER_SOURCE_FUSE,
				     EPOLLIN | EPOLLET);
	for (unsigned i = 0; i < w->cfg->n_ports; i++)
		if (w->port_open[i])
			worker_watch_port(w, i);
}

/* ---- one turn ---- */

static unsigned turn_receive(struct worker *w)
{
	struct port_rx pkts[PORT_BURST_MAX];
	unsigned total = 0;

	for (unsigned i = 0; i < w->cfg->n_ports; i++) {
		int n;

		if (!w->port_open[i])
			continue;
		n = w->ops->rx(&w->ports[i], pkts, PORT_BURST_MAX);
		if (n <= 0) /* trouble on a link shows in rudp as silence */
			continue;
		if (total + (unsigned)n > CLOCK_BURST)
			w->now_ns = clock_now_ns();
		for (int k = 0; k < n; k++)
			(void)rudp_rx(w->rudp, i, &pkts[k].src, pkts[k].data, pkts[k].len,
				      w->now_ns);
		total += (unsigned)n;
	}
	return total;
}

static void front_unmounted(struct worker *w, unsigned i)
{
	w->unmounted[i] = true;
	log_info("%s: unmounted", w->cfg->mounts[i].path);
}

static unsigned turn_fronts(struct worker *w)
{
	unsigned total = 0;

	for (unsigned i = 0; i < w->cfg->n_mounts; i++) {
		int n;

		if (!w->fronts[i] || w->unmounted[i] || w->stopping)
			continue;
		n = fuse_front_pull(w->fronts[i], w->now_ns);
		if (n == -ENODEV)
			front_unmounted(w, i);
		else if (n > 0)
			total += (unsigned)n;
	}
	return total;
}

/* However many requests fail for it, an absence is told once. */
static void front_report_absence(struct worker *w, unsigned i)
{
	const struct launch_mount *m = &w->cfg->mounts[i];
	uint64_t n = fuse_front_timeouts(w->fronts[i]);
	char text[LAUNCH_REASON_MAX * 2];

	if (fuse_front_is_ready(w->fronts[i])) {
		w->absence_told[i] = false;
		w->refusal_told[i] = 0;
	}
	if (n == w->timeouts_seen[i])
		return;
	w->timeouts_seen[i] = n;
	if (w->absence_told[i])
		return;
	w->absence_told[i] = true;
	snprintf(text, sizeof(text),
		 "%.100s: %.60s has been away for %u s; requests fail (EIO) until it is back",
		 m->path, m->peer, m->timeout_s);
	log_warning("%s", text);
	worker_send(w, LAUNCH_MSG_EVENT, LAUNCH_EVENT_PEER_LOST, i, text);
}

/* Timers of the parts. Returns when the next one is due. */
static uint64_t turn_ticks(struct worker *w)
{
	uint64_t due = UINT64_MAX;

	for (unsigned i = 0; i < w->cfg->n_mounts; i++) {
		if (!w->fronts[i])
			continue;
		due = MIN_OF(due, fuse_front_tick(w->fronts[i], w->now_ns));
		front_report_absence(w, i);
	}
	return due;
}

static uint64_t turn_port_ticks(struct worker *w)
{
	uint64_t due = UINT64_MAX;

	if (!w->ops->tick)
		return due;
	for (unsigned i = 0; i < w->cfg->n_ports; i++) {
		if (!w->port_open[i])
			continue;
		if (w->now_ns >= w->port_tick_ns[i])
			w->port_tick_ns[i] = w->ops->tick(&w->ports[i], w->now_ns);
		due = MIN_OF(due, w->port_tick_ns[i]);
	}
	return due;
}

/* A port that could not be opened at first: its leg is missing until it can. */
static void turn_port_retry(struct worker *w)
{
	bool was_open[LAUNCH_PORTS_MAX];
	char why[LAUNCH_REASON_MAX];

	if (w->now_ns < w->port_retry_ns)
		return;
	memcpy(was_open, w->port_open, sizeof(was_open));
	(void)worker_ports_open(w, why);
	for (unsigned i = 0; i < w->cfg->n_ports; i++) {
		if (!w->port_open[i] || was_open[i])
			continue;
		log_notice("%s: the port is open now", w->cfg->ports[i].leg);
		worker_watch_port(w, i);
		rudp_port_set_up(w->rudp, i, true, w->now_ns);
	}
	worker_reason_set(w, why);
}

/* True where there was work, so that looking again at once makes sense. */
static bool worker_turn(struct worker *w, uint64_t *ret_due_ns)
{
	unsigned work = turn_receive(w);
	bool more;
	int n;

	if (w->back) {
		n = fuse_back_poll(w->back, w->now_ns);
		work += n > 0 ? (unsigned)n : 0;
	}
	work += turn_fronts(w);
	*ret_due_ns = turn_ticks(w);
	more = rudp_poll(w->rudp, w->now_ns);
	*ret_due_ns = MIN_OF(*ret_due_ns, turn_port_ticks(w));
	*ret_due_ns = MIN_OF(*ret_due_ns, w->port_retry_ns);
	turn_port_retry(w);
	launch_stat_add(&w->stats->loops, 1);
	launch_stat_set(&w->stats->heartbeat_ns, w->now_ns);
	if (w->now_ns - w->stats_ns >= STATS_EVERY_NS) {
		worker_stats_publish(w);
		w->stats_ns = w->now_ns;
	}
	return work > 0 || more;
}

/* ---- between the turns ---- */

/* Waits for anything until due_ns (0: only looks). */
static void worker_wait(struct worker *w, uint64_t due_ns)
{
	struct epoll_event ev[EVENTS_MAX];
	uint64_t wait_ns = due_ns > w->now_ns ? due_ns - w->now_ns : 0;
	struct timespec ts = {.tv_sec = (time_t)(wait_ns / NSEC_PER_SEC),
			      .tv_nsec = (long)(wait_ns % NSEC_PER_SEC)};
	int n;

	if (wait_ns > 0)
		launch_stat_add(&w->stats->sleeps, 1);
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
	}
}

static bool ports_arm(struct worker *w)
{
	for (unsigned i = 0; i < w->cfg->n_ports; i++)
		if (w->port_open[i] && w->ops->arm && !w->ops->arm(&w->ports[i]))
			return false;
	return true;
}

/* Nothing to do in the last turn: look again, or sleep until the next timer. */
static void worker_idle(struct worker *w, uint64_t due_ns)
{
	uint64_t idle_ns = w->now_ns - w->work_ns;

	if (w->spin.polled) {
		if (idle_ns < POLLED_HOT_NS && w->now_ns - w->events_ns < EVENTS_EVERY_NS)
			return;
		due_ns = MIN_OF(due_ns, idle_ns < POLLED_HOT_NS ? 0 : w->now_ns + POLLED_NAP_NS);
		worker_wait(w, due_ns);
		return;
	}
	if (worker_spin_wanted(&w->spin, idle_ns))
		return;
	due_ns = MIN_OF(due_ns, rudp_deadline(w->rudp));
	due_ns = MIN_OF(due_ns, w->now_ns + HEARTBEAT_NS);
	if (w->stopping)
		due_ns = MIN_OF(due_ns, w->stop_ns + DRAIN_NS);
	if (ports_arm(w))
		worker_wait(w, due_ns);
}

/* Stopping: what is under way is finished; what waits in the kernel or for an absent peer is left
 * to the successor. */
static void worker_drain(struct worker *w)
{
	unsigned left = w->back ? fuse_back_in_flight(w->back) : 0;

	if (w->stop_ns == 0)
		w->stop_ns = w->now_ns;
	for (unsigned i = 0; i < w->cfg->n_mounts; i++) {
		struct pollfd p;

		if (!w->fronts[i])
			continue;
		p = (struct pollfd){.fd = fuse_front_fd(w->fronts[i]), .events = POLLIN};
		if (!w->unmounted[i] && poll(&p, 1, 0) == 1 && (p.revents & POLLERR) &&
		    fuse_front_pull(w->fronts[i], w->now_ns) == -ENODEV)
			front_unmounted(w, i);
		left += fuse_front_sent(w->fronts[i]);
	}
	if (left == 0 || w->now_ns - w->stop_ns >= DRAIN_NS)
		w->stopped = true;
}

void worker_run(struct worker *w)
{
	uint64_t due_ns;

	worker_watch_all(w);
	w->work_ns = w->now_ns;
	while (!w->stopped) {
		w->now_ns = clock_now_ns();
		if (worker_turn(w, &due_ns)) {
			if (w->now_ns > w->work_ns)
				worker_spin_learn(&w->spin, w->now_ns - w->work_ns);
			w->work_ns = w->now_ns;
			if (w->now_ns - w->events_ns >= EVENTS_EVERY_NS)
				worker_wait(w, 0);
		} else {
			worker_idle(w, due_ns);
		}
		if (w->stopping)
			worker_drain(w);
		if (w->orphan_ns && w->now_ns - w->orphan_ns >= w->cfg->orphan_s * NSEC_PER_SEC) {
			w->exit_status = LAUNCH_EXIT_ORPHAN;
			w->stopping = true;
		}
	}
	(void)rudp_poll(w->rudp, clock_now_ns()); /* a last goodbye may wait */
	worker_stats_publish(w);
}
