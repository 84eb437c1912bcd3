/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the probes of legs for the agent, and publishes and reports what they find. */
#include "agent/legs/leg_links.h"
#include "agent/agent.h"
#include "agent/base/stats_page.h"
#include "agent/cluster/view/links_rows.h"
#include "agent/links/links.h"
#include "agent/links/links_watch.h"
#include "netcfg/base/files/secret.h"
#include <stdio.h>
#include <string.h>

#define LOOK_NS (2 * NSEC_PER_SEC)
#define REPEAT_NS (60 * NSEC_PER_SEC) /* how often an unchanged record is written again */
/* The rate limit for changed records: how many may be written at once, and the time until one more
 * may follow. */
#define CHANGES_MAX 20
#define CHANGE_NS (3 * NSEC_PER_SEC)

struct leg_links {
	struct links_watch *watch;
	struct loop_source *timer;
	struct links_keys keys;
	char keys_of[PLENUM_NAME_MAX]; /* the cluster that has these keys */
	bool keys_failed;	       /* the keys could not be read; reading is retried */
	json_t *published; /* the last record without its changing numbers; NULL: no record was
			      written */
	uint64_t published_ns;
	unsigned changes; /* how many records may be written at once now */
	uint64_t refilled_ns;
	/* The paths of workers, as the last verdicts used them. */
	struct links_path paths[LINKS_PATHS_MAX];
	size_t n_paths;
};

/* ---- legs ---- */

static bool is_used(const struct agent *a)
{
	return a->running.spec && a->running.plan && a->running.inv && cluster_is_used(a->cluster);
}

static bool probes(const struct agent *a)
{
	return is_used(a) && a->running.spec->cluster.probe_legs;
}

static size_t list_legs(const struct agent *a, struct links_watch_leg legs[PLENUM_LEGS_MAX])
{
	const struct plan *p = a->running.plan;
	size_t n = 0;

	for (size_t i = 0; is_used(a) && i < p->n_legs && n < PLENUM_LEGS_MAX; i++) {
		const struct plan_leg_info *info = &p->legs[i];
		const struct inv_link *link = inv_link_by_index(a->running.inv, info->ifindex);
		bool owned;
		const struct plan_port *port = plan_port_on(p, a->running.inv, info->name, &owned);

		if (!plan_leg_is_configured(info) || info->bond[0] || !link || !port)
			continue;
		legs[n] = (struct links_watch_leg){.ifindex = link->ifindex,
						   .mtu = port->mtu ? port->mtu : link->mtu,
						   .ip = port->ip,
						   .blocked = !probes(a) ? -ECANCELED
							      : owned	 ? 0
									 : -EADDRNOTAVAIL};
		memcpy(legs[n].name, info->name, sizeof(legs[n].name));
		memcpy(legs[n].network, info->network, sizeof(legs[n].network));
		memcpy(legs[n].ifname, link->name, sizeof(legs[n].ifname));
		n++;
	}
	return n;
}

/* Reads the keys of the cluster. A failure is not reported here, because the reasons of the workers
 * report it. */
static bool read_keys(const struct agent *a, struct links_keys *ret)
{
	const struct spec_cluster *c = &a->running.spec->cluster;
	struct secret s = {.n = 0};
	struct reason why;

	*ret = (struct links_keys){.n = 0};
	if (c->security == SPEC_SECURITY_NONE) {
		links_keys_add(ret, c->name, NULL, 0);
		return true;
	}
	if (secret_read(c->secret_file, &s, &why) < 0)
		return false;
	for (unsigned i = 0; i < s.n; i++)
		links_keys_add(ret, c->name, s.keys[i], sizeof(s.keys[i]));
	secret_wipe(&s);
	return true;
}

/* Keeps the keys that were read before while the file cannot be read, for example because an
 * operator is replacing it. */
