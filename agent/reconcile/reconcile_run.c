/* SPDX-License-Identifier: BSD-3-Clause */
/* The reconcile run: loads the configuration, collects the inventory, builds the plan, runs the
 * applier, and passes the desired workers to the supervisor. reconcile_outcome.c handles the
 * result. */
#include "agent/reconcile/reconcile_run.h"
#include "agent/desired/actions.h"
#include "agent/desired/leg_policy.h"
#include "agent/desired/worker_config.h"
#include "agent/legs/leg_labels.h"
#include "agent/legs/leg_links.h"
#include "agent/legs/leg_wiring.h"
#include "agent/monitor/kernel_events.h"
#include "agent/monitor/membership.h"
#include "agent/reconcile/reachability.h"
#include "agent/reconcile/reconcile_choice.h"
#include "agent/reconcile/reconcile_confirm.h"
#include "agent/reconcile/reconcile_internal.h"
#include "agent/reconcile/reconcile_mounts.h"
#include "agent/reconcile/reconcile_outcome.h"
#include "agent/reconcile/reconcile_records.h"
#include "agent/reconcile/reconcile_ticket.h"
#include "netcfg/apply/route_check.h"
#include <malloc.h>
#include <string.h>

#define TRIES_MAX 3
#define AWAITS 2 /* the run continues later, from its beginning */

/* Puts the new generation of this run in force. */
static void generation_commit(struct agent *a)
{
	const bool is_other_spec = a->reconcile.run.next.spec;

	generation_swap(a, &a->reconcile.run.next);
	if (is_other_spec && a->reconcile.setup.on_spec)
		a->reconcile.setup.on_spec(a);
}

static void note_steps(struct agent *a)
{
	const struct plan *p = a->reconcile.run.next.plan;
	char text[200];

	for (size_t i = 0; i < p->n_steps; i++)
		log_info("%s (%s)", plan_step_describe(&p->steps[i], text, sizeof(text)),
			 p->steps[i].reason);
	if (reconcile_is_repair(&a->reconcile))
		drift_note(a, p);
}

/* ---- before and after the applier ---- */

/* Loads the staged configuration. First prepares the commit, so that a full disk is found before
 * the host is changed. On a retry, the first try has prepared it already. */
static int load_staged(struct agent *a, struct store_source *ret)
{
	int r = a->store.prepared ? 0 : store_prepare(&a->store, &a->reconcile.run.diag);

	if (r >= 0 && a->reconcile.run.n_tries == 0)
		r = store_note_base(&a->store, &a->reconcile.run.diag);
	return r < 0 ? r : store_next(&a->store, ret);
}

static int load_history(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;
	autofree char *path = history_config(&rec->records.history, rec->run.client.back_to);

	if (path)
		return spec_load(path, NULL, &rec->run.diag, &rec->run.next.spec);
	diag_add(&rec->run.diag, DIAG_ERROR, NULL, NULL,
		 "apply %llu has no stored configuration; give the number of an apply that 'plenum "
		 "history' shows as applied",
		 (unsigned long long)rec->run.client.back_to);
	return -ENOENT;
}

/* Checks whether the configuration may be applied. A configuration that was rolled back is applied
 * again only if an operator requests this or the configuration has changed. A reload that was
 * requested before the rollback does not count as such a request, because the same peers would be
 * cut off again. */
static int check_refused(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;
	const bool knows = !rec->run.is_guarded &&
			   !(rec->run.trigger == RECONCILE_RELOAD && rec->queue.reload_is_older);
	struct reason why;

	if ((reconcile_is_ordered(rec) && knows) ||
	    !reconcile_is_refused(a, rec->run.next.spec, &why))
		return 0;
	diag_add(&rec->run.diag, DIAG_ERROR, NULL, NULL, "%s", why.text);
	return -ECANCELED;
}

static int load(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;
	struct store_source from = store_disk(&a->store);
	int r = 0;

	if (rec->run.source == RECONCILE_FROM_RUNNING)
		r = a->running.spec ? 0 : -ENOENT;
	else if (rec->run.source == RECONCILE_FROM_LAST_GOOD)
		r = reconcile_last_good_load(a, &rec->run.diag, &rec->run.next.spec);
	else if (rec->run.source == RECONCILE_FROM_PENDING)
		r = reconcile_ticket_load(a, &rec->run.diag, &rec->run.next.spec);
	else if (rec->run.source == RECONCILE_FROM_HISTORY)
		r = load_history(a);
	else if (rec->run.source == RECONCILE_FROM_STAGED)
		r = load_staged(a, &from);
	if (r >= 0 &&
	    (rec->run.source == RECONCILE_FROM_FILES || rec->run.source == RECONCILE_FROM_STAGED))
		r = spec_load(from.file, from.dropin_dir, &rec->run.diag, &rec->run.next.spec);
	rec->run.loaded = r >= 0;
	return r >= 0 && rec->run.source == RECONCILE_FROM_FILES ? check_refused(a) : r;
}

