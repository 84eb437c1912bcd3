/* SPDX-License-Identifier: BSD-3-Clause */
/* States of mounts and exports, with their reasons, and the two lists as JSON. */
#include "agent/status/status_internal.h"
#include <stdio.h>
#include <string.h>

/* A worker updates its statistics page at least once a second. If the page is older than this, the
 * worker may hang. */
#define PAGE_NS (3 * NSEC_PER_SEC)

bool status_page_is_current(const struct sup_worker *w)
{
	const uint64_t now = clock_now_ns();

	return w->state == SUP_UP && w->stats &&
	       now - MIN_OF(launch_stat_get(&w->stats->heartbeat_ns), now) < PAGE_NS;
}

/* Returns whether the agent does not know which mounts and exports the worker serves; if so, buf
 * has the reason. */
static bool is_untold(const struct sup_worker *w, char *buf, size_t size)
{
	if (w->state == SUP_STARTING && w->adopted) {
		snprintf(buf, size, "worker %u has not answered this agent yet", w->id);
		return true;
	}
	if (w->state != SUP_UP || status_page_is_current(w))
		return false;
	snprintf(buf, size, "worker %u does not update its statistics", w->id);
	return true;
}

static void explain_down(const struct sup_worker *w, char *buf, size_t size)
{
	const char *why = w->reason[0] ? w->reason : w->reported;

	snprintf(buf, size, "worker %u is %s%s%.240s", w->id, sup_state_to_string(w->state),
		 why[0] ? ": " : "", why);
}

/* ---- mounts ---- */

/* Sets the members of m from the statistics page of its worker, which is current. */
static void mount_from_page(const struct agent *a, const struct sup_worker *w, uint32_t i,
			    struct status_mount *m)
{
	const struct launch_mount_stats *s = sup_mount_stats(w, i);
	const char *why = health_mount_reason(&a->health, w->id, m->path);
	bool is_connected;

	if (!s) {
		m->state = "waits";
		snprintf(m->reason, sizeof(m->reason),
			 "worker %u still runs with its former configuration", w->id);
		return;
	}
	is_connected = launch_stat_get(&s->served) != 0;
	m->open_files = (int64_t)launch_stat_get(&s->open_files);
	m->state = m->served ? "served" : "waits";
	/* If programs cannot reach a mount although its server answers, the time is unknown: the
	 * page records only changes of the connection. */
	m->since_s = m->served == is_connected ? status_age_s(launch_stat_get(&s->since_ns)) : -1;
	if (m->limited)
		snprintf(m->reason, sizeof(m->reason),
			 "limited: the limits of the mount hold requests back");
	if (m->served)
		return;
	if (mounts_waits(a->mounts, m->path))
		why = "the former mount at this path is still being unmounted";
	snprintf(m->reason, sizeof(m->reason), "%s", why ? why : "");
}

static void judge_mount(const struct agent *a, const struct sup_worker *w, uint32_t i,
			struct status_mount *m)
{
	m->read_only = w->config.mounts[i].read_only;
	m->soft_s = w->config.mounts[i].soft_s;
	m->limits = w->config.mounts[i].limits;
	m->open_files = m->since_s = -1;
	if (is_untold(w, m->reason, sizeof(m->reason))) {
		m->state = "unknown";
	} else if (w->state == SUP_UP) {
		mount_from_page(a, w, i, m);
	} else {
		m->state = "waits";
		m->since_s = status_age_s(w->down_since_ns);
		explain_down(w, m->reason, sizeof(m->reason));
	}
}

void status_judge_mounts(const struct agent *a, struct status *st, const struct sup_worker *w)
{
	for (uint32_t i = 0; w->wanted && i < w->config.n_mounts; i++)
		for (size_t k = 0; k < st->n_mounts; k++)
			if (st->mounts[k].worker == w->id &&
			    strcmp(st->mounts[k].path, w->config.mounts[i].path) == 0)
				judge_mount(a, w, i, &st->mounts[k]);
}

static json_t *number_or_null(uint64_t n)
{
	return n ? json_integer((json_int_t)n) : json_null();
}

static json_t *mount_to_json(const struct status_mount *m)
{
	json_t *lanes = json_array();

	for (unsigned i = 0; lanes && i < m->n_mount_workers; i++)
		json_array_append_new(lanes, json_integer((json_int_t)m->mount_workers[i]));
	return json_pack(
		"{s:o, s:s, s:s, s:s, s:s, s:o, s:o, s:I, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:b, "
		"s:o, s:o}",
		"path", status_text_to_json(m->path), "peer", m->peer, "export", m->export_name,
		"origin", m->origin, "state", m->state, "reason", status_text_to_json(m->reason),
		"since_s", status_number_or_null(m->since_s), "worker", (json_int_t)m->worker,
		"lanes", lanes, "by", status_text_to_json(m->by), "read_only", (int)m->read_only,
		"soft_s", m->soft_s ? json_integer((json_int_t)m->soft_s) : json_null(),
		"open_files", status_number_or_null(m->open_files), "max_bytes_per_s",
		number_or_null(m->limits.bytes_per_s), "max_operations_per_s",
		number_or_null(m->limits.operations_per_s), "limited", (int)m->limited, "waited_ms",
		status_number_or_null(m->waited_ns < 0 ? -1
						       : m->waited_ns / (int64_t)NSEC_PER_MSEC),
		"latency", status_latency_to_json(m->windows));
}

/* Compares by path. */
static int compare_mounts(const void *a, const void *b)
{
	return strverscmp(((const struct status_mount *)a)->path,
			  ((const struct status_mount *)b)->path);
}

