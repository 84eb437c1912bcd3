/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparing what is wanted with what the supervisor has: apart from it, because only those who ask
 * for a plan need words for it. */
#include "agent/changes.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void changes_done(struct changes *c)
{
	free(c->entries);
	*c = (struct changes){0};
}

static struct change *add(struct changes *c, const char *fmt, ...) PLENUM_PRINTF(2, 3);
static struct change *add(struct changes *c, const char *fmt, ...)
{
	struct change *e;
	va_list ap;

	if (c->n == c->cap) {
		size_t cap = MAX_OF(2 * c->cap, 8);

		e = reallocarray(c->entries, cap, sizeof(*e));
		if (!e)
			return NULL;
		c->entries = e;
		c->cap = cap;
	}
	e = &c->entries[c->n++];
	*e = (struct change){0};
	va_start(ap, fmt);
	vsnprintf(e->what, sizeof(e->what), fmt, ap);
	va_end(ap);
	return e;
}

static int because(struct change *e, const char *reason)
{
	if (!e)
		return -ENOMEM;
	snprintf(e->reason, sizeof(e->reason), "%s", reason);
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
	if (a->n_mounts != b->n_mounts || memcmp(a->mounts, b->mounts, sizeof(a->mounts)) != 0)
		return "its mounts change";
	return "its settings change";
}

static const char *role_name(enum launch_role r)
{
	static const char *const names[LAUNCH_ROLE_MAX] = {"frontend", "compute", "drives"};

	return r < LAUNCH_ROLE_MAX ? names[r] : "?";
}

static int compare_worker(const struct sup *s, const struct launch_config *want, bool retry_failed,
			  struct launch_config *scratch, struct changes *c)
{
	const struct sup_worker *w = find_worker(s, want->worker_id);
	char reason[160];

	if (!w)
		return because(add(c, "start worker %u (%s, core %u)", want->worker_id,
				   role_name(want->role), want->core),
			       "it is configured and not there");
	memcpy(scratch, want, sizeof(*scratch));
	sup_config_normalise(scratch);
	if (memcmp(scratch, &w->config, sizeof(*scratch)) != 0)
		return because(add(c, "restart worker %u", w->id), difference(scratch, &w->config));
	if (!retry_failed || w->state != SUP_FAILED)
		return 0;
	snprintf(reason, sizeof(reason), "it had failed: %.140s", w->reason);
	return because(add(c, "start worker %u again", w->id), reason);
}

static bool is_wanted(uint32_t id, const struct launch_config *wants, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (wants[i].worker_id == id)
			return true;
	return false;
}

static int compare_workers(const struct sup *s, const struct launch_config *wants, size_t n,
			   bool retry_failed, struct changes *c)
{
	autofree struct launch_config *scratch = malloc(sizeof(*scratch));
	int r = scratch ? 0 : -ENOMEM;

	for (const struct sup_worker *w = sup_first(s); r >= 0 && w; w = w->next)
		if (w->wanted && !is_wanted(w->id, wants, n))
			r = because(add(c, "stop worker %u", w->id), "it is not configured");
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = compare_worker(s, &wants[i], retry_failed, scratch, c);
	return r;
}

/* ---- mounts ---- */

static bool has_mount(const struct launch_config *c, const struct launch_mount *m)
{
	for (uint32_t i = 0; i < c->n_mounts; i++) {
		const struct launch_mount *have = &c->mounts[i];

		if (strcmp(have->path, m->path) == 0 && strcmp(have->peer, m->peer) == 0 &&
		    strcmp(have->export_name, m->export_name) == 0 &&
		    have->read_only == m->read_only)
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
			  struct changes *c)
{
	int r = 0;

	for (const struct sup_worker *w = sup_first(s); w; w = w->next)
		for (uint32_t i = 0; r >= 0 && w->wanted && i < w->config.n_mounts; i++)
			if (!mount_is_wanted(&w->config.mounts[i], wants, n))
				r = because(add(c, "unmount %.200s", w->config.mounts[i].path),
					    "it is not configured");
	for (size_t i = 0; i < n; i++)
		for (uint32_t j = 0; r >= 0 && j < wants[i].n_mounts; j++) {
			const struct launch_mount *m = &wants[i].mounts[j];

			if (!mount_is_there(s, m))
				r = because(add(c, "mount %.60s:%.60s on %.120s", m->peer,
						m->export_name, m->path),
					    "it is configured and not there");
		}
	return r;
}

/* ---- exports ---- */

static bool has_export(const struct launch_config *c, const struct launch_export *e)
{
	for (uint32_t i = 0; i < c->n_exports; i++)
		if (strcmp(c->exports[i].name, e->name) == 0 &&
		    strcmp(c->exports[i].path, e->path) == 0 &&
		    c->exports[i].read_only == e->read_only)
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
			   struct changes *c)
{
	int r = 0;

	for (const struct sup_worker *w = sup_first(s); w; w = w->next)
		for (uint32_t i = 0; r >= 0 && w->wanted && i < w->config.n_exports; i++) {
			const struct launch_export *e = &w->config.exports[i];

			if (!export_is_wanted(e, wants, n))
				r = because(add(c, "end export %.60s (%.150s)", e->name, e->path),
					    "it is not configured so");
		}
	for (size_t i = 0; i < n; i++)
		for (uint32_t j = 0; r >= 0 && j < wants[i].n_exports; j++) {
			const struct launch_export *e = &wants[i].exports[j];

			if (!export_is_there(s, e))
				r = because(add(c, "export %.60s (%.150s)%s", e->name, e->path,
						e->read_only ? " read-only" : ""),
					    "it is configured and not there");
		}
	return r;
}

/* ---- the whole ---- */

int changes_build(const struct sup *s, const struct launch_config *wants, size_t n,
		  bool retry_failed, struct changes *ret)
{
	struct changes c = {0};
	int r = compare_workers(s, wants, n, retry_failed, &c);

	if (r >= 0)
		r = compare_mounts(s, wants, n, &c);
	if (r >= 0)
		r = compare_exports(s, wants, n, &c);
	if (r < 0)
		changes_done(&c);
	else
		*ret = c;
	return r;
}

json_t *changes_to_json(const struct changes *c)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < c->n; i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "change", c->entries[i].what,
						      "reason", c->entries[i].reason));
	return list;
}