static void pools_taken(struct agent *a);
static void mounts_searched(struct agent *a, int error);
static void on_wait(void *user, uint64_t until_ns, const struct plan_conflicts *conflicts);

static int update_held_vfs(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;

	free(ptr_take(rec->inputs.held_vfs));
	rec->inputs.n_held_vfs = 0;
	return leg_policy_held_vfs(a->sup, &rec->inputs.held_vfs, &rec->inputs.n_held_vfs);
}

/* Loads the configuration and the records, and collects the inventory. Reads kernel notifications
 * first, so that a notification that arrives later reports a change that is newer than the
 * inventory. */
static int load_and_collect(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;
	int r = update_held_vfs(a);

	if (r >= 0)
		r = load(a);
	if (r >= 0)
		r = plan_owned_load(&rec->inputs.owned, rec->records.owned_path, &rec->run.diag);
	if (r >= 0)
		r = plan_worker_ids_load(&rec->inputs.worker_ids, rec->records.worker_ids_path,
					 &rec->run.diag);
	if (r < 0)
		return r;
	if (!rec->pending.applier)
		rec->choice.n_vf_pfs = 0;
	kernel_events_read(a);
	if (reconcile_is_asked(rec->run.trigger))
		kernel_forget(a->kernel);
	r = inv_collect(a->kernel, &rec->run.diag, &rec->run.next.inv);
	if (r < 0)
		return r;
	r = reconcile_choice_look(a, rec->run.next.inv);
	if (r >= 0)
		r = reachability_answered_cores(a, reconcile_spec(a), &rec->inputs.answered_cores,
						&rec->inputs.n_answered_cores);
	if (r < 0)
		return r;
	kernel_events_take_carriers(a, rec->run.next.inv);
	if (rec->run.trigger == RECONCILE_RELOAD || rec->run.trigger == RECONCILE_API) {
		plan_failures_clear(&a->failures);
		reconcile_keep_attempts(a);
		/* Forgets the address conflicts, because the other hosts may have stopped using the
		 * addresses. */
		if (rec->run.n_tries == 0)
			plan_conflicts_done(&rec->inputs.conflicts);
	}
	return 0;
}

/* Reads the cluster's keys. A changed key file takes effect with the next apply, like the rest of
 * the configuration; repairs keep the cluster keys that the workers have. */
static int keys_fill(struct agent *a, const struct spec *spec)
{
	struct reconcile *rec = &a->reconcile;

	if (rec->run.next.spec || a->running.n_desired == 0)
		return secrets_fill(spec, &rec->run.diag, rec->run.next.desired,
				    rec->run.next.n_desired);
	secrets_keep(&a->running.desired[0], rec->run.next.desired, rec->run.next.n_desired);
	return 0;
}

/* Returns whether this run may fail because its configuration is refused: another configuration
 * runs, and stays in force. A configuration that is being restored or repaired, or that is in force
 * already, must not be refused. */
static bool is_refusable(const struct agent *a)
{
	const enum reconcile_source from = a->reconcile.run.source;

	return a->running.spec && !a->reconcile.pending.applier &&
	       (from == RECONCILE_FROM_FILES || from == RECONCILE_FROM_STAGED ||
		from == RECONCILE_FROM_HISTORY);
}

/* Makes the configurations of the planned workers. */
static int make_desired(struct agent *a, const struct spec *spec)
{
	struct reconcile *rec = &a->reconcile;
	int r = worker_config_build(spec, rec->run.next.plan, &a->servers, a->opt.log_level,
				    &rec->run.diag, &rec->run.next.desired,
				    &rec->run.next.n_desired);

	if (r >= 0)
		r = reconcile_mounts_merge(a, spec, rec->run.next.plan, is_refusable(a),
					   &rec->run.diag, rec->run.next.desired,
					   rec->run.next.n_desired);
	if (r < 0)
		return r;
	mounts_keep_running_addrs(a->sup, rec->run.next.desired, rec->run.next.n_desired);
	return keys_fill(a, spec);
}

/* Collects the inputs of the plan besides the spec and the inventory. */
static struct plan_context context_of(struct agent *a, const struct spec *spec)
{
	struct reconcile *rec = &a->reconcile;

