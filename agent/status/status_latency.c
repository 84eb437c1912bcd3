/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects the durations of requests of mounts and exports for the status, from all workers that
 * serve them. */
#include "agent/status.h"
#include <stdio.h>
#include <string.h>

int status_latency_alloc(const struct agent *a, struct status *st)
{
	size_t n = 0, n_exports = 0;

	for (const struct sup_worker *w = sup_first(a->sup); w; w = w->next) {
		n += latency_count(w);
		n_exports += w->config.role == LAUNCH_COMPUTE ? w->config.n_exports : 0;
	}
	st->latencies = calloc(MAX_OF(n, 1), sizeof(*st->latencies));
	st->exports = calloc(MAX_OF(n_exports, 1), sizeof(*st->exports));
	return st->latencies && st->exports ? 0 : -ENOMEM;
}

static struct status_export *export_find(struct status *st, const char *name)
{
	for (size_t i = 0; i < st->n_exports; i++)
		if (strcmp(st->exports[i].name, name) == 0)
			return &st->exports[i];
	return NULL;
}

void status_latency_add_exports(struct status *st, const struct sup_worker *w)
{
	for (uint32_t i = 0;
	     w->wanted && w->config.role == LAUNCH_COMPUTE && i < w->config.n_exports; i++) {
		struct status_export *e = export_find(st, w->config.exports[i].name);

		if (!e) {
			e = &st->exports[st->n_exports++];
			e->name = w->config.exports[i].name;
			e->path = w->config.exports[i].path;
		}
		if (e->n_workers < ARRAY_SIZE(e->workers))
			e->workers[e->n_workers++] = w->id;
	}
}

static struct latency_window *windows_of(struct status *st, const struct status_latency *l)
{
	struct status_export *e = l->is_export ? export_find(st, l->name) : NULL;

	if (l->is_export)
		return e ? e->windows : NULL;
	for (size_t i = 0; i < st->n_mounts; i++)
		if (strcmp(st->mounts[i].path, l->name) == 0)
			return st->mounts[i].windows;
	return NULL;
}

void status_latency_add(const struct agent *a, struct status *st, const struct sup_worker *w)
{
	uint64_t now_ns = clock_now_ns();
	size_t n = latency_count(w);

	for (size_t i = 0; i < n; i++) {
		struct status_latency *l = &st->latencies[st->n_latencies++];
		struct latency_window *windows;

		*l = (struct status_latency){.worker = w->id,
					     .is_export = w->started->role == LAUNCH_COMPUTE,
					     .name = latency_name(w, i)};
		latency_total(w, i, &l->total);
		windows = windows_of(st, l);
		if (windows)
			(void)latency_add(&a->latency, w, i, &l->total, now_ns, windows);
	}
}
