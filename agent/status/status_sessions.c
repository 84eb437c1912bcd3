/* SPDX-License-Identifier: BSD-3-Clause */
/* The sessions of the workers as JSON. Each entry shows how old it is, and whether it is
 * current. */
#include "agent/base/stats_page.h"
#include "agent/status/status_internal.h"
#include <netinet/in.h>
#include <stdio.h>

/* An entry is out of date if it is older than this time plus the time in which the worker writes
 * all its sessions once. */
#define LATE_NS (3 * NSEC_PER_SEC)

struct session {
	const struct sup_worker *worker;
	size_t index;
	bool current;
	struct launch_session s;
};

/* ---- one session ---- */

/* Returns the number of sessions that the worker reports. */
static uint64_t count(const struct sup_worker *w)
{
	return MIN_OF(launch_stat_get(&w->watch->n_sessions), (uint64_t)LAUNCH_SESSION_ENTRIES);
}

static bool entry_is_current(const struct sup_worker *w, const struct launch_session *s)
{
	const uint64_t turn_ns = count(w) / LAUNCH_SESSIONS_AT_ONCE * NSEC_PER_SEC;
	const uint64_t now = clock_now_ns();

	return status_page_is_current(w) && now - MIN_OF(s->looked_ns, now) <= LATE_NS + turn_ns;
}

/* Returns the path that new packets use, or the first one; NULL if there is none. */
static const struct launch_session_path *main_path(const struct launch_session *s)
{
	const struct launch_session_path *best = NULL;

	for (uint32_t i = 0; i < s->n_paths; i++) {
		const struct launch_session_path *p = &s->paths[i];
		const bool up = p->state == LAUNCH_PATH_UP;

		if (!best || (up && best->state != LAUNCH_PATH_UP) ||
		    (up && best->standby && !p->standby))
			best = p;
	}
	return best;
}

static json_t *address_to_json(const struct ip_addr *ip)
{
	char text[IP_ADDR_STR_MAX];

	return json_string(ip_addr_format(ip, text, sizeof(text)));
}

static const char *leg_of(const struct sup_worker *w, unsigned port)
{
	const struct launch_config *c = w->started;

	return c && port < c->n_ports && port < LAUNCH_PORTS_MAX ? c->ports[port].leg : "";
}

static json_t *paths_to_json(const struct session *e)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < e->s.n_paths; i++) {
		const struct launch_session_path *p = &e->s.paths[i];

		if (!status_append(list,
				   json_pack("{s:o, s:o, s:o, s:i, s:i, s:s}", "leg",
					     status_text_to_json(leg_of(e->worker, p->port)),
					     "local", address_to_json(&p->local), "remote",
					     address_to_json(&p->remote), "local_port",
					     (int)p->local_port, "remote_port", (int)p->remote_port,
					     "state",
					     e->current ? status_path_state(p->state, p->standby)
							: "unknown"))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* Returns the lowest round trip of the paths that are up, in us, or JSON null. */
static json_t *rtt_to_json(const struct session *e)
{
	uint64_t best = UINT64_MAX;

	for (uint32_t i = 0; e->current && i < e->s.n_paths; i++) {
		const struct launch_session_path *p = &e->s.paths[i];

		if (p->state == LAUNCH_PATH_UP && status_rtt_is_current(p->srtt_ns, p->rtt_at_ns))
			best = MIN_OF(best, p->srtt_ns);
	}
	return best == UINT64_MAX ? json_null() : json_real((double)best / NSEC_PER_USEC);
}

/* Returns the seconds until the client loses its locks if the server receives nothing from it, or
 * -1 if that time is unknown. */
static int64_t lease_left_s(const struct session *e)
{
	const uint64_t now = clock_now_ns();

	if (!e->current || !e->s.lease_ns)
		return -1;
	return (int64_t)((e->s.lease_ns - MIN_OF(now, e->s.lease_ns)) / NSEC_PER_SEC);
}

static const char *state_of(const struct session *e)
{
	static const char *const names[LAUNCH_SESSION_STATE_MAX] = {
		[LAUNCH_SESSION_CONNECTING] = "connecting",
		[LAUNCH_SESSION_UP] = "up",
		[LAUNCH_SESSION_SILENT] = "silent",
	};

	return e->current ? names[e->s.state] : "unknown";
}

static json_t *counters_to_json(const struct launch_session *s)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "in_flight",
			 (json_int_t)s->in_flight, "waiting", (json_int_t)s->waiting, "tx_packets",
			 (json_int_t)s->tx_packets, "tx_bytes", (json_int_t)s->tx_bytes,
			 "rx_packets", (json_int_t)s->rx_packets, "rx_bytes",
			 (json_int_t)s->rx_bytes, "lost_packets", (json_int_t)s->lost_packets,
			 "rx_lost_packets", (json_int_t)s->rx_lost_packets, "retransmits",
			 (json_int_t)s->retransmits);
}

