/* SPDX-License-Identifier: BSD-3-Clause */
/* The text form of the record of worker ids; planning only reads the record. */
#include "netcfg/plan/worker/plan_worker_ids.h"
#include "netcfg/base/file.h"
#include "netcfg/base/vec.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FILE_BYTES_MAX (1U << 20)
#define HEAD "plenum-workers"

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

/* If two lines name one id, planning uses the first. */
static int parse(struct plan_worker_ids *p, const char *text)
{
	int version = 0, at = 0, r = 0;
	unsigned core;
	uint32_t id;

	if (sscanf(text, HEAD " %d%n", &version, &at) != 1 || version != PLAN_PLACES_VERSION)
		return -EBADMSG;
	for (text += at; r == 0 && text[strspn(text, " \n")]; text += at) {
		at = 0;
		if (sscanf(text, " core %u worker %" SCNu32 "%n", &core, &id, &at) != 2 || !at ||
		    id == 0)
			return -EBADMSG;
		r = add(p, core, id);
	}
	return r;
}

int plan_worker_ids_load(struct plan_worker_ids *p, const char *path, struct diag *d)
{
	autofree char *text = NULL;
	size_t len;
	int r;

	plan_worker_ids_done(p);
	r = file_read(path, FILE_BYTES_MAX, &text, &len);
	if (r == 0)
		r = parse(p, text);
	if (r == 0 || r == -ENOENT)
		return 0;
	plan_worker_ids_done(p);
	if (r == -ENOMEM)
		return r;
	diag_add(d, DIAG_WARNING, NULL, NULL,
		 "cannot read the record %s (%s); worker ids and addresses follow the order in the "
		 "configuration",
		 path,
		 r == -EBADMSG ? "its format is damaged or of another version" : strerror(-r));
	return 0;
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
	autofree char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return -ENOMEM;
	fprintf(f, HEAD " %d\n", PLAN_PLACES_VERSION);
	for (size_t i = 0; i < p->n; i++)
		fprintf(f, "core %u worker %" PRIu32 "\n", p->entries[i].core, p->entries[i].id);
	if (fclose(f) != 0)
		return -ENOMEM;
	return file_write(path, text, len, 0600);
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
