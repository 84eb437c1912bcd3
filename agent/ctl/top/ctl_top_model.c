/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes rates and sentences about problems from two answers of the agent. It needs neither an
 * agent nor a terminal, so that tests can call it.
 */
#include "agent/ctl/top/ctl_top.h"
#include "netcfg/base/text.h"
#include "netcfg/base/vec.h"

#include <inttypes.h>
#include <string.h>

const char *const top_sort_names[TOP_SORT_MAX] = {"health", "name", "traffic", "latency", "iops"};
const char *const top_kind_names[TOP_KIND_MAX] = {"legs", "workers", "peers", "mounts", "exports"};

#define SENTENCE_MAX 512
#define NUMBER_MAX 1e18 /* larger numbers are cut to this limit, so that their sums are finite */

void top_sample_done(struct top_sample *s)
{
	json_decref(s->status);
	json_decref(s->processes);
	*s = (struct top_sample){0};
}

void top_view_done(struct top_view *v)
{
	for (size_t i = 0; i < TOP_KIND_MAX; i++)
		free(v->tables[i].rows);
	json_decref(v->wrong);
	*v = (struct top_view){0};
}

/* ---- values ---- */

/* Copies as much of the text as there is room for. */
static void copy_text(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%s", text);
	text_trim(to);
}

static uint64_t count_of(const json_t *o, const char *key)
{
	return (uint64_t)MAX_OF(ctl_int(o, key), (json_int_t)0);
}

static double limited(const json_t *number)
{
	const double v = json_number_value(number);

	return v > NUMBER_MAX ? NUMBER_MAX : v > 0 ? v : 0;
}

/* ---- rows ---- */

/* Returns the row with that name, which is created if necessary, or NULL if memory is short. */
static struct top_row *row_of(struct top_view *v, enum top_kind kind, const char *name)
{
	struct top_table *t = &v->tables[kind];
	struct top_row *row;

	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->rows[i].name, name) == 0)
			return &t->rows[i];
	row = vec_add(&t->rows, &t->n, sizeof(*row));
	if (!row) {
		v->out_of_memory = true;
		return NULL;
	}
	row->since_s = UINT64_MAX;
	row->loss_percent = -1;
	copy_text(row->name, sizeof(row->name), name);
	return row;
}

static const char *worker_name(json_int_t id, char buf[24])
{
	snprintf(buf, 24, "%" JSON_INTEGER_FORMAT, id);
	return buf;
}

/* Returns the rate of a counter. If the counter is smaller than before, its process has restarted
 * and has counted from zero. */
static double rate(const json_t *before, const json_t *now, const char *key, double seconds)
{
	const uint64_t was = count_of(before, key), is = count_of(now, key);

	if (!before || seconds <= 0)
		return 0;
	return (double)(is >= was ? is - was : is) / seconds;
}

static bool same(const json_t *a, const json_t *b, const char *const *keys)
{
	for (; *keys; keys++)
		if (!json_equal(json_object_get(a, *keys), json_object_get(b, *keys)))
			return false;
	return true;
}

/* Finds the same object in the list of the previous answer. */
static const json_t *former(const struct top_sample *before, const char *list, const json_t *now,
			    const char *const *keys)
{
	const json_t *o;
	size_t i;

	json_array_foreach (before ? json_object_get(before->status, list) : NULL, i, o)
		if (same(o, now, keys))
			return o;
	return NULL;
}

static void add_loss_to(struct top_row *r, const json_t *now)
{
	const json_t *to = json_object_get(now, "loss_to_percent");
	const json_t *from = json_object_get(now, "loss_from_percent");

	if (json_is_number(to))
		r->loss_percent = MAX_OF(r->loss_percent, limited(to));
	if (json_is_number(from))
		r->loss_percent = MAX_OF(r->loss_percent, limited(from));
}

