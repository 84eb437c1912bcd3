/* SPDX-License-Identifier: BSD-3-Clause */
/* The data walk itself, and the order in which walks are taken. What its outcome means for state,
 * events and clients is in reconcile_outcome.c. */
#include "agent/actions.h"
#include "agent/agent.h"
#include "agent/leg_policy.h"
#include "agent/reconcile_internal.h"
#include "agent/status.h"
#include "netcfg/apply/route_check.h"
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
	free(r->wants);
	plan_free(r->plan);
	inv_free(r->inv);
	spec_free(r->spec);
	*r = (struct generation){0};
}

/* Puts the new round in the place of the running one. A round without a specification of its own
 * goes on with the running one. */
static void generation_swap(struct agent *a)
{
	struct generation old = a->now;

	a->now = a->reconcile.next;
	if (!a->now.spec) {
		a->now.spec = old.spec;
		old.spec = NULL;
	} else {
		agent_take_rights(a);
		if (!a->now.spec->fault_injection && a->faults.n > 0)
			faults_end(a, 0, "the configuration does not allow them any more");
	}
	a->reconcile.next = (struct generation){0};
	generation_done(&old);
}

static void note_steps(struct agent *a)
{
	const struct plan *p = a->reconcile.next.plan;
	char text[200];

	for (size_t i = 0; i < p->n_steps; i++)
		log_info("%s (%s)", plan_step_describe(&p->steps[i], text, sizeof(text)),
			 p->steps[i].reason);
	if (reconcile_is_repair(&a->reconcile))
		drift_note(a, p);
}

/* ---- the two halves ---- */

/* What cannot be written shall be found before the host is changed; a second try is prepared
 * already. */
static int load_staged(struct agent *a, struct store_source *ret)
{
	int r = a->store.prepared ? 0 : store_prepare(&a->store, &a->reconcile.diag);

	if (r >= 0 && a->reconcile.n_tries == 0)
		r = store_note_base(&a->store, &a->reconcile.diag);
	return r < 0 ? r : store_next(&a->store, ret);
}

static int load_history(struct agent *a)
{
	struct reconcile *w = &a->reconcile;
	autofree char *path = history_config(&w->history, w->client.back_to);

	if (path)
		return spec_load(path, NULL, &w->diag, &w->next.spec);
	diag_add(&w->diag, DIAG_ERROR, NULL, NULL,
		 "apply %llu left no configuration; write the number of one that 'plenum history' "
		 "shows as applied",
		 (unsigned long long)w->client.back_to);
	return -ENOENT;
}

/* What was rolled back waits until somebody asks for it again, or for something else. A reload that
 * was asked for before it was rolled back does not: who has been cut off would be once more. */
static int check_refused(struct agent *a)
{
	struct reconcile *w = &a->reconcile;
	const bool knows = !(w->trigger == RECONCILE_RELOAD && w->reload_is_older);
	char why[RECONCILE_REFUSED_MAX];

	if ((reconcile_is_ordered(w) && knows) || !reconcile_is_refused(a, w->next.spec, why))
		return 0;
	diag_add(&w->diag, DIAG_ERROR, NULL, NULL, "%s", why);
	return -ECANCELED;
}

static int load(struct agent *a)
{
	struct reconcile *w = &a->reconcile;
	struct store_source from = store_disk(&a->store);
	int r = 0;

	if (w->source == RECONCILE_FROM_RUNNING)
		r = a->now.spec ? 0 : -ENOENT;
	else if (w->source == RECONCILE_FROM_LAST_GOOD)
		r = reconcile_last_good_load(a, &w->diag, &w->next.spec);
	else if (w->source == RECONCILE_FROM_PENDING)
		r = spec_load(w->pending_path, NULL, &w->diag, &w->next.spec);
	else if (w->source == RECONCILE_FROM_HISTORY)
		r = load_history(a);
	else if (w->source == RECONCILE_FROM_STAGED)
		r = load_staged(a, &from);
	if (r >= 0 && (w->source == RECONCILE_FROM_FILES || w->source == RECONCILE_FROM_STAGED))
		r = spec_load(from.file, from.dropin_dir, &w->diag, &w->next.spec);
	w->loaded = r >= 0;
	return r >= 0 && w->source == RECONCILE_FROM_FILES ? check_refused(a) : r;
}

