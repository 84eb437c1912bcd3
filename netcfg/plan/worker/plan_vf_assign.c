/* SPDX-License-Identifier: BSD-3-Clause */
/* Assigns VF numbers to workers. It does not need the devices. */
#include "netcfg/plan/worker/plan_vf_assign.h"
#include "netcfg/plan/backend.h"
#include "netcfg/plan/transport_choice.h"
#include <string.h>

static bool is_given(const struct plan *p, const struct plan_leg *leg, uint32_t n)
{
	for (size_t i = 0; i < p->n_workers; i++)
		if (p->workers[i].vf[leg->index] == n + 1)
			return true;
	return false;
}

static uint32_t first_free(const struct plan *p, const struct plan_leg *leg)
{
	bool given[PLAN_VFS_MAX] = {false};
	uint32_t n = 0;

	for (size_t i = 0; i < p->n_workers; i++)
		if (p->workers[i].vf[leg->index])
			given[p->workers[i].vf[leg->index] - 1] = true;
	while (n < PLAN_VFS_MAX && given[n])
		n++;
	return n;
}

static const struct transport_choice_entry *accepted_of(const struct plan_builder *b,
							const struct plan_leg *leg,
							const struct plan_worker *w)
{
	return transport_choice_find(b->ctx->accepted, transport_choice_core(b->ctx->accepted, w),
				     leg->net->name, b->plan->legs[leg->index].identity);
}

bool plan_vf_fits(const struct plan_leg *leg, enum spec_transport t)
{
	return backend_takes_vf(t, nic_family_find(leg->device->driver));
}

bool plan_vf_move_allowed(const struct plan_builder *b, const struct plan_worker *w)
{
	const struct plan_context *ctx = b->ctx;

	for (size_t i = 0; i < ctx->n_answered_cores && ctx->needs_verified_peer; i++)
		if (ctx->answered_cores[i] == w->core || ctx->answered_cores[i] == w->was_core)
			return ctx->may_move;
	return ctx->may_move && !ctx->needs_verified_peer;
}

bool plan_vf_is_accepted(const struct plan_builder *b, const struct plan_leg *leg,
			 const struct plan_worker *w)
{
	return w->asked != SPEC_TRANSPORT_AUTO || accepted_of(b, leg, w);
}

uint32_t plan_vf_number(const struct plan_builder *b, const struct plan_leg *leg,
			const struct plan_worker *w, bool had_only, uint32_t limit)
{
	const struct transport_choice_entry *had = accepted_of(b, leg, w);

	if (had && had->vf < limit && !is_given(b->plan, leg, had->vf))
		return had->vf;
	return had_only ? PLAN_VFS_MAX : first_free(b->plan, leg);
}

/* Returns whether the worker may have a VF of the leg. If no apply has accepted the device, only an
 * apply by an operator may give the worker a VF. */
static bool is_entitled(const struct plan_builder *b, const struct plan_leg *leg,
			const struct plan_worker *w)
{
	return plan_vf_fits(leg, w->claim) &&
	       (plan_vf_is_accepted(b, leg, w) || plan_vf_move_allowed(b, w));
}

/* Returns the worker with the lowest id that claims a VF of the leg and has none. */
static struct plan_worker *next_without(const struct plan_builder *b, const struct plan_leg *leg)
{
	struct plan_worker *next = NULL;

	for (size_t i = 0; i < b->plan->n_workers; i++) {
		struct plan_worker *w = &b->plan->workers[i];

		if (!w->vf[leg->index] && is_entitled(b, leg, w) && (!next || w->id < next->id))
			next = w;
	}
	return next;
}

void plan_vf_assign(struct plan_builder *b, const struct plan_leg *leg, uint32_t limit)
{
	struct plan_worker *w;
	uint32_t n;

	for (size_t i = 0; i < b->plan->n_workers; i++) {
		w = &b->plan->workers[i];
		n = is_entitled(b, leg, w) ? plan_vf_number(b, leg, w, true, limit) : PLAN_VFS_MAX;
		if (n < limit)
			w->vf[leg->index] = (uint16_t)(n + 1);
	}
	while ((w = next_without(b, leg)) && (n = first_free(b->plan, leg)) < limit)
		w->vf[leg->index] = (uint16_t)(n + 1);
}

uint32_t plan_vf_needed(const struct plan *p, const struct plan_leg *leg, bool by_name)
{
	uint32_t n = 0;

	for (size_t i = 0; i < p->n_workers; i++)
		if (!by_name || p->workers[i].asked != SPEC_TRANSPORT_AUTO)
			n = MAX_OF(n, p->workers[i].vf[leg->index]);
	return n;
}
