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
#include "agent/desired/worker_config.h"
#include "agent/reconcile/reconcile_internal.h"
#include <stdio.h>
#include <string.h>

/* Uses w->started, because a process may not have its new configuration yet. */
bool reconcile_is_served(const struct agent *a, const struct launch_mount *m, struct reason *why)
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
	const bool served = reconcile_is_served(a, m, NULL);

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

/* ---- processes that use mounts which the apply ends ---- */

/* Writes the paths of up to max attached mounts that this run ends or replaces. */
static size_t find_ending(const struct agent *a, const char **ret, size_t max)
{
	const struct generation *next = &a->reconcile.run.next;
	size_t n = 0;

	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next)
		for (uint32_t i = 0; w->wanted && i < w->config.n_mounts && n < max; i++) {
			const struct launch_mount *m = &w->config.mounts[i];
			const char *real = mounts_real_path(a->mounts, m->path);

			if (real && !actions_keep_mount(m, next->desired, next->n_desired))
				ret[n++] = real;
		}
	return n;
}

static void note_failure(struct reconcile_run *run, int error)
{
	diag_add(&run->diag, DIAG_ERROR, NULL, NULL,
		 "the search for programs that use mounts failed: %s; nothing was applied; "
		 "--force " PLAN_FORCE_MOUNTS " applies without it",
		 strerror(-error));
}

static void on_found(void *user, int error, const struct mount_users *found,
		     const char *const *paths)
{
	struct agent *a = user;
	struct reconcile_run *run = &a->reconcile.run;
	char line[64 + PRIVSEP_PATH_MAX + MOUNT_USER_FILES * MOUNT_USER_FILE_MAX];

	run->search = NULL;
	run->searched = true;
	if (error == 0 && mount_users_any(found)) {
		error = -EADDRINUSE;
		run->users = mount_users_to_json(found, paths);
		diag_add(&run->diag, DIAG_ERROR, NULL, NULL,
			 "programs use mounts that this apply ends or replaces, so nothing was "
			 "applied; end them, or use --force " PLAN_FORCE_MOUNTS
			 ", with which they get errors");
		for (uint32_t i = 0; mount_users_line(found, paths, i, line, sizeof(line)); i++)
			diag_add(&run->diag, DIAG_ERROR, NULL, NULL, "%s", line);
		if (!run->users)
			error = -ENOMEM;
	} else if (error < 0) {
		note_failure(run, error);
	}
	run->mounts_refused = error < 0;
	run->after_search(a, error);
}

int reconcile_mounts_search(struct agent *a, void (*then)(struct agent *a, int error))
{
	struct reconcile_run *run = &a->reconcile.run;
	autofree const char **paths = NULL;
	size_t n;
	int r;

	if (!run->client.id || run->searched || a->reconcile.pending.applier ||
	    reconcile_has_force(&run->client, PLAN_FORCE_MOUNTS))
		return 0;
	paths = calloc(MOUNT_USERS_MOUNTS, sizeof(*paths));
	n = paths ? find_ending(a, paths, MOUNT_USERS_MOUNTS) : 0;
	if (paths && n == 0)
		return 0;
	run->after_search = then;
	r = paths ? mount_search_start(a->loop, paths, n, on_found, a, &run->search) : -ENOMEM;
	if (r >= 0)
		return 1;
	note_failure(run, r);
	run->mounts_refused = true;
	return r;
}

/* ---- while the apply is pending ---- */