static void on_wait(void *user, uint64_t until_ns, const struct plan_conflicts *conflicts);

static int take_held(struct agent *a)
{
	struct reconcile *w = &a->reconcile;

	free(ptr_take(w->held));
	w->n_held = 0;
	return leg_policy_held(a->sup, &w->held, &w->n_held);
}

/* What is wanted, what was promised and what is there. Notifications are read before the host is
 * looked at, so that none that is older than the look comes after it. */
static int look(struct agent *a)
{
	struct reconcile *w = &a->reconcile;
	int r = take_held(a);

	if (r >= 0)
		r = load(a);
	if (r >= 0)
		r = plan_owned_load(&w->owned, w->owned_path, &w->diag);
	if (r >= 0)
		r = plan_worker_ids_load(&w->places, w->places_path, &w->diag);
	if (r < 0)
		return r;
	if (!w->pending.applier)
		w->n_made = 0;
	agent_read_kernel(a);
	if (reconcile_is_asked(w->trigger))
		agent_forget_host(a);
	r = inv_collect(a->kernel, &w->diag, &w->next.inv);
	if (r < 0)
		return r;
	r = reconcile_choice_look(a, w->next.inv);
	if (r < 0)
		return r;
	agent_take_carriers(a, w->next.inv);
	if (w->trigger == RECONCILE_RELOAD || w->trigger == RECONCILE_API) {
		plan_failures_clear(&a->failures);
		reconcile_keep_attempts(a);
		if (w->n_tries == 0) /* those hosts may have gone */
			plan_conflicts_done(&w->conflicts);
	}
	return 0;
}

/* A key file that was changed is for the next apply, as the rest of the configuration is: a walk
 * that only keeps the host as it is leaves the workers the keys that they have. */
static int keys_fill(struct agent *a, const struct spec *spec)
{
	struct reconcile *w = &a->reconcile;

	if (w->next.spec || a->now.n_wants == 0)
		return secrets_fill(spec, &w->diag, w->next.wants, w->next.n_wants);
	secrets_keep(&a->now.wants[0], w->next.wants, w->next.n_wants);
	return 0;
}

/* By what a plan is made of the host; the specification is there by then. */
static struct plan_context context_of(struct agent *a, const struct spec *spec)
{
	struct reconcile *w = &a->reconcile;

	return (struct plan_context){.running = a->now.plan,
				     .held_hugepages = legs_held_hugepages(a->sup),
				     .failures = &a->failures,
				     .owned = &w->owned,
				     .places = &w->places,
				     .agreed = reconcile_choice_now(w),
				     .may_move = reconcile_may_move(a),
				     .by_witness = reconcile_by_verified_peer(a, &w->client, spec),
				     .witnessed = w->witnessed,
				     .n_witnessed = w->n_witnessed,
				     .made = (const char(*)[16])w->made,
				     .n_made = w->n_made,
				     .conflicts = &w->conflicts,
				     .held = (const char(*)[16])w->held,
				     .n_held = w->n_held,
				     .forced = (const char(*)[PLENUM_NAME_MAX])w->client.forced,
				     .n_forced = w->client.n_forced};
}

