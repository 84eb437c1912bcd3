/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes the record of worker ids. */
#include "netcfg/plan/worker/plan_worker_ids.h"
#include "netcfg/base/state_file.h"
#include "netcfg/base/vec.h"
#include <inttypes.h>
#include <limits.h>

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

/* If two lines have the same id, planning uses the first. */
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

static bool has_core(const unsigned *cores, size_t n, unsigned core)
{
	for (size_t i = 0; i < n; i++)
		if (cores[i] == core)
			return true;
	return false;
}

void plan_worker_ids_match(const struct plan_worker_ids *p, const unsigned *cores, size_t n,
			   uint32_t *ret_ids)
{
	size_t next = 0;

	for (size_t i = 0; i < n; i++) {
		ret_ids[i] = 0;
		for (size_t j = 0; j < p->n && !ret_ids[i]; j++)
			if (p->entries[j].core == cores[i])
				ret_ids[i] = p->entries[j].id;
	}
	for (size_t i = 0; i < n; i++) {
		if (ret_ids[i])
			continue;
		while (next < p->n && has_core(cores, n, p->entries[next].core))
			next++;
		if (next < p->n)
			ret_ids[i] = p->entries[next++].id;
	}
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
