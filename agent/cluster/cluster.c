/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs the role `cluster`, and passes settings, values and reports between it and the agent. */
#include "agent/cluster/cluster.h"
#include "agent/base/child/child_role.h"
#include "agent/cluster/cluster_settings.h"
#include "agent/cluster/pools/pool.h"
#include "netcfg/base/diag.h"
#include "netcfg/base/file.h"
#include "netcfg/base/files/secret.h"
#include "netcfg/base/files/state_file.h"
#include "netcfg/base/os/memfd.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define START_RETRY_NS (10 * NSEC_PER_SEC)
#define SAVE_NS (10 * NSEC_PER_SEC) /* least time between two writes of the file of servers */

struct cluster {
	struct cluster_setup setup;
	struct child_role *role;
	char *settings; /* settings for the role as JSON, with the password of etcd; NULL: the
			   configuration has no cluster.etcd */
	json_t *wanted; /* names of the servers of this host's mounts */
	/* the values that this host publishes, by enum privsep_cluster_what */
	char *texts[PRIVSEP_CLUSTER_WHAT_MAX];
	struct cluster_report report;
	uint32_t told; /* the trouble that the last event has reported; CLUSTER_FINE: an event has
			  reported its end */
	struct reason files; /* why the files that the configuration names cannot be used */
	uint64_t reads[CLUSTER_READS_MAX];
	struct loop_source *starter; /* timer that starts the role again after a failed start */
	struct loop_source *saver;
	uint64_t saved_ns;	 /* when both record files were last written; 0: never */
	uint64_t pools_saved_ns; /* when a change of pools was last written at once; 0: never */
	struct cluster_pool_draft pool;
	uint64_t leave;		    /* id of the request to give the addresses back; 0: none */
	json_t *pools;		    /* the pools from which the role takes addresses */
	json_t *awaited;	    /* pools whose reports cluster_take_pools() waits for */
	char host[PLENUM_NAME_MAX]; /* name of this host, from the settings */
	char *identity_dir;	    /* NULL: cluster.identity is off */
};

/* ---- messages to the role ---- */

static void forget_text(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	free(ptr_take(*text));
}

static int send_text(struct cluster *c, enum privsep_type type, uint32_t what, const char *text)
{
	struct privsep_msg m = {.type = type, .cluster_text = {.what = what, .len = strlen(text)}};
	autoclose int fd = memfd_new_sealed("plenum-cluster", text, strlen(text));

	return fd < 0 ? fd : child_role_send(c->role, &m, fd);
}

static void send_all(struct cluster *c)
{
	int r = send_text(c, PRIVSEP_CLUSTER_SET, 0, c->settings);

	for (uint32_t i = 0; r >= 0 && i < ARRAY_SIZE(c->texts); i++)
		if (c->texts[i])
			r = send_text(c, PRIVSEP_CLUSTER_PUBLISH, i, c->texts[i]);
	if (r < 0 &&
	    r != -ENOTCONN) /* when the process has started, it gets all settings and values */
		log_warning("cannot pass the settings to the cluster process: %s", strerror(-r));
}

void cluster_publish(struct cluster *c, enum privsep_cluster_what what, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return;
	free(c->texts[what]);
	c->texts[what] = copy;
	if (c->settings && c->role)
		(void)send_text(c, PRIVSEP_CLUSTER_PUBLISH, what, text);
}

/* Sends a request, and stores its id, which the answer repeats. */
static int request(struct cluster *c, struct privsep_msg *m, int fd, uint64_t id)
{
	int r;

	if (!child_role_is_up(c->role))
		return -ENOTCONN;
	for (size_t i = 0; i < CLUSTER_READS_MAX; i++) {
		if (c->reads[i])
			continue;
		r = child_role_send(c->role, m, fd);
		if (r >= 0)
			c->reads[i] = id;
		return r;
	}
	return -EBUSY;
}

