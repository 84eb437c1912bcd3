/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the list of sessions for operators (launch_watch.h). A worker may have thousands of
 * sessions. So each update writes only a part of them, which takes a fraction of a millisecond, and
 * each entry contains the time when it was written.
 */
#include "dataplane/worker/worker.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

_Static_assert(LAUNCH_SESSION_PATHS_MAX >= RUDP_PATHS_MAX, "every path has a place");

void worker_sessions_open(struct worker *w, int fd)
{
	struct launch_watch *page;
	struct stat st;

	if (fstat(fd, &st) < 0 || (size_t)st.st_size < LAUNCH_WATCH_END)
		return;
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    (off_t)LAUNCH_WATCH_OFFSET);
	if (page == MAP_FAILED)
		return;
	page->magic = LAUNCH_WATCH_MAGIC;
	page->version = LAUNCH_WATCH_VERSION;
	page->size = sizeof(*page);
	w->watch = page;
	worker_sessions_set_log_level(w, w->cfg->log_level);
}

void worker_sessions_set_log_level(struct worker *w, uint32_t level)
{
	if (w->watch)
		__atomic_store_n(&w->watch->log_level, level, __ATOMIC_RELAXED);
}

static enum launch_path_state path_state(const struct rudp_path_info *i)
{
	return i->joining   ? LAUNCH_PATH_JOINING
	       : i->suspect ? LAUNCH_PATH_SUSPECT
	       : i->up	    ? LAUNCH_PATH_UP
			    : LAUNCH_PATH_DOWN;
}

static void add_path(const struct worker *w, struct launch_session *e,
		     const struct rudp_path_info *i)
{
	const unsigned port = worker_port(w, MIN_OF(i->port, w->cfg->n_ports - 1));
	const struct launch_port *leg = &w->cfg->ports[port];

	e->paths[e->n_paths++] = (struct launch_session_path){.local = leg->ip.addr,
							      .remote = i->remote.ip,
							      .local_port = leg->udp_port,
							      .remote_port = i->remote.port,
							      .port = (uint8_t)port,
							      .state = (uint8_t)path_state(i),
							      .standby = i->standby,
							      .srtt_ns = i->srtt_ns,
							      .rtt_at_ns = i->rtt_at_ns};
	e->tx_packets += i->tx_packets;
	e->tx_bytes += i->tx_bytes;
	e->rx_packets += i->rx_packets;
	e->rx_bytes += i->rx_bytes;
	e->lost_packets += i->lost_packets;
	e->rx_lost_packets += i->rx_lost_packets;
	e->retransmits += i->retransmits;
}

static void describe(const struct worker *w, const struct rudp_session *s,
		     struct launch_session *ret)
{
	struct rudp_path_info paths[RUDP_PATHS_MAX];
	const unsigned n = rudp_session_paths(s, paths, RUDP_PATHS_MAX);
	uint32_t epoch;

	*ret = (struct launch_session){
		.looked_ns = w->now_ns,
		.serves = w->role->serves ? w->role->serves(w, s) : LAUNCH_SERVES_NONE,
		.state = !rudp_session_is_up(s)	   ? LAUNCH_SESSION_CONNECTING
			 : rudp_session_answers(s) ? LAUNCH_SESSION_UP
						   : LAUNCH_SESSION_SILENT,
		.since_ns = rudp_session_since_ns(s),
		.heard_ns = rudp_session_peer(s, &epoch) ? rudp_session_heard_ns(s) : 0};
	snprintf(ret->peer, sizeof(ret->peer), "%s", w->role->peer_name(w, s));
	for (unsigned i = 0; i < n; i++)
		add_path(w, ret, &paths[i]);
	rudp_session_calls(s, &ret->in_flight, &ret->waiting);
	if (w->role->describe)
		w->role->describe(w, s, ret);
}

/* Writes an entry under its seqlock: a reader (stats_page_session()) retries while seq is odd or
 * has changed. */
static void write_entry(struct launch_session *to, struct launch_session *from)
{
	const uint64_t seq = to->seq;

	from->seq = seq + 1;
	__atomic_store_n(&to->seq, seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	*to = *from;
	__atomic_store_n(&to->seq, seq + 2, __ATOMIC_RELEASE);
}

void worker_sessions_publish(struct worker *w)
{
	const unsigned n_entries = MIN_OF(rudp_session_table(w->rudp), LAUNCH_SESSION_ENTRIES);
	struct launch_watch *page = w->watch;
	struct launch_session e, none = {.looked_ns = 0};
	unsigned n = 0;

	if (!page)
		return;
	for (unsigned step = 0; step < n_entries && n < LAUNCH_SESSIONS_AT_ONCE; step++) {
		const unsigned i = w->next_session % n_entries;
		const struct rudp_session *s = rudp_session_at(w->rudp, i);

		w->next_session = i + 1;
		if (s) {
			describe(w, s, &e);
			write_entry(&page->sessions[i], &e);
			if (i >= launch_stat_get(&page->n_entries))
				launch_stat_set(&page->n_entries, i + 1);
			n++;
		} else if (i < launch_stat_get(&page->n_entries) && page->sessions[i].looked_ns) {
			write_entry(&page->sessions[i], &none);
		}
	}
	launch_stat_set(&page->n_sessions, rudp_session_count(w->rudp));
}