static json_t *session_to_json(const struct session *e)
{
	const struct sup_worker *w = e->worker;
	const struct launch_config *c = w->started ? w->started : &w->config;
	const struct launch_session_path *main = main_path(&e->s);
	char id[48];
	json_t *o;

	snprintf(id, sizeof(id), "%u/%zu", w->id, e->index);
	o = json_pack("{s:s, s:o, s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
		      "s:o}",
		      "id", id, "peer", status_text_to_json(e->s.peer), "state", state_of(e),
		      "role", c->role == LAUNCH_FRONTEND ? "client" : "server", "worker",
		      (json_int_t)w->id, "core", (json_int_t)c->core, "mount",
		      status_text_to_json(status_session_mount(w, e->s.serves)), "export",
		      status_text_to_json(status_session_export(w, e->s.serves)), "local",
		      main ? address_to_json(&main->local) : json_null(), "remote",
		      main ? address_to_json(&main->remote) : json_null(), "paths",
		      paths_to_json(e), "since_s",
		      status_number_or_null(e->current ? status_age_s(e->s.since_ns) : -1),
		      "heard_s", status_number_or_null(status_age_s(e->s.heard_ns)), "rtt_us",
		      rtt_to_json(e), "lease_s", status_number_or_null(lease_left_s(e)), "age_s",
		      status_number_or_null(status_age_s(e->s.looked_ns)));
	if (o && json_object_update_new(o, counters_to_json(&e->s)) < 0) {
		json_decref(o);
		return NULL;
	}
	return o;
}

/* ---- all sessions ---- */

/* Returns whether the worker has a process whose sessions the agent could know. */
static bool has_process(const struct sup_worker *w)
{
	return w->wanted && (w->state == SUP_UP || (w->state == SUP_STARTING && w->adopted));
}

static bool is_listed(const struct sup_worker *w)
{
	return has_process(w) && stats_page_has_sessions(w->watch);
}

struct sessions {
	json_t *list;
	uint64_t omitted;
};

/* Adds the worker's sessions to the list until the list has `end` entries. Returns false if memory
 * is short. */
static bool add_worker(struct sessions *all, const struct sup_worker *w, size_t end)
{
	const uint64_t n =
		MIN_OF(launch_stat_get(&w->watch->n_entries), (uint64_t)LAUNCH_SESSION_ENTRIES);
	struct session e = {.worker = w};

	for (e.index = 0; e.index < n; e.index++) {
		if (!stats_page_session(w->watch, e.index, &e.s))
			continue;
		if (json_array_size(all->list) >= end) {
			all->omitted++;
			continue;
		}
		e.current = entry_is_current(w, &e.s);
		if (!status_append(all->list, session_to_json(&e)))
			return false;
	}
	return true;
}

/* Returns how many sessions of each worker are listed, so that the whole list is not too long. */
static size_t share_of_worker(const struct agent *a)
{
	uint64_t n = 0, n_workers = 0;

	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		if (is_listed(w)) {
			n += count(w);
			n_workers++;
		}
	return n <= STATUS_SESSIONS_MAX ? STATUS_SESSIONS_MAX : STATUS_SESSIONS_MAX / n_workers;
}

json_t *status_sessions_to_json(const struct agent *a, const struct status *st)
{
	const size_t share = share_of_worker(a);
	struct sessions all = {.list = json_array()};
	json_t *unknown = json_array();
	bool ok = all.list && unknown;

	for (const struct sup_worker *w = sup_first(a->sup); ok && w; w = w->next) {
		if (is_listed(w))
			ok = add_worker(&all, w,
					MIN_OF(json_array_size(all.list) + share,
					       (size_t)STATUS_SESSIONS_MAX));
		else if (has_process(w))
			ok = json_array_append_new(unknown, json_integer(w->id)) == 0;
	}
	if (!ok) {
		json_decref(all.list);
		json_decref(unknown);
		return NULL;
	}
	return json_pack("{s:o, s:o, s:I, s:o}", "host", status_text_to_json(st->host), "sessions",
			 all.list, "omitted_sessions", (json_int_t)all.omitted, "unknown_workers",
			 unknown);
}