static void add_path_to(struct top_row *r, const json_t *before, const json_t *now, double seconds)
{
	bool up = json_is_true(json_object_get(now, "up"));
	uint64_t since_s = count_of(now, "since_s");

	if (!r)
		return;
	r->paths++;
	r->paths_up += up;
	if (up && ctl_rtt_is_current(now)) {
		r->rtt_us += limited(json_object_get(now, "srtt_us"));
		r->paths_rtt++;
	}
	if (!up)
		r->since_s = MIN_OF(r->since_s, since_s);
	r->tx_bytes += rate(before, now, "tx_bytes", seconds);
	r->rx_bytes += rate(before, now, "rx_bytes", seconds);
	r->rdma_read += rate(before, now, "rdma_read_bytes", seconds);
	r->rdma_write += rate(before, now, "rdma_write_bytes", seconds);
	r->packets +=
		rate(before, now, "tx_packets", seconds) + rate(before, now, "rx_packets", seconds);
	r->resent += rate(before, now, "retransmits", seconds);
	r->lost += rate(before, now, "lost_packets", seconds) +
		   rate(before, now, "rx_lost_packets", seconds);
	add_loss_to(r, now);
	r->failovers += count_of(now, "failovers");
}

static void add_paths(struct top_view *v, const struct top_sample *before,
		      const struct top_sample *now, double seconds)
{
	static const char *const keys[] = {"worker", "leg", "local", "remote", "peer", NULL};
	const json_t *p, *was;
	char id[24];
	size_t i;

	json_array_foreach (json_object_get(now->status, "paths"), i, p) {
		was = former(before, "paths", p, keys);
		add_path_to(row_of(v, TOP_LEGS, ctl_text(p, "leg")), was, p, seconds);
		add_path_to(row_of(v, TOP_WORKERS, worker_name(ctl_int(p, "worker"), id)), was, p,
			    seconds);
		add_path_to(row_of(v, TOP_PEERS, ctl_text(p, "peer")), was, p, seconds);
	}
}

static void add_legs(struct top_view *v, const json_t *status)
{
	const json_t *leg;
	size_t i;

	json_array_foreach (json_object_get(status, "legs"), i, leg) {
		struct top_row *r = row_of(v, TOP_LEGS, ctl_text(leg, "name"));

		if (!r)
			return;
		copy_text(r->state, sizeof(r->state), ctl_text(leg, "state"));
		snprintf(r->about, sizeof(r->about), "%s%s%s", ctl_text(leg, "switch"),
			 *ctl_text(leg, "switch") ? " " : "", ctl_text(leg, "switch_port"));
		text_trim(r->about);
		r->bad = strcmp(r->state, "usable") != 0;
	}
}

static void add_workers(struct top_view *v, const struct top_sample *before,
			const struct top_sample *now, double seconds)
{
	static const char *const keys[] = {"worker", NULL};
	const json_t *o;
	char id[24];
	size_t i;

	json_array_foreach (json_object_get(now->processes, "processes"), i, o) {
		const char *slash = strrchr(ctl_text(o, "id"), '/');
		struct top_row *r;

		if (strcmp(ctl_text(o, "role"), "MANAGEMENT") == 0 || !slash)
			continue;
		r = row_of(v, TOP_WORKERS, slash + 1);
		if (!r)
			return;
		copy_text(r->state, sizeof(r->state), ctl_text(o, "status"));
		copy_text(r->role, sizeof(r->role), ctl_text(o, "role"));
		copy_text(r->network, sizeof(r->network), ctl_text(o, "network"));
		r->bad = strcmp(r->state, "UP") != 0;
	}
	json_array_foreach (json_object_get(now->status, "traffic"), i, o) {
		const json_t *was = former(before, "traffic", o, keys);
		struct top_row *r = row_of(v, TOP_WORKERS, worker_name(ctl_int(o, "worker"), id));
		bool front = strcmp(ctl_text(o, "role"), "FRONTEND") == 0;

		if (!r)
			return;
		r->ops = rate(was, o, front ? "requests" : "responses", seconds);
		r->read_bytes = rate(was, o, "read_bytes", seconds);
		r->write_bytes = rate(was, o, "write_bytes", seconds);
		r->errors = rate(was, o, "errors", seconds);
		r->sessions = count_of(o, "sessions");
	}
}

