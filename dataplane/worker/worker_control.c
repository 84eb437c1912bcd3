/* SPDX-License-Identifier: BSD-3-Clause */
/* The worker's side of the control channel to the agent: messages, the statistics page, and events
 * for operators. */
#include "dataplane/worker/worker.h"
#include "netcfg/base/log.h"
#include "netcfg/base/os/fdpass.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#define ANNOUNCE_GAP_NS (100 * NSEC_PER_MSEC)

void worker_send(struct worker *w, enum launch_msg_type type, int code, unsigned index,
		 const char *text)
{
	struct launch_msg m = {.type = type, .code = code, .index = index};

	/* Without an agent the room in the socket is reserved for messages that its successor
	 * needs. */
	if (w->control_fd < 0 || (w->orphan_ns && type == LAUNCH_MSG_EVENT))
		return;
	reason_copy_text(m.text, sizeof(m.text), text ? text : "");
	/* A full channel loses an event and never blocks the traffic; the page shows the current
	 * state. */
	(void)send(w->control_fd, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void worker_send_port(struct worker *w, unsigned index, const struct launch_port *port)
{
	const struct launch_msg m = {.type = LAUNCH_MSG_HAS_PORT, .index = index, .port = *port};

	if (w->control_fd >= 0)
		(void)send(w->control_fd, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void worker_send_ping(struct worker *w, const struct launch_ping *p)
{
	const struct launch_msg m = {.type = LAUNCH_MSG_PINGED, .ping = *p};

	if (w->control_fd >= 0 && !w->orphan_ns)
		(void)send(w->control_fd, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool worker_hold(void *user, uint32_t export_index, uint64_t key, int fd)
{
	struct worker *w = user;
	struct launch_msg m = {.type = LAUNCH_MSG_HOLD, .index = export_index, .key = key};

	if (w->control_fd < 0)
		return true;
	if (fd >= 0)
		return fdpass_send(w->control_fd, &m, sizeof(m), fd) != -EAGAIN;
	/*
	 * The next agent gets what the service manager kept; a later message would reach no agent.
	 */
	if (w->orphan_ns)
		return false;
	m.type = LAUNCH_MSG_DROP;
	if (fdpass_send(w->control_fd, &m, sizeof(m), -1) == -EAGAIN)
		return false;
	/* A file pinned by an earlier version has another key, specific to the worker. */
	m.key = (w->cfg->boot_id + export_index) * 0x9e3779b97f4a7c15U ^ key;
	return fdpass_send(w->control_fd, &m, sizeof(m), -1) != -EAGAIN;
}

static void worker_announce(struct worker *w)
{
	for (unsigned i = 0; i < w->cfg->n_ports; i++) {
		if (!w->port_open[i] || !w->ports[i].ops->announce ||
		    worker_port(w, worker_way(w, i)) != i ||
		    w->now_ns - w->announce_ns[i] < ANNOUNCE_GAP_NS)
			continue;
		w->announce_ns[i] = w->now_ns;
		w->ports[i].ops->announce(&w->ports[i]);
	}
}

void worker_link_judge(struct worker *w, unsigned i)
{
	bool up = w->port_open[i] && !w->carrier_lost[i] && !w->link_lost[i];

	if (up == w->port_up[i])
		return;
	w->port_up[i] = up;
	log_notice("%s: link %s", w->cfg->ports[i].leg, up ? "up" : "down");
	if (w->cfg->failover)
		worker_backup_look(w);
	else
		rudp_port_set_up(w->rudp, i, up, w->now_ns);
	worker_announce(w);
}

static void control_link(struct worker *w, const struct launch_msg *m)
{
	if (m->index >= w->cfg->n_ports)
		return;
	w->carrier_lost[m->index] = m->code == 0;
	worker_link_judge(w, m->index);
	worker_probe_begin(w, m->index, m->code != 0);
}

/* A VF reports the state of its PF's carrier itself, even without an agent. */
void worker_link_look(struct worker *w, unsigned i)
{
	bool lost = w->ports[i].ops->link && !w->ports[i].ops->link(&w->ports[i]);

	if (lost == w->link_lost[i])
		return;
	w->link_lost[i] = lost;
	worker_link_judge(w, i);
	worker_probe_begin(w, i, !lost);
}

void worker_release_report(struct worker *w)
{
	for (unsigned i = 0; i < w->cfg->n_ports; i++)
		if (w->released[i])
			worker_send(w, LAUNCH_MSG_RELEASED, 0, i, w->cfg->ports[i].device);
}

/*
 * Removing VFs, or unbinding one, waits in the kernel until no process has the device open. Usually
 * it is an apply that is being rolled back, and the leg is not worth blocking it, with or without
 * an agent.
 */
void worker_release_look(struct worker *w, unsigned i)
{
	const struct launch_port *port = &w->cfg->ports[i];
	char why[LAUNCH_REASON_MAX];

	if (!w->port_open[i] || !w->ports[i].ops->wanted_back ||
	    !w->ports[i].ops->wanted_back(&w->ports[i]))
		return;
	w->released[i] = true;
	w->ports[i].ops->close(&w->ports[i]);
	w->port_open[i] = false;
	snprintf(why, sizeof(why), "device-taken: %.20s: the host reclaimed %.32s", port->leg,
		 port->device);
	worker_release_report(w);
	worker_link_judge(w, i);
	worker_leg_explain(w, i, why);
	w->stats_ns = 0;
}

static void control_label(struct worker *w, struct launch_msg *m)
{
	if (m->index >= w->cfg->n_ports)
		return;
	m->text[sizeof(m->text) - 1] = '\0';
	log_notice("%s: label %s", w->cfg->ports[m->index].leg, m->text[0] ? m->text : "unknown");
	if (w->cfg->failover)
		worker_backup_label(w, m->index, worker_label_hash(m->text));
	else
		rudp_port_set_label(w->rudp, m->index, worker_label_hash(m->text), w->now_ns);
}

/* All sessions that use a dropped key restart; their calls wait meanwhile. */
static void control_keys(struct worker *w, struct launch_msg *m)
{
	int n = m->code < 0 ? -EINVAL
			    : rudp_set_keys(w->rudp, (const uint8_t(*)[RUDP_KEY_BYTES])m->keys,
					    (unsigned)m->code, w->now_ns);

	explicit_bzero(m, sizeof(*m));
	if (n < 0)
		log_err("cannot use the new cluster keys: %s", strerror(-n));
	else
		log_notice(
			"received new cluster keys; %d sessions end because their key was dropped",
			n);
}

static void control_fault(struct worker *w, struct launch_msg *m)
{
	int r = worker_fault_set(w, &m->fault);

	if (r < 0)
		log_err("cannot inject fault: %s", strerror(-r));
}

static void control_ping(struct worker *w, struct launch_ping *p)
{
	int r = -EINVAL;

	if (launch_ping_is_valid(p) && p->port < w->cfg->n_ports)
		r = w->role->ping ? w->role->ping(w, p) : -EOPNOTSUPP;
	if (r == 0)
		return;
	p->status = r;
	p->done = 0;
	worker_send_ping(w, p);
}

static void orphan_begin(struct worker *w)
{
	if (w->orphan_ns)
		return;
	log_warning("the agent has exited; serving for %u s, or until the next agent adopts this "
		    "worker",
		    w->cfg->orphan_s);
	w->orphan_ns = w->now_ns;
	worker_capture_end(w); /* the agent that read it has exited */
}

void worker_alive_read(struct worker *w)
{
	struct pollfd p = {.fd = LAUNCH_FD_ALIVE};

	/* The event may come from an earlier agent's pipe. */
	if (poll(&p, 1, 0) != 1)
		return;
	(void)epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, LAUNCH_FD_ALIVE, NULL);
	orphan_begin(w);
}

/* The next agent has adopted this worker: its pipe replaces the earlier one. */
static void control_adopt(struct worker *w, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = WORKER_SOURCE_ALIVE};

	if (fd < 0)
		return;
	(void)epoll_ctl(w->epoll_fd, EPOLL_CTL_DEL, LAUNCH_FD_ALIVE, NULL);
	if (dup3(fd, LAUNCH_FD_ALIVE, O_CLOEXEC) < 0 ||
	    epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, LAUNCH_FD_ALIVE, &ev) < 0) {
		log_err("cannot watch the next agent: %s", strerror(errno));
		return;
	}
	if (w->orphan_ns)
		log_notice("adopted by the next agent");
	w->orphan_ns = 0;
	worker_ports_report(w);
	worker_capture_end(w); /* the earlier agent's */
	worker_send(w, LAUNCH_MSG_READY, 0, 0, "");
	worker_release_report(w);
	if (w->role->adopted)
		w->role->adopted(w);
}

void worker_control_read(struct worker *w)
{
	struct launch_msg m;

	while (w->control_fd >= 0) {
		autoclose int passed = -1;
		ssize_t n = fdpass_recv(w->control_fd, &m, sizeof(m), &passed, NULL);

		if (n == -EAGAIN || n == -EINTR)
			return;
		if (n <= 0) {
			w->control_fd = -1;
			close(LAUNCH_FD_CONTROL);
			orphan_begin(w);
			return;
		}
		if (n != (ssize_t)sizeof(m))
			continue;
		if (m.type == LAUNCH_MSG_STOP)
			w->stopping = true;
		else if (m.type == LAUNCH_MSG_LINK)
			control_link(w, &m);
		else if (m.type == LAUNCH_MSG_LABEL)
			control_label(w, &m);
		else if (m.type == LAUNCH_MSG_KEYS)
			control_keys(w, &m);
		else if (m.type == LAUNCH_MSG_FAULT)
			control_fault(w, &m);
		else if (m.type == LAUNCH_MSG_PORT)
			worker_port_take(w, m.index, &m.port);
		else if (m.type == LAUNCH_MSG_ADOPT)
			control_adopt(w, passed);
		else if (m.type == LAUNCH_MSG_PING)
			control_ping(w, &m.ping);
		else if (m.type == LAUNCH_MSG_CAPTURE && m.code == 1)
			worker_capture_begin(w, &m.capture, passed);
		else if (m.type == LAUNCH_MSG_CAPTURE)
			worker_capture_end(w);
		else if (m.type == LAUNCH_MSG_RDMA && memchr(m.text, '\0', sizeof(m.text)))
			worker_rdma_take(w, passed, &m);
	}
}

void worker_signal_read(struct worker *w)
{
	struct signalfd_siginfo si;

	while (read(w->signal_fd, &si, sizeof(si)) == (ssize_t)sizeof(si))
		w->stopping = true;
}

static const struct {
	enum launch_event event;
	const char *text;
} event_reports[RUDP_EVENT_MAX] = {
	[RUDP_SESSION_UP] = {LAUNCH_EVENT_PEER_UP, "connected"},
	[RUDP_SESSION_REFUSED] = {LAUNCH_EVENT_PEER_REFUSED, "refuses"},
	[RUDP_SESSION_RESTARTED] = {LAUNCH_EVENT_PEER_UP, "was restarted"},
	[RUDP_SESSION_LOST] = {LAUNCH_EVENT_PEER_LOST, "does not answer on any path"},
	[RUDP_SESSION_ENDED] = {LAUNCH_EVENT_PEER_LOST,
				"has ended the session, or its key was dropped"},
	[RUDP_SESSION_STUCK] = {LAUNCH_EVENT_PEER_LOST,
				"did not accept an answer for too long; its session was ended"},
	[RUDP_SESSION_CLOSED] = {LAUNCH_EVENT_PEER_LOST, "has closed the session"},
	[RUDP_PATH_UP] = {LAUNCH_EVENT_PATH_UP, "is up"},
	[RUDP_PATH_DOWN] = {LAUNCH_EVENT_PATH_DOWN, "is down"},
};

static void path_format(const struct worker *w, struct rudp_session *s, unsigned path, char *buf,
			size_t size)
{
	struct rudp_path_info info[RUDP_PATHS_MAX];
	unsigned n = rudp_session_paths(s, info, RUDP_PATHS_MAX);
	char remote[IP_ADDR_STR_MAX];

	if (path >= n || info[path].port >= w->cfg->n_ports) {
		snprintf(buf, size, "a path");
		return;
	}
	snprintf(buf, size, "the path via %.32s to %s",
		 w->cfg->ports[worker_port(w, info[path].port)].leg,
		 ip_addr_format(&info[path].remote.ip, remote, sizeof(remote)));
}

static void mtu_format(const struct worker *w, struct rudp_session *s,
		       const struct rudp_path_info *i, char *buf, size_t size)
{
	const char *leg = w->cfg->ports[worker_port(w, MIN_OF(i->port, w->cfg->n_ports - 1))].leg;

	if (i->mtu_found < i->mtu_most)
		snprintf(buf, size,
			 "%.20s: frames of %u bytes do not reach %.30s, frames of %u bytes do", leg,
			 i->mtu_most, w->role->peer_name(w, s), i->mtu_found);
	else
		snprintf(buf, size, "%.20s: frames of %u bytes reach %.40s", leg, i->mtu_most,
			 w->role->peer_name(w, s));
}

static void trains_format(const struct worker *w, struct rudp_session *s,
			  const struct rudp_path_info *i, char *buf, size_t size)
{
	const struct launch_port *port =
		&w->cfg->ports[worker_port(w, MIN_OF(i->port, w->cfg->n_ports - 1))];

	if (i->alone)
		snprintf(
			buf, size,
			"%.16s: packets segmented by %.15s do not reach %.20s; sending them singly",
			port->leg, port->ifname, w->role->peer_name(w, s));
	else
		snprintf(buf, size, "%.16s: packets segmented by %.15s reach %.20s again",
			 port->leg, port->ifname, w->role->peer_name(w, s));
}

static void sources_format(const struct worker *w, struct rudp_session *s,
			   const struct rudp_path_info *i, char *buf, size_t size)
{
	const unsigned port = worker_port(w, MIN_OF(i->port, w->cfg->n_ports - 1));
	const struct launch_port *lp = &w->cfg->ports[port];
	const struct port *p = &w->ports[port];
	const unsigned first = i->sources_lost ? (unsigned)__builtin_ctz(i->sources_lost) : 0;

	if (i->sources_lost && w->port_open[port] && p->ops->source)
		snprintf(buf, size,
			 "%.16s: packets from %d of %u UDP source ports do not reach %.20s, first: "
			 "%u",
			 lp->leg, __builtin_popcount(i->sources_lost), lp->udp_sources,
			 w->role->peer_name(w, s), p->ops->source(p, first));
	else
		snprintf(buf, size, "%.16s: packets from all %u UDP source ports reach %.20s",
			 lp->leg, lp->udp_sources, w->role->peer_name(w, s));
}

static void loss_format(const struct worker *w, struct rudp_session *s,
			const struct rudp_path_info *i, char *buf, size_t size)
{
	const char *leg = w->cfg->ports[worker_port(w, MIN_OF(i->port, w->cfg->n_ports - 1))].leg;
	const char *peer = w->role->peer_name(w, s);
	bool out = i->lossy_out && (!i->lossy_in || i->loss_out_ppm > i->loss_in_ppm);
	double percent = (out ? i->loss_out_ppm : i->loss_in_ppm) / 1e4;

	if (i->lossy_out || i->lossy_in)
		snprintf(buf, size, "%.20s loses %.*f %% of the packets %s %.40s", leg,
			 percent < 10 ? 1 : 0, percent, out ? "to" : "from", peer);
	else
		snprintf(buf, size, "%.20s loses few packets to and from %.40s again", leg, peer);
}

/* A working path has become degraded, or recovered. */
static void path_report(struct worker *w, struct rudp_session *s, unsigned path, enum rudp_event e)
{
	struct rudp_path_info info[RUDP_PATHS_MAX];
	unsigned n = rudp_session_paths(s, info, RUDP_PATHS_MAX);
	enum launch_event event = LAUNCH_EVENT_PATH_MTU;
	char text[LAUNCH_REASON_MAX];
	bool bad;

	if (path >= n)
		return;
	if (e == RUDP_PATH_MTU) {
		bad = info[path].mtu_found < info[path].mtu_most;
		mtu_format(w, s, &info[path], text, sizeof(text));
	} else if (e == RUDP_PATH_GSO) {
		bad = info[path].alone;
		trains_format(w, s, &info[path], text, sizeof(text));
	} else if (e == RUDP_PATH_LOSS) {
		bad = info[path].lossy_out || info[path].lossy_in;
		loss_format(w, s, &info[path], text, sizeof(text));
	} else {
		bad = info[path].sources_lost != 0;
		sources_format(w, s, &info[path], text, sizeof(text));
	}
	if (e != RUDP_PATH_MTU)
		event = bad ? LAUNCH_EVENT_DEGRADED : LAUNCH_EVENT_RESTORED;
	log_write(bad ? LOG_LEVEL_WARNING : LOG_LEVEL_INFO, "%s", text);
	worker_send(w, LAUNCH_MSG_EVENT, (int)event, path, text);
	w->stats_ns = 0;
}

/* Names the host whose link is down, since the reader may be on either. */
static void why_format(const struct worker *w, struct rudp_session *s, enum rudp_event e, int code,
		       char *buf, size_t size)
{
	if (e == RUDP_PATH_DOWN && code == -ENETDOWN)
		snprintf(buf, size, ": this host's leg has no link");
	else if (e == RUDP_PATH_DOWN && code == -ENOLINK)
		snprintf(buf, size, ": %.64s reports that its leg has no link",
			 w->role->peer_name(w, s));
	else if (code && code != -ECONNRESET) /* ECONNRESET only means that there is no session */
		snprintf(buf, size, ": %.32s", strerror(-code));
}

void worker_report(struct worker *w, struct rudp_session *s, enum rudp_event e, unsigned path,
		   int code)
{
	char text[LAUNCH_REASON_MAX * 3], who[128] = "", why[128] = "";
	bool is_path = e == RUDP_PATH_UP || e == RUDP_PATH_DOWN;
	bool good = e == RUDP_PATH_UP || e == RUDP_SESSION_UP;

	if ((unsigned)e >= RUDP_EVENT_MAX ||
	    (e == RUDP_SESSION_REFUSED && w->role->report_refusal &&
	     w->role->report_refusal(w, s, code)))
		return;
	if (e == RUDP_PATH_MTU || e == RUDP_PATH_GSO || e == RUDP_PATH_LOSS ||
	    e == RUDP_PATH_SRC_PORTS) {
		path_report(w, s, path, e);
		return;
	}
	if (is_path)
		path_format(w, s, path, who, sizeof(who));
	why_format(w, s, e, code, why, sizeof(why));
	snprintf(text, sizeof(text), "%.64s: %.120s%s%s%s", w->role->peer_name(w, s), who,
		 is_path ? " " : "", event_reports[e].text, why);
	log_write(good ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, "%s", text);
	worker_send(w, LAUNCH_MSG_EVENT, (int)event_reports[e].event, path, text);
	w->stats_ns = 0; /* update the page at once */
	if (is_path)
		worker_announce(w);
}

static uint64_t share_or_unknown(uint32_t ppm)
{
	return ppm == UINT32_MAX ? UINT64_MAX : ppm;
}

static void quality_publish(struct launch_path_stats *p, const struct rudp_path_info *i)
{
	launch_stat_set(&p->loss_out_ppm, share_or_unknown(i->loss_out_ppm));
	launch_stat_set(&p->loss_in_ppm, share_or_unknown(i->loss_in_ppm));
	launch_stat_set(&p->lossy_out, i->lossy_out);
	launch_stat_set(&p->lossy_in, i->lossy_in);
	launch_stat_set(&p->avoided, i->avoided);
	launch_stat_set(&p->srtt_ns, i->srtt_ns);
	launch_stat_set(&p->peer_srtt_ns, i->peer_srtt_ns);
	launch_stat_set(&p->rtt_at_ns, i->rtt_at_ns);
}

static void path_publish(const struct worker *w, struct launch_path_stats *p,
			 struct rudp_session *s, const struct rudp_path_info *i)
{
	const struct launch_port *port =
		&w->cfg->ports[worker_port(w, MIN_OF(i->port, w->cfg->n_ports - 1))];

	ip_addr_format(&port->ip.addr, p->local, sizeof(p->local));
	ip_addr_format(&i->remote.ip, p->remote, sizeof(p->remote));
	snprintf(p->leg, sizeof(p->leg), "%s", port->leg);
	snprintf(p->peer, sizeof(p->peer), "%s", w->role->peer_name(w, s));
	launch_stat_set(&p->up, i->up);
	launch_stat_set(&p->state, i->joining	? LAUNCH_PATH_JOINING
				   : i->suspect ? LAUNCH_PATH_SUSPECT
				   : i->up	? LAUNCH_PATH_UP
						: LAUNCH_PATH_DOWN);
	launch_stat_set(&p->mtu, i->mtu);
	launch_stat_set(&p->mtu_found, i->mtu_found);
	launch_stat_set(&p->mtu_most, i->mtu_most);
	launch_stat_set(&p->standby, i->standby);
	launch_stat_set(&p->swapped, i->swapped);
	launch_stat_set(&p->sources, i->sources);
	launch_stat_set(&p->sources_lost, (uint64_t)__builtin_popcount(i->sources_lost));
	launch_stat_set(&p->trains_lost, i->alone);
	quality_publish(p, i);
	launch_stat_set(&p->cwnd_bytes, i->cwnd_bytes);
	launch_stat_set(&p->tx_packets, i->tx_packets);
	launch_stat_set(&p->tx_bytes, i->tx_bytes);
	launch_stat_set(&p->rx_packets, i->rx_packets);
	launch_stat_set(&p->rx_bytes, i->rx_bytes);
	launch_stat_set(&p->lost_packets, i->lost_packets);
	launch_stat_set(&p->rx_lost_packets, i->rx_lost_packets);
	launch_stat_set(&p->retransmits, i->retransmits);
	launch_stat_set(&p->failovers, i->failovers);
	launch_stat_set(&p->last_pause_ns, i->last_pause_ns);
	launch_stat_set(&p->since_ns, i->since_ns);
}

static void rdma_publish(const struct worker *w, struct launch_path_stats *p,
			 struct rudp_session *s, const struct rudp_path_info *info, unsigned i)
{
	uint64_t read_bytes = 0, write_bytes = 0;
	bool first = info[i].port < w->cfg->n_ports;

	for (unsigned k = 0; k < i; k++)
		first = first && info[k].port != info[i].port;
	if (first)
		w->role->rdma_bytes(w, s, info[i].port, &read_bytes, &write_bytes);
	launch_stat_set(&p->rdma_read_bytes, read_bytes);
	launch_stat_set(&p->rdma_write_bytes, write_bytes);
}

void worker_stats_publish(struct worker *w)
{
	struct rudp_path_info info[RUDP_PATHS_MAX];
	struct launch_stats *st = w->stats;
	unsigned n_paths = 0, n_sessions = 0;
	char why[LAUNCH_REASON_MAX] = "", text[LAUNCH_REASON_MAX - 16];
	bool rdma;

	/* Partner: readers read seq before and after, and retry if it is odd or differs. */
	__atomic_store_n(&st->seq, st->seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (struct rudp_session *s = rudp_session_next(w->rudp, NULL); s;
	     s = rudp_session_next(w->rudp, s)) {
		unsigned n = rudp_session_paths(s, info, RUDP_PATHS_MAX);

		n_sessions += rudp_session_is_up(s);
		for (unsigned i = 0; i < n && n_paths < LAUNCH_PATHS_MAX; i++) {
			path_publish(w, &st->paths[n_paths], s, &info[i]);
			rdma_publish(w, &st->paths[n_paths++], s, info, i);
			if (why[0])
				continue;
			if (info[i].mtu_found != info[i].mtu_most) {
				mtu_format(w, s, &info[i], text, sizeof(text));
				snprintf(why, sizeof(why), "path-mtu: %s", text);
			} else if (info[i].alone) {
				trains_format(w, s, &info[i], text, sizeof(text));
				snprintf(why, sizeof(why), "trains-lost: %s", text);
			} else if (info[i].sources_lost) {
				sources_format(w, s, &info[i], text, sizeof(text));
				snprintf(why, sizeof(why), "sources-lost: %s", text);
			}
		}
	}
	worker_fault_publish(w);
	worker_legs_publish(w);
	launch_stat_set(&st->n_paths, n_paths);
	launch_stat_set(&st->sessions, n_sessions);
	launch_stat_set(&st->rx_drops, rudp_rx_drops(w->rudp));
	rdma = worker_rdma_publish(w);
	__atomic_store_n(&st->seq, st->seq + 1, __ATOMIC_RELEASE);
	if (rdma || strcmp(why, w->path_why) != 0) {
		snprintf(w->path_why, sizeof(w->path_why), "%s", why);
		worker_reason_publish(w);
	}
}
