/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps the list of failed attempts of this boot, and stores it in a file for the next agent
 * process. */
#include "netcfg/base/files/state_file.h"
#include "netcfg/base/vec.h"
#include "netcfg/plan/plan.h"
#include <inttypes.h>
#include <limits.h>
#include <string.h>

static const struct state_kind kind = {.name = "attempts",
				       .version = 2,
				       .old_until = 1,
				       .scope = STATE_OF_NETNS,
				       .bytes_max = 1U << 20};

int plan_failures_add(struct plan_failures *f, const struct plan_worker *w, const char *why)
{
	struct plan_failure *e = (struct plan_failure *)plan_failures_find(f, w);

	if (!e) {
		e = vec_add(&f->entries, &f->n, sizeof(*e));
		if (!e)
			return -ENOMEM;
	}
	*e = (struct plan_failure){.worker = w->id, .core = w->core, .asked = w->asked};
	reason_copy_text(e->why, sizeof(e->why), why[0] ? why : "?");
	return 0;
}

const struct plan_failure *plan_failures_find(const struct plan_failures *f,
					      const struct plan_worker *w)
{
	for (size_t i = 0; f && i < f->n; i++)
		if (f->entries[i].worker == w->id && f->entries[i].core == w->core &&
		    f->entries[i].asked == w->asked)
			return &f->entries[i];
	return NULL;
}

int plan_failures_add_vfs(struct plan_failures *f, const char *pf, uint32_t n, const char *why)
{
	struct plan_refusal *e = (struct plan_refusal *)plan_failures_find_vfs(f, pf, n);

	if (!e) {
		e = vec_add(&f->refusals, &f->n_refusals, sizeof(*e));
		if (!e)
			return -ENOMEM;
	}
	*e = (struct plan_refusal){.n = n};
	snprintf(e->pf, sizeof(e->pf), "%s", pf);
	reason_copy_text(e->why, sizeof(e->why), why[0] ? why : "?");
	return 0;
}

const struct plan_refusal *plan_failures_find_vfs(const struct plan_failures *f, const char *pf,
						  uint32_t n)
{
	for (size_t i = 0; f && i < f->n_refusals; i++)
		if (f->refusals[i].n == n && strcmp(f->refusals[i].pf, pf) == 0)
			return &f->refusals[i];
	return NULL;
}

void plan_failures_clear(struct plan_failures *f)
{
	free(f->entries);
	free(f->refusals);
	*f = (struct plan_failures){0};
}

/* ---- the file ---- */

static int parse_dpdk(struct plan_failures *f, struct state_file *file)
{
	struct plan_worker w = {0};
	const char *why;

	w.id = (uint32_t)state_file_number(file, UINT32_MAX);
	w.core = (unsigned)state_file_number(file, UINT_MAX);
	w.asked = (enum spec_transport)state_file_number(file, SPEC_TRANSPORT_MAX - 1);
	why = state_file_text(file);
	return state_file_line_ends(file) ? plan_failures_add(f, &w, why) : STATE_TORN;
}

static int parse_vfs(struct plan_failures *f, struct state_file *file)
{
	const char *why;
	uint32_t n;
	char pf[16];

	state_file_copy(file, pf, sizeof(pf));
	n = (uint32_t)state_file_number(file, UINT32_MAX);
	why = state_file_text(file);
	return state_file_line_ends(file) ? plan_failures_add_vfs(f, pf, n, why) : STATE_TORN;
}

static int parse_line(struct plan_failures *f, struct state_file *file)
{
	const char *word = state_file_word(file);

	return strcmp(word, "dpdk") == 0  ? parse_dpdk(f, file)
	       : strcmp(word, "vfs") == 0 ? parse_vfs(f, file)
					  : STATE_TORN;
}

int plan_failures_load(struct plan_failures *f, const char *path)
{
	PLENUM_CLEANUP(state_file_done) struct state_file file;
	int r = state_file_read(&file, &kind, path);

	plan_failures_clear(f);
	while (r == 0 && state_file_line(&file))
		r = parse_line(f, &file);
	if (r < 0)
		plan_failures_clear(f);
	return r == STATE_MISSING || r == STATE_OTHER_BOOT ? 0 : r;
}

int plan_failures_save(const struct plan_failures *f, const char *path)
{
	PLENUM_CLEANUP(state_draft_done) struct state_draft d = {.kind = &kind};

	if (f->n + f->n_refusals == 0)
		return state_file_remove(&kind, path);
	state_draft_init(&d, &kind);
	for (size_t i = 0; i < f->n; i++) {
		const struct plan_failure *e = &f->entries[i];

		state_draft_put(&d, "dpdk %" PRIu32 " %u %u", e->worker, e->core,
				(unsigned)e->asked);
		state_draft_text(&d, e->why);
	}
	for (size_t i = 0; i < f->n_refusals; i++) {
		state_draft_put(&d, "vfs %s %" PRIu32, f->refusals[i].pf, f->refusals[i].n);
		state_draft_text(&d, f->refusals[i].why);
	}
	return state_draft_save(&d, path);
}