int cluster_read(struct cluster *c, uint32_t what, uint64_t id)
{
	struct privsep_msg m = {.type = PRIVSEP_CLUSTER_READ,
				.cluster_read = {.id = id, .what = what}};

	return request(c, &m, -1, id);
}

/* Removes the addresses that this host gives back from the record, before another host can take
 * them: this host must not use them again, even after a kill or a lost answer. */
static int forget_pools(struct cluster *c)
{
	char cluster[PLENUM_NAME_MAX];

	memcpy(cluster, c->setup.pools->cluster, sizeof(cluster));
	if (!cluster[0])
		return 0;
	plan_pools_done(c->setup.pools);
	cluster_pools_own(c->setup.pools, cluster, c->host, c->setup.servers->id);
	return plan_pools_save(c->setup.pools, c->setup.pools_path) < 0 ? -EIO : 0;
}

bool cluster_is_leaving(const struct cluster *c)
{
	return c && c->leave;
}

int cluster_edit(struct cluster *c, const struct privsep_cluster_edit *edit)
{
	struct privsep_msg m = {.type = PRIVSEP_CLUSTER_EDIT, .cluster_edit = *edit};
	int r = 0;

	if (edit->op == POOL_LEAVE)
		r = c->leave ? -EALREADY : child_role_is_up(c->role) ? forget_pools(c) : -ENOTCONN;
	if (r >= 0)
		r = request(c, &m, -1, edit->id);
	if (r >= 0 && edit->op == POOL_LEAVE)
		c->leave = edit->id;
	return r;
}

int cluster_rollout(struct cluster *c, const struct privsep_cluster_rollout *rq, const char *text)
{
	struct privsep_msg m = {.type = PRIVSEP_CLUSTER_ROLLOUT, .cluster_rollout = *rq};
	autoclose int fd = memfd_new_sealed("plenum-cluster", text, strlen(text));

	m.cluster_rollout.len = strlen(text);
	return fd < 0 ? fd : request(c, &m, fd, rq->id);
}

/* ---- messages from the role ---- */

/* Returns whether the monitor has requested that list, and removes the request. Answers without a
 * request are protocol errors. */
static bool take_read(struct cluster *c, uint64_t id)
{
	for (size_t i = 0; i < CLUSTER_READS_MAX; i++)
		if (id && c->reads[i] == id) {
			c->reads[i] = 0;
			return true;
		}
	return false;
}

static void end_wait(struct cluster *c, const char *name);

static void take_report(struct cluster *c, const struct cluster_report *r)
{
	const bool was_registered = c->report.registered;

	c->report = *r;
	if (r->trouble != c->told && r->trouble != CLUSTER_FINE) {
		c->told = r->trouble;
		events_add(c->setup.events, LOG_LEVEL_WARNING, "cluster", "%s", r->text);
	} else if (r->trouble != c->told && r->endpoint[0]) {
		c->told = CLUSTER_FINE;
		events_add(c->setup.events, LOG_LEVEL_NOTICE, "cluster", "etcd answers again");
	}
	if (r->registered && !was_registered)
		events_add(c->setup.events, LOG_LEVEL_INFO, "cluster",
			   "this host is registered in the cluster, by %s", r->endpoint);
	if (r->trouble == CLUSTER_NAME_TAKEN && cluster_pools_withhold(c->setup.pools))
		c->setup.on_pools(c->setup.user);
	end_wait(c, "");
	c->setup.on_change(c->setup.user);
}

static void save(struct cluster *c)
{
	int r = servers_save(c->setup.servers, c->setup.path);

	c->saved_ns = clock_now_ns();
	if (r < 0)
		events_add(c->setup.events, LOG_LEVEL_WARNING, "cluster",
			   "cannot write %.120s (%s): after a reboot without etcd, servers are not "
			   "found",
			   c->setup.path, state_file_error(r));
	r = c->setup.pools->cluster[0] ? plan_pools_save(c->setup.pools, c->setup.pools_path) : 0;
	if (r < 0)
		events_add(c->setup.events, LOG_LEVEL_WARNING, "cluster",
			   "cannot write %.120s (%s): after a restart without etcd, the addresses "
			   "of this host in pools are unknown",
			   c->setup.pools_path, state_file_error(r));
}