/* Up to the steps. 1: the applier does them; 0: there are none; negative errno. */
static int first_half(struct agent *a)
{
	struct reconcile *w = &a->reconcile;
	int r = look(a);
	const struct spec *spec = w->next.spec ? w->next.spec : a->now.spec;
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
		r = plan_build(spec, w->next.inv, &ctx, &w->diag, &w->next.plan);
	if (r >= 0)
		r = reconcile_freeze(a, &ctx);
	if (r < 0)
		return r;
	r = worker_config_build(spec, w->next.plan, a->opt.log_level, &w->diag, &w->next.wants,
				&w->next.n_wants);
	if (r >= 0)
		r = keys_fill(a, spec);
	if (r >= 0 && !w->pending.applier)
		reachability_before(a);
	if (r < 0 || w->pending.applier || /* which has done it */
	    (w->next.plan->n_steps == 0 && !reconcile_confirm_s(a)))
		return r;
	note_steps(a);
	task.plan = w->next.plan;
	if (reconcile_is_repair(w))
		task.verify_ns = MIN_OF(task.verify_ns, drift_verify_ns(task.plan));
	reconcile_enter(a);
	r = reconcile_ticket(a, &task);
	if (r < 0)
		return r;
	w->applied = true;
	r = applier_start(&task, &w->applier);
	return r < 0 ? r : 1;
}

/* Where it cannot be written the workers run all the same, and are numbered anew by the next start
 * only. */
void reconcile_keep_places(struct agent *a)
{
	struct reconcile *w = &a->reconcile;
	int r = plan_worker_ids_save(&w->places, w->places_path, a->now.plan);

	reconcile_choice_keep(a);
	if (r < 0)
		events_add(&a->events, LOG_LEVEL_WARNING, "agent",
			   "%s: %s; after a restart workers may have other numbers and addresses",
			   w->places_path, strerror(-r));
}

/* The host is as wanted: now the workers. */
static int second_half(struct agent *a)
{
	struct reconcile *w = &a->reconcile;
	bool asked = reconcile_is_asked(w->trigger);
	uint64_t wait_ns;
	int r;

	if (a->state == AGENT_STOPPING) {
		if (w->n_steps > 0)
			diag_add(&w->diag, DIAG_ERROR, NULL, NULL,
				 "the network is as wanted now, but no worker is started and "
				 "nothing is committed");
		return -ESHUTDOWN;
	}
	plan_check_routes(a->kernel, w->next.inv, w->next.plan);
	wait_ns = legs_keep_ports(a->sup, w->next.plan, asked, w->next.wants, w->next.n_wants);
	if (wait_ns)
		reconcile_arm(a, wait_ns);
	r = actions_add(a->sup,
			&(struct actions_task){a->now.spec, w->next.spec, w->next.wants,
					       w->next.n_wants, asked},
			w->next.plan);
	if (r < 0)
		return r;
	reconcile_choice_note(a, a->now.plan, w->next.plan);
	generation_swap(a);
	if (!w->pending.applier)
		reconcile_keep_places(a);
	for (size_t i = 0; i < a->now.plan->n_actions; i++)
		log_info("%s (%s)", a->now.plan->actions[i].text, a->now.plan->actions[i].reason);
	agent_take_carriers(a, a->now.inv);
	labels_take_plan(a);
	return sup_reconcile(a->sup, a->now.wants, a->now.n_wants, asked);
}

/* As the applier has left it. */
static int look_again(struct agent *a)
{
	struct reconcile *w = &a->reconcile;
	const struct spec *spec = w->next.spec ? w->next.spec : a->now.spec;
	int r;

	agent_read_kernel(a);
	w->next.inv = inv_free(w->next.inv);
	r = inv_collect(a->kernel, &w->diag, &w->next.inv);
	if (r < 0)
		return r;
	plan_resolve(w->next.plan, w->next.inv);
	free(ptr_take(w->next.wants));
	w->next.n_wants = 0;
	r = worker_config_build(spec, w->next.plan, a->opt.log_level, &w->diag, &w->next.wants,
				&w->next.n_wants);
	return r < 0 ? r : keys_fill(a, spec);
}

static void finish(struct agent *a, int r);
static void begin(struct agent *a);

static void note_applied(struct agent *a)
{
	struct reconcile *w = &a->reconcile;

	w->n_steps = w->next.plan->n_steps;
	a->applied.number++;
	a->applied.steps = w->n_steps;
	a->applied.time_s = (uint64_t)time(NULL);
	memcpy(a->applied.by, w->client.by, sizeof(a->applied.by));
}

