/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands that list what runs on a host: mounts, exports, clients, peers, paths, sessions and
 * file locks. `plenum status` prints its table of paths with a function of this file.
 */
#include "agent/ctl/ctl.h"
#include "netcfg/spec/spec.h"

#include <string.h>

/* ---- cells ---- */

static const char *path_state(const json_t *path)
{
	if (*ctl_text(path, "state"))
		return ctl_text(path, "state");
	if (!json_is_true(json_object_get(path, "up")))
		return "down";
	return json_is_true(json_object_get(path, "standby")) ? "standby" : "up";
}

static void add_bytes(struct ctl_table *t, const json_t *o, const char *key)
{
	char buf[32];

	ctl_table_add(t, "%s", ctl_format_bytes(ctl_int(o, key), buf, sizeof(buf)));
}

/* Adds a share in percent, or "-" if it is unknown. */
static void add_share(struct ctl_table *t, const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	double percent = json_number_value(v);

	if (!json_is_number(v))
		ctl_table_add(t, "-");
	else
		ctl_table_add(t, percent > 0 && percent < 10 ? "%.2g%%" : "%.0f%%", percent);
}

void ctl_format_ids(const json_t *ids, char *buf, size_t size)
{
	const json_t *id;
	size_t i, at = 0;

	*buf = '\0';
	json_array_foreach (ids, i, id)
		if (at < size)
			at += (size_t)snprintf(buf + at, size - at, "%s%" JSON_INTEGER_FORMAT,
					       i ? ", " : "", json_integer_value(id));
}

