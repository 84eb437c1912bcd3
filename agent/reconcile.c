/* SPDX-License-Identifier: BSD-3-Clause */
/* The reconcile run: load the configuration, collect the inventory, build the plan, run the
 * applier, then hand the desired workers to the supervisor. reconcile_outcome.c handles its result.
 */
#include "agent/agent.h"
#include "agent/base/path.h"
#include "agent/desired/actions.h"
#include "agent/desired/leg_policy.h"
#include "agent/desired/worker_config.h"
#include "agent/leg_labels.h"
#include "agent/leg_wiring.h"
#include "agent/reconcile_internal.h"
#include "agent/status.h"
#include "netcfg/apply/route_check.h"
#include "netcfg/base/state_file.h"
#include <malloc.h>
#include <string.h>

#define TRIES_MAX 3

const char *reconcile_trigger_to_string(enum reconcile_trigger t)
{
	static const char *const names[RECONCILE_TRIGGER_MAX] = {"start", "reload", "apply",
								 "kernel event", "fallback"};

	return t < RECONCILE_TRIGGER_MAX ? names[t] : "?";
}

void generation_done(struct generation *r)
{
	free(r->desired);
	plan_free(r->plan);
	inv_free(r->inv);
	spec_free(r->spec);
	*r = (struct generation){0};
}

/* Members of struct running are const for all others; this function owns them. */
void generation_swap(struct agent *a, struct generation *next)
{
	struct generation old = {.spec = (struct spec *)a->running.spec,
				 .inv = (struct inventory *)a->running.inv,
				 .plan = (struct plan *)a->running.plan,
				 .desired = (struct launch_config *)a->running.desired};

	if (!next->spec && next->plan)
		next->spec = ptr_take(old.spec);
	a->running =
		(struct running){next->spec, next->inv, next->plan, next->desired, next->n_desired};
	*next = (struct generation){0};
	generation_done(&old);
}