static int on_saver(void *user)
{
	return save(user), 0;
}

/* Schedules a write of both files, at most one in SAVE_NS. */
static void save_soon(struct cluster *c)
{
	const uint64_t now = clock_now_ns();
	const uint64_t at = c->saved_ns ? MAX_OF(now, c->saved_ns + SAVE_NS) : now;

	if (!loop_timer_armed(c->saver))
		loop_timer_arm(c->saver, at - now);
}

/* Stores the role's report about a server. Ignores a server that is no longer wanted. */
static void take_server(struct cluster *c, const struct cluster_server *s)
{
	const struct servers_entry *was = servers_entry(c->setup.servers, s->host);
	const bool is_first = !was || was->is.n_addrs == 0;

	if (!servers_lists(c->wanted, s->host))
		return;
	if (servers_take(c->setup.servers, s)) {
		events_add(c->setup.events, LOG_LEVEL_NOTICE, "cluster",
			   is_first ? "found the server %s" : "the server %s has other addresses",
			   s->host);
		save_soon(c);
		c->setup.on_servers(c->setup.user);
	}
	c->setup.on_change(c->setup.user);
}

/* Writes the addresses before they are used, so that the next agent knows them after a kill. Writes
 * at most once per second in this way, even if reports keep arriving. */
static void save_pools_soon(struct cluster *c)
{
	const uint64_t now = clock_now_ns();

	if (c->pools_saved_ns && now < c->pools_saved_ns + NSEC_PER_SEC) {
		save_soon(c);
		return;
	}
	c->pools_saved_ns = now;
	save(c);
}

/* Writes the known addresses into the settings, which the next process of the role gets. */
static void refresh_settings(struct cluster *c)
{
	char *text = c->settings ? cluster_pools_refresh(c->settings, c->setup.pools) : NULL;

	if (!text)
		return;
	forget_text(&c->settings);
	c->settings = text;
}

/* Removes the address from the record before another host can take it, so that this host does not
 * use it again after a kill. */
static void forget_address(struct cluster *c, struct plan_pool *p, const struct ip_addr *ip)
{
	for (size_t i = 0; i < p->n; i++)
		if (ip_addr_equal(&p->addrs[i], ip))
			p->addrs[i] = (struct ip_addr){.family = 0};
	refresh_settings(c);
	save_pools_soon(c);
}

void cluster_squat(struct cluster *c, const struct ip_addr *ip, const struct mac_addr *by)
{
	struct privsep_msg m = {.type = PRIVSEP_CLUSTER_SQUAT,
				.cluster_squat = {.ip = *ip, .by = *by}};
	struct plan_pool *p = plan_pools_of(c->setup.pools, ip);
	char text[IP_ADDR_STR_MAX], mac[MAC_ADDR_STR_MAX];

	if (!p || !cluster_pools_is_wanted(c->pools, p->name) ||
	    child_role_send(c->role, &m, -1) < 0)
		return;
	events_add(c->setup.events, LOG_LEVEL_WARNING, "cluster",
		   "pool-squatter: another host, MAC address %s, uses %s, an address of the pool "
		   "'%s' that this host owns; this host takes another address",
		   mac_addr_format(by, mac, sizeof(mac)), ip_addr_format(ip, text, sizeof(text)),
		   p->name);
	forget_address(c, p, ip);
}

static void use_pool(struct cluster *c, const struct plan_pool *p)
{
	if (reason_is_set(&p->why))
		events_add(c->setup.events, LOG_LEVEL_WARNING, "cluster", "%s", p->why.text);
	else
		events_add(c->setup.events, LOG_LEVEL_NOTICE, "cluster",
			   "this host has %zu addresses of the pool '%s'",
			   plan_pool_count(p->addrs, p->n), p->name);
	refresh_settings(c);
	save_pools_soon(c);
	c->setup.on_pools(c->setup.user);
	c->setup.on_change(c->setup.user);
}