static void update_keys(struct agent *a)
{
	struct leg_links *l = a->leg_links;
	struct links_keys keys = {.n = 0};

	l->keys_failed = probes(a) && !read_keys(a, &keys);
	if (l->keys_failed && strcmp(l->keys_of, a->running.spec->cluster.name) == 0)
		return;
	l->keys = keys;
	snprintf(l->keys_of, sizeof(l->keys_of), "%s",
		 probes(a) ? a->running.spec->cluster.name : "");
	explicit_bzero(&keys, sizeof(keys));
}

static void set_legs(struct agent *a)
{
	struct leg_links *l = a->leg_links;
	struct links_watch_leg legs[PLENUM_LEGS_MAX];
	struct links_watch_self self = {.cluster = ""};
	size_t n = list_legs(a, legs);

	if (probes(a) && l->keys.n == 0)
		n = 0;
	if (is_used(a)) {
		snprintf(self.cluster, sizeof(self.cluster), "%s", a->running.spec->cluster.name);
		snprintf(self.host, sizeof(self.host), "%s", a->running.spec->host);
	}
	links_watch_set(l->watch, &self, legs, n, &l->keys);
}

/* ---- what the probes have found ---- */

static bool has_carrier(const void *user, const struct links_watch_leg *leg)
{
	return carriers_usable(&((const struct agent *)user)->carriers, leg->ifindex);
}

/* Collects the paths of the worker that are up and were heard lately. Returns their new number. */
static size_t add_paths(const struct sup_worker *w, struct links_path ret[LINKS_PATHS_MAX],
			size_t n)
{
	struct launch_path_stats paths[LAUNCH_PATHS_MAX];
	const size_t n_paths =
		w->state == SUP_UP && w->stats ? stats_page_paths(w->stats, paths) : 0;
	const uint64_t now = clock_now_ns();

	for (size_t i = 0; i < n_paths && n < LINKS_PATHS_MAX; i++) {
		if (!links_path_counts(paths[i].up, paths[i].heard_ns, now) ||
		    ip_addr_parse(paths[i].remote, &ret[n].remote) < 0)
			continue;
		memcpy(ret[n].leg, paths[i].leg, sizeof(ret[n].leg));
		memcpy(ret[n].peer, paths[i].peer, sizeof(ret[n].peer));
		n++;
	}
	return n;
}

static void judge(struct agent *a)
{
	struct leg_links *l = a->leg_links;

	l->n_paths = 0;
	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		l->n_paths = add_paths(w, l->paths, l->n_paths);
	links_watch_judge(l->watch, l->paths, l->n_paths, has_carrier, a);
}

/* A lost carrier, a crossed cable or another host with the address explains the silence, and is
 * already reported as a problem. */
static bool is_explained(const struct agent *a, const struct links_watch_leg *leg)
{
	return !has_carrier(a, leg) || wiring_explains(a->wiring, leg->name, &leg->ip.addr, NULL);
}

/* Adds one reason if no leg of this host gets an answer: each leg alone is not to blame, but an
 * operator must see that the host is cut off. */
static void add_cut_off(json_t *list, const struct links_watch_leg *legs, size_t n)
{
	char names[PLENUM_LEGS_MAX * (PLENUM_NAME_MAX + 2)] = "";
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		if (legs[i].opinion.alone)
			len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s",
						len ? ", " : "", legs[i].name);
	if (len)
		json_array_append_new(
			list,
			json_sprintf("leg-unreachable: no host of the cluster answers on any leg "
				     "of this host (%s): the other hosts are down, or this host is "
				     "cut off; check its cables and switches, and 'plenum cluster "
				     "links' on another host",
				     names));
}

