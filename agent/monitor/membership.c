/* SPDX-License-Identifier: BSD-3-Clause */
/* Publishes this host in its cluster, and follows the addresses of other servers. */
#include "agent/monitor/membership.h"
#include "agent/base/path.h"
#include "agent/cluster/store/records.h"
#include "agent/control.h"
#include "agent/legs/leg_links.h"
#include "agent/monitor/rollout_host.h"
#include "agent/status.h"
#include <stdio.h>
#include <string.h>

#define STATE_FILE "cluster" /* a file in the state directory */
/* How long a reconcile waits for the cluster's answer about the pools of its configuration. */
#define POOLS_WAIT_NS (5 * NSEC_PER_SEC)

struct membership {
	char *path, *pools_path;
	struct loop_source *timer;
	struct loop_source *pools_timer; /* limits the wait for addresses of pools */
	bool pools_changed;		 /* addresses of pools changed during the wait */
	void (*on_taken)(struct agent *a);
	char *serving;	 /* the addresses and exports that were published last; NULL: none */
	json_t *summary; /* the summary that was published last, without the values that change all
			    the time */
	uint64_t state_ns; /* time of the last published summary; 0: none was published */
	struct membership_pace pace;
};

/* ---- the addresses of this host's servers ---- */

static void fill_label(const struct agent *a, const struct plan_worker *w, struct cluster_addr *to)
{
	for (size_t i = 0; i < w->n_ports; i++) {
		const struct label *l = labels_find(&a->labels, w->ports[i].leg);

		if (l && ip_addr_equal(&w->ports[i].ip.addr, &to->ip))
			snprintf(to->label, sizeof(to->label), "%s", l->text);
	}
}

static bool has_text(const json_t *exports, const char *name)
{
	const json_t *o;
	size_t i;

	json_array_foreach (exports, i, o)
		if (strcmp(json_string_value(o), name) == 0)
			return true;
	return false;
}

/* Adds the worker's addresses from the plan, not from the host, so that the published addresses do
 * not change when a leg fails. */
static void add_worker(const struct agent *a, const struct plan_worker *w, struct cluster_server *s,
		       json_t *exports)
{
	for (size_t i = 0; i < w->n_ips && s->n_addrs < CLUSTER_ADDRS_MAX; i++) {
		struct cluster_addr *to = &s->addrs[s->n_addrs++];

		to->ip = w->ips[i];
		to->port = w->udp_port;
		fill_label(a, w, to);
	}
	for (size_t i = 0; i < w->n_exports; i++)
		if (!has_text(exports, w->exports[i].name))
			json_array_append_new(exports, json_string(w->exports[i].name));
}

static void publish_serving(struct agent *a)
{
	struct membership *m = a->membership;
	struct cluster_server s = {.registered = 1};
	json_t *exports = json_array();
	char *text;

	snprintf(s.host, sizeof(s.host), "%s", a->running.spec->host);
	for (size_t i = 0; i < a->running.plan->n_workers; i++)
		if (a->running.plan->workers[i].role == SPEC_ROLE_COMPUTE)
			add_worker(a, &a->running.plan->workers[i], &s, exports);
	text = record_server_format(&s, exports);
	json_decref(exports);
	if (!text || (m->serving && strcmp(text, m->serving) == 0)) {
		free(text);
		return;
	}
	free(m->serving);
	m->serving = text;
	cluster_publish(a->cluster, PRIVSEP_CLUSTER_SERVING, text);
}

/* ---- the summary of this host ---- */

/* Copies the named members of an object to a new object. */
static json_t *pick(const json_t *from, const char *const *names)
{
	json_t *to = json_object();

	for (; to && *names; names++)
		if (json_object_get(from, *names))
			json_object_set(to, *names, json_object_get(from, *names));
	return to;
}

/* Returns the rows of `list` in an answer of the API, each with the named members only. Frees
 * `answer`. */