int reconcile_take_conflicts(struct reconcile *w, const struct plan_conflicts *found)
{
	int r = 0;

	for (size_t i = 0; i < found->n && r >= 0; i++)
		r = plan_conflicts_add(&w->conflicts, &found->entries[i]);
	return r < 0 ? r : 0;
}

void reconcile_on_applied(void *user, const struct applier_result *res, const struct diag *d)
{
	struct agent *a = user;
	struct reconcile *w = &a->reconcile;
	int r = res->error;

	if (w->pending.applier) {
		reconcile_pending_end(a, res, d);
		reconcile_run_next(a);
		agent_end_if_done(a);
		return;
	}
	w->applier = NULL;
	w->n_writes += res->n_writes;
	w->failed_step = res->failed_step;
	diag_append(&w->diag, d);
	if (r == 0 && res->conflicts && res->conflicts->n) {
		/* The host is as wanted without them; what was planned is not. */
		r = -EAGAIN;
		note_applied(a);
		if (reconcile_take_conflicts(w, res->conflicts) < 0)
			r = -ENOMEM;
	}
	if (r == -EAGAIN && ++w->n_tries < TRIES_MAX && a->state != AGENT_STOPPING) {
		generation_done(&w->next);
		begin(a);
		return;
	}
	if (r == 0) {
		note_applied(a);
		r = look_again(a);
	}
	finish(a, r == 0 ? second_half(a) : r);
}

/* All is done, but not for good: the workers run with it, so that whoever confirms it has seen them
 * do so. */
static void on_wait(void *user, uint64_t until_ns, const struct plan_conflicts *conflicts)
{
	struct agent *a = user;
	struct reconcile *w = &a->reconcile;
	int r;

	reconcile_pending_begin(a, ptr_take(w->applier), until_ns);
	if (applier_missed(w->pending.applier)[0])
		diag_add(&w->diag, DIAG_WARNING, NULL, NULL, "%s",
			 applier_missed(w->pending.applier));
	note_applied(a);
	if (conflicts->n) { /* another plan than ours was done */
		r = reconcile_take_conflicts(w, conflicts);
		w->n_tries++; /* the first forgets what an earlier apply found */
		generation_done(&w->next);
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
		if (!loop_timer_armed(a->reconcile.tick))
			loop_timer_arm(a->reconcile.tick, RECONCILE_TICK_NS);
		return;
	}
	finish(a, r == 0 ? second_half(a) : r);
}

void reconcile_begin(struct agent *a, enum reconcile_trigger t, enum reconcile_source from,
		     const struct reconcile_client *client)
{
	struct reconcile *w = &a->reconcile;

	w->active = true;
	w->trigger = t;
	w->source = from;
	w->client = client ? *client : (struct reconcile_client){0};
	w->diag = (struct diag)DIAG_INIT;
	w->began_ns = clock_now_ns();
	w->n_writes = w->n_steps = w->failed_step = w->n_tries = 0;
	w->mention_ns = RECONCILE_TICK_NS;
	w->is_late = false;
	w->loaded = w->applied = w->wants_word = false;
	w->entry = 0;
	begin(a);
}

static void finish(struct agent *a, int r)
{
	struct reconcile *w = &a->reconcile;
	bool repair = r < 0 && w->trigger == RECONCILE_KERNEL && w->source == RECONCILE_FROM_FILES;

	loop_timer_disarm(w->tick);
	reconcile_conclude(a, r);
	reconcile_ticket_done(a);
	while (w->pending.applier && !w->vouch.alone && w->n_clients > 0)
		reconcile_refuse_client(a, &w->clients[--w->n_clients], -EALREADY);
	if (a->store.prepared) /* and not committed */
		store_abandon(&a->store);
	generation_done(&w->next);
	diag_done(&w->diag);
	w->active = false;
	/* The files still do not run; what runs is looked after all the same. */
	if (repair && a->state != AGENT_STOPPING)
		reconcile_begin(a, RECONCILE_KERNEL, RECONCILE_FROM_RUNNING, NULL);
	else
		reconcile_run_next(a);
	if (!w->active && !w->ready && a->state != AGENT_STOPPING) {
		w->ready = true;
		loop_notify("READY=1");
	}
	status_publish(a);
	agent_end_if_done(a);
	/* A walk is the agent's only large user of the heap. */
	malloc_trim(0);
}