/* Puts the new generation of this run in force. */
static void generation_commit(struct agent *a)
{
	const bool is_other_spec = a->reconcile.run.next.spec;

	generation_swap(a, &a->reconcile.run.next);
	if (!is_other_spec)
		return;
	agent_take_rights(a);
	if (!a->running.spec->fault_injection && a->faults.n > 0)
		faults_end(&a->faults, 0, "the configuration no longer allows faults");
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

/* Prepares the commit first, so that a full disk is found before the host changes; on a retry it is
 * prepared already. */
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

/* A configuration that was rolled back is not retried until an operator requests it again or
 * it changes. A reload requested before the rollback does not count as such a request: it would cut
 * off the same peers again. */
static int check_refused(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;
	const bool knows = !(rec->run.trigger == RECONCILE_RELOAD && rec->queue.reload_is_older);
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

static void on_wait(void *user, uint64_t until_ns, const struct plan_conflicts *conflicts);

static int update_held_vfs(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;

	free(ptr_take(rec->inputs.held_vfs));
	rec->inputs.n_held_vfs = 0;
	return leg_policy_held_vfs(a->sup, &rec->inputs.held_vfs, &rec->inputs.n_held_vfs);
}

/* Loads the configuration and the records and collects the inventory. Notifications are read first,
 * so that none older than the inventory arrives after it. */
static int look(struct agent *a)
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
	agent_read_kernel(a);
	if (reconcile_is_asked(rec->run.trigger))
		agent_forget_host(a);
	r = inv_collect(a->kernel, &rec->run.diag, &rec->run.next.inv);
	if (r < 0)
		return r;
	r = reconcile_choice_look(a, rec->run.next.inv);
	if (r < 0)
		return r;
	agent_take_carriers(a, rec->run.next.inv);
	if (rec->run.trigger == RECONCILE_RELOAD || rec->run.trigger == RECONCILE_API) {
		plan_failures_clear(&a->failures);
		reconcile_keep_attempts(a);
		if (rec->run.n_tries == 0) /* the other hosts may have gone */
			plan_conflicts_done(&rec->inputs.conflicts);
	}
	return 0;
}

/* A changed key file takes effect with the next apply, like the rest of the configuration: repairs
 * keep the workers' present keys. */
static int keys_fill(struct agent *a, const struct spec *spec)
{
	struct reconcile *rec = &a->reconcile;

	if (rec->run.next.spec || a->running.n_desired == 0)
		return secrets_fill(spec, &rec->run.diag, rec->run.next.desired,
				    rec->run.next.n_desired);
	secrets_keep(&a->running.desired[0], rec->run.next.desired, rec->run.next.n_desired);
	return 0;
}

/* The inputs of the plan besides spec and inventory. */
static struct plan_context context_of(struct agent *a, const struct spec *spec)
{
	struct reconcile *rec = &a->reconcile;

	return (struct plan_context){
		.running = a->running.plan,
		.held_hugepages = leg_policy_held_hugepages(a->sup),
		.failures = &a->failures,
		.owned = &rec->inputs.owned,
		.places = &rec->inputs.worker_ids,
		.agreed = reconcile_choice_now(rec),
		.may_move = reconcile_may_move(a),
		.by_witness = reconcile_needs_verified_peer(a, &rec->run.client, spec),
		.witnessed = rec->inputs.answered_cores,
		.n_witnessed = rec->inputs.n_answered_cores,
		.made = (const char(*)[16])rec->choice.vf_pfs,
		.n_made = rec->choice.n_vf_pfs,
		.conflicts = &rec->inputs.conflicts,
		.held = (const char(*)[16])rec->inputs.held_vfs,
		.n_held = rec->inputs.n_held_vfs,
		.forced = (const char(*)[PLENUM_NAME_MAX])rec->run.client.forced,
		.n_forced = rec->run.client.n_forced};
}

/* Everything before the applier. 1: the applier runs the steps; 0: there are none; negative errno.
 */
static int first_half(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;
	int r = look(a);
	const struct spec *spec = rec->run.next.spec ? rec->run.next.spec : a->running.spec;
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
		r = plan_build(spec, rec->run.next.inv, &ctx, &rec->run.diag, &rec->run.next.plan);
	if (r >= 0)
		r = reconcile_freeze(a, &ctx);
	if (r < 0)
		return r;
	r = worker_config_build(spec, rec->run.next.plan, a->opt.log_level, &rec->run.diag,
				&rec->run.next.desired, &rec->run.next.n_desired);
	if (r >= 0)
		r = keys_fill(a, spec);
	if (r >= 0 && !rec->pending.applier)
		reachability_before(a);
	if (r >= 0 && !rec->pending.applier)
		r = reconcile_mounts_before(a);
	if (r < 0 || rec->pending.applier || /* the pending applier has run them */
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

/* Without this record the next start may number the workers differently. */
void reconcile_save_worker_ids(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;
	int r = plan_worker_ids_save(&rec->inputs.worker_ids, rec->records.worker_ids_path,
				     a->running.plan);

	reconcile_choice_keep(a);
	if (r < 0)
		events_add(&a->events, LOG_LEVEL_WARNING, "agent",
			   "cannot write %s: %s; after a restart workers may get other ids and "
			   "addresses",
			   rec->records.worker_ids_path, strerror(-r));
}

/* Everything after the applier: the host is in the desired state, now the workers follow. */
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
	generation_commit(a);
	if (!rec->pending.applier)
		reconcile_save_worker_ids(a);
	for (size_t i = 0; i < a->running.plan->n_actions; i++)
		log_info("%s (%s)", a->running.plan->actions[i].text,
			 a->running.plan->actions[i].reason);
	agent_take_carriers(a, a->running.inv);
	leg_labels_take_plan(a);
	leg_wiring_take_plan(a);
	return reconcile_mounts_apply(a, asked);
}

/* Collects the inventory that the applier left. */
static int look_again(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;
	const struct spec *spec = rec->run.next.spec ? rec->run.next.spec : a->running.spec;
	int r;

	agent_read_kernel(a);
	rec->run.next.inv = inv_free(rec->run.next.inv);
	r = inv_collect(a->kernel, &rec->run.diag, &rec->run.next.inv);
	if (r < 0)
		return r;
	plan_resolve(rec->run.next.plan, rec->run.next.inv);
	free(ptr_take(rec->run.next.desired));
	rec->run.next.n_desired = 0;
	r = worker_config_build(spec, rec->run.next.plan, a->opt.log_level, &rec->run.diag,
				&rec->run.next.desired, &rec->run.next.n_desired);
	return r < 0 ? r : keys_fill(a, spec);
}

static void finish(struct agent *a, int r);
static void begin(struct agent *a);

static void note_applied(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;

	rec->run.n_steps = rec->run.next.plan->n_steps;
	a->applied.number++;
	a->applied.steps = rec->run.n_steps;
	a->applied.time_s = (uint64_t)time(NULL);
	memcpy(a->applied.by, rec->run.client.by, sizeof(a->applied.by));
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
	diag_append(&rec->run.diag, d);
	if (r == 0 && res->conflicts && res->conflicts->n) {
		/* The applier left out addresses of other hosts, so this plan is not what was
		 * applied: plan again. */
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
		r = look_again(a);
	}
	finish(a, r == 0 ? second_half(a) : r);
}

/* The applier is done and waits for a confirmation. The workers start with the new configuration,
 * so that the operator confirms what runs. */
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
	if (conflicts->n) { /* the applier made another plan, without these addresses */
		r = reconcile_take_conflicts(rec, conflicts);
		rec->run.n_tries++; /* a first try would drop the conflicts found before */
		generation_done(&rec->run.next);
		if (r == 0)
			begin(a);
		else
			finish(a, r);
		return;
	}
	r = look_again(a);
	finish(a, r == 0 ? second_half(a) : r);
}

static void begin(struct agent *a)
{
	int r = first_half(a);

	if (r == 1) {
		if (!loop_timer_armed(a->reconcile.pacing.tick))
			loop_timer_arm(a->reconcile.pacing.tick, RECONCILE_TICK_NS);
		return;
	}
	finish(a, r == 0 ? second_half(a) : r);
}

void reconcile_begin(struct agent *a, enum reconcile_trigger t, enum reconcile_source from,
		     const struct reconcile_client *client)
{
	struct reconcile *rec = &a->reconcile;

	rec->state = RECONCILE_LOADING;
	rec->run = (struct reconcile_run){.trigger = t,
					  .source = from,
					  .client = client ? *client : (struct reconcile_client){0},
					  .diag = DIAG_INIT,
					  .began_ns = clock_now_ns(),
					  .mention_ns = RECONCILE_TICK_NS};
	begin(a);
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
	if (a->store.prepared) /* the commit did not happen */
		store_abandon(&a->store);
	generation_done(&rec->run.next);
	diag_done(&rec->run.diag);
	rec->state = RECONCILE_IDLE;
	/* The files still fail; repair the running configuration anyway. */
	if (repair && a->state != AGENT_STOPPING)
		reconcile_begin(a, RECONCILE_KERNEL, RECONCILE_FROM_RUNNING, NULL);
	else
		reconcile_run_next(a);
	if (rec->state == RECONCILE_IDLE && !rec->pacing.ready_sent && a->state != AGENT_STOPPING) {
		rec->pacing.ready_sent = true;
		loop_notify("READY=1");
	}
	status_publish(a);
	agent_end_if_done(a);
	/* Only a reconcile uses much heap memory. */
	malloc_trim(0);
}

void reconcile_keep_attempts(struct agent *a)
{
	int r = plan_failures_save(&a->failures, a->reconcile.records.attempts_path);

	if (r < 0)
		log_warning("cannot write %s: %s; the next agent will retry transports that failed "
			    "in this boot",
			    a->reconcile.records.attempts_path, strerror(-r));
}

static void load_attempts(struct agent *a)
{
	int r = plan_failures_load(&a->failures, a->reconcile.records.attempts_path);

	if (r < 0)
		log_warning("cannot read the record %s (%s); transports that failed in this boot "
			    "are retried",
			    a->reconcile.records.attempts_path, state_file_error(r));
}

/* ---- begin and end ---- */

int reconcile_init(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;
	int r = reconcile_queue_init(a);

	rec->pacing.files.pause_ns = rec->pacing.running.pause_ns = RECONCILE_NEWS_NS;
	rec->records.last_good = path_join(a->rundir.state, RECONCILE_LAST_GOOD_FILE);
	rec->records.owned_path = path_join(a->rundir.state, RECONCILE_OWNED_FILE);
	rec->records.worker_ids_path = path_join(a->rundir.state, RECONCILE_WORKER_IDS_FILE);
	rec->records.choice_path = path_join(a->rundir.state, RECONCILE_CHOICE_FILE);
	rec->records.attempts_path = path_join(a->rundir.run, RECONCILE_ATTEMPTS_FILE);
	if (rec->records.attempts_path)
		load_attempts(a);
	rec->records.pending_path = path_join(a->rundir.state, RECONCILE_PENDING_FILE);
	rec->records.refused_path = path_join(a->rundir.state, RECONCILE_REFUSED_FILE);
	rec->records.applier_socket = path_join(a->rundir.run, RECONCILE_SOCKET_FILE);
	rec->records.outcome_path = path_join(a->rundir.run, RECONCILE_OUTCOME_FILE);
	if (r >= 0)
		r = history_open(&rec->records.history, a->rundir.state);
	if (r >= 0)
		r = loop_add_timer(a->loop, NSEC_PER_MSEC, reconcile_on_orphan_timer, a,
				   &rec->pacing.orphan);
	if (r >= 0)
		r = reachability_init(a);
	return r >= 0 && !(rec->records.last_good && rec->records.owned_path &&
			   rec->records.worker_ids_path && rec->records.choice_path &&
			   rec->records.pending_path && rec->records.refused_path &&
			   rec->records.applier_socket && rec->records.outcome_path &&
			   rec->records.attempts_path)
		       ? -ENOMEM
		       : r;
}

void reconcile_done(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;

	rec->applier = applier_forget(rec->applier);
	rec->pending.applier = applier_forget(rec->pending.applier);
	generation_done(&rec->run.next);

	diag_done(&rec->run.diag);
	rec->pacing.debounce = loop_source_free(rec->pacing.debounce);
	rec->pacing.tick = loop_source_free(rec->pacing.tick);
	rec->pacing.orphan = loop_source_free(rec->pacing.orphan);
	rec->queue.soon = loop_source_free(rec->queue.soon);
	rec->reachability.timer = loop_source_free(rec->reachability.timer);
	diag_done(&rec->reachability.warnings);
	json_decref(ptr_take(rec->reachability.served));
	json_decref(ptr_take(rec->reachability.replaced));
	free(rec->queue.clients);
	free(rec->records.last_good);
	free(rec->records.last_good_text);
	free(ptr_take(rec->records.last_good_unsaved));
	plan_owned_done(&rec->inputs.owned);
	free(ptr_take(rec->inputs.held_vfs));
	free(ptr_take(rec->inputs.answered_cores));
	free(rec->records.owned_path);
	plan_worker_ids_done(&rec->inputs.worker_ids);
	free(rec->records.worker_ids_path);
	transport_choice_done(&rec->choice.accepted);
	transport_choice_done(&rec->choice.proposed);
	free(ptr_take(rec->records.choice_path));
	free(rec->records.attempts_path);
	plan_conflicts_done(&rec->inputs.conflicts);
	history_done(&rec->records.history);
	free(ptr_take(rec->records.pending_path));
	free(ptr_take(rec->records.refused_path));
	free(ptr_take(rec->records.applier_socket));
	free(ptr_take(rec->records.outcome_path));
	rec->queue.clients = NULL;
	rec->records.last_good = rec->records.last_good_text = rec->records.owned_path =
		rec->records.worker_ids_path = NULL;
	rec->records.attempts_path = NULL;
}
