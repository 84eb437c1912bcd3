/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows of request durations: the difference between a worker's statistics page and an earlier
 * copy of its counts. */
#include "agent/health/latency.h"
#include "netcfg/base/vec.h"
#include <stdlib.h>
#include <string.h>

const char *latency_class_to_string(enum launch_request_class c)
{
	static const char *const names[LAUNCH_REQUEST_CLASS_MAX] = {"read", "write", "sync",
								    "metadata"};

	return c < LAUNCH_REQUEST_CLASS_MAX ? names[c] : "?";
}

/* ---- a worker's page ---- */

/* The entries are in the order of the configuration with which the process was started. */
size_t latency_count(const struct sup_worker *w)
{
	const struct launch_config *c = w->started;

	if (w->state != SUP_UP || !w->stats || !c)
		return 0;
	if (c->role == LAUNCH_COMPUTE)
		return MIN_OF(c->n_exports, (uint32_t)LAUNCH_EXPORTS_MAX);
	return MIN_OF(c->n_mounts, (uint32_t)LAUNCH_MOUNTS_MAX) +
	       MIN_OF(c->n_shared, (uint32_t)LAUNCH_SHARED_MOUNTS_MAX);
}

const char *latency_name(const struct sup_worker *w, size_t entry)
{
	const struct launch_config *c = w->started;

	if (c->role == LAUNCH_COMPUTE)
		return c->exports[entry].name;
	return entry < c->n_mounts ? c->mounts[entry].path : c->shared[entry - c->n_mounts].path;
}

void latency_total(const struct sup_worker *w, size_t entry, struct launch_latencies *ret)
{
	const struct launch_config *c = w->started;
	size_t i = c->role == LAUNCH_COMPUTE || entry < c->n_mounts
			   ? entry
			   : LAUNCH_MOUNTS_MAX + entry - c->n_mounts;
	const struct launch_latencies *from = &w->stats->latencies[i];

	for (unsigned k = 0; k < LAUNCH_REQUEST_CLASS_MAX; k++) {
		for (unsigned j = 0; j < ARRAY_SIZE(ret->of[k].buckets); j++)
			ret->of[k].buckets[j] = launch_stat_get(&from->of[k].buckets[j]);
		ret->of[k].sum_ns = launch_stat_get(&from->of[k].sum_ns);
	}
}

/* ---- samples ---- */

static void worker_done(struct latency_worker *lw)
{
	free(lw->older.entries);
	free(lw->newer.entries);
}

void latency_done(struct latency *l)
{
	for (size_t i = 0; i < l->n; i++)
		worker_done(&l->workers[i]);
	free(l->workers);
	*l = (struct latency){0};
}

static void sample_take(struct latency_sample *s, const struct sup_worker *w, size_t n,
			uint64_t now_ns)
{
	if (!s->entries)
		s->entries = calloc(n, sizeof(*s->entries));
	s->taken_ns = s->entries ? now_ns : 0;
	for (size_t i = 0; s->entries && i < n; i++)
		latency_total(w, i, &s->entries[i]);
}

static const struct latency_worker *find(const struct latency *l, const struct sup_worker *w)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->workers[i].id == w->id && l->workers[i].pid == w->pid)
			return &l->workers[i];
	return NULL;
}

static void worker_look(struct latency *l, const struct sup_worker *w, uint64_t now_ns)
{
	struct latency_worker *lw = (struct latency_worker *)find(l, w);
	size_t n = latency_count(w);

	if (n == 0)
		return;
	if (!lw) {
		lw = vec_add(&l->workers, &l->n, sizeof(*lw));
		if (!lw)
			return;
		*lw = (struct latency_worker){.id = w->id, .pid = w->pid, .n = n};
	}
	lw->seen = true;
	if (lw->newer.taken_ns && now_ns - lw->newer.taken_ns < LATENCY_LOOK_NS)
		return;
	if (lw->newer.taken_ns) {
		struct latency_sample former = lw->older;

		lw->older = lw->newer;
		lw->newer = former;
	}
	sample_take(&lw->newer, w, n, now_ns);
}

void latency_look(struct latency *l, const struct sup *sup, uint64_t now_ns)
{
	for (size_t i = 0; i < l->n; i++)
		l->workers[i].seen = false;
	for (const struct sup_worker *w = sup_first(sup); w; w = w->next)
		worker_look(l, w, now_ns);
	for (size_t i = l->n; i-- > 0;) {
		if (l->workers[i].seen)
			continue;
		worker_done(&l->workers[i]);
		l->workers[i] = l->workers[--l->n];
	}
}

/* ---- windows ---- */

bool latency_add(const struct latency *l, const struct sup_worker *w, size_t entry,
		 const struct launch_latencies *total, uint64_t now_ns,
		 struct latency_window windows[LAUNCH_REQUEST_CLASS_MAX])
{
	const struct latency_worker *lw = find(l, w);
	const struct latency_sample *since;

	if (!lw || entry >= lw->n)
		return false;
	since = lw->older.taken_ns ? &lw->older : &lw->newer;
	if (!since->taken_ns)
		return false;
	for (unsigned k = 0; k < LAUNCH_REQUEST_CLASS_MAX; k++) {
		const uint64_t *is = total->of[k].buckets;
		const uint64_t *was = since->entries[entry].of[k].buckets;

		windows[k].ns = MAX_OF(windows[k].ns, now_ns - since->taken_ns);
		for (unsigned j = 0; j < ARRAY_SIZE(windows[k].buckets); j++) {
			windows[k].buckets[j] += is[j] - MIN_OF(was[j], is[j]);
			windows[k].requests += is[j] - MIN_OF(was[j], is[j]);
		}
	}
	return true;
}

uint64_t latency_quantile_ns(const struct latency_window *w, unsigned percent)
{
	double rank = (double)w->requests * percent / 100, below = 0;

	for (unsigned i = 0; i < LAUNCH_LATENCY_LIMITS && w->requests > 0; i++) {
		uint64_t from = i == 0 ? 0 : launch_latency_limit_ns(i - 1);
		double in = (double)w->buckets[i];

		if (in > 0 && below + in >= rank)
			return from + (uint64_t)((double)(launch_latency_limit_ns(i) - from) *
						 (rank - below) / in);
		below += in;
	}
	return w->requests > 0 ? launch_latency_limit_ns(LAUNCH_LATENCY_LIMITS - 1) : 0;
}