void reconcile_keep_attempts(struct agent *a)
{
	int r = plan_failures_save(&a->failures, a->reconcile.attempts_path);

	if (r < 0)
		log_warning("%s: %s; the next agent will try again what this one has tried",
			    a->reconcile.attempts_path, strerror(-r));
}

/* ---- begin and end ---- */

int reconcile_init(struct agent *a)
{
	struct reconcile *w = &a->reconcile;
	int r = reconcile_queue_init(a);

	w->of_files.pause_ns = w->of_running.pause_ns = RECONCILE_NEWS_NS;
	w->last_good = rundir_path(a->rundir.state, RECONCILE_LAST_GOOD_FILE);
	w->owned_path = rundir_path(a->rundir.state, RECONCILE_OWNED_FILE);
	w->places_path = rundir_path(a->rundir.state, RECONCILE_PLACES_FILE);
	w->agreed_path = rundir_path(a->rundir.state, RECONCILE_AGREED_FILE);
	w->attempts_path = rundir_path(a->rundir.run, RECONCILE_ATTEMPTS_FILE);
	if (w->attempts_path)
		plan_failures_load(&a->failures, w->attempts_path);
	w->pending_path = rundir_path(a->rundir.state, RECONCILE_PENDING_FILE);
	w->refused_path = rundir_path(a->rundir.state, RECONCILE_REFUSED_FILE);
	w->applier_socket = rundir_path(a->rundir.run, RECONCILE_SOCKET_FILE);
	w->outcome_path = rundir_path(a->rundir.run, RECONCILE_OUTCOME_FILE);
	if (r >= 0)
		r = history_open(&w->history, a->rundir.state);
	if (r >= 0)
		r = loop_add_timer(a->loop, NSEC_PER_MSEC, reconcile_on_orphan_timer, a,
				   &w->orphan);
	if (r >= 0)
		r = reachability_init(a);
	return r >= 0 && !(w->last_good && w->owned_path && w->places_path && w->agreed_path &&
			   w->pending_path && w->refused_path && w->applier_socket &&
			   w->outcome_path && w->attempts_path)
		       ? -ENOMEM
		       : r;
}

void reconcile_done(struct agent *a)
{
	struct reconcile *w = &a->reconcile;

	w->applier = applier_forget(w->applier);
	w->pending.applier = applier_forget(w->pending.applier);
	generation_done(&w->next);

	diag_done(&w->diag);
	w->debounce = loop_source_free(w->debounce);
	w->tick = loop_source_free(w->tick);
	w->orphan = loop_source_free(w->orphan);
	w->soon = loop_source_free(w->soon);
	w->vouch.timer = loop_source_free(w->vouch.timer);
	free(w->clients);
	free(w->last_good);
	free(w->last_good_text);
	free(ptr_take(w->last_good_lost));
	plan_owned_done(&w->owned);
	free(ptr_take(w->held));
	free(ptr_take(w->witnessed));
	free(w->owned_path);
	plan_worker_ids_done(&w->places);
	free(w->places_path);
	transport_choice_done(&w->agreed);
	transport_choice_done(&w->deal);
	free(ptr_take(w->agreed_path));
	free(w->attempts_path);
	plan_conflicts_done(&w->conflicts);
	history_done(&w->history);
	free(ptr_take(w->pending_path));
	free(ptr_take(w->refused_path));
	free(ptr_take(w->applier_socket));
	free(ptr_take(w->outcome_path));
	w->clients = NULL;
	w->last_good = w->last_good_text = w->owned_path = w->places_path = NULL;
	w->attempts_path = NULL;
}