void ctl_table_add_latencies(struct ctl_table *t, const json_t *o)
{
	static const char *const classes[] = {"read", "write", "sync", "metadata"};
	char cell[CTL_LATENCY_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		ctl_table_add(t, "%s", ctl_format_latency(o, classes[i], cell));
}

/* Adds a time in seconds, or an empty cell if it is unknown. */
static void add_seconds(struct ctl_table *t, const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	char text[32];

	ctl_table_add(t, "%s",
		      json_is_integer(v)
			      ? ctl_format_seconds(json_integer_value(v), text, sizeof(text))
			      : "");
}

/* Adds the rate of requests of all classes together, or an empty cell if there were none
 * recently. */
static void add_rate(struct ctl_table *t, const json_t *o)
{
	const json_t *class;
	double rate = 0;
	size_t i;

	json_array_foreach (json_object_get(o, "latency"), i, class) {
		const double s = json_number_value(json_object_get(class, "seconds"));

		if (s > 0)
			rate += (double)ctl_int(class, "requests") / s;
	}
	if (rate > 0)
		ctl_table_add(t, rate < 10 ? "%.1f" : "%.0f", rate);
	else
		ctl_table_add(t, "%s", "");
}

static void add_ids(struct ctl_table *t, const json_t *ids)
{
	char text[128];

	ctl_format_ids(ids, text, sizeof(text));
	ctl_table_add(t, "%s", text);
}

/* ---- mounts ---- */

/* Adds the mount's options, such as "read-only, soft 30 s, at most 200MB/s". */
static void add_options(struct ctl_table *t, const json_t *mount)
{
	const json_int_t soft_s = ctl_int(mount, "soft_s");
	const json_int_t kbs = ctl_int(mount, "max_bytes_per_s") / 1000;
	const json_int_t operations = ctl_int(mount, "max_operations_per_s");
	char soft[40] = "hard", limits[80] = "", rate[SPEC_RATE_TEXT_MAX];
	size_t n = 0;

	if (soft_s > 0)
		snprintf(soft, sizeof(soft), "soft %" JSON_INTEGER_FORMAT " s", soft_s);
	if (kbs > 0 && kbs <= SPEC_RATE_MAX)
		n = (size_t)snprintf(limits, sizeof(limits), ", at most %s",
				     spec_rate_format((uint32_t)kbs, rate, sizeof(rate)));
	if (operations > 0)
		snprintf(limits + n, sizeof(limits) - n,
			 ", at most %" JSON_INTEGER_FORMAT " operations/s", operations);
	ctl_table_add(t, "%s, %s%s",
		      json_is_true(json_object_get(mount, "read_only")) ? "read-only"
									: "read-write",
		      soft, limits);
}

static int print_mounts(const struct ctl_args *a, const json_t *mounts, const char *columns)
{
	static const char *const headings[] = {"MOUNT",	  "FROM",     "ORIGIN",	 "STATE",
					       "SINCE",	  "WORKER",   "OPEN",	 "REQUESTS/S",
					       "READ MS", "WRITE MS", "SYNC MS", "METADATA MS",
					       "BY",	  "LANES",    "OPTIONS", "REASON"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *m;
	size_t i;

	json_array_foreach (mounts, i, m) {
		ctl_table_add(&t, "%s", ctl_text(m, "path"));
		ctl_table_add(&t, "%s:%s", ctl_text(m, "peer"), ctl_text(m, "export"));
		ctl_table_add(&t, "%s", ctl_text(m, "origin"));
		ctl_table_add(&t, "%s", ctl_text(m, "state"));
		add_seconds(&t, m, "since_s");
		ctl_table_add_number(&t, m, "worker");
		ctl_table_add_number(&t, m, "open_files");
		add_rate(&t, m);
		ctl_table_add_latencies(&t, m);
		ctl_table_add(&t, "%s", ctl_text(m, "by"));
		add_ids(&t, json_object_get(m, "lanes"));
		add_options(&t, m);
		ctl_table_add(&t, "%s", ctl_text(m, "reason"));
	}
	return ctl_view_print(a, &t, columns);
}

int ctl_cmd_mounts(const struct ctl_args *a)
{
	return ctl_show_list(a, RESOURCE_MOUNTS, print_mounts, NULL);
}

/* ---- exports ---- */

static int print_exports(const struct ctl_args *a, const json_t *exports, const char *columns)
{
	static const char *const headings[] = {"EXPORT",      "PATH",	 "STATE",    "CLIENTS",
					       "ACCESS",      "SQUASH",	 "OPEN",     "REMOVED",
					       "REQUESTS/S",  "READ MS", "WRITE MS", "SYNC MS",
					       "METADATA MS", "WORKERS", "REASON"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *e;
	size_t i;

	json_array_foreach (exports, i, e) {
		ctl_table_add(&t, "%s", ctl_text(e, "name"));
		ctl_table_add(&t, "%s", ctl_text(e, "path"));
		ctl_table_add(&t, "%s", ctl_text(e, "state"));
		ctl_table_add_number(&t, e, "clients");
		ctl_table_add(&t, "%s",
			      json_is_true(json_object_get(e, "read_only")) ? "read-only"
									    : "read-write");
		ctl_table_add_list(&t, json_object_get(e, "squash"));
		ctl_table_add_number(&t, e, "open_files");
		ctl_table_add_number(&t, e, "removed_files");
		add_rate(&t, e);
		ctl_table_add_latencies(&t, e);
		add_ids(&t, json_object_get(e, "workers"));
		ctl_table_add(&t, "%s", ctl_text(e, "reason"));
	}
	return ctl_view_print(a, &t, columns);
}

int ctl_cmd_exports(const struct ctl_args *a)
{
	return ctl_show_list(a, RESOURCE_EXPORTS, print_exports, NULL);
}

/* ---- clients ---- */

static int print_clients(const struct ctl_args *a, const json_t *clients, const char *columns)
{
	static const char *const headings[] = {"HOST",	  "STATE",   "SINCE", "ADDRESSES",
					       "EXPORTS", "MOUNTS",  "OPEN",  "HEARD",
					       "WORKERS", "REFUSED", "REASON"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *c;
	size_t i;

	json_array_foreach (clients, i, c) {
		ctl_table_add(&t, "%s", ctl_text(c, "host"));
		ctl_table_add(&t, "%s", ctl_text(c, "state"));
		add_seconds(&t, c, "since_s");
		ctl_table_add_list(&t, json_object_get(c, "addresses"));
		ctl_table_add_list(&t, json_object_get(c, "exports"));
		ctl_table_add_number(&t, c, "mounts");
		ctl_table_add_number(&t, c, "open_files");
		add_seconds(&t, c, "heard_s");
		add_ids(&t, json_object_get(c, "workers"));
		ctl_table_add_number(&t, c, "refused_mounts");
		ctl_table_add(&t, "%s", ctl_text(c, "reason"));
	}
	return ctl_view_print(a, &t, columns);
}

int ctl_cmd_clients(const struct ctl_args *a)
{
	return ctl_show_list(a, RESOURCE_CLIENTS, print_clients, NULL);
}

/* ---- peers ---- */

static int print_peers(const struct ctl_args *a, const json_t *peers, const char *columns)
{
	static const char *const headings[] = {"HOST",	    "STATE",   "SINCE", "LEGS UP",
					       "LEGS DOWN", "PATHS",   "RTT",	"LOSS TO",
					       "LOSS FROM", "MTU",     "HEARD", "ADDRESSES",
					       "MOUNTS",    "EXPORTS", "REASON"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *p;
	size_t i;

	json_array_foreach (peers, i, p) {
		ctl_table_add(&t, "%s", ctl_text(p, "host"));
		ctl_table_add(&t, "%s", ctl_text(p, "state"));
		add_seconds(&t, p, "since_s");
		ctl_table_add_list(&t, json_object_get(p, "legs_up"));
		ctl_table_add_list(&t, json_object_get(p, "legs_down"));
		ctl_table_add(&t, "%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT,
			      ctl_int(p, "paths_up"), ctl_int(p, "paths"));
		if (json_is_number(json_object_get(p, "rtt_us")))
			ctl_table_add(&t, "%" JSON_INTEGER_FORMAT " us", ctl_int(p, "rtt_us"));
		else
			ctl_table_add(&t, "%s", "");
		add_share(&t, p, "loss_to_percent");
		add_share(&t, p, "loss_from_percent");
		ctl_table_add_number(&t, p, "mtu");
		add_seconds(&t, p, "heard_s");
		ctl_table_add_list(&t, json_object_get(p, "addresses"));
		ctl_table_add_list(&t, json_object_get(p, "mounts"));
		ctl_table_add_list(&t, json_object_get(p, "exports"));
		ctl_table_add(&t, "%s", ctl_text(p, "reason"));
	}
	return ctl_view_print(a, &t, columns);
}

int ctl_cmd_peers(const struct ctl_args *a)
{
	return ctl_show_list(a, RESOURCE_PEERS, print_peers, NULL);
}

/* ---- paths ---- */

/* Adds the purpose of the path's session: the mount or the export. */
static void add_purpose(struct ctl_table *t, const json_t *path)
{
	const char *export = ctl_text(path, "export");

	if (*export)
		ctl_table_add(t, "export %s", export);
	else
		ctl_table_add(t, "%s", ctl_text(path, "mount"));
}

static void add_path(struct ctl_table *t, const json_t *p)
{
	double pause_ms = json_number_value(json_object_get(p, "last_pause_ms"));

	ctl_table_add(t, "%" JSON_INTEGER_FORMAT, ctl_int(p, "worker"));
	ctl_table_add(t, "%s", ctl_text(p, "leg"));
	ctl_table_add(t, "%s", ctl_text(p, "local"));
	ctl_table_add(t, "%s", ctl_text(p, "remote"));
	ctl_table_add(t, "%s", ctl_text(p, "peer"));
	add_purpose(t, p);
	ctl_table_add(t, "%s", path_state(p));
	if (!ctl_rtt_is_current(p))
		ctl_table_add(t, "-");
	else if (ctl_int(p, "srtt_us") > 0)
		ctl_table_add(t, "%" JSON_INTEGER_FORMAT " us", ctl_int(p, "srtt_us"));
	else /* the server has not answered yet */
		ctl_table_add(t, "%s", "");
	ctl_table_add(t, "%" JSON_INTEGER_FORMAT, ctl_int(p, "mtu"));
	add_bytes(t, p, "cwnd_bytes");
	add_bytes(t, p, "tx_bytes");
	add_bytes(t, p, "rx_bytes");
	add_share(t, p, "loss_to_percent");
	add_share(t, p, "loss_from_percent");
	ctl_table_add(t, "%" JSON_INTEGER_FORMAT, ctl_int(p, "retransmits"));
	ctl_table_add(t, "%" JSON_INTEGER_FORMAT, ctl_int(p, "failovers"));
	if (pause_ms > 0)
		ctl_table_add(t, "%.1f ms", pause_ms);
	else
		ctl_table_add(t, "%s", "");
	ctl_table_add(t, "%s", ctl_text(p, "reason"));
}

int ctl_put_paths(const struct ctl_args *a, const json_t *paths, const char *columns)
{
	static const char *const headings[] = {
		"WORKER",  "LEG",	"LOCAL",  "REMOTE",    "PEER",	     "FOR",
		"STATE",   "RTT",	"MTU",	  "WINDOW",    "SENT",	     "RECEIVED",
		"LOSS TO", "LOSS FROM", "RESENT", "FAILOVERS", "LAST PAUSE", "REASON"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *p;
	size_t i;

	json_array_foreach (paths, i, p)
		add_path(&t, p);
	return ctl_view_print(a, &t, columns);
}

int ctl_cmd_paths(const struct ctl_args *a)
{
	return ctl_show_list(a, RESOURCE_PATHS, ctl_put_paths, NULL);
}

/* ---- sessions ---- */

/* Adds each leg with the state of its paths, such as "leg-a up, leg-b down". */
static void add_legs(struct ctl_table *t, const json_t *paths)
{
	json_t *list = json_array();
	const json_t *p, *known;
	size_t i, k;

	json_array_foreach (paths, i, p) {
		json_t *text = json_sprintf("%s %s", ctl_text(p, "leg"), ctl_text(p, "state"));
		bool is_new = true;

		json_array_foreach (list, k, known)
			is_new = is_new && !json_equal(known, text);
		if (is_new)
			json_array_append(list, text);
		json_decref(text);
	}
	ctl_table_add_list(t, list);
	json_decref(list);
}

static void add_session(struct ctl_table *t, const json_t *s)
{
	ctl_table_add(t, "%s", ctl_text(s, "id"));
	ctl_table_add(t, "%s", ctl_text(s, "peer"));
	ctl_table_add(t, "%s", ctl_text(s, "role"));
	ctl_table_add(t, "%s", ctl_text(s, "state"));
	add_seconds(t, s, "since_s");
	ctl_table_add_number(t, s, "worker");
	ctl_table_add_number(t, s, "core");
	add_purpose(t, s);
	add_legs(t, json_object_get(s, "paths"));
	ctl_table_add(t, "%s", ctl_text(s, "local"));
	ctl_table_add(t, "%s", ctl_text(s, "remote"));
	if (json_is_number(json_object_get(s, "rtt_us")))
		ctl_table_add(t, "%" JSON_INTEGER_FORMAT " us", ctl_int(s, "rtt_us"));
	else
		ctl_table_add(t, "%s", "");
	ctl_table_add_number(t, s, "in_flight");
	ctl_table_add_number(t, s, "waiting");
	add_bytes(t, s, "tx_bytes");
	add_bytes(t, s, "rx_bytes");
	ctl_table_add_number(t, s, "lost_packets");
	ctl_table_add_number(t, s, "rx_lost_packets");
	ctl_table_add_number(t, s, "retransmits");
	add_seconds(t, s, "lease_s");
	add_seconds(t, s, "heard_s");
	add_seconds(t, s, "age_s");
}

static int print_sessions(const struct ctl_args *a, const json_t *sessions, const char *columns)
{
	static const char *const headings[] = {
		"ID",	     "PEER",	"ROLE",	 "STATE",    "SINCE",	"WORKER",
		"CORE",	     "FOR",	"LEGS",	 "LOCAL",    "REMOTE",	"RTT",
		"IN FLIGHT", "WAITING", "SENT",	 "RECEIVED", "LOST TO", "LOST FROM",
		"RESENT",    "LEASE",	"HEARD", "AGE"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *s;
	size_t i;

	json_array_foreach (sessions, i, s)
		add_session(&t, s);
	return ctl_view_print(a, &t, columns);
}

/* Prints on standard error which sessions the answer lacks. */
static void warn_missing(const json_t *answer)
{
	const json_int_t omitted = ctl_int(answer, "omitted_sessions");
	const json_t *unknown = json_object_get(answer, "unknown_workers");
	char ids[128];

	if (omitted > 0)
		ctl_complain("%" JSON_INTEGER_FORMAT " further sessions are not listed", omitted);
	ctl_format_ids(unknown, ids, sizeof(ids));
	if (ids[0])
		ctl_complain("the sessions of these workers are unknown: %s; these workers have "
			     "not answered this agent yet, or run another version of Plenum "
			     "('plenum worker restart --outdated' restarts those)",
			     ids);
}

int ctl_cmd_sessions(const struct ctl_args *a)
{
	return ctl_show_list(a, RESOURCE_SESSIONS, print_sessions, a->json ? NULL : warn_missing);
}

/* ---- file locks ---- */

/* Adds the kind of the lock, such as "flock exclusive". */
static void add_kind(struct ctl_table *t, const json_t *l)
{
	ctl_table_add(t, "%s %s", ctl_text(l, "kind"), ctl_text(l, "mode"));
}

/* Adds the range of locked bytes: "all", "100-" or "100-199". */
static void add_range(struct ctl_table *t, const json_t *l)
{
	const json_int_t start = ctl_int(l, "start");

	if (json_is_integer(json_object_get(l, "end")))
		ctl_table_add(t, "%" JSON_INTEGER_FORMAT "-%" JSON_INTEGER_FORMAT, start,
			      ctl_int(l, "end"));
	else if (start > 0)
		ctl_table_add(t, "%" JSON_INTEGER_FORMAT "-", start);
	else
		ctl_table_add(t, "all");
}

static int print_locks(const struct ctl_args *a, const json_t *locks, const char *columns)
{
	static const char *const headings[] = {"ID",   "EXPORT", "FILE",  "HOST", "PID",
					       "KIND", "RANGE",	 "STATE", "SINCE"};
	PLENUM_CLEANUP(ctl_table_done) struct ctl_table t = CTL_TABLE(headings);
	const json_t *l;
	size_t i;

	json_array_foreach (locks, i, l) {
		ctl_table_add(&t, "%s", ctl_text(l, "id"));
		ctl_table_add(&t, "%s", ctl_text(l, "export"));
		if (*ctl_text(l, "file"))
			ctl_table_add(&t, "%s", ctl_text(l, "file"));
		else
			ctl_table_add(&t, "inode %" JSON_INTEGER_FORMAT, ctl_int(l, "inode"));
		ctl_table_add(&t, "%s", ctl_text(l, "host"));
		ctl_table_add_number(&t, l, "pid");
		add_kind(&t, l);
		add_range(&t, l);
		ctl_table_add(&t, "%s", ctl_text(l, "state"));
		add_seconds(&t, l, "since_s");
	}
	return ctl_view_print(a, &t, columns);
}

int ctl_cmd_locks(const struct ctl_args *a)
{
	return ctl_show_list(a, RESOURCE_LOCKS, print_locks, NULL);
}

static int print_break(const struct ctl_args *a, const json_t *answer)
{
	printf("Lock %s is being broken; 'plenum locks' shows its state.\n", a->operands[0]);
	return CTL_OK;
}

int ctl_cmd_locks_break(const struct ctl_args *a)
{
	const char *id = a->operands[0];
	const struct ctl_request rq = {.resource = RESOURCE_LOCK_BREAK, .name = id};

	if (strspn(id, "0123456789abcdef") != strlen(id) || !*id || strlen(id) > 16) {
		ctl_complain("'%.40s' is not an ID of 'plenum locks'", id);
		return CTL_USAGE;
	}
	return ctl_show(a, &rq, NULL, print_break);
}