bool reconcile_mounts_lost(const struct agent *a, struct reason *why)
{
	const json_t *path;
	size_t i;

	json_array_foreach (a->reconcile.reachability.replaced, i, path) {
		const struct launch_mount *m = find_path(a->running.desired, a->running.n_desired,
							 json_string_value(path));

		if (!m || reconcile_is_served(a, m, why))
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
 * worker or, if there is none, that of another client worker. Returns NULL if the configuration has
 * no client worker; programs on the mount then wait until the trial ends. */
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
static void add_former(const struct agent *a, const struct sup_worker *w,
		       struct launch_config *desired, size_t n)
{
	for (uint32_t i = 0; w->wanted && i < w->config.n_mounts; i++) {
		const struct launch_mount *m = &w->config.mounts[i];
		const struct command_mount *e = command_mounts_find(&a->command_mounts, m->path);
		struct launch_config *to;

		if (actions_keep_mount(m, desired, n) || (e && e->state == COMMAND_MOUNT_ENDING))
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
		add_former(a, w, trial, n);
	return sup_reconcile(a->sup, trial, n, retry_failed);
}

/* ---- mounts made by command ---- */

static void take_out(struct launch_config *c, const char *path)
{
	for (uint32_t i = 0; i < c->n_mounts; i++) {
		if (strcmp(c->mounts[i].path, path) != 0)
			continue;
		c->n_mounts--;
		memmove(&c->mounts[i], &c->mounts[i + 1], (c->n_mounts - i) * sizeof(c->mounts[0]));
		/* Clears the padding too, because configurations are compared bytewise. */
		memset(&c->mounts[c->n_mounts], 0, sizeof(c->mounts[0]));
		return;
	}
}

static bool has_room(const struct launch_config *c)
{
	return c->role == LAUNCH_FRONTEND && c->n_mounts < LAUNCH_MOUNTS_MAX;
}

/* Chooses the configuration that gets the mount: that of the mount's worker if it still exists,
 * otherwise the one with the fewest mounts. A mount worker is the last choice, because it carries
 * data of another core's mount. */
static struct launch_config *choose(const struct command_mount *e, struct launch_config *desired,
				    size_t n)
{
	struct launch_config *best = NULL;
	uint32_t least = UINT32_MAX;

	for (size_t i = 0; i < n; i++) {
		struct launch_config *c = &desired[i];
		const uint32_t load = c->n_mounts + c->n_shared * LAUNCH_MOUNTS_MAX;

		if (!has_room(c))
			continue;
		if (c->worker_id == e->worker)
			return c;
		if (load < least) {
			least = load;
			best = c;
		}
	}
	return best;
}

/* Sets the limits of a mount that is desired already, because a remount may have changed them. */
static void set_limits(const struct command_mount *e, struct launch_config *desired, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < desired[i].n_mounts; j++)
			if (strcmp(desired[i].mounts[j].path, e->what.path) == 0)
				desired[i].mounts[j].limits = e->what.limits;
}

/* Adds one mount. Returns 0, or -EINVAL with the reason. */
static int add_one(struct agent *a, const struct spec *spec, const struct plan *plan,
		   struct command_mount *e, struct launch_config *desired, size_t n,
		   struct reason *why)
{
	const struct launch_mount *is = find_path(desired, n, e->what.path);
	struct launch_config *to = is ? NULL : choose(e, desired, n);
	struct launch_mount m = e->what;

	if (is && launch_mount_equal(is, &e->what)) {
		if (!command_mounts_is_configured(spec, e->what.path))
			set_limits(e, desired, n);
		return 0;
	}
	if (is)
		reason_set_text(why,
				"%.120s is configured as a mount of %s:%s, but was mounted from "
				"%s:%s by command; run 'plenum umount %.120s' first",
				m.path, is->peer, is->export_name, m.peer, m.export_name, m.path);
	else if (!to)
		reason_set_text(why,
				"no client worker can serve %.120s, which was mounted by command; "
				"add a worker with 'role: frontend', or run 'plenum umount %.120s' "
				"first",
				m.path, m.path);
	else if (!worker_config_add_addrs(spec, plan, &a->servers, &m))
		reason_set_text(why,
				"no peer is called '%s', from which %.120s was mounted by command; "
				"add the host to 'peers', or run 'plenum umount %.120s' first",
				m.peer, m.path, m.path);
	if (is || !to || reason_is_set(why))
		return -EINVAL;
	to->mounts[to->n_mounts++] = m;
	e->worker = to->worker_id;
	return 0;
}

/* Ends a mount that the spec contradicts. */
static void end_contradicted(struct agent *a, struct command_mount *e, const struct reason *why)
{
	if (e->state == COMMAND_MOUNT_KEPT)
		events_add(&a->events, LOG_LEVEL_WARNING, "mounts",
			   "ending the mount %.120s, which was made by command: %.250s",
			   e->what.path, why->text);
	command_mounts_fail(&a->command_mounts, e, 409, "not-served", why);
}

int reconcile_mounts_merge(struct agent *a, const struct spec *spec, const struct plan *plan,
			   bool strict, struct diag *d, struct launch_config *desired, size_t n)
{
	struct command_mounts *cm = &a->command_mounts;
	int r = 0;

	for (size_t i = 0; i < cm->n; i++) {
		struct command_mount *e = &cm->list[i];
		struct reason why = {.code = ""};

		if (e->state != COMMAND_MOUNT_ENDING &&
		    add_one(a, spec, plan, e, desired, n, &why) >= 0)
			continue;
		if (e->state == COMMAND_MOUNT_KEPT && strict) {
			diag_add(d, DIAG_ERROR, NULL, NULL, "%s", why.text);
			r = -EINVAL;
			continue;
		}
		if (e->state != COMMAND_MOUNT_ENDING)
			end_contradicted(a, e, &why);
		for (size_t j = 0; j < n && !command_mounts_is_configured(spec, e->what.path); j++)
			take_out(&desired[j], e->what.path);
	}
	return r;
}

int reconcile_refresh_mounts(struct agent *a)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	const size_t n = a->running.n_desired;
	struct launch_config *next = calloc(MAX_OF(n, 1), sizeof(*next));
	int r;

	if (!next)
		return -ENOMEM;
	if (n > 0)
		memcpy(next, a->running.desired, n * sizeof(*next));
	r = reconcile_mounts_merge(a, a->running.spec, a->running.plan, false, &d, next, n);
	if (r < 0) {
		free(next);
		return r;
	}
	mounts_keep_running_addrs(a->sup, next, n);
	generation_put_desired(a, next);
	return reconcile_mounts_apply(a, false);
}
