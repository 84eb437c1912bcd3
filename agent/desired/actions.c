/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares the desired worker configurations with those of the supervisor, and describes each
 * difference as an action of the plan. */
#include "agent/desired/actions.h"
#include <stdio.h>
#include <string.h>

/* ---- workers ---- */

static const struct sup_worker *find_worker(const struct sup *s, uint32_t id)
{
	for (const struct sup_worker *w = sup_first(s); w; w = w->next)
		if (w->id == id && w->wanted)
			return w;
	return NULL;
}

/* Returns whether both workers have the same ports, struct launch_port. Ignores the UDP port
 * numbers unless udp_ports is set. */
static bool ports_equal(const struct launch_config *a, const struct launch_config *b,
			bool udp_ports)
{
	for (size_t i = 0; i < ARRAY_SIZE(a->ports); i++) {
		struct launch_port p = a->ports[i], q = b->ports[i];

		if (!udp_ports)
			p.udp_port = q.udp_port;
		if (memcmp(&p, &q, sizeof(p)) != 0)
			return false;
	}
	return a->n_ports == b->n_ports;
}

static const char *difference(const struct launch_config *a, const struct launch_config *b)
{
	if (a->role != b->role)
		return "its role changes";
	if (a->core != b->core)
		return "its core changes";
	if (a->transport != b->transport)
		return "its transport changes";
	if (!ports_equal(a, b, false))
		return "its legs or their addresses change";
	if (!ports_equal(a, b, true))
		return "its UDP port changes";
	if (a->failover != b->failover || a->hold_ms != b->hold_ms)
		return "its failover between legs changes";
	if (strcmp(a->host, b->host) != 0)
		return "the host's name changes";
	if (a->sessions != b->sessions)
		return "its maximum number of clients changes";
	if (a->security != b->security)
		return "its packet security changes";
	if (a->n_exports != b->n_exports || memcmp(a->exports, b->exports, sizeof(a->exports)) != 0)
		return "its exports change";
	if (memcmp(a->clients, b->clients, sizeof(a->clients)) != 0 ||
	    memcmp(a->client_addrs, b->client_addrs, sizeof(a->client_addrs)) != 0 ||
	    memcmp(a->ids, b->ids, sizeof(a->ids)) != 0)
		return "the clients of its exports change";
	if (a->n_mounts != b->n_mounts || memcmp(a->mounts, b->mounts, sizeof(a->mounts)) != 0)
		return "its mounts change";
	if (a->n_shared != b->n_shared || memcmp(a->shared, b->shared, sizeof(a->shared)) != 0)
		return "a mount that it serves as a mount worker changes";
	return "its settings change";
}

static const char *role_name(enum launch_role r)
{
	static const char *const names[LAUNCH_ROLE_MAX] = {"frontend", "compute", "drives"};

	return r < LAUNCH_ROLE_MAX ? names[r] : "?";
}

/* Compares the ports. A running worker takes a new leg without a restart; a worker that is being
 * restarted starts with all of its legs. */
static int compare_ports(const struct sup_worker *w, const struct launch_config *want,
			 struct plan *p)
{
	const bool lives = w->started && (w->state == SUP_UP || w->state == SUP_STARTING);
	int r = 0;

	for (uint32_t i = 0; r >= 0 && lives && i < want->n_ports; i++) {
		const struct launch_port *port = &want->ports[i],
					 *is = sup_port_find(w->started, port->leg);

		if (!is || !sup_port_equal(is, port))
			r = plan_action_say(p, false,
					    is ? "device replaced; worker keeps running"
					       : "leg available; worker keeps running",
					    "give %s (%s) to worker %u (%s on core %u)", port->leg,
					    port->ifname, w->id, role_name(want->role), want->core);
	}
	return r;
}

/* Compares the limits of the mounts, which a running worker changes without a restart. */
static int compare_limits(const struct sup_worker *w, const struct launch_config *want,
			  struct plan *p)
{
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < want->n_mounts; i++)
		if (!w->limits_unsure && sup_limits_differ(w, &want->mounts[i]))
			r = plan_action_say(p, false, "new limits; the mount stays",
					    "change the limits of %.180s", want->mounts[i].path);
	return r;
}

static int compare_worker(const struct sup *s, const struct launch_config *want, bool retry_failed,
			  struct launch_config *scratch, struct plan *p)
{
	const struct sup_worker *w = find_worker(s, want->worker_id);
	char reason[160];
	int r;

