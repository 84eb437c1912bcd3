/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints a status snapshot as JSON. */
#include "agent/status/status_internal.h"

#include "netcfg/base/when.h"
#include <stdio.h>
#include <string.h>

bool status_append(json_t *list, json_t *o)
{
	return o && json_array_append_new(list, o) == 0;
}

json_t *status_text_to_json(const char *s)
{
	json_t *o = json_string(s);

	return o ? o : json_string("?");
}

static json_t *time_to_json(uint64_t time_s)
{
	time_t t = (time_t)time_s;
	char text[48];
	struct tm tm;

	if (!time_s)
		return json_null();
	gmtime_r(&t, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_string(text);
}

/* Returns the text as JSON, or JSON null for "", an unknown value: a text such as "unknown" could
 * also be the name of a switch. */
static json_t *text_or_null(const char *s)
{
	return s[0] ? status_text_to_json(s) : json_null();
}

static json_t *leg_to_json(const struct status_leg *leg, bool full)
{
	json_t *ips = json_array(), *o;
	char text[IP_ADDR_STR_MAX];

	for (size_t i = 0; ips && i < leg->n_ips; i++)
		json_array_append_new(
			ips, json_string(ip_prefix_format(&leg->ips[i], text, sizeof(text))));
	o = json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:s, s:b, s:b, s:I, s:o}", "name",
		      leg->name, "device", leg->device, "match", leg->match, "ifname", leg->ifname,
		      "label", text_or_null(leg->label), "network", leg->network, "state",
		      leg->state, "reason", leg->reason, "carrier", leg->carrier, "up", leg->up,
		      "mtu", (json_int_t)leg->mtu, "ips", ips);
	if (!o)
		return NULL;
	json_object_set_new(o, "label_source", json_string(leg->label_source));
	json_object_set_new(o, "label_reason", status_text_to_json(leg->label_reason));
	json_object_set_new(o, "switch", text_or_null(leg->switch_name));
	json_object_set_new(o, "switch_port", text_or_null(leg->switch_port));
	if (full) {
		json_object_set_new(o, "file", status_text_to_json(leg->file));
		json_object_set(o, "neighbours", leg->neighbours);
	}
	return o;
}

/* Returns a share in percent, or null if it is unknown. */
static json_t *share_to_json(uint64_t ppm)
{
	return ppm == UINT64_MAX ? json_null() : json_real((double)ppm / 10000);
}

/* Returns the age of the round-trip time in seconds, or JSON null if only probes have measured it
 * so far, and no message. */
static json_t *rtt_age_to_json(const struct launch_path_stats *s)
{
	uint64_t now = clock_now_ns();

	if (s->rtt_at_ns == 0)
		return json_null();
	return json_integer((json_int_t)((now - MIN_OF(s->rtt_at_ns, now)) / NSEC_PER_SEC));
}

int64_t status_age_s(uint64_t at_ns)
{
	uint64_t now = clock_now_ns();

	return at_ns ? (int64_t)((now - MIN_OF(at_ns, now)) / NSEC_PER_SEC) : -1;
}

json_t *status_number_or_null(int64_t n)
{
	return n < 0 ? json_null() : json_integer((json_int_t)n);
}

const char *status_path_state(uint64_t state, bool standby)
{
	static const char *const states[LAUNCH_PATH_STATE_MAX] = {"joining", "up", "suspect",
								  "down"};

	if (state == LAUNCH_PATH_UP && standby)
		return "standby";
	return state < LAUNCH_PATH_STATE_MAX ? states[state] : "?";
}

