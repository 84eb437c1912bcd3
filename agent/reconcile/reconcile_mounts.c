/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protects mounts and exports in use that an apply removes or replaces. For example, a mistyped
 * `from:` must not end a mount that is served. The apply stays pending until the server serves the
 * new mount, while the former mount continues to be served. If the server does not serve the new
 * mount, the apply is rolled back. While any apply is pending, its workers also serve the mounts
 * that it removes, so that a rollback loses no open file.
 */
#include "agent/reconcile/reconcile_mounts.h"
#include "agent/base/stats_page.h"
#include "agent/desired/actions.h"
#include "agent/reconcile/reconcile_internal.h"
#include <stdio.h>
#include <string.h>

/* Returns whether a worker serves the mount. If not, why has the reason that the server reported,
 * or is empty. Uses w->started, because a process may not have its new configuration yet. */
static bool is_served(const struct agent *a, const struct launch_mount *m, struct reason *why)
{
	char text[LAUNCH_REASON_MAX];

	reason_clear(why);
	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		for (uint32_t i = 0; w->state == SUP_UP && w->stats && i < w->started->n_mounts;
		     i++) {
			if (!launch_mount_equal(&w->started->mounts[i], m))
				continue;
			if (launch_stat_get(&w->stats->mounts[i].served))
				return true;
			stats_page_text(w->stats, w->stats->mounts[i].reason, text, sizeof(text));
			reason_set_text(why, "%s", text);
		}
	return false;
}

/* ---- before the apply ---- */

static const struct launch_mount *find_path(const struct launch_config *c, size_t n,
					    const char *path)
{
	for (size_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < c[i].n_mounts; j++)
			if (strcmp(c[i].mounts[j].path, path) == 0)
				return &c[i].mounts[j];
	return NULL;
}

static void note_mount(struct agent *a, const struct launch_mount *m)
{
	struct reachability *v = &a->reconcile.reachability;
	const struct generation *next = &a->reconcile.run.next;
	const bool stays = find_path(next->desired, next->n_desired, m->path);
	const bool served = is_served(a, m, NULL);

	if (stays && served)
		json_array_append_new(v->served, json_string(m->path));
	/* A mount also counts as used while its worker is restarting or its server is down. */
	if (!(served || mounts_was_served(a->mounts, m)) ||
	    actions_keep_mount(m, next->desired, next->n_desired))
		return;
	v->takes = true;
	if (stays)
		json_array_append_new(v->replaced, json_string(m->path));
}

static void note_worker(struct agent *a, const struct sup_worker *w)
{
	const struct generation *next = &a->reconcile.run.next;

	for (uint32_t i = 0; i < w->config.n_mounts; i++)
		note_mount(a, &w->config.mounts[i]);
	for (uint32_t i = 0; i < w->config.n_exports; i++)
		if (!actions_keep_export(&w->config.exports[i], next->desired, next->n_desired))
			a->reconcile.reachability.takes = true;
}

int reconcile_mounts_before(struct agent *a)
{
	struct reachability *v = &a->reconcile.reachability;

	json_decref(v->served);
	json_decref(v->replaced);
	v->served = json_array();
	v->replaced = json_array();
	v->takes = false;
	if (!v->served || !v->replaced)
		return -ENOMEM;
	if (!reconcile_is_ordered(&a->reconcile))
		return 0;
	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		if (w->wanted)
			note_worker(a, w);
	if (reconcile_is_forced(&a->reconcile.run.client))
		json_array_clear(v->replaced);
	return 0;
}

/* ---- while the apply is pending ---- */

bool reconcile_mounts_lost(const struct agent *a, struct reason *why)
{
	const json_t *path;
	size_t i;

	json_array_foreach (a->reconcile.reachability.replaced, i, path) {
		const struct launch_mount *m = find_path(a->running.desired, a->running.n_desired,
							 json_string_value(path));

		if (!m || is_served(a, m, why))
			continue;
		if (!reason_is_set(why))
			reason_set_text(why, "no answer from %s for export '%s'", m->peer,
					m->export_name);
		reason_prefix(why, "%s is not served", m->path);
		reason_append(why, "fix its 'from', or use --force " PLAN_FORCE_PROBES);
		return true;
	}
	return false;
}

/* Finds the desired configuration to which a mount of worker w can be added: that of the same
 * worker or, if there is none, that of another client worker. Returns NULL if there is none;
 * programs on the mount then wait until the trial ends. */
static struct launch_config *find_server(const struct sup_worker *w, struct launch_config *desired,
					 size_t n)
{
	struct launch_config *other = NULL;

	for (size_t i = 0; i < n; i++) {
		if (desired[i].role != LAUNCH_FRONTEND || desired[i].n_mounts == LAUNCH_MOUNTS_MAX)
			continue;
		if (desired[i].worker_id == w->id)
			return &desired[i];
		if (!other)
			other = &desired[i];
	}
	return other;
}

/* Adds the mounts of w that are no longer desired to the desired configurations. */
static void add_former(const struct sup_worker *w, struct launch_config *desired, size_t n)
{
	for (uint32_t i = 0; w->wanted && i < w->config.n_mounts; i++) {
		const struct launch_mount *m = &w->config.mounts[i];
		struct launch_config *to;

		if (actions_keep_mount(m, desired, n))
			continue;
		to = find_server(w, desired, n);
		if (to)
			to->mounts[to->n_mounts++] = *m;
	}
}

int reconcile_mounts_apply(struct agent *a, bool retry_failed)
{
	const size_t n = a->running.n_desired;
	autofree struct launch_config *trial = NULL;

	if (!a->reconcile.pending.applier || n == 0)
		return sup_reconcile(a->sup, a->running.desired, n, retry_failed);
	trial = malloc(n * sizeof(*trial));
	if (!trial)
		return -ENOMEM;
	memcpy(trial, a->running.desired, n * sizeof(*trial));
	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		add_former(w, trial, n);
	return sup_reconcile(a->sup, trial, n, retry_failed);
}