json_t *status_mounts_to_json(const struct status *st)
{
	json_t *list = json_array();

	qsort(st->mounts, st->n_mounts, sizeof(*st->mounts), compare_mounts);
	for (size_t i = 0; list && i < st->n_mounts; i++)
		if (!status_append(list, mount_to_json(&st->mounts[i]))) {
			json_decref(list);
			return NULL;
		}
	return json_pack("{s:o, s:o}", "host", status_text_to_json(st->host), "mounts", list);
}

/* ---- exports ---- */

static struct status_export *find_export(struct status *st, const char *name)
{
	for (size_t i = 0; i < st->n_exports; i++)
		if (strcmp(st->exports[i].name, name) == 0)
			return &st->exports[i];
	return NULL;
}

/* Returns the index of the export in `c`, the configuration of the running worker, or -1 if `c`
 * does not have the export. Exports that the worker lacks come after those that it has opened. */
static int find_started(const struct launch_config *c, const char *name)
{
	for (uint32_t i = 0; c && i < c->n_exports + c->n_missing; i++)
		if (strcmp(c->exports[i].name, name) == 0)
			return (int)i;
	return -1;
}

static void set_reason(struct status_export *e, const char *text)
{
	if (!e->reason[0])
		snprintf(e->reason, sizeof(e->reason), "%.319s", text);
}

/* Sets the members of e from the statistics page of a worker, which is current. */
static void export_from_page(const struct agent *a, const struct sup_worker *w,
			     struct status_export *e)
{
	const int i = find_started(w->started, e->name);
	const struct reason *why;
	char text[REASON_FORMAT_MAX];

	if (i < 0 || i >= (int)w->started->n_exports) {
		snprintf(text, sizeof(text), "worker %u cannot open %.200s", w->id, e->path);
		set_reason(e, strstr(w->lacks, e->name) ? w->lacks : text);
		return;
	}
	e->n_serving++;
	e->open_files += launch_stat_get(&w->stats->open_files[i]);
	why = sup_export_differs(a->sup, &w->started->exports[i]);
	if (reason_is_set(why))
		set_reason(e, reason_format(why, text, sizeof(text)));
}

static void judge_export(const struct agent *a, const struct sup_worker *w, uint32_t i,
			 struct status_export *e)
{
	const struct launch_export *config = &w->config.exports[i];
	char text[HEALTH_TEXT_MAX];

	e->read_only = config->read_only;
	e->n_removed = sup_export_pinned(a->sup, e->name);
	for (uint32_t k = 0; k < config->n_clients; k++) {
		const struct launch_client *rule = &w->config.clients[config->first_client + k];

		if ((unsigned)rule->squash < SPEC_SQUASH_MAX)
			e->squash[rule->squash] = true;
	}
	if (is_untold(w, text, sizeof(text))) {
		e->n_unknown++;
		set_reason(e, text);
	} else if (w->state == SUP_UP) {
		export_from_page(a, w, e);
	} else {
		explain_down(w, text, sizeof(text));
		set_reason(e, text);
	}
}

void status_judge_exports(const struct agent *a, struct status *st, const struct sup_worker *w)
{
	for (uint32_t i = 0;
	     w->wanted && w->config.role == LAUNCH_COMPUTE && i < w->config.n_exports; i++) {
		struct status_export *e = find_export(st, w->config.exports[i].name);

		if (e)
			judge_export(a, w, i, e);
	}
}

static const char *export_state(const struct status_export *e)
{
	if (e->n_serving == 0)
		return e->n_unknown ? "unknown" : "down";
	return e->reason[0] ? "degraded" : "served";
}

/* Returns an export for the status. counted: the number of clients is known, because the workers'
 * pages had room for all clients. */
static json_t *export_to_json(const struct status_export *e, bool counted)
{
	json_t *workers = json_array(), *squash = json_array();

	for (unsigned i = 0; workers && i < e->n_workers; i++)
		json_array_append_new(workers, json_integer((json_int_t)e->workers[i]));
	for (enum spec_squash s = 0; squash && s < SPEC_SQUASH_MAX; s++)
		if (e->squash[s])
			json_array_append_new(squash, json_string(spec_squash_to_string(s)));
	return json_pack(
		"{s:s, s:o, s:s, s:o, s:o, s:b, s:o, s:o, s:o, s:I, s:o}", "name", e->name, "path",
		status_text_to_json(e->path), "state", export_state(e), "reason",
		status_text_to_json(e->reason), "workers", workers, "read_only", (int)e->read_only,
		"squash", squash, "clients",
		status_number_or_null(e->n_unknown || !counted ? -1 : (int64_t)e->n_clients),
		"open_files", status_number_or_null(e->n_unknown ? -1 : (int64_t)e->open_files),
		"removed_files", (json_int_t)e->n_removed, "latency",
		status_latency_to_json(e->windows));
}

/* Compares by name. */
static int compare_exports(const void *a, const void *b)
{
	return strverscmp(((const struct status_export *)a)->name,
			  ((const struct status_export *)b)->name);
}

json_t *status_exports_to_json(const struct status *st)
{
	json_t *list = json_array();

	qsort(st->exports, st->n_exports, sizeof(*st->exports), compare_exports);
	for (size_t i = 0; list && i < st->n_exports; i++)
		if (!status_append(list,
				   export_to_json(&st->exports[i], st->clients_omitted == 0))) {
			json_decref(list);
			return NULL;
		}
	return json_pack("{s:o, s:o}", "host", status_text_to_json(st->host), "exports", list);
}