json_t *status_path_to_json(const struct status_path *p)
{
	const struct launch_path_stats *s = &p->s;
	char id[PLENUM_NAME_MAX + IP_ADDR_STR_MAX + 48];
	json_t *o;

	snprintf(id, sizeof(id), "%u/%llu/%s/%s", p->worker, (unsigned long long)s->session, s->leg,
		 s->remote);
	o = json_pack("{s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o, s:b, s:b, s:f, s:I, s:I, s:I, s:I, "
		      "s:I, s:I, s:f}",
		      "id", status_text_to_json(id), "mount", status_text_to_json(p->mount),
		      "export", status_text_to_json(p->export_name), "worker",
		      (json_int_t)p->worker, "leg", status_text_to_json(s->leg), "local",
		      status_text_to_json(s->local), "remote", status_text_to_json(s->remote),
		      "peer", status_text_to_json(s->peer), "up", (int)(s->up != 0), "standby",
		      (int)(s->standby != 0), "srtt_us", (double)s->srtt_ns / NSEC_PER_USEC, "mtu",
		      (json_int_t)s->mtu, "cwnd_bytes", (json_int_t)s->cwnd_bytes, "tx_bytes",
		      (json_int_t)s->tx_bytes, "rx_bytes", (json_int_t)s->rx_bytes, "retransmits",
		      (json_int_t)s->retransmits, "failovers", (json_int_t)s->failovers,
		      "last_pause_ms", (double)s->last_pause_ns / NSEC_PER_MSEC);
	if (o)
		json_object_update_new(
			o, json_pack("{s:s, s:I, s:o, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
				     "state", status_path_state(s->state, s->standby != 0),
				     "since_s", (json_int_t)p->since_s, "reason",
				     status_text_to_json(p->reason ? p->reason : ""),
				     "segmentation_lost", (int)(s->segmentation_lost != 0),
				     "sources", (json_int_t)s->sources, "sources_lost",
				     (json_int_t)s->sources_lost, "tx_packets",
				     (json_int_t)s->tx_packets, "rx_packets",
				     (json_int_t)s->rx_packets, "lost_packets",
				     (json_int_t)s->lost_packets, "rdma_read_bytes",
				     (json_int_t)s->rdma_read_bytes, "rdma_write_bytes",
				     (json_int_t)s->rdma_write_bytes));
	if (o)
		json_object_update_new(o,
				       json_pack("{s:f, s:f, s:o}", "slow_us",
						 (double)s->slow_ns / NSEC_PER_USEC, "slow_than_us",
						 (double)s->slow_than_ns / NSEC_PER_USEC,
						 "slow_than", status_text_to_json(s->slow_than)));
	if (o)
		json_object_update_new(
			o, json_pack("{s:o, s:o, s:o, s:b, s:b, s:b, s:f, s:I}", "rtt_age_s",
				     rtt_age_to_json(s), "loss_to_percent",
				     share_to_json(s->loss_out_ppm), "loss_from_percent",
				     share_to_json(s->loss_in_ppm), "lossy_to",
				     (int)(s->lossy_out != 0), "lossy_from",
				     (int)(s->lossy_in != 0), "avoided", (int)(s->avoided != 0),
				     "peer_srtt_us", (double)s->peer_srtt_ns / NSEC_PER_USEC,
				     "rx_lost_packets", (json_int_t)s->rx_lost_packets));
	return o;
}

static json_t *totals_to_json(const struct status_totals *t)
{
	return json_pack("{s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "worker",
			 (json_int_t)t->worker, "role", t->role, "requests",
			 (json_int_t)t->requests, "responses", (json_int_t)t->responses, "errors",
			 (json_int_t)t->request_errors, "read_bytes", (json_int_t)t->read_bytes,
			 "write_bytes", (json_int_t)t->write_bytes, "rx_drops",
			 (json_int_t)t->rx_drops, "sessions", (json_int_t)t->sessions);
}

static double usec(uint64_t ns)
{
	return (double)ns / NSEC_PER_USEC;
}

json_t *status_latency_to_json(const struct latency_window windows[LAUNCH_REQUEST_CLASS_MAX])
{
	json_t *list = json_array();

	for (enum launch_request_class c = 0; list && c < LAUNCH_REQUEST_CLASS_MAX; c++) {
		const struct latency_window *w = &windows[c];

		if (w->requests == 0)
			continue;
		json_array_append_new(list, json_pack("{s:s, s:I, s:f, s:f, s:f}", "class",
						      latency_class_to_string(c), "requests",
						      (json_int_t)w->requests, "seconds",
						      (double)w->ns / NSEC_PER_SEC, "median_us",
						      usec(latency_quantile_ns(w, 50)), "p99_us",
						      usec(latency_quantile_ns(w, 99))));
	}
	return list;
}