static bool wait_is_over(const struct cluster *c)
{
	return json_object_size(c->awaited) == 0 ||
	       (c->report.trouble != CLUSTER_FINE && c->report.trouble != CLUSTER_UNREACHABLE);
}

/* Stops the wait for the addresses of that pool; name "": the report is about the store, so the
 * wait for all pools ends. */
static void end_wait(struct cluster *c, const char *name)
{
	const bool waited = json_object_size(c->awaited) > 0;

	json_object_del(c->awaited, name);
	if (waited && wait_is_over(c)) {
		json_object_clear(c->awaited);
		if (c->setup.on_taken)
			c->setup.on_taken(c->setup.user);
	}
}

static void take_pool(struct cluster *c, const struct cluster_pool_report *r)
{
	struct plan_pools *known = c->setup.pools;
	const struct plan_pool *p;
	bool changed;

	/* This report may be late, and belong to the former settings. */
	if (strcmp(r->cluster, c->setup.servers->cluster) != 0 ||
	    !cluster_pools_is_wanted(c->pools, r->pool.name))
		return;
	cluster_pools_own(known, r->cluster, c->host, c->setup.servers->id);
	changed = cluster_pools_take(known, &c->pool, r);
	if (r->at + r->n == r->n_total && known->withheld) {
		known->withheld = false;
		changed = true;
	}
	p = plan_pools_find(known, r->pool.name);
	if (changed && p)
		use_pool(c, p);
	if (r->at + r->n == r->n_total)
		end_wait(c, r->pool.name);
}

static const char *on_message(void *user, struct child_role *role, const struct privsep_msg *m,
			      int fd)
{
	struct cluster *c = user;
	struct cluster_report failed = {.registered = 0};
	struct spec_cluster spec = {.name = ""};
	struct identity_revocation is;
	struct reason why;

	switch ((enum privsep_type)m->type) {
	case PRIVSEP_CLUSTER_REPORT:
		take_report(c, &m->cluster_report);
		return NULL;
	case PRIVSEP_CLUSTER_SERVER:
		take_server(c, &m->cluster_server);
		return NULL;
	case PRIVSEP_CLUSTER_POOL:
		take_pool(c, &m->cluster_pool_report);
		return NULL;
	case PRIVSEP_CLUSTER_REVOKED:
		if (cluster_revoked_keep(c->identity_dir, c->setup.events, m->cluster_revoked.bytes,
					 &is) >= 0)
			c->setup.on_revoked(c->setup.user, is.host, is.epoch);
		return NULL;
	case PRIVSEP_CLUSTER_VIEW:
		c->setup.on_view(c->setup.user, m->cluster_view.view);
		return NULL;
	case PRIVSEP_CLUSTER_MEMBERS:
		if (c->setup.on_members)
			c->setup.on_members(c->setup.user, fd, m->cluster_text.len);
		return NULL;
	case PRIVSEP_CLUSTER_TURN:
		c->setup.on_turn(c->setup.user, &m->cluster_turn, fd);
		return NULL;
	case PRIVSEP_CLUSTER_ANSWER:
		if (c->leave == m->cluster_answer.id)
			c->leave = 0;
		if (take_read(c, m->cluster_answer.id))
			c->setup.on_list(c->setup.user, m->cluster_answer.id, fd,
					 m->cluster_answer.len, NULL);
		return NULL;
	case PRIVSEP_CLUSTER_FAILED:
		failed.trouble = m->cluster_failed.trouble;
		memcpy(failed.text, m->cluster_failed.text, sizeof(failed.text));
		memcpy(spec.name, c->setup.servers->cluster, sizeof(spec.name));
		cluster_reason(&failed, &spec, "", &why);
		if (c->leave == m->cluster_failed.id)
			c->leave = 0;
		if (take_read(c, m->cluster_failed.id))
			c->setup.on_list(c->setup.user, m->cluster_failed.id, -1, 0, &why);
		return NULL;
	default:
		return "this role may not send messages of this type";
	}
}