static void update_problems(struct agent *a)
{
	const struct links_watch_leg *legs;
	json_t *list = json_array();
	char text[REASON_FORMAT_MAX + 3 * PLENUM_NAME_MAX], buf[REASON_FORMAT_MAX];
	size_t n;

	legs = links_watch_legs(a->leg_links->watch, &n);
	for (size_t i = 0; list && i < n; i++) {
		if (!links_watch_is_dead(a->links, legs[i].name) || is_explained(a, &legs[i]))
			continue;
		snprintf(text, sizeof(text), "leg %s (%s) is degraded: %s", legs[i].name,
			 legs[i].ifname, reason_format(&legs[i].opinion.why, buf, sizeof(buf)));
		json_array_append_new(list, json_string(text));
	}
	add_cut_off(list, legs, n);
	if (problems_set(&a->problems, PROBLEMS_LINKS, NULL, list)) {
		agent_check_health(a); /* the problem of the dead leg already explains why its paths
					  are down */
		agent_update_state(a);
		agent_publish(a);
	}
	json_decref(list);
}

/* ---- the record in the store ---- */

static json_t *leg_to_json(const struct links_watch_leg *leg)
{
	const struct links_opinion *o = &leg->opinion;
	char ip[IP_ADDR_STR_MAX], text[REASON_FORMAT_MAX];

	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:b}", "name", leg->name, "ip",
			 ip_addr_format(&leg->ip.addr, ip, sizeof(ip)), "network", leg->network,
			 "verdict", links_verdict_to_string(o->verdict), "reason",
			 reason_format(&o->why, text, sizeof(text)), "session", (int)o->by_paths,
			 "probed", leg->error >= 0);
}

static void add_numbers(json_t *o, const struct links_report *r)
{
	json_object_set_new(o, "known", json_integer(r->known));
	json_object_set_new(o, "asked", json_integer(r->asked));
	json_object_set_new(o, "answering", json_integer(r->answering));
	if (r->has_loss)
		json_object_set_new(o, "loss_percent", json_integer(r->loss_percent));
	if (r->has_full_loss)
		json_object_set_new(o, "full_loss_percent", json_integer(r->full_loss_percent));
	if (r->rtt_ns)
		json_object_set_new(o, "rtt_us", json_integer((json_int_t)(r->rtt_ns / 1000)));
}

/* Adds the legs of other hosts that do not answer probes. Sessions may still use these legs. */
static void add_faults(const struct leg_links *l, json_t *list, const struct links_watch_leg *leg)
{
	const struct links_evidence e = {.paths = l->paths,
					 .n_paths = l->n_paths,
					 .answered = links_watch_answered(l->watch)};
	const struct links_report *r = &leg->report;
	char ip[IP_ADDR_STR_MAX];

	for (uint32_t i = 0; i < r->n_faults; i++) {
		const struct links_report_fault *f = &r->faults[i];
		const enum links_verdict v = links_judge_fault(leg, f, &e);

		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "host", f->host,
						      "leg", f->leg, "ip",
						      ip_addr_format(&f->ip, ip, sizeof(ip)),
						      "verdict", links_verdict_to_string(v)));
	}
}

/* Makes the record. *ret_stable gets a copy without the numbers that change all the time, to
 * compare records. That copy says whether losses are known, so that they are written when they are
 * known first. */
static json_t *make_record(const struct agent *a, json_t **ret_stable)
{
	const struct links_watch_leg *legs;
	json_t *list = json_array(), *faults = json_array(), *o;
	struct timespec now;
	size_t n;

	legs = links_watch_legs(a->leg_links->watch, &n);
	for (size_t i = 0; i < n; i++) {
		json_array_append_new(list, leg_to_json(&legs[i]));
		if (has_carrier(a, &legs[i]))
			add_faults(a->leg_links, faults, &legs[i]);
	}
	o = json_pack("{s:i, s:s, s:o, s:o}", "v", RECORDS_VERSION, "host", a->running.spec->host,
		      "legs", list, "faults", faults);
	*ret_stable = json_deep_copy(o);
	for (size_t i = 0; i < n; i++) {
		const struct links_report *r = &legs[i].report;

		json_object_set_new(json_array_get(json_object_get(*ret_stable, "legs"), i),
				    "measured", json_boolean(r->has_loss && r->has_full_loss));
		add_numbers(json_array_get(list, i), r);
	}
	clock_gettime(CLOCK_REALTIME, &now);
	json_object_set_new(o, "time_ms",
			    json_integer((json_int_t)now.tv_sec * 1000 + now.tv_nsec / 1000000));
	return o;
}

