/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes the record of worker ids. */
#include "netcfg/plan/worker/plan_worker_ids.h"
#include "netcfg/base/files/state_file.h"
#include "netcfg/base/vec.h"
#include <inttypes.h>
#include <limits.h>
#include <string.h>

static const struct state_kind kind = {
	.name = "workers", .version = 2, .old_until = 1, .bytes_max = 1U << 20};

void plan_worker_ids_done(struct plan_worker_ids *p)
{
	free(p->entries);
	*p = (struct plan_worker_ids){0};
}

static int add(struct plan_worker_ids *p, unsigned core, uint32_t id)
{
	struct plan_worker_id *entry = vec_add(&p->entries, &p->n, sizeof(*entry));

	if (!entry)
		return -ENOMEM;
	*entry = (struct plan_worker_id){.core = core, .id = id};
	return 0;
}

/* If two lines have the same id, plans use the first of them. */
static int parse(struct plan_worker_ids *p, struct state_file *f)
{
	int r = 0;

	while (r == 0 && state_file_line(f)) {
		unsigned core;
		uint32_t id;

		state_file_expect(f, "core");
		core = (unsigned)state_file_number(f, UINT_MAX);
		state_file_expect(f, "worker");
		id = (uint32_t)state_file_number(f, UINT32_MAX);
		r = state_file_line_ends(f) && id ? add(p, core, id) : STATE_TORN;
	}
	return r;
}

int plan_worker_ids_load(struct plan_worker_ids *p, const char *path, struct diag *d)
{
	PLENUM_CLEANUP(state_file_done) struct state_file f;
	int r = state_file_read(&f, &kind, path);

	plan_worker_ids_done(p);
	if (r == 0)
		r = parse(p, &f);
	if (r == 0 || r == STATE_MISSING)
		return 0;
	plan_worker_ids_done(p);
	if (r == -ENOMEM)
		return r;
	diag_add(d, DIAG_WARNING, NULL, NULL,
		 "cannot read the record %s (%s); worker ids and addresses follow the order in the "
		 "configuration",
		 path, state_file_error(r));
	return 0;
}

/* ---- ids for cores that the record does not have ---- */

/* State of the search for ids. free[i]: the core of line i is no longer configured, and its id has
 * not been given to another core yet. */
struct match {
	const struct plan_worker_ids *record;
	const struct plan_worker_place *places;
	size_t n;
	uint32_t *ids;
	bool *free;
};

static void match_same_cores(struct match *m)
{
	for (size_t i = 0; i < m->record->n; i++) {
		const struct plan_worker_id *e = &m->record->entries[i];

		m->free[i] = true;
		for (size_t j = 0; j < m->n; j++)
			if (m->places[j].core == e->core) {
				m->free[i] = false;
				m->ids[j] = m->ids[j] ? m->ids[j] : e->id;
			}
	}
}

/* Gives each core of a `workers-set:` entry the id of the core that it replaces. */
static void match_moves(struct match *m)
{
	for (size_t i = 0; i < m->n; i++)
		for (size_t j = 0; j < m->record->n && !m->ids[i] && m->places[i].moved; j++)
			if (m->free[j] && m->record->entries[j].core == m->places[i].was) {
				m->ids[i] = m->record->entries[j].id;
				m->free[j] = false;
			}
}

/* Gives the remaining free ids to the cores without an id, in order, if there are as many of both.
 * If the numbers differ, it is unknown which worker has moved. moved: considers only cores of
 * `workers-set:` entries. */
static void match_in_order(struct match *m, bool moved)
{
	size_t n_new = 0, n_free = 0, next = 0;

	for (size_t i = 0; i < m->n; i++)
		n_new += !m->ids[i] && (!moved || m->places[i].moved);
	for (size_t i = 0; i < m->record->n; i++)
		n_free += m->free[i];
	for (size_t i = 0; i < m->n && n_new == n_free; i++) {
		if (m->ids[i] || (moved && !m->places[i].moved))
			continue;
		while (!m->free[next])
			next++;
		m->ids[i] = m->record->entries[next].id;
		m->free[next++] = false;
	}
}

int plan_worker_ids_match(const struct plan_worker_ids *p, const struct plan_worker_place *places,
			  size_t n, uint32_t *ret_ids)
{
	autofree bool *free_lines = calloc(MAX_OF(p->n, 1), sizeof(*free_lines));
	struct match m = {p, places, n, ret_ids, free_lines};

	if (!free_lines)
		return -ENOMEM;
	memset(ret_ids, 0, n * sizeof(*ret_ids));
	match_same_cores(&m);
	match_moves(&m);
	match_in_order(&m, true);
	match_in_order(&m, false);
	return 0;
}

bool plan_worker_ids_core(const struct plan_worker_ids *p, uint32_t id, unsigned *ret)
{
	for (size_t i = 0; p && i < p->n; i++)
		if (p->entries[i].id == id) {
			*ret = p->entries[i].core;
			return true;
		}
	return false;
}

static int from_plan(struct plan_worker_ids *p, const struct plan *plan)
{
	int r = 0;

	for (size_t i = 0; i < plan->n_workers && r == 0; i++)
		r = add(p, plan->workers[i].core, plan->workers[i].id);
	return r;
}

static bool is_same(const struct plan_worker_ids *a, const struct plan_worker_ids *b)
{
	bool same = a->n == b->n;

	for (size_t i = 0; same && i < a->n; i++)
		same = a->entries[i].core == b->entries[i].core &&
		       a->entries[i].id == b->entries[i].id;
	return same;
}

static int write_all(const struct plan_worker_ids *p, const char *path)
{
	PLENUM_CLEANUP(state_draft_done) struct state_draft d;

	state_draft_init(&d, &kind);
	for (size_t i = 0; i < p->n; i++) {
		state_draft_put(&d, "core %u worker %" PRIu32, p->entries[i].core,
				p->entries[i].id);
		state_draft_end(&d);
	}
	return state_draft_save(&d, path);
}

int plan_worker_ids_save(struct plan_worker_ids *p, const char *path, const struct plan *plan)
{
	PLENUM_CLEANUP(plan_worker_ids_done) struct plan_worker_ids new = {0};
	int r = from_plan(&new, plan);

	if (r < 0 || is_same(p, &new))
		return r;
	r = write_all(&new, path);
	if (r < 0)
		return r;
	plan_worker_ids_done(p);
	*p = new;
	new = (struct plan_worker_ids){0};
	return 0;
}