	return (struct plan_context){
		.running = a->running.plan,
		.held_hugepages = leg_policy_held_hugepages(a->sup),
		.failures = &a->failures,
		.owned = &rec->inputs.owned,
		.worker_ids = &rec->inputs.worker_ids,
		.accepted = reconcile_choice_now(rec),
		.may_move = reconcile_may_move(rec),
		.needs_verified_peer = reconcile_needs_verified_peer(a, &rec->run.client, spec),
		.answered_cores = rec->inputs.answered_cores,
		.n_answered_cores = rec->inputs.n_answered_cores,
		.made = (const char(*)[16])rec->choice.vf_pfs,
		.n_made = rec->choice.n_vf_pfs,
		.conflicts = &rec->inputs.conflicts,
		.pools = &a->pools,
		.needs_pools = rec->run.next.spec != NULL,
		.held = (const char(*)[16])rec->inputs.held_vfs,
		.n_held = rec->inputs.n_held_vfs,
		.forced = (const char(*)[PLENUM_NAME_MAX])rec->run.client.forced,
		.n_forced = rec->run.client.n_forced};
}

/* Requests the addresses of pools that a configuration needs. This happens before the configuration
 * comes into force, so that the plan and the checks of the apply already have the addresses.
 * Returns 0, AWAITS if the run continues later, or negative errno. */
static int take_pools(struct agent *a)
{
	struct reconcile_run *run = &a->reconcile.run;

	if (!run->next.spec || a->reconcile.pending.applier)
		return 0;
	if (cluster_is_leaving(a->cluster) && cluster_pools_use(run->next.spec)) {
		diag_add(&run->diag, DIAG_ERROR, NULL, NULL,
			 "'plenum cluster leave' is returning this host's addresses; apply a "
			 "configuration with 'pool' when it has ended");
		return -EBUSY;
	}
	if (run->asked_pools || run->n_tries || !cluster_pools_use(run->next.spec))
		return 0;
	run->asked_pools = true;
	run->awaits_pools = membership_take_pools(a, run->next.spec, pools_taken);
	return run->awaits_pools ? AWAITS : 0;
}

/* Carries out the part of a run before the applier. Returns 1 if the applier is running the steps,
 * AWAITS if the run continues later, 0 if there are no steps, or negative errno. */
static int first_half(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;
	int r = load_and_collect(a);
	const struct spec *spec = reconcile_spec(a);
	struct plan_context ctx = context_of(a, spec);
	struct applier_task task = {.loop = a->loop,
				    .host = &a->applier_host,
				    .journal = a->journal,
				    .spec = spec,
				    .ctx = &ctx,
				    .verify_ns = a->verify_ns,
				    .on_wait = on_wait,
				    .on_not_yet = reconcile_on_not_yet,
				    .on_end = reconcile_on_applied,
				    .user = a};

	if (r >= 0)
		r = take_pools(a);
	if (r == AWAITS)
		return r;
	if (r >= 0)
		r = plan_build(spec, rec->run.next.inv, &ctx, &rec->run.diag, &rec->run.next.plan);
	if (r >= 0)
		r = reconcile_choice_freeze(a, &ctx);
	if (r < 0)
		return r;
	r = make_desired(a, spec);
	if (r >= 0)
		r = reconcile_mounts_search(a, mounts_searched);
	if (r == 1)
		return AWAITS;
	if (r >= 0 && !rec->pending.applier)
		reachability_before(a);
	if (r >= 0 && !rec->pending.applier)
		r = reconcile_mounts_before(a);
	if (r < 0 || rec->pending.applier || /* a pending applier has done this already */
	    (rec->run.next.plan->n_steps == 0 && !reconcile_confirm_s(a)))
		return r;
	note_steps(a);
	task.plan = rec->run.next.plan;
	if (reconcile_is_repair(rec))
		task.verify_ns = MIN_OF(task.verify_ns, drift_verify_ns(task.plan));
	reconcile_enter(a);
	r = reconcile_ticket(a, &task);
	if (r < 0)
		return r;
	rec->state = RECONCILE_APPLYING;
	r = applier_start(&task, &rec->applier);
	return r < 0 ? r : 1;
}

/* Carries out the part of a run after the applier: the network has its desired state, and now the
 * workers get their configurations. */
