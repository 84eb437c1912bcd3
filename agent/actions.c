/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparing what is wanted with what the supervisor has: apart from it, because only those who ask
 * for a plan need words for it. */
#include "agent/actions.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int add(struct plan *p, bool disruptive, const char *reason, const char *fmt, ...)
	PLENUM_PRINTF(4, 5);
static int add(struct plan *p, bool disruptive, const char *reason, const char *fmt, ...)
{
	struct plan_action *a = plan_action_add(p);
	va_list ap;

	if (!a)
		return -ENOMEM;
	va_start(ap, fmt);
	vsnprintf(a->text, sizeof(a->text), fmt, ap);
	va_end(ap);
	snprintf(a->reason, sizeof(a->reason), "%s", reason);
	a->disruptive = disruptive;
	return 0;
}

/* ---- workers ---- */

static const struct sup_worker *find_worker(const struct sup *s, uint32_t id)
{
	for (const struct sup_worker *w = sup_first(s); w; w = w->next)
		if (w->id == id && w->wanted)
			return w;
	return NULL;
}

static const char *difference(const struct launch_config *a, const struct launch_config *b)
{
	if (a->role != b->role)
		return "its role changes";
	if (a->core != b->core)
		return "its core changes";
	if (a->transport != b->transport)
		return "its transport changes";
	if (a->n_ports != b->n_ports || memcmp(a->ports, b->ports, sizeof(a->ports)) != 0)
		return "its legs or their addresses change";
	if (a->n_exports != b->n_exports || memcmp(a->exports, b->exports, sizeof(a->exports)) != 0)
		return "its exports change";
	if (memcmp(a->clients, b->clients, sizeof(a->clients)) != 0 ||
	    memcmp(a->ids, b->ids, sizeof(a->ids)) != 0)
		return "who may use its exports changes";
	if (a->n_mounts != b->n_mounts || memcmp(a->mounts, b->mounts, sizeof(a->mounts)) != 0)
		return "its mounts change";
	if (a->security != b->security)
		return "what guards its packets changes";
	if (memcmp(a->secrets, b->secrets, sizeof(a->secrets)) != 0)
		return "the cluster's key file changes";
	return "its settings change";
}

static const char *role_name(enum launch_role r)
{
	static const char *const names[LAUNCH_ROLE_MAX] = {"frontend", "compute", "drives"};

	return r < LAUNCH_ROLE_MAX ? names[r] : "?";
}

static int compare_worker(const struct sup *s, const struct launch_config *want, bool retry_failed,
			  struct launch_config *scratch, struct plan *p)
{
	const struct sup_worker *w = find_worker(s, want->worker_id);
	char reason[160];

	if (!w)
		return add(p, false, "it is configured and not there",
			   "start worker %u (%s on core %u)", want->worker_id,
			   role_name(want->role), want->core);
	memcpy(scratch, want, sizeof(*scratch));
	sup_config_normalise(scratch);
	scratch->log_level = w->config.log_level; /* the next start has it */
	if (memcmp(scratch, &w->config, sizeof(*scratch)) != 0)
		return add(p, true, difference(scratch, &w->config),
			   "restart worker %u (%s on core %u)", w->id, role_name(want->role),
			   want->core);
	if (!retry_failed || w->state != SUP_FAILED)
		return 0;
	snprintf(reason, sizeof(reason), "it had failed: %.140s", w->reason);
	return add(p, false, reason, "start worker %u again", w->id);
}

static bool is_wanted(uint32_t id, const struct launch_config *wants, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (wants[i].worker_id == id)
			return true;
	return false;
}

static int compare_workers(const struct sup *s, const struct launch_config *wants, size_t n,
			   bool retry_failed, struct plan *p)
{
	autofree struct launch_config *scratch = malloc(sizeof(*scratch));
	int r = scratch ? 0 : -ENOMEM;

	for (const struct sup_worker *w = sup_first(s); r >= 0 && w; w = w->next)
		if (w->wanted && !is_wanted(w->id, wants, n))
			r = add(p, true, "it is not configured", "stop worker %u", w->id);
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = compare_worker(s, &wants[i], retry_failed, scratch, p);
	return r;
}

/* ---- mounts ---- */

static bool has_mount(const struct launch_config *c, const struct launch_mount *m)
{
	for (uint32_t i = 0; i < c->n_mounts; i++) {
		const struct launch_mount *have = &c->mounts[i];

		if (strcmp(have->path, m->path) == 0 && strcmp(have->peer, m->peer) == 0 &&
		    strcmp(have->export_name, m->export_name) == 0 &&
		    have->read_only == m->read_only && have->suid == m->suid && have->dev == m->dev)
			return true;
	}
	return false;
}

static bool mount_is_wanted(const struct launch_mount *m, const struct launch_config *wants,
			    size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (has_mount(&wants[i], m))
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

static int compare_mounts(const struct sup *s, const struct launch_config *wants, size_t n,
			  struct plan *p)
{
	int r = 0;

	for (const struct sup_worker *w = sup_first(s); w; w = w->next)
		for (uint32_t i = 0; r >= 0 && w->wanted && i < w->config.n_mounts; i++)
			if (!mount_is_wanted(&w->config.mounts[i], wants, n))
				r = add(p, true, "it is not configured", "unmount %.180s",
					w->config.mounts[i].path);
	for (size_t i = 0; i < n; i++)
		for (uint32_t j = 0; r >= 0 && j < wants[i].n_mounts; j++) {
			const struct launch_mount *m = &wants[i].mounts[j];

			if (!mount_is_there(s, m))
				r = add(p, false, "it is configured and not there",
					"mount %.50s:%.50s on %.80s", m->peer, m->export_name,
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

static bool export_is_wanted(const struct launch_export *e, const struct launch_config *wants,
			     size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (has_export(&wants[i], e))
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

static int compare_exports(const struct sup *s, const struct launch_config *wants, size_t n,
			   struct plan *p)
{
	int r = 0;

	for (const struct sup_worker *w = sup_first(s); w; w = w->next)
		for (uint32_t i = 0; r >= 0 && w->wanted && i < w->config.n_exports; i++) {
			const struct launch_export *e = &w->config.exports[i];

			if (!export_is_wanted(e, wants, n))
				r = add(p, true, "it is not configured so",
					"end export %.60s (%.100s)", e->name, e->path);
		}
	for (size_t i = 0; i < n; i++)
		for (uint32_t j = 0; r >= 0 && j < wants[i].n_exports; j++) {
			const struct launch_export *e = &wants[i].exports[j];

			if (!export_is_there(s, e))
				r = add(p, false, "it is configured and not there",
					"export %.60s (%.100s)%s", e->name, e->path,
					e->read_only ? " read-only" : "");
		}
	return r;
}

/* ---- the whole ---- */

int actions_add(const struct sup *s, const struct launch_config *wants, size_t n, bool retry_failed,
		struct plan *p)
{
	int r = compare_workers(s, wants, n, retry_failed, p);

	if (r >= 0)
		r = compare_mounts(s, wants, n, p);
	if (r >= 0)
		r = compare_exports(s, wants, n, p);
	if (r >= 0 && p->n_deferred)
		r = add(p, false, "a worker still has them open", "give back %zu settings of VFs",
			p->n_deferred);
	return r;
}