static json_t *export_to_json(const struct status_export *e)
{
	json_t *workers = json_array();

	for (unsigned i = 0; workers && i < e->n_workers; i++)
		json_array_append_new(workers, json_integer((json_int_t)e->workers[i]));
	return json_pack("{s:s, s:o, s:o, s:o}", "name", e->name, "path",
			 status_text_to_json(e->path), "workers", workers, "latency",
			 status_latency_to_json(e->windows));
}

static json_t *mount_to_json(const struct status_mount *m)
{
	json_t *lanes = json_array();

	for (unsigned i = 0; lanes && i < m->n_mount_workers; i++)
		json_array_append_new(lanes, json_integer((json_int_t)m->mount_workers[i]));
	return json_pack("{s:o, s:s, s:s, s:s, s:I, s:o, s:b, s:b, s:o, s:o}", "path",
			 status_text_to_json(m->path), "peer", m->peer, "export", m->export_name,
			 "origin", m->origin, "worker", (json_int_t)m->worker, "lanes", lanes,
			 "served", (int)m->served, "limited", (int)m->limited, "by",
			 status_text_to_json(m->by), "latency", status_latency_to_json(m->windows));
}

static json_t *reasons_to_json(const struct status *st)
{
	json_t *list = json_array();

	if (list && st->apply[0])
		json_array_append_new(list, status_text_to_json(st->apply));
	for (size_t i = 0; list && i < st->n_problems; i++)
		json_array_append_new(list, status_text_to_json(st->problems[i]));
	return list;
}

/* Lists the warnings and the workers' notes, which do not degrade the state. */
static json_t *notes_to_json(const struct status *st)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < st->n_warnings; i++)
		json_array_append_new(list, status_text_to_json(st->problems[st->n_problems + i]));
	for (size_t i = 0; list && i < st->n_processes; i++) {
		const struct status_process *p = &st->processes[i];
		char text[REASON_FORMAT_MAX + 24];

		if (!p->note[0])
			continue;
		snprintf(text, sizeof(text), "worker %u: %s", p->id, p->note);
		json_array_append_new(list, status_text_to_json(text));
	}
	return list;
}

/* Adds all lists to the object. Returns false if memory is short. */
static bool add_lists(const struct status *st, json_t *o)
{
	json_t *legs = json_array(), *mounts = json_array(), *paths = json_array();
	json_t *traffic = json_array(), *exports = json_array();
	bool ok = json_object_set_new(o, "legs", legs) == 0;

	ok = json_object_set_new(o, "mounts", mounts) == 0 && ok;
	ok = json_object_set_new(o, "exports", exports) == 0 && ok;
	ok = json_object_set_new(o, "paths", paths) == 0 && ok;
	ok = json_object_set_new(o, "traffic", traffic) == 0 && ok;
	for (size_t i = 0; ok && i < st->n_totals; i++)
		ok = status_append(traffic, totals_to_json(&st->totals[i]));
	for (size_t i = 0; ok && i < st->n_legs; i++)
		ok = status_append(legs, leg_to_json(&st->legs[i], false));
	for (size_t i = 0; ok && i < st->n_mounts; i++)
		ok = status_append(mounts, mount_to_json(&st->mounts[i]));
	for (size_t i = 0; ok && i < st->n_exports; i++)
		ok = status_append(exports, export_to_json(&st->exports[i]));
	for (size_t i = 0; ok && i < st->n_paths; i++)
		ok = status_append(paths, status_path_to_json(&st->paths[i]));
	if (st->waits_entry)
		ok = json_object_set_new(o, "confirm",
					 json_pack("{s:I, s:s, s:o, s:I}", "number",
						   (json_int_t)st->waits_entry, "by", st->waits_by,
						   "since", time_to_json(st->waits_since_s),
						   "left_s", (json_int_t)st->waits_left_s)) == 0 &&
		     ok;
	return ok && json_object_set_new(o, "reasons", reasons_to_json(st)) == 0 &&
	       json_object_set(o, "needs", st->needs) == 0 &&
	       json_object_set_new(o, "notes", notes_to_json(st)) == 0;
}