	if (!w)
		return plan_action_say(p, false, "configured but not running", PLAN_ACTION_START,
				       want->worker_id, role_name(want->role), want->core);
	memcpy(scratch, want, sizeof(*scratch));
	sup_config_normalise(scratch);
	if (sup_config_differs(scratch, &w->config))
		return plan_action_say(p, true, difference(scratch, &w->config),
				       "restart worker %u (%s on core %u)", w->id,
				       role_name(want->role), want->core);
	r = compare_ports(w, want, p);
	if (r < 0)
		return r;
	if (sup_lacks_keys(w, want))
		r = plan_action_say(p, false, "new cluster key; worker keeps running",
				    "renew the keys of worker %u (%s on core %u)", w->id,
				    role_name(want->role), want->core);
	if (r >= 0)
		r = compare_limits(w, want, p);
	if (r < 0 || !retry_failed || w->state != SUP_FAILED)
		return r;
	snprintf(reason, sizeof(reason), "it failed: %.140s", w->reason);
	return plan_action_say(p, false, reason, "start worker %u again", w->id);
}

static bool is_wanted(uint32_t id, const struct launch_config *desired, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (desired[i].worker_id == id)
			return true;
	return false;
}

static int compare_workers(const struct sup *s, const struct launch_config *desired, size_t n,
			   bool retry_failed, struct plan *p)
{
	autofree struct launch_config *scratch = malloc(sizeof(*scratch));
	int r = scratch ? 0 : -ENOMEM;

	for (const struct sup_worker *w = sup_first(s); r >= 0 && w; w = w->next)
		if (w->wanted && !is_wanted(w->id, desired, n))
			r = plan_action_say(p, true, "not configured", "stop worker %u", w->id);
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = compare_worker(s, &desired[i], retry_failed, scratch, p);
	return r;
}

/* ---- mounts ---- */

static bool has_mount(const struct launch_config *c, const struct launch_mount *m)
{
	for (uint32_t i = 0; i < c->n_mounts; i++)
		if (launch_mount_equal(&c->mounts[i], m))
			return true;
	return false;
}

bool actions_keep_mount(const struct launch_mount *m, const struct launch_config *desired, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (has_mount(&desired[i], m))
			return true;
	return false;
}

static bool mount_is_there(const struct sup *s, const struct launch_mount *m)
{
	for (const struct sup_worker *w = sup_first(s); w; w = w->next)
		if (w->wanted && has_mount(&w->config, m))
			return true;
	return false;
}

static int compare_mounts(const struct sup *s, const struct launch_config *desired, size_t n,
			  struct plan *p)
{
	int r = 0;

	for (const struct sup_worker *w = sup_first(s); w; w = w->next)
		for (uint32_t i = 0; r >= 0 && w->wanted && i < w->config.n_mounts; i++)
			if (!actions_keep_mount(&w->config.mounts[i], desired, n))
				r = plan_action_say(p, true, "not configured", "unmount %.180s",
						    w->config.mounts[i].path);
	for (size_t i = 0; i < n; i++)
		for (uint32_t j = 0; r >= 0 && j < desired[i].n_mounts; j++) {
			const struct launch_mount *m = &desired[i].mounts[j];

			if (!mount_is_there(s, m))
				r = plan_action_say(p, false, "configured but not mounted",
						    PLAN_ACTION_MOUNT, m->peer, m->export_name,
						    m->path);
		}
	return r;
}

/* ---- exports ---- */

static bool has_export(const struct launch_config *c, const struct launch_export *e)
{
	for (uint32_t i = 0; i < c->n_exports; i++)
		if (strcmp(c->exports[i].name, e->name) == 0 &&
		    strcmp(c->exports[i].path, e->path) == 0 &&
		    c->exports[i].read_only == e->read_only && c->exports[i].crosses == e->crosses)
			return true;
	return false;
}

bool actions_keep_export(const struct launch_export *e, const struct launch_config *desired,
			 size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (has_export(&desired[i], e))
			return true;
	return false;
}

static bool export_is_there(const struct sup *s, const struct launch_export *e)
{
	for (const struct sup_worker *w = sup_first(s); w; w = w->next)
		if (w->wanted && has_export(&w->config, e))
			return true;
	return false;
}

/* All workers of an entry have the entry's exports, but each export is reported only once, for the
 * first worker. */