/* ---- mounts and exports ---- */

/* Adds the rate of all classes of requests of the object, and sets the longest of their 99th
 * percentiles. The agent measured both over a few seconds, so they do not depend on the time
 * between two answers. */
static void add_latency(struct top_row *r, const json_t *object)
{
	const json_t *l;
	size_t i;

	r->object = object;
	json_array_foreach (json_object_get(object, "latency"), i, l) {
		double seconds = limited(json_object_get(l, "seconds"));

		if (seconds > 0)
			r->ops += limited(json_object_get(l, "requests")) / seconds;
		r->rtt_us = MAX_OF(r->rtt_us, limited(json_object_get(l, "p99_us")));
	}
}

static void add_mounts(struct top_view *v, const json_t *status)
{
	const json_t *m;
	size_t i;

	json_array_foreach (json_object_get(status, "mounts"), i, m) {
		struct top_row *r = row_of(v, TOP_MOUNTS, ctl_text(m, "path"));

		if (!r)
			return;
		r->bad = !json_is_true(json_object_get(m, "served"));
		copy_text(r->state, sizeof(r->state),
			  r->bad					? "waits"
			  : json_is_true(json_object_get(m, "limited")) ? "limited"
									: "served");
		snprintf(r->about, sizeof(r->about), "%s:%s", ctl_text(m, "peer"),
			 ctl_text(m, "export"));
		text_trim(r->about);
		add_latency(r, m);
	}
}

static void add_exports(struct top_view *v, const json_t *status)
{
	const json_t *e;
	size_t i;

	json_array_foreach (json_object_get(status, "exports"), i, e) {
		struct top_row *r = row_of(v, TOP_EXPORTS, ctl_text(e, "name"));

		if (!r)
			return;
		copy_text(r->about, sizeof(r->about), ctl_text(e, "path"));
		copy_text(r->state, sizeof(r->state), "exported");
		add_latency(r, e);
	}
}

/* ---- sentences about problems ---- */

static void wrong(struct top_view *v, const char *fmt, ...) PLENUM_PRINTF(2, 3);

static void wrong(struct top_view *v, const char *fmt, ...)
{
	char text[SENTENCE_MAX];
	json_t *o;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_trim(text);
	o = json_string(text);
	if (json_array_append_new(v->wrong, o ? o : json_string("?")) < 0)
		v->out_of_memory = true;
}

/* Returns the sentence of a reason, without its code. */
static const char *without_code(const char *reason)
{
	const char *colon = strstr(reason, ": ");

	return colon ? colon + 2 : reason;
}

/* Returns the reason of the first path of the leg that is down and has a reason, or "" if there is
 * none. */
static const char *reason_of_leg(const json_t *status, const char *leg)
{
	const json_t *p;
	size_t i;

	json_array_foreach (json_object_get(status, "paths"), i, p)
		if (strcmp(ctl_text(p, "leg"), leg) == 0 &&
		    !json_is_true(json_object_get(p, "up")) && *ctl_text(p, "reason"))
			return ctl_text(p, "reason");
	return "";
}

static void say_legs(struct top_view *v, const json_t *status)
{
	const struct top_table *t = &v->tables[TOP_LEGS];
	char since[32];

	for (size_t i = 0; i < t->n; i++) {
		struct top_row *r = &t->rows[i];
		const char *why = reason_of_leg(status, r->name);

		if (r->paths_up == r->paths)
			continue;
		wrong(v, "leg %s: %u of %u path%s up since %s: %.300s", r->name, r->paths_up,
		      r->paths, r->paths == 1 ? "" : "s",
		      ctl_format_seconds((json_int_t)r->since_s, since, sizeof(since)),
		      *why ? without_code(why) : "peer silent");
		r->bad = true;
	}
}