json_t *status_to_json(const struct status *st)
{
	static const struct history_entry none;
	const struct history_entry *last = st->applied ? st->applied : &none;
	json_t *o = json_pack("{s:o, s:s, s:s, s:{s:I, s:o, s:I, s:o}, s:{s:I, s:I}}", "host",
			      status_text_to_json(st->host), "version", PLENUM_VERSION, "state",
			      st->state, "applied", "number", (json_int_t)last->number, "time",
			      time_to_json(last->time_s), "steps", (json_int_t)last->steps, "by",
			      status_text_to_json(last->by), "workers", "up",
			      (json_int_t)st->workers_up, "total", (json_int_t)st->workers_total);

	if (o && st->security[0])
		json_object_set_new(o, "security", json_string(st->security));
	if (o && add_lists(st, o))
		return o;
	json_decref(o);
	return NULL;
}

/* Lists an object {"leg", "label", "switch", "port"} for each leg. Switch and port come from LLDP;
 * unknown values are null. */
static json_t *switches_to_json(const struct status_process *p)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < p->n_switches; i++) {
		const struct status_switch *s = &p->switches[i];

		json_array_append_new(
			list, json_pack("{s:o, s:o, s:o, s:o}", "leg", status_text_to_json(s->leg),
					"label", text_or_null(s->label), "switch",
					text_or_null(s->name), "port", text_or_null(s->port)));
	}
	return list;
}

static json_t *rdma_to_json(const struct status_process *p)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < p->n_rdma; i++) {
		const struct launch_rdma_stats *s = &p->rdma[i].s;

		if (!status_append(list, json_pack("{s:o, s:I, s:I, s:I, s:I, s:o, s:o}", "leg",
						   status_text_to_json(p->rdma[i].leg), "pairs",
						   (json_int_t)s->pairs, "read_bytes",
						   (json_int_t)s->read_bytes, "write_bytes",
						   (json_int_t)s->write_bytes, "failures",
						   (json_int_t)s->failures, "reason",
						   status_text_to_json(s->reason), "gpu",
						   status_text_to_json(s->gpu)))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static bool is_udp(const struct launch_port_stats *s)
{
	return strcmp(s->by, "udp") == 0;
}

/* Lists the number of packets sent from each source port, up to the last port that sent any. */
static json_t *sources_to_json(const struct launch_port_counters *c)
{
	json_t *list = json_array();
	unsigned n = LAUNCH_SOURCES_MAX;

	while (n > 1 && c->tx_by_source[n - 1] == 0)
		n--;
	for (unsigned k = 0; list && k < n; k++)
		json_array_append_new(list, json_integer((json_int_t)c->tx_by_source[k]));
	return list;
}

/* Returns the counters of a port, or JSON null if the kernel counts the packets of the port instead
 * of the worker. */
static json_t *counters_to_json(const struct launch_port_stats *s)
{
	const struct launch_port_counters *c = &s->counters;
	json_t *o;

	if (!s->counts)
		return json_null();
	o = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:{s:I, s:I, s:I, s:I, s:I}}", "tx_packets",
		      (json_int_t)c->tx_packets, "rx_packets", (json_int_t)c->rx_packets, "tx_full",
		      (json_int_t)c->tx_full, "tx_lost", (json_int_t)c->tx_lost, "rx_missed",
		      (json_int_t)c->rx_missed, "conflicts", (json_int_t)c->conflicts, "rx_dropped",
		      "short", (json_int_t)c->rx_short, "malformed", (json_int_t)c->rx_malformed,
		      "fragment", (json_int_t)c->rx_fragments, "checksum",
		      (json_int_t)c->rx_checksum, "not-ours", (json_int_t)c->rx_not_ours);
	if (o && is_udp(s))
		json_object_update_new(
			o, json_pack("{s:I, s:I, s:I, s:I, s:o}", "tx_bytes",
				     (json_int_t)c->tx_bytes, "rx_bytes", (json_int_t)c->rx_bytes,
				     "tx_bursts", (json_int_t)c->tx_bursts, "rx_bursts",
				     (json_int_t)c->rx_bursts, "tx_by_source", sources_to_json(c)));
	return o;
}

