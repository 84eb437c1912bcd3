/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports the state of sessions and paths: as events for operators, and on the statistics page. */
#include "dataplane/worker/worker.h"
#include "netcfg/base/log.h"

#include <stdio.h>
#include <string.h>

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

static void segmentation_format(const struct worker *w, struct rudp_session *s,
				const struct rudp_path_info *i, char *buf, size_t size)
{
	const struct launch_port *port =
		&w->cfg->ports[worker_port(w, MIN_OF(i->port, w->cfg->n_ports - 1))];

	if (i->alone)
		snprintf(buf, size,
			 "%.16s: packets segmented by %.15s do not reach %.20s; they are "
			 "sent one by one",
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
		snprintf(buf, size, "%.20s loses hardly any packets to and from %.40s any more",
			 leg, peer);
}

/* Returns the leg with which the slow path is compared, or "" if it is compared with its own
 * earlier round trip. */
static const char *slow_than(const struct worker *w, const struct rudp_path_info *i)
{
	return i->slow_port < w->cfg->n_ports ? w->cfg->ports[worker_port(w, i->slow_port)].leg
					      : "";
}

static void slow_format(const struct worker *w, struct rudp_session *s,
			const struct rudp_path_info *i, char *buf, size_t size)
{
	const char *leg = w->cfg->ports[worker_port(w, MIN_OF(i->port, w->cfg->n_ports - 1))].leg;
	const char *peer = w->role->peer_name(w, s), *than = slow_than(w, i);

	if (i->slow_ns)
		snprintf(buf, size, "%.20s has a round trip of %.1f ms to %.30s, %s%.20s %.2f ms",
			 leg, (double)i->slow_ns / NSEC_PER_MSEC, peer, *than ? "" : "usually",
			 than, (double)i->slow_than_ns / NSEC_PER_MSEC);
	else
		snprintf(buf, size,
			 "the round trip of %.20s to %.40s is no longer reported as slow", leg,
			 peer);
}

/* Reports that a path which is up is degraded now, or has recovered. */
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
		segmentation_format(w, s, &info[path], text, sizeof(text));
	} else if (e == RUDP_PATH_LOSS) {
		bad = info[path].lossy_out || info[path].lossy_in;
		loss_format(w, s, &info[path], text, sizeof(text));
	} else if (e == RUDP_PATH_SLOW) {
		bad = info[path].slow_ns != 0;
		slow_format(w, s, &info[path], text, sizeof(text));
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

/* Writes why a path is down. The sentence names the host whose link is down, because its reader may
 * be on either host. */
static void why_format(const struct worker *w, struct rudp_session *s, enum rudp_event e, int code,
		       char *buf, size_t size)
{
	if (e == RUDP_PATH_DOWN && code == -ENETDOWN)
		snprintf(buf, size, ": this host's leg has no link");
	else if (e == RUDP_PATH_DOWN && code == -ENOLINK)
		snprintf(buf, size, ": %.64s reports that its leg has no link",
			 w->role->peer_name(w, s));
	else if (e == RUDP_PATH_DOWN && code == -ETIMEDOUT)
		snprintf(buf, size, ": the peer does not answer there");
	else if (code && code != -ECONNRESET) /* ECONNRESET adds nothing: the event already says
						 that the session has ended */
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
	    e == RUDP_PATH_SLOW || e == RUDP_PATH_SRC_PORTS) {
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
	w->stats_ns = 0; /* update the statistics page without waiting */
	if (is_path)
		worker_announce(w);
}

/* Writes a text of the statistics page only if it differs: a reader that cannot wait for the end of
 * a change then sees a whole text all the same. */
static void text_publish(char *to, size_t size, const char *text)
{
	if (strncmp(to, text, size) != 0)
		snprintf(to, size, "%s", text);
}

static uint64_t share_or_unknown(uint32_t ppm)
{
	return ppm == UINT32_MAX ? UINT64_MAX : ppm;
}

static void quality_publish(const struct worker *w, struct launch_path_stats *p,
			    const struct rudp_path_info *i)
{
	text_publish(p->slow_than, sizeof(p->slow_than), i->slow_ns ? slow_than(w, i) : "");
	launch_stat_set(&p->slow_ns, i->slow_ns);
	launch_stat_set(&p->slow_than_ns, i->slow_than_ns);
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

	char ip[IP_ADDR_STR_MAX];

	text_publish(p->local, sizeof(p->local), ip_addr_format(&port->ip.addr, ip, sizeof(ip)));
	text_publish(p->remote, sizeof(p->remote), ip_addr_format(&i->remote.ip, ip, sizeof(ip)));
	text_publish(p->leg, sizeof(p->leg), port->leg);
	text_publish(p->peer, sizeof(p->peer), w->role->peer_name(w, s));
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
	launch_stat_set(&p->segmentation_lost, i->alone);
	quality_publish(w, p, i);
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
	launch_stat_set(&p->heard_ns, i->heard_ns);
	launch_stat_set(&p->session, rudp_session_index(s));
	launch_stat_set(&p->serves, w->role->serves ? w->role->serves(w, s) : LAUNCH_SERVES_NONE);
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

	/* Pairs with the readers, which read seq before and after the text, and retry if it is odd
	 * or has changed. */
	__atomic_store_n(&st->seq, st->seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (struct rudp_session *s = rudp_session_next(w->rudp, NULL); s;
	     s = rudp_session_next(w->rudp, s)) {
		unsigned n = n_paths < LAUNCH_PATHS_MAX
				     ? rudp_session_paths(s, info, RUDP_PATHS_MAX)
				     : 0;

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
				segmentation_format(w, s, &info[i], text, sizeof(text));
				snprintf(why, sizeof(why), "segmentation-lost: %.108s", text);
			} else if (info[i].sources_lost) {
				sources_format(w, s, &info[i], text, sizeof(text));
				snprintf(why, sizeof(why), "sources-lost: %s", text);
			}
		}
	}
	if (w->role->publish)
		w->role->publish(w);
	worker_fault_publish(w);
	worker_legs_publish(w);
	launch_stat_set(&st->n_paths, n_paths);
	launch_stat_set(&st->sessions, n_sessions);
	launch_stat_set(&st->rx_drops, rudp_rx_drops(w->rudp));
	rdma = worker_rdma_publish(w);
	__atomic_store_n(&st->seq, st->seq + 1, __ATOMIC_RELEASE);
	worker_sessions_publish(w);
	if (rdma || strcmp(why, w->path_why) != 0) {
		snprintf(w->path_why, sizeof(w->path_why), "%s", why);
		worker_reason_publish(w);
	}
}