static void say_mounts(struct top_view *v, const json_t *status)
{
	const json_t *m;
	size_t i;

	json_array_foreach (json_object_get(status, "mounts"), i, m)
		if (!json_is_true(json_object_get(m, "served")))
			wrong(v, "mount %s waits for %s:%s", ctl_text(m, "path"),
			      ctl_text(m, "peer"), ctl_text(m, "export"));
}

/* Returns whether a sentence already has this reason. */
static bool is_mentioned(const struct top_view *v, const char *reason)
{
	const char *text;
	const json_t *o;
	size_t i;

	json_array_foreach (v->wrong, i, o) {
		const char *said = strstr(json_string_value(o), ": ");

		said = said ? strstr(said + 2, ": ") : NULL;
		text = said ? said + 2 : json_string_value(o);
		if (*text && strstr(reason, text))
			return true;
	}
	return false;
}

static void say_reasons(struct top_view *v, const json_t *status)
{
	const json_t *o;
	size_t i;

	json_array_foreach (json_object_get(status, "reasons"), i, o)
		if (json_is_string(o) && !is_mentioned(v, json_string_value(o)))
			wrong(v, "%s", json_string_value(o));
}

/* ---- order of rows ---- */

static int by_number(double a, double b)
{
	return a > b ? -1 : a < b;
}

static int by_name(const struct top_row *a, const struct top_row *b)
{
	return strverscmp(a->name, b->name);
}

static int compare(const void *a, const void *b, void *user)
{
	const struct top_row *x = a, *y = b;
	int r = 0;

	switch (*(const enum top_sort *)user) {
	case TOP_BY_HEALTH:
		r = (int)y->bad - (int)x->bad;
		if (r == 0)
			r = (int)(y->paths - y->paths_up) - (int)(x->paths - x->paths_up);
		break;
	case TOP_BY_TRAFFIC:
		r = by_number(x->tx_bytes + x->rx_bytes + x->rdma_read + x->rdma_write,
			      y->tx_bytes + y->rx_bytes + y->rdma_read + y->rdma_write);
		break;
	case TOP_BY_LATENCY:
		r = by_number(x->rtt_us, y->rtt_us);
		break;
	case TOP_BY_OPS:
		r = by_number(x->ops, y->ops);
		break;
	case TOP_BY_NAME:
	case TOP_SORT_MAX:
		break;
	}
	return r ? r : by_name(x, y);
}

static void finish(struct top_table *t, enum top_sort sort)
{
	for (size_t i = 0; i < t->n; i++) {
		struct top_row *r = &t->rows[i];

		if (r->paths_rtt)
			r->rtt_us /= r->paths_rtt;
		r->bad = r->bad || r->paths_up < r->paths;
		if (!r->state[0]) /* a peer, or a leg that is no longer configured */
			snprintf(r->state, sizeof(r->state), "%s",
				 !r->paths_up		  ? "silent"
				 : r->paths_up < r->paths ? "degraded"
							  : "up");
	}
	if (t->n)
		qsort_r(t->rows, t->n, sizeof(*t->rows), compare, &sort);
}

void top_view_make(const struct top_sample *before, const struct top_sample *now,
		   enum top_sort sort, struct top_view *ret)
{
	bool two = before && before->status;
	double seconds = two ? (double)(now->at_ns - before->at_ns) / NSEC_PER_SEC : 0;
	const json_t *workers = json_object_get(now->status, "workers");

