/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the plan of an apply with the inputs and rules of a run, without changing anything. */
#include "agent/desired/actions.h"
#include "agent/desired/leg_policy.h"
#include "agent/desired/worker_config.h"
#include "agent/reconcile/reachability.h"
#include "agent/reconcile/reconcile_choice.h"
#include "agent/reconcile/reconcile_mounts.h"
#include "netcfg/apply/route_check.h"

/* Makes the workers' configurations, and adds the actions for workers to the finished plan. */
static int add_workers(struct agent *a, struct kernel *k, struct diag *d, struct generation *next)
{
	int r = worker_config_build(next->spec, next->plan, &a->servers, a->opt.log_level, d,
				    &next->desired, &next->n_desired);

	if (r >= 0)
		r = reconcile_mounts_merge(a, next->spec, next->plan, true, d, next->desired,
					   next->n_desired);
	if (r >= 0)
		mounts_keep_running_addrs(a->sup, next->desired, next->n_desired);
	if (r >= 0)
		r = secrets_fill(next->spec, d, next->desired, next->n_desired);
	if (r < 0)
		return r;
	plan_check_routes(k, next->inv, next->plan);
	leg_policy_keep_ports(a->sup, next->plan, true, next->desired, next->n_desired);
	return actions_add(a->sup,
			   &(struct actions_task){a->running.spec, next->spec, next->desired,
						  next->n_desired, true},
			   next->plan);
}

int reconcile_preview(struct agent *a, struct kernel *k, const struct reconcile_client *c,
		      bool may_move, struct diag *d, struct generation *next)
{
	PLENUM_CLEANUP(plan_owned_done) struct plan_owned owned = {.path = NULL};
	PLENUM_CLEANUP(plan_worker_ids_done) struct plan_worker_ids worker_ids = {0};
	const struct reconcile *rec = &a->reconcile;
	autofree unsigned *answered = NULL;
	/* The context has no recorded failures, because an apply tries the failed transports
	 * again. */
	struct plan_context ctx = {.running = a->running.plan,
				   .held_hugepages = leg_policy_held_hugepages(a->sup),
				   .owned = &owned,
				   .worker_ids = &worker_ids,
				   .pools = &a->pools,
				   .accepted = reconcile_choice_now(rec),
				   .may_move = may_move,
				   .needs_verified_peer =
					   reconcile_needs_verified_peer(a, c, next->spec),
				   .made = (const char(*)[16])rec->choice.vf_pfs,
				   .n_made = rec->pending.applier ? rec->choice.n_vf_pfs : 0,
				   .forced = (const char(*)[PLENUM_NAME_MAX])c->forced,
				   .n_forced = c->n_forced};
	int r = reachability_answered_cores(a, next->spec, &answered, &ctx.n_answered_cores);

	ctx.answered_cores = answered;
	if (r >= 0)
		r = inv_collect(k, d, &next->inv);
	if (r >= 0)
		r = plan_owned_load(&owned, rec->records.owned_path, d);
	if (r >= 0)
		r = plan_worker_ids_load(&worker_ids, rec->records.worker_ids_path, d);
	if (r >= 0)
		r = plan_build(next->spec, next->inv, &ctx, d, &next->plan);
	return r < 0 ? r : add_workers(a, k, d, next);
}