static json_t *ports_to_json(const struct status_process *p)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < p->n_ports; i++) {
		const struct launch_port_stats *s = &p->ports[i].s;

		if (!status_append(list, json_pack("{s:o, s:o, s:o, s:o}", "leg",
						   status_text_to_json(p->ports[i].leg), "by",
						   text_or_null(s->by), "reason",
						   status_text_to_json(s->reason), "counters",
						   counters_to_json(s)))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *death_to_json(const struct status_process *p)
{
	char when[WHEN_TEXT_MAX];

	if (p->died_ms == 0)
		return json_null();
	return json_pack("{s:s, s:o}", "time", when_format(p->died_ms, when), "reason",
			 status_text_to_json(p->died_of));
}

static json_t *process_to_json(const struct status *st, const struct status_process *p)
{
	char id[PLENUM_NAME_MAX + 16], text[IP_ADDR_STR_MAX];
	json_t *ips = json_array();

	for (size_t i = 0; ips && i < p->n_ips; i++)
		json_array_append_new(ips,
				      json_string(ip_addr_format(&p->ips[i], text, sizeof(text))));
	snprintf(id, sizeof(id), "%s/%u", st->host, p->id);
	return json_pack("{s:o, s:o, s:s, s:o, s:o, s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:b, s:b, "
			 "s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "id", status_text_to_json(id), "host", status_text_to_json(st->host),
			 "role", p->role, "ips", ips, "switches", switches_to_json(p), "status",
			 p->state, "network", status_text_to_json(p->network), "core",
			 p->core >= 0 ? json_integer(p->core) : json_null(), "memory_bytes",
			 (json_int_t)p->memory_bytes, "uptime_s", (json_int_t)p->uptime_s, "pid",
			 (json_int_t)p->pid, "restarts", (json_int_t)p->restarts, "adopted",
			 (int)p->adopted, "outdated", (int)p->outdated, "version",
			 p->outdated ? json_null() : json_string(PLENUM_VERSION), "reason",
			 status_text_to_json(p->reason), "note", status_text_to_json(p->note),
			 "rdma", rdma_to_json(p), "ports", ports_to_json(p), "last_death",
			 death_to_json(p), "log_level",
			 p->log_level >= LOG_LEVEL_ERR && p->log_level <= LOG_LEVEL_DEBUG
				 ? json_string(log_level_to_string(p->log_level))
				 : json_null());
}

json_t *status_processes_to_json(const struct status *st)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < st->n_processes; i++)
		if (!status_append(list, process_to_json(st, &st->processes[i]))) {
			json_decref(list);
			return NULL;
		}
	return json_pack("{s:o, s:o}", "host", status_text_to_json(st->host), "processes", list);
}

json_t *status_paths_to_json(const struct status *st)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < st->n_paths; i++)
		if (!status_append(list, status_path_to_json(&st->paths[i]))) {
			json_decref(list);
			return NULL;
		}
	return json_pack("{s:o, s:o}", "host", status_text_to_json(st->host), "paths", list);
}

json_t *status_net_to_json(const struct status *st)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < st->n_legs; i++)
		if (!status_append(list, leg_to_json(&st->legs[i], true))) {
			json_decref(list);
			return NULL;
		}
	return json_pack("{s:o, s:o}", "host", status_text_to_json(st->host), "net", list);
}