	*ret = (struct top_view){.wrong = json_array()};
	copy_text(ret->host, sizeof(ret->host), ctl_text(now->status, "host"));
	copy_text(ret->state, sizeof(ret->state), ctl_text(now->status, "state"));
	ret->workers_up = count_of(workers, "up");
	ret->workers = count_of(workers, "total");
	add_legs(ret, now->status);
	add_paths(ret, two ? before : NULL, now, seconds);
	add_workers(ret, two ? before : NULL, now, seconds);
	add_mounts(ret, now->status);
	add_exports(ret, now->status);
	say_legs(ret, now->status);
	say_mounts(ret, now->status);
	say_reasons(ret, now->status);
	for (size_t i = 0; i < TOP_KIND_MAX; i++)
		finish(&ret->tables[i], sort);
}

/* ---- text of cells ---- */

enum column {
	C_NAME,
	C_STATE,
	C_PATHS,
	C_TX,
	C_RX,
	C_RDMA_READ,
	C_RDMA_WRITE,
	C_PACKETS,
	C_RTT,
	C_RESENT,
	C_LOST,
	C_LOSS,
	C_FAILOVERS,
	C_ABOUT,
	C_ROLE,
	C_NETWORK,
	C_OPS,
	C_READ,
	C_WRITE,
	C_ERRORS,
	C_SESSIONS,
	C_READ_MS,
	C_WRITE_MS,
	C_SYNC_MS,
	C_METADATA_MS,
};

static const struct {
	enum column column;
	const char *heading;
} columns[TOP_KIND_MAX][TOP_COLUMNS_MAX + 1] = {
	[TOP_LEGS] = {{C_NAME, "LEG"},
		      {C_STATE, "STATE"},
		      {C_PATHS, "PATHS"},
		      {C_TX, "SENT/s"},
		      {C_RX, "RECEIVED/s"},
		      {C_RDMA_READ, "RDMA READ/s"},
		      {C_RDMA_WRITE, "RDMA WRITTEN/s"},
		      {C_PACKETS, "PACKETS/s"},
		      {C_RTT, "LATENCY"},
		      {C_RESENT, "RESENT/s"},
		      {C_LOST, "LOST/s"},
		      {C_LOSS, "LOSS"},
		      {C_FAILOVERS, "FAILOVERS"},
		      {C_ABOUT, "SWITCH PORT"}},
	[TOP_WORKERS] = {{C_NAME, "WORKER"},
			 {C_ROLE, "ROLE"},
			 {C_NETWORK, "NETWORK"},
			 {C_STATE, "STATE"},
			 {C_OPS, "IOPS"},
			 {C_READ, "READ/s"},
			 {C_WRITE, "WRITTEN/s"},
			 {C_ERRORS, "ERRORS/s"},
			 {C_TX, "SENT/s"},
			 {C_RX, "RECEIVED/s"},
			 {C_RDMA_READ, "RDMA READ/s"},
			 {C_RDMA_WRITE, "RDMA WRITTEN/s"},
			 {C_RTT, "LATENCY"},
			 {C_SESSIONS, "SESSIONS"}},
	[TOP_PEERS] = {{C_NAME, "PEER"},
		       {C_STATE, "STATE"},
		       {C_PATHS, "PATHS"},
		       {C_TX, "SENT/s"},
		       {C_RX, "RECEIVED/s"},
		       {C_RDMA_READ, "RDMA READ/s"},
		       {C_RDMA_WRITE, "RDMA WRITTEN/s"},
		       {C_PACKETS, "PACKETS/s"},
		       {C_RTT, "LATENCY"},
		       {C_RESENT, "RESENT/s"},
		       {C_LOST, "LOST/s"},
		       {C_LOSS, "LOSS"},
		       {C_FAILOVERS, "FAILOVERS"}},
	[TOP_MOUNTS] = {{C_NAME, "MOUNT"},
			{C_ABOUT, "FROM"},
			{C_STATE, "STATE"},
			{C_OPS, "IOPS"},
			{C_READ_MS, "READ MS"},
			{C_WRITE_MS, "WRITE MS"},
			{C_SYNC_MS, "SYNC MS"},
			{C_METADATA_MS, "METADATA MS"}},
	[TOP_EXPORTS] = {{C_NAME, "EXPORT"},
			 {C_ABOUT, "PATH"},
			 {C_OPS, "IOPS"},
			 {C_READ_MS, "READ MS"},
			 {C_WRITE_MS, "WRITE MS"},
			 {C_SYNC_MS, "SYNC MS"},
			 {C_METADATA_MS, "METADATA MS"}},
};

