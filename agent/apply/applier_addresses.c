/* SPDX-License-Identifier: BSD-3-Clause */
/* Detects address conflicts during an apply, and continues with a new plan that leaves out the
 * addresses in conflict. */
#include "agent/apply/applier_addresses.h"
#include "netcfg/apply/apply_probe.h"
#include "netcfg/object/object.h"
#include <stdio.h>
#include <string.h>

int applier_addresses_init(struct applier_addresses *w, const struct applier_task *t)
{
	/* The task of a recovery has no plan, and its other pointers may be invalid. */
	const struct plan_context *ctx = t->plan ? t->ctx : NULL;
	const struct plan_conflicts *known = ctx ? ctx->conflicts : NULL;
	int r = 0;

	*w = (struct applier_addresses){.n_known = known ? known->n : 0};
	if (ctx)
		w->ctx = *ctx;
	for (size_t i = 0; i < w->n_known && r == 0; i++)
		r = plan_conflicts_add(&w->conflicts, &known->entries[i]);
	w->ctx.conflicts = &w->conflicts;
	return r;
}

void applier_addresses_done(struct applier_addresses *w)
{
	plan_conflicts_done(&w->conflicts);
}

static void warn_conflicts(const struct applier_addresses *w, size_t first, struct diag *d)
{
	char text[160];

	for (size_t i = first; i < w->conflicts.n; i++)
		diag_add(d, DIAG_WARNING, NULL, NULL, "%s; no worker uses it",
			 plan_conflict_describe(&w->conflicts.entries[i], text, sizeof(text)));
}

static int give_up(struct apply **apply, int error, struct apply_outcome *out)
{
	(void)apply_rollback(*apply, out);
	*apply = NULL;
	out->error = error;
	out->failed_step = SIZE_MAX; /* no step has failed */
	return error;
}

/* Makes a new plan for the rest of the apply, without the addresses that other hosts use. */
static int replan(struct applier_addresses *w, const struct applier_task *t, struct kernel *k,
		  struct apply **apply, struct apply_outcome *out, struct diag *d)
{
	struct inventory *inv = NULL;
	struct plan *p = NULL;
	int r = inv_collect(k, d, &inv);

	if (r == 0)
		r = plan_build(t->spec, inv, &w->ctx, d, &p);
	if (r == 0) {
		r = apply_go_on(*apply, p, true, out);
		*apply = r < 0 ? NULL : *apply;
		/* Not a step of the task's plan, so the caller cannot use its number. */
		out->failed_step = SIZE_MAX;
	} else {
		r = give_up(apply, r, out);
	}
	plan_free(p);
	inv_free(inv);
	return r;
}

static bool adds_addresses(const struct plan *p)
{
	for (size_t i = 0; i < p->n_steps; i++)
		if (p->steps[i].kind == &object_addr && p->steps[i].verb == PLAN_ADD)
			return true;
	return false;
}

int applier_addresses_add(struct applier_addresses *w, const struct applier_task *t,
			  struct kernel *k, struct apply **apply, struct apply_outcome *out,
			  struct diag *d)
{
	const size_t n = w->conflicts.n;
	int r = adds_addresses(t->plan) ? apply_probe(k, t->plan, &w->conflicts, d) : 0;

	if (r < 0)
		return give_up(apply, r, out);
	warn_conflicts(w, n, d);
	if (w->conflicts.n > n)
		return replan(w, t, k, apply, out, d);
	r = apply_go_on(*apply, t->plan, false, out);
	if (r < 0)
		*apply = NULL;
	return r;
}

int applier_addresses_verify(struct applier_addresses *w, const struct applier_task *t,
			     struct kernel *k, struct apply **apply, struct apply_outcome *out,
			     struct diag *d)
{
	PLENUM_CLEANUP(diag_done) struct diag first = DIAG_INIT;
	const uint64_t deadline = clock_now_ns() + t->verify_ns;
	const size_t n = w->conflicts.n;
	int r = apply_verify(k, t->spec, &w->ctx, deadline, &first);

	if (r == -EADDRINUSE && apply_probe_kernel(k, t->plan, &w->conflicts) == 0 &&
	    w->conflicts.n > n) {
		warn_conflicts(w, n, d);
		r = replan(w, t, k, apply, out, d);
		return r < 0 ? r : apply_verify(k, t->spec, &w->ctx, deadline, d);
	}
	diag_append(d, &first);
	return r;
}