static void on_start(void *user, struct child_role *role)
{
	struct cluster *c = user;

	/* child_role_new() makes the first call, before it has set c->role. */
	c->role = role;
	send_all(c);
}

/* Ends all requests that wait for an answer, because the process has ended. */
static void fail_reads(struct cluster *c)
{
	struct reason why;

	reason_set(&why, "etcd-unreachable",
		   "the agent's process for the cluster has ended; try again");
	c->leave = 0;
	for (size_t i = 0; i < CLUSTER_READS_MAX; i++) {
		const uint64_t id = c->reads[i];

		if (take_read(c, id))
			c->setup.on_list(c->setup.user, id, -1, 0, &why);
	}
}

/* Reports a failure of the role's process as if the store were unreachable. */
static void take_failure(struct cluster *c, const char *text)
{
	struct cluster_report r = {.trouble = CLUSTER_UNREACHABLE};

	snprintf(r.text, sizeof(r.text), "%s", text);
	take_report(c, &r);
}

static void on_end(void *user, struct child_role *role)
{
	struct cluster *c = user;

	(void)role;
	fail_reads(c);
	take_failure(c, "the agent's process for etcd has ended");
}

/* ---- settings ---- */

static void stop(struct cluster *c)
{
	c->role = child_role_free(c->role);
	fail_reads(c);
	forget_text(&c->settings);
	loop_timer_disarm(c->starter);
	c->report = (struct cluster_report){.registered = 0};
	c->told = CLUSTER_FINE;
}

static void start(struct cluster *c)
{
	const struct child_role_setup setup = {.role = PRIVSEP_CLUSTER,
					       .loop = c->setup.loop,
					       .events = c->setup.events,
					       .log_level = c->setup.log_level,
					       .on_message = on_message,
					       .on_start = on_start,
					       .on_end = on_end,
					       .user = c};
	char text[CLUSTER_TEXT_MAX];
	int r = child_role_new(&setup, &c->role);

	if (r >= 0)
		return;
	c->role = NULL;
	snprintf(text, sizeof(text), "the agent's process for etcd cannot start: %s", strerror(-r));
	take_failure(c, text);
	loop_timer_arm(c->starter, START_RETRY_NS);
}

static int on_starter(void *user)
{
	struct cluster *c = user;

	if (c->settings && !c->role)
		start(c);
	return 0;
}

/* Lists the servers to find. Servers of former mounts stay in the table while it has room, because
 * an apply on trial may be rolled back. */
static void set_wanted(struct cluster *c, const struct spec *s)
{
	free(c->identity_dir);
	c->identity_dir = cluster_identity_dir(s);
	json_decref(c->wanted);
	c->wanted = cluster_settings_servers(s);
	if (c->setup.servers->n + json_array_size(c->wanted) > SERVERS_MAX)
		servers_keep(c->setup.servers, c->wanted);
}

/* Stores which pools the configuration needs addresses from. */
static void want_pools(struct cluster *c, const struct spec *s)
{
	json_decref(c->pools);
	c->pools = cluster_pools_wanted(c->setup.pools, s);
	json_object_clear(c->awaited);
	cluster_pools_keep(c->setup.pools, c->pools);
	snprintf(c->host, sizeof(c->host), "%s", s->host);
}