const char *top_heading(enum top_kind k, unsigned column)
{
	return column < TOP_COLUMNS_MAX ? columns[k][column].heading : NULL;
}

static const char *format_rate(double v, char *buf)
{
	snprintf(buf, TOP_CELL_MAX, v > 0 && v < 10 ? "%.1f" : "%.0f", v);
	return buf;
}

static const char *format_latency(const struct top_row *r, char *buf)
{
	if (!r->paths_rtt)
		snprintf(buf, TOP_CELL_MAX, "-");
	else if (r->rtt_us < 10000)
		snprintf(buf, TOP_CELL_MAX, "%.0f us", r->rtt_us);
	else
		snprintf(buf, TOP_CELL_MAX, "%.0f ms", r->rtt_us / 1000);
	return buf;
}

static const char *format_loss(const struct top_row *r, char *buf)
{
	if (r->loss_percent < 0)
		snprintf(buf, TOP_CELL_MAX, "-");
	else
		snprintf(buf, TOP_CELL_MAX,
			 r->loss_percent > 0 && r->loss_percent < 10 ? "%.2g%%" : "%.0f%%",
			 r->loss_percent);
	return buf;
}

const char *top_cell(enum top_kind k, const struct top_row *r, unsigned column, char *buf)
{
	const double rates[] = {
		[C_PACKETS] = r->packets, [C_RESENT] = r->resent, [C_LOST] = r->lost,
		[C_OPS] = r->ops,	  [C_ERRORS] = r->errors,
	};
	const double bytes[] = {[C_TX] = r->tx_bytes,	      [C_RX] = r->rx_bytes,
				[C_RDMA_READ] = r->rdma_read, [C_RDMA_WRITE] = r->rdma_write,
				[C_READ] = r->read_bytes,     [C_WRITE] = r->write_bytes};
	const char *const texts[] = {[C_NAME] = r->name,
				     [C_STATE] = r->state,
				     [C_ABOUT] = r->about,
				     [C_ROLE] = r->role,
				     [C_NETWORK] = r->network};
	enum column c = columns[k][column].column;

	switch (c) {
	case C_PATHS:
		snprintf(buf, TOP_CELL_MAX, "%u/%u", r->paths_up, r->paths);
		return buf;
	case C_TX:
	case C_RX:
	case C_RDMA_READ:
	case C_RDMA_WRITE:
	case C_READ:
	case C_WRITE:
		return ctl_format_bytes((json_int_t)MIN_OF(bytes[c], NUMBER_MAX), buf,
					TOP_CELL_MAX);
	case C_RTT:
		return format_latency(r, buf);
	case C_LOSS:
		return format_loss(r, buf);
	case C_READ_MS:
		return ctl_format_latency(r->object, "read", buf);
	case C_WRITE_MS:
		return ctl_format_latency(r->object, "write", buf);
	case C_SYNC_MS:
		return ctl_format_latency(r->object, "sync", buf);
	case C_METADATA_MS:
		return ctl_format_latency(r->object, "metadata", buf);
	case C_FAILOVERS:
	case C_SESSIONS:
		snprintf(buf, TOP_CELL_MAX, "%" PRIu64,
			 c == C_FAILOVERS ? r->failovers : r->sessions);
		return buf;
	case C_PACKETS:
	case C_RESENT:
	case C_LOST:
	case C_OPS:
	case C_ERRORS:
		return format_rate(rates[c], buf);
	default:
		snprintf(buf, TOP_CELL_MAX, "%.60s", *texts[c] ? texts[c] : "-");
		text_trim(buf);
		return buf;
	}
}