static int second_half(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;
	bool asked = reconcile_is_asked(rec->run.trigger);
	uint64_t wait_ns;
	int r;

	if (a->state == AGENT_STOPPING) {
		if (rec->run.n_steps > 0)
			diag_add(&rec->run.diag, DIAG_ERROR, NULL, NULL,
				 "the agent is stopping: the network is in the desired state, but "
				 "no worker was started and nothing was committed");
		rec->run.unclear = rec->run.n_steps > 0;
		return -ESHUTDOWN;
	}
	plan_check_routes(a->kernel, rec->run.next.inv, rec->run.next.plan);
	wait_ns = leg_policy_keep_ports(a->sup, rec->run.next.plan, asked, rec->run.next.desired,
					rec->run.next.n_desired);
	if (wait_ns)
		reconcile_arm(a, wait_ns);
	r = actions_add(a->sup,
			&(struct actions_task){a->running.spec, rec->run.next.spec,
					       rec->run.next.desired, rec->run.next.n_desired,
					       asked},
			rec->run.next.plan);
	if (r < 0)
		return r;
	reconcile_choice_note(a, a->running.plan, rec->run.next.plan);
	if (asked && rec->run.next.spec)
		spec_note_overrides(rec->run.next.spec, a->running.spec, &rec->run.diag);
	generation_commit(a);
	if (!rec->pending.applier)
		reconcile_save_worker_ids(a);
	for (size_t i = 0; i < a->running.plan->n_actions; i++)
		log_info("%s (%s)", a->running.plan->actions[i].text,
			 a->running.plan->actions[i].reason);
	kernel_events_take_carriers(a, a->running.inv);
	leg_labels_take_plan(a);
	leg_wiring_take_plan(a);
	leg_links_take_plan(a);
	return reconcile_mounts_apply(a, asked);
}

/* Collects the inventory after the applier's changes. */
static int collect_again(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;
	const struct spec *spec = reconcile_spec(a);
	int r;

	kernel_events_read(a);
	rec->run.next.inv = inv_free(rec->run.next.inv);
	r = inv_collect(a->kernel, &rec->run.diag, &rec->run.next.inv);
	if (r < 0)
		return r;
	plan_resolve(rec->run.next.plan, rec->run.next.inv);
	free(ptr_take(rec->run.next.desired));
	rec->run.next.n_desired = 0;
	return make_desired(a, spec);
}

static void finish(struct agent *a, int r);
static void begin(struct agent *a);

static void note_applied(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;

	rec->run.n_steps = rec->run.next.plan->n_steps;
	a->n_applies++;
}

int reconcile_take_conflicts(struct reconcile *rec, const struct plan_conflicts *found)
{
	int r = 0;

	for (size_t i = 0; i < found->n && r >= 0; i++)
		r = plan_conflicts_add(&rec->inputs.conflicts, &found->entries[i]);
	return r < 0 ? r : 0;
}

void reconcile_on_applied(void *user, const struct applier_result *res, const struct diag *d)
{
	struct agent *a = user;
	struct reconcile *rec = &a->reconcile;
	int r = res->error;

	if (rec->pending.applier) {
		reconcile_pending_end(a, res, d);
		reconcile_run_next(a);
		agent_end_if_done(a);
		return;
	}
	rec->applier = NULL;
	rec->run.n_writes += res->n_writes;
	rec->run.failed_step = res->failed_step;
	rec->run.unclear = res->stuck || res->unclear;
	diag_append(&rec->run.diag, d);
	if (r == 0 && res->conflicts && res->conflicts->n) {
		/* The applier left out addresses that other hosts use, so the plan of this run is
		 * not the one that was applied. A new plan is made. */
		r = -EAGAIN;
		note_applied(a);
		if (reconcile_take_conflicts(rec, res->conflicts) < 0)
			r = -ENOMEM;
	}
	if (r == -EAGAIN && ++rec->run.n_tries < TRIES_MAX && a->state != AGENT_STOPPING) {
		generation_done(&rec->run.next);
		begin(a);
		return;
	}
	if (r == 0) {
		note_applied(a);
		r = collect_again(a);
	}
	finish(a, r == 0 ? second_half(a) : r);
}

/* Called when the applier has carried out the plan and waits for a confirmation. The workers start
 * with the new configuration now, so that the operator confirms a configuration that runs. */