void cluster_set(struct cluster *c, const struct spec *s)
{
	struct reason why;
	char *settings;

	reason_clear(&c->files);
	if (!*s->cluster.name || s->cluster.n_etcd == 0) {
		if (c->settings)
			stop(c);
		c->setup.on_change(c->setup.user);
		return;
	}
	if (servers_set_cluster(c->setup.servers, s->cluster.name))
		log_info("removed the known servers, because they belong to another cluster");
	set_wanted(c, s);
	want_pools(c, s);
	settings = cluster_settings_make(&c->setup, s, &why);
	if (!settings) {
		c->files = why;
		if (c->settings)
			stop(c);
	} else if (!c->settings || strcmp(settings, c->settings) != 0) {
		forget_text(&c->settings);
		c->settings = ptr_take(settings);
		save(c);
		if (c->role)
			send_all(c);
	}
	if (c->settings && !c->role)
		start(c);
	forget_text(&settings);
	c->setup.on_change(c->setup.user);
}

/* Makes the role take addresses for that configuration. Returns whether the role will send a report
 * about these addresses. */
static bool ask_pools(struct cluster *c, const struct spec *s)
{
	struct reason why;
	char *other, *text;

	if (!c->settings) {
		cluster_set(c, s);
		return c->settings;
	}
	other = cluster_settings_make(&c->setup, s, &why);
	text = other ? cluster_pools_add(c->settings, other, &c->pools) : NULL;
	forget_text(&other);
	if (!text)
		return false;
	forget_text(&c->settings);
	c->settings = text;
	if (c->role)
		send_all(c);
	return true;
}

bool cluster_take_pools(struct cluster *c, const struct spec *s)
{
	json_t *wanted, *o;
	size_t i;

	if (!*s->cluster.name || s->cluster.n_etcd == 0 || !cluster_pools_lack(c->setup.pools, s) ||
	    !ask_pools(c, s))
		return false;
	wanted = cluster_pools_wanted(c->setup.pools, s);
	json_array_foreach (wanted, i, o)
		json_object_set_new(c->awaited, json_string_value(json_object_get(o, "name")),
				    json_true());
	json_decref(wanted);
	return !wait_is_over(c);
}

bool cluster_is_used(const struct cluster *c)
{
	return c && (c->settings || reason_is_set(&c->files));
}

/* ---- state ---- */

static void reason_of(const struct cluster *c, const struct spec *s, struct reason *why)
{
	struct cluster_report r = c->report;

	if (reason_is_set(&c->files)) {
		r.trouble = CLUSTER_FILES;
		snprintf(r.text, sizeof(r.text), "%.*s", CLUSTER_TEXT_MAX - 1, c->files.text);
	}
	cluster_reason(&r, &s->cluster, s->host, why);
}

json_t *cluster_problems(const struct cluster *c, const struct spec *s)
{
	json_t *list = json_array();
	char text[REASON_FORMAT_MAX];
	struct reason why;

	if (!list || !s || !cluster_is_used(c))
		return list;
	reason_of(c, s, &why);
	if (reason_is_set(&why))
		json_array_append_new(list, json_string(reason_format(&why, text, sizeof(text))));
	cluster_pools_problems(c->setup.pools, s, list);
	return list;
}

static bool is_peer(const struct spec *s, const char *host)
{
	for (size_t i = 0; i < s->n_peers; i++)
		if (strcmp(s->peers[i].name, host) == 0)
			return true;
	return false;
}

void cluster_why_unknown(const struct cluster *c, const struct spec *s, const char *server,
			 char *buf, size_t size)
{
	const struct servers_entry *e = servers_entry(c->setup.servers, server);
	char text[REASON_FORMAT_MAX];
	struct reason why;

	if (c->report.looked_up) {
		snprintf(buf, size,
			 e && !e->is.registered
				 ? "server-unknown: no host has registered as %.63s in the "
				   "cluster, and peers does not list it"
				 : "server-unknown: %.63s has no usable addresses in the cluster, "
				   "and peers does not list it",
			 server);
		return;
	}
	reason_of(c, s, &why);
	snprintf(buf, size, "server-unknown: %.63s was not looked up in the cluster yet%s%.150s",
		 server, reason_is_set(&why) ? ": " : "", reason_format(&why, text, sizeof(text)));
}