static json_t *pick_rows(json_t *answer, const char *list, const char *const *names)
{
	json_t *rows = json_array(), *o;
	size_t i;

	json_array_foreach (json_object_get(answer, list), i, o)
		if (i < RECORDS_ROWS_MAX)
			json_array_append_new(rows, pick(o, names));
	json_decref(answer);
	return rows;
}

/* Returns the code in the text of a problem, such as "no-carrier", or "other" if the text has no
 * code. */
static json_t *code_of(const char *problem)
{
	for (const char *at = problem; at; at = strstr(at, ": ")) {
		size_t n;

		at += *at == ':' ? 2 : 0;
		n = strspn(at, "abcdefghijklmnopqrstuvwxyz-");
		if (n > 2 && n < REASON_CODE_MAX && memchr(at, '-', n) && at[n] == ':')
			return json_stringn(at, n);
	}
	return json_string("other");
}

static json_t *codes_of(const struct status *st)
{
	json_t *list = json_array(), *code;
	size_t i;

	for (i = 0; list && i < st->n_problems && json_array_size(list) < 16; i++) {
		code = code_of(st->problems[i]);
		if (code && !has_text(list, json_string_value(code)))
			json_array_append(list, code);
		json_decref(code);
	}
	return list;
}

static json_t *processes_of(const struct status *st)
{
	static const char *const names[] = {
		"role", "ips",		"switches", "status",	"network", "core", "reason",
		"note", "memory_bytes", "uptime_s", "restarts", "version", NULL};
	json_t *rows = pick_rows(status_processes_to_json(st), "processes", names), *o;
	size_t i;

	json_array_foreach (rows, i, o)
		json_object_set_new(o, "id", json_sprintf("%u", st->processes[i].id));
	return rows;
}

static json_t *make_summary(const struct agent *a)
{
	static const char *const of_legs[] = {"name",	 "device", "ifname", "label",
					      "network", "state",  "reason", "carrier",
					      "up",	 "mtu",	   "ips",    NULL};
	static const char *const of_exports[] = {"name",      "path",	 "state", "reason",
						 "read_only", "clients", NULL};
	struct status st;
	json_t *o = NULL;

	if (status_collect(a, &st) < 0)
		return NULL;
	if (status_collect_hosts(a, &st) >= 0)
		o = json_pack("{s:i, s:s, s:s, s:s, s:i, s:i, s:o, s:o, s:o, s:o}", "v",
			      RECORDS_VERSION, "host", st.host, "state", st.state, "version",
			      PLENUM_VERSION, "workers_up", (int)st.workers_up, "workers_total",
			      (int)st.workers_total, "reasons", codes_of(&st), "processes",
			      processes_of(&st), "net",
			      pick_rows(status_net_to_json(&st), "net", of_legs), "exports",
			      pick_rows(status_exports_to_json(&st), "exports", of_exports));
	status_done(&st);
	return o;
}

/* Returns a copy of the summary without the values that change all the time. */
static json_t *stable(const json_t *summary)
{
	json_t *copy = json_deep_copy(summary), *o;
	size_t i;

	json_array_foreach (json_object_get(copy, "processes"), i, o) {
		json_object_del(o, "memory_bytes");
		json_object_del(o, "uptime_s");
	}
	return copy;
}

/* Returns the summary as text on the heap. If the text is too large, drops rows of processes. */
static char *format(json_t *summary)
{
	json_t *rows = json_object_get(summary, "processes");
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	json_object_set_new(summary, "time_ms",
			    json_integer((json_int_t)now.tv_sec * 1000 + now.tv_nsec / 1000000));
	for (;;) {
		char *text = json_dumps(summary, JSON_COMPACT | JSON_PRESERVE_ORDER);
		const size_t n = json_array_size(rows);

		if (!text || strlen(text) <= RECORDS_BYTES_MAX)
			return text;
		free(text);
		if (n == 0)
			return NULL;
		for (size_t i = n; i > n / 2; i--)
			json_array_remove(rows, i - 1);
	}
}