static void on_wait(void *user, uint64_t until_ns, const struct plan_conflicts *conflicts)
{
	struct agent *a = user;
	struct reconcile *rec = &a->reconcile;
	int r;

	reconcile_pending_begin(a, ptr_take(rec->applier), until_ns);
	if (applier_unreachable(rec->pending.applier)[0])
		diag_add(&rec->run.diag, DIAG_WARNING, NULL, NULL, "%s",
			 applier_unreachable(rec->pending.applier));
	note_applied(a);
	if (conflicts->n) { /* the applier has replaced the plan by one without these addresses */
		r = reconcile_take_conflicts(rec, conflicts);
		/* The run counts as a retry, because a first try would forget the conflicts. */
		rec->run.n_tries++;
		generation_done(&rec->run.next);
		if (r == 0)
			begin(a);
		else
			finish(a, r);
		return;
	}
	r = collect_again(a);
	finish(a, r == 0 ? second_half(a) : r);
}

static void begin(struct agent *a)
{
	int r = first_half(a);

	/* The run loads the configuration, with its warnings, again later. */
	if (r == AWAITS) {
		generation_done(&a->reconcile.run.next);
		diag_done(&a->reconcile.run.diag);
		a->reconcile.run.diag = (struct diag)DIAG_INIT;
	}
	if (r == 1 || r == AWAITS) {
		if (!loop_timer_armed(a->reconcile.pacing.tick))
			loop_timer_arm(a->reconcile.pacing.tick, RECONCILE_TICK_NS);
		return;
	}
	finish(a, r == 0 ? second_half(a) : r);
}

/* Continues a run that was waiting for addresses of pools. */
static void pools_taken(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;

	if (!rec->run.awaits_pools)
		return;
	rec->run.awaits_pools = false;
	if (a->state == AGENT_STOPPING)
		finish(a, -ESHUTDOWN);
	else
		begin(a);
}

/* Continues a run that waits for the search for processes that use mounts. */
static void mounts_searched(struct agent *a, int error)
{
	if (a->state == AGENT_STOPPING)
		error = -ESHUTDOWN;
	if (error < 0)
		finish(a, error);
	else
		begin(a);
}

void reconcile_begin(struct agent *a, const struct reconcile_request *rq)
{
	struct reconcile *rec = &a->reconcile;

	rec->state = RECONCILE_LOADING;
	if (rq->source != RECONCILE_FROM_RUNNING && rq->source != RECONCILE_FROM_LAST_GOOD)
		/* This run applies another configuration on request, so the edited files are not
		 * applied later. */
		rec->queue.edited_files = false;
	rec->run = (struct reconcile_run){
		.trigger = rq->trigger,
		.source = rq->source,
		.is_guarded = (rq->trigger == RECONCILE_START || rq->trigger == RECONCILE_KERNEL) &&
			      rq->source == RECONCILE_FROM_FILES && a->running.spec,
		.client = rq->client,
		.diag = DIAG_INIT,
		.began_ns = clock_now_ns(),
		.mention_ns = RECONCILE_TICK_NS};
	begin(a);
}

void reconcile_run_next(struct agent *a)
{
	const struct reconcile *rec = &a->reconcile;
	struct reconcile_request rq;

	while (rec->state == RECONCILE_IDLE && !rec->pending.applier &&
	       a->state != AGENT_STOPPING && reconcile_queue_take(a, &rq))
		reconcile_begin(a, &rq);
}

static void finish(struct agent *a, int r)
{
	struct reconcile *rec = &a->reconcile;
	bool repair = r < 0 && rec->run.trigger == RECONCILE_KERNEL &&
		      rec->run.source == RECONCILE_FROM_FILES;

	loop_timer_disarm(rec->pacing.tick);
	reconcile_conclude(a, r);
	reconcile_ticket_done(a);
	while (rec->pending.applier && !rec->reachability.alone && rec->queue.n_clients > 0)
		reconcile_refuse_client(a, &rec->queue.clients[--rec->queue.n_clients], -EALREADY);
	if (rec->run.asked_pools) /* restores the cluster settings in force */
		membership_take_spec(a);
	if (a->store.prepared) /* the prepared commit was not made */
		store_abandon(&a->store);
	generation_done(&rec->run.next);
	diag_done(&rec->run.diag);
	json_decref(rec->run.users);
	rec->run.users = NULL;
	rec->state = RECONCILE_IDLE;
	/* The files cannot be applied, but the running configuration can still be repaired. */
	if (repair && a->state != AGENT_STOPPING)
		reconcile_begin(a, &(struct reconcile_request){.trigger = RECONCILE_KERNEL,
							       .source = RECONCILE_FROM_RUNNING});
	else
		reconcile_run_next(a);
	rec->pacing.ready_due |= rec->state == RECONCILE_IDLE;
	reconcile_note_ready(a);
	agent_publish(a);
	agent_end_if_done(a);
	/* Only a reconcile uses much heap memory, so return this memory to the kernel now. */
	malloc_trim(0);
}