/* Returns whether a changed record may be written now. The limit protects the store from legs that
 * change all the time. */
static bool may_publish(struct leg_links *l, uint64_t now)
{
	const uint64_t n = (now - l->refilled_ns) / CHANGE_NS;

	l->changes = (unsigned)MIN_OF((uint64_t)CHANGES_MAX, l->changes + n);
	l->refilled_ns += n * CHANGE_NS;
	if (l->changes == 0)
		return false;
	l->changes--;
	return true;
}

static void publish(struct agent *a)
{
	struct leg_links *l = a->leg_links;
	const uint64_t now = clock_now_ns();
	json_t *record, *stable;
	char *text;

	if (!a->running.spec || !cluster_is_used(a->cluster) || (!is_used(a) && !l->published))
		return;
	record = make_record(a, &stable);
	if ((now >= l->published_ns + REPEAT_NS || !json_equal(stable, l->published)) &&
	    may_publish(l, now)) {
		text = links_rows_dump(record);
		if (text)
			cluster_publish(a->cluster, PRIVSEP_CLUSTER_LINKS_RECORD, text);
		free(text);
		l->published_ns = now;
		json_decref(l->published);
		l->published = json_incref(stable);
	}
	json_decref(stable);
	json_decref(record);
}

static void update(struct agent *a)
{
	judge(a);
	update_problems(a);
	publish(a);
}

/* ---- callbacks ---- */

static void on_report(void *user, const struct links_watch_leg *leg)
{
	struct agent *a = user;

	(void)leg;
	if (a->leg_links && a->leg_links->watch)
		update(a);
}

static int on_timer(void *user)
{
	struct agent *a = user;
	const struct links_watch_leg *legs;
	bool fails = false;
	size_t n;

	legs = links_watch_legs(a->leg_links->watch, &n);
	for (size_t i = 0; i < n; i++)
		fails |= legs[i].error < 0 && legs[i].error != -ECANCELED;
	if (a->leg_links->keys_failed) {
		update_keys(a);
		fails = true;
	}
	if (fails)
		set_legs(a);
	update(a);
	return loop_timer_arm(a->leg_links->timer, LOOK_NS);
}

void leg_links_take_plan(struct agent *a)
{
	if (!a->leg_links)
		return;
	update_keys(a);
	set_legs(a);
	update(a);
}

void leg_links_carrier(struct agent *a)
{
	if (a->leg_links)
		update(a);
}

void leg_links_members(struct agent *a, int fd, uint64_t len)
{
	if (a->leg_links)
		links_watch_members(a->leg_links->watch, fd, len);
}

/* ---- lifetime ---- */

int leg_links_init(struct agent *a)
{
	const struct links_watch_setup setup = {.loop = a->loop,
						.events = &a->events,
						.log_level = a->opt.log_level,
						.on_report = on_report,
						.user = a};
	struct leg_links *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->changes = CHANGES_MAX;
	l->refilled_ns = clock_now_ns();
	a->leg_links = l;
	r = links_watch_new(&setup, &l->watch);
	a->links = l->watch;
	if (r >= 0)
		r = loop_add_timer(a->loop, NSEC_PER_SEC / 2, on_timer, a, &l->timer);
	return r < 0 ? r : loop_timer_arm(l->timer, LOOK_NS);
}

void leg_links_done(struct agent *a)
{
	struct leg_links *l = ptr_take(a->leg_links);

	a->links = NULL;
	if (!l)
		return;
	l->watch = links_watch_free(l->watch);
	loop_source_free(l->timer);
	json_decref(l->published);
	explicit_bzero(&l->keys, sizeof(l->keys));
	free(l);
}