static void publish_state(struct agent *a)
{
	struct membership *m = a->membership;
	const uint64_t now = clock_now_ns();
	json_t *summary = make_summary(a), *news = stable(summary);
	char *text;

	if (summary && news &&
	    (!m->state_ns || now >= m->state_ns + MEMBERSHIP_REPEAT_NS ||
	     !json_equal(news, m->summary))) {
		text = format(summary);
		if (text)
			cluster_publish(a->cluster, PRIVSEP_CLUSTER_STATE, text);
		free(text);
		m->state_ns = now;
		json_decref(m->summary);
		m->summary = json_incref(news);
	}
	json_decref(news);
	json_decref(summary);
}

/* Reports the addresses that probes on the wire have found at other hosts. */
static void report_squatters(struct agent *a)
{
	const struct plan_conflicts *c = &a->reconcile.inputs.conflicts;

	for (size_t i = 0; i < c->n; i++)
		if (c->entries[i].known)
			cluster_squat(a->cluster, &c->entries[i].ip, &c->entries[i].by);
}

/* ---- callbacks ---- */

static int on_timer(void *user)
{
	struct agent *a = user;

	if (!cluster_is_used(a->cluster) || !a->running.spec || !a->running.plan)
		return 0;
	report_squatters(a);
	publish_serving(a);
	publish_state(a);
	return loop_timer_arm(a->membership->timer, MEMBERSHIP_LOOK_NS);
}

static void on_change(void *user)
{
	struct agent *a = user;
	json_t *problems = cluster_problems(a->cluster, a->running.spec);

	if (problems)
		rollout_host_problems(a, problems);
	if (problems && problems_set(&a->problems, PROBLEMS_CLUSTER, NULL, problems)) {
		agent_update_state(a);
		agent_publish(a);
	}
	json_decref(problems);
}

uint64_t membership_follow(struct membership_pace *p, uint64_t now_ns)
{
	const uint64_t soonest = now_ns + RECONCILE_DEBOUNCE_NS;

	if (p->gap_ns && now_ns < p->at_ns)
		return p->at_ns;
	/* The addresses have not changed for a long time, so the first change is followed at
	 * once. */
	if (!p->gap_ns || now_ns >= p->at_ns + 2 * p->gap_ns) {
		p->at_ns = soonest;
		p->gap_ns = MEMBERSHIP_FOLLOW_NS;
	} else {
		p->at_ns = MAX_OF(soonest, p->at_ns + p->gap_ns);
		p->gap_ns = MIN_OF(2 * p->gap_ns, MEMBERSHIP_FOLLOW_MAX_NS);
	}
	return p->at_ns;
}

static void on_servers(void *user)
{
	struct agent *a = user;
	const uint64_t now = clock_now_ns();

	if (a->running.spec)
		reconcile_arm(a, membership_follow(&a->membership->pace, now) - now);
}

static void on_revoked(void *user, const char *host, uint64_t epoch)
{
	sup_revoke(((struct agent *)user)->sup, host, epoch);
}

static void on_pools(void *user)
{
	struct agent *a = user;

	/* The waiting reconcile uses the addresses, but its configuration may not come into force.
	 * So membership_take_spec() requests another reconcile. */
	if (loop_timer_armed(a->membership->pools_timer))
		a->membership->pools_changed = true;
	else
		on_servers(a);
}

static void on_view(void *user, uint32_t view)
{
	rollout_host_on_view(user, view);
}

static void on_members(void *user, int fd, uint64_t len)
{
	leg_links_members(user, fd, len);
}

static void on_turn(void *user, const struct privsep_cluster_turn *turn, int fd)
{
	rollout_host_on_turn(user, turn, fd);
}

static void on_taken(void *user)
{
	struct agent *a = user;

	if (loop_timer_armed(a->membership->pools_timer))
		loop_timer_arm(a->membership->pools_timer, 0);
}