static json_t *server_to_json(const struct cluster *c, const struct spec *s, const char *host)
{
	const struct servers_entry *e = servers_entry(c->setup.servers, host);
	const struct cluster_server *is = e ? &e->is : NULL;
	const char *state = !is || (!is->registered && is->n_addrs == 0) ? "unknown"
			    : e->remembered || !c->report.looked_up	 ? "remembered"
			    : is->registered				 ? "registered"
									 : "unregistered";

	return json_pack("{s:s, s:s, s:s, s:o, s:o}", "host", host, "state", state, "source",
			 is_peer(s, host) ? "peers" : "cluster", "addresses",
			 servers_addrs_to_json(is), "labels", servers_labels_to_json(is));
}

json_t *cluster_to_json(const struct cluster *c, const struct spec *s)
{
	json_t *list = json_array(), *hosts = cluster_settings_servers(s), *host;
	char text[REASON_FORMAT_MAX];
	struct reason why;
	const char *state;
	size_t i;

	reason_of(c, s, &why);
	state = reason_is_set(&why)    ? "failing"
		: c->report.registered ? "registered"
				       : "connecting";
	json_array_foreach (hosts, i, host)
		json_array_append_new(list, server_to_json(c, s, json_string_value(host)));
	json_decref(hosts);
	return json_pack("{s:s, s:s, s:s, s:I, s:s, s:s, s:s, s:I, s:o, s:o}", "cluster",
			 s->cluster.name, "host", s->host, "id", c->setup.servers->id, "start",
			 (json_int_t)c->setup.servers->epoch, "state", state, "reason",
			 reason_format(&why, text, sizeof(text)), "endpoint", c->report.endpoint,
			 "lease_s", (json_int_t)c->report.lease_s, "servers", list, "pools",
			 cluster_pools_to_json(c->setup.pools, s));
}

pid_t cluster_pid(const struct cluster *c)
{
	return c ? child_role_pid(c->role) : 0;
}

/* ---- lifetime ---- */

static void load_pools(const struct cluster_setup *setup)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;

	if (plan_pools_load(setup->pools, setup->pools_path, &d) < 0)
		log_warning("cannot read %s: out of memory", setup->pools_path);
	if (strcmp(setup->pools->id, setup->servers->id) != 0)
		plan_pools_done(
			setup->pools); /* the record was copied from another state directory */
	for (size_t i = 0; i < d.n; i++)
		log_warning("%s", d.entries[i].text);
}

int cluster_new(const struct cluster_setup *setup, struct cluster **ret)
{
	struct cluster *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->setup = *setup;
	r = loop_add_timer(setup->loop, NSEC_PER_SEC, on_starter, c, &c->starter);
	if (r >= 0)
		r = loop_add_timer(setup->loop, NSEC_PER_MSEC, on_saver, c, &c->saver);
	if (r < 0) {
		cluster_free(c);
		return r;
	}
	r = servers_load(setup->servers, setup->path);
	if (r < 0)
		log_warning("cannot read %s (%s); servers of the cluster are unknown until etcd "
			    "answers, and this host has a new identity",
			    setup->path, state_file_error(r));
	load_pools(setup);
	c->awaited = json_object();
	*ret = c;
	return 0;
}

struct cluster *cluster_free(struct cluster *c)
{
	if (!c)
		return NULL;
	child_role_free(c->role);
	if (c->saver && loop_timer_armed(c->saver))
		save(c);
	loop_source_free(c->saver);
	loop_source_free(c->starter);
	json_decref(c->wanted);
	json_decref(c->pools);
	json_decref(c->awaited);
	free(c->pool.addrs);
	free(c->identity_dir);
	forget_text(&c->settings);
	for (size_t i = 0; i < ARRAY_SIZE(c->texts); i++)
		free(c->texts[i]);
	free(c);
	return NULL;
}