static bool export_was_reported(const struct sup *s, const struct sup_worker *w,
				const struct launch_export *e)
{
	for (const struct sup_worker *o = sup_first(s); o && o != w; o = o->next)
		if (o->wanted && has_export(&o->config, e))
			return true;
	return false;
}

static int compare_exports(const struct sup *s, const struct launch_config *desired, size_t n,
			   struct plan *p)
{
	int r = 0;

	for (const struct sup_worker *w = sup_first(s); w; w = w->next)
		for (uint32_t i = 0; r >= 0 && w->wanted && i < w->config.n_exports; i++) {
			const struct launch_export *e = &w->config.exports[i];

			if (!actions_keep_export(e, desired, n) && !export_was_reported(s, w, e))
				r = plan_action_say(p, true,
						    "no longer configured with this name and path",
						    "end export %.60s (%.100s)", e->name, e->path);
		}
	for (size_t i = 0; i < n; i++)
		for (uint32_t j = 0; r >= 0 && j < desired[i].n_exports; j++) {
			const struct launch_export *e = &desired[i].exports[j];

			if (!export_is_there(s, e) && !actions_keep_export(e, desired, i))
				r = plan_action_say(p, false, "configured but not exported",
						    PLAN_ACTION_EXPORT, e->name, e->path,
						    e->read_only ? " read-only" : "");
		}
	return r;
}

/* Adds an action for each export whose folder changes. An operator's apply opens the exports' paths
 * again and exports the folders that are there now. */
static int compare_folders(const struct actions_task *t, const struct sup *s, struct plan *p)
{
	int r = 0;

	for (size_t i = 0; t->retry_failed && i < t->n_desired; i++)
		for (uint32_t j = 0; r >= 0 && j < t->desired[i].n_exports; j++) {
			const struct launch_export *e = &t->desired[i].exports[j];
			const struct reason *why = sup_export_differs(s, e);

			if (strcmp(why->code, "export-replaced") == 0 &&
			    !actions_keep_export(e, t->desired, i))
				r = plan_action_say(p, true, why->text,
						    "export the folder that is now at %.100s as "
						    "%.60s, and restart its workers",
						    e->path, e->name);
		}
	return r;
}

/* ---- settings that take effect without a step ---- */

struct settings {
	struct plan *p;
	bool all; /* report each changed setting, because the plan has no other change */
	int r;
};

/* Returns how a setting of the agent itself takes effect, or NULL if it is not a setting of the
 * agent. */
static const char *agent_setting_effect(const char *path)
{
	static const char *const own[] = {"management.", "policy.", "admin.", "cluster.etcd",
					  "cluster.config"};
	const char *key = strrchr(path, '.');

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (strncmp(path, own[i], strlen(own[i])) == 0)
			return "takes effect with this apply";
	if (key && strcmp(key, ".label") == 0)
		return "workers and peers get the new label without a restart";
	return NULL;
}

static void add_setting(void *user, const char *path, const char *was, const char *will)
{
	struct settings *s = user;
	const char *own = agent_setting_effect(path);
	const char *reason = own ? own : "has no effect on this host";

	if (s->r < 0 || (!s->all && !own))
		return;
	if (!*will)
		s->r = plan_action_say(s->p, false, reason, "drop %.90s (was %.80s)", path, was);
	else
		s->r = plan_action_say(s->p, false, reason, "set %.80s to %.50s (was %.40s)", path,
				       will, *was ? was : "not set");
}

static int compare_settings(const struct actions_task *t, struct plan *p)
{
	struct settings s = {p, p->n_steps + p->n_actions + p->n_deferred == 0, 0};

	if (t->running && t->next && t->running != t->next)
		spec_compare(t->running, t->next, add_setting, &s);
	return s.r;
}

/* ---- all actions ---- */

int actions_add(const struct sup *s, const struct actions_task *t, struct plan *p)
{
	int r = compare_workers(s, t->desired, t->n_desired, t->retry_failed, p);

	if (r >= 0)
		r = compare_mounts(s, t->desired, t->n_desired, p);
	if (r >= 0)
		r = compare_exports(s, t->desired, t->n_desired, p);
	if (r >= 0)
		r = compare_folders(t, s, p);
	if (r >= 0)
		r = compare_settings(t, p);
	if (r >= 0 && p->n_deferred)
		r = plan_action_say(
			p, false,
			"a worker still uses these VFs; they are restored when it closes them",
			"restore %zu settings of VFs", p->n_deferred);
	return r;
}