static int on_pools_timer(void *user)
{
	struct agent *a = user;

	a->membership->on_taken(a);
	return 0;
}

bool membership_take_pools(struct agent *a, const struct spec *s, void (*then)(struct agent *a))
{
	if (!a->cluster || !cluster_take_pools(a->cluster, s))
		return false;
	a->membership->on_taken = then;
	return loop_timer_arm(a->membership->pools_timer, POOLS_WAIT_NS) >= 0;
}

void membership_take_spec(struct agent *a)
{
	if (!a->cluster || !a->running.spec)
		return;
	cluster_set(a->cluster, a->running.spec);
	if (a->membership->pools_changed)
		on_servers(a);
	a->membership->pools_changed = false;
	if (!cluster_is_used(a->cluster))
		return;
	loop_timer_arm(a->membership->timer, NSEC_PER_SEC / 2);
	rollout_host_take_spec(a);
}

/* ---- notes about peers ---- */

static bool shares_addr(const struct spec_peer *p, const struct cluster_server *s)
{
	for (size_t i = 0; i < p->n_ips; i++)
		for (uint32_t k = 0; k < s->n_addrs; k++)
			if (ip_addr_equal(&p->ips[i], &s->addrs[k].ip))
				return true;
	return false;
}

void membership_note_peers(const struct agent *a, json_t *notes)
{
	const struct spec *s = a->running.spec;

	for (size_t i = 0; s && s->cluster.n_etcd && i < s->n_peers; i++) {
		const struct cluster_server *is =
			servers_find(&a->servers, s->cluster.name, s->peers[i].name);

		if (is && !shares_addr(&s->peers[i], is))
			json_array_append_new(
				notes,
				json_sprintf(
					"peer-differs: 'peers' has other addresses for %s than the "
					"cluster, and 'peers' is used; correct or remove its entry "
					"in 'peers'",
					s->peers[i].name));
	}
}

/* ---- lifetime ---- */

int membership_init(struct agent *a)
{
	struct cluster_setup setup = {.loop = a->loop,
				      .events = &a->events,
				      .log_level = a->opt.log_level,
				      .servers = &a->servers,
				      .pools = &a->pools,
				      .on_change = on_change,
				      .on_servers = on_servers,
				      .on_revoked = on_revoked,
				      .on_pools = on_pools,
				      .on_taken = on_taken,
				      .on_members = on_members,
				      .on_turn = on_turn,
				      .on_view = on_view,
				      .on_list = control_on_list,
				      .user = a};
	struct membership *m = calloc(1, sizeof(*m));
	int r;

	if (!m)
		return -ENOMEM;
	a->membership = m;
	m->path = path_join(a->rundir.state, STATE_FILE);
	m->pools_path = path_join(a->rundir.state, PLAN_POOLS_FILE);
	setup.path = m->path;
	setup.pools_path = m->pools_path;
	r = m->path && m->pools_path
		    ? loop_add_timer(a->loop, NSEC_PER_SEC / 10, on_timer, a, &m->timer)
		    : -ENOMEM;
	if (r >= 0)
		r = loop_add_timer(a->loop, NSEC_PER_MSEC, on_pools_timer, a, &m->pools_timer);
	if (r >= 0)
		r = rollout_host_init(a, on_change);
	return r < 0 ? r : cluster_new(&setup, &a->cluster);
}

void membership_done(struct agent *a)
{
	struct membership *m = a->membership;

	rollout_host_done(a);
	a->cluster = cluster_free(a->cluster);
	servers_done(&a->servers);
	plan_pools_done(&a->pools);
	if (!m)
		return;
	loop_source_free(m->timer);
	loop_source_free(m->pools_timer);
	json_decref(m->summary);
	free(m->serving);
	free(m->path);
	free(m->pools_path);
	free(ptr_take(a->membership));
}
