/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles the result of a reconcile: updates problems, retry times and the history, and answers the
 * client. */
#include "agent/reconcile/reconcile_outcome.h"
#include "agent/desired/leg_policy.h"
#include "agent/health/required_actions.h"
#include "agent/reconcile/reachability.h"
#include "agent/reconcile/reconcile_choice.h"
#include "agent/reconcile/reconcile_internal.h"
#include "agent/reconcile/reconcile_last_good.h"
#include "agent/reconcile/reconcile_pending.h"
#include "agent/reconcile/reconcile_queue.h"
#include "agent/reconcile/reconcile_records.h"
#include <stdio.h>
#include <string.h>

/* ---- success ---- */

/* Returns whether the entry is a warning of the plan about a leg. note_legs() reports such warnings
 * as long as they last. */
static bool is_of_leg(const struct plan *p, const struct diag_entry *e)
{
	char head[PLENUM_NAME_MAX + 32];

	for (size_t i = 0; e->text && i < p->n_legs; i++) {
		snprintf(head, sizeof(head), "%s is %s: ", p->legs[i].name,
			 plan_leg_state_to_string(p->legs[i].state));
		if (strncmp(e->text, head, strlen(head)) == 0)
			return true;
	}
	return false;
}

static void note_warnings(struct agent *a)
{
	json_t *all = store_diag_to_json(&a->store, &a->reconcile.run.diag), *list = json_array();

	for (size_t i = 0; i < json_array_size(all); i++)
		if (!is_of_leg(a->running.plan, &a->reconcile.run.diag.entries[i]))
			json_array_append(list, json_array_get(all, i));
	problems_set(&a->problems, PROBLEMS_WARNINGS, NULL, list);
	json_decref(list);
	json_decref(all);
}

static bool is_in(const char *text, const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (strcmp(json_string_value(json_array_get(list, i)), text) == 0)
			return true;
	return false;
}

/* Reports each leg that is missing or degraded as a problem and an event. When a leg returns, an
 * event reports that. */
static void note_legs(struct agent *a)
{
	json_t *list = json_array(), *was = problems_to_json(&a->problems, PROBLEMS_LEGS);

	for (size_t i = 0; list && i < a->running.plan->n_legs; i++) {
		const struct plan_leg_info *leg = &a->running.plan->legs[i];
		char text[LEG_POLICY_TEXT_MAX];

		leg_policy_describe(leg, text, sizeof(text));
		if (leg->state == PLAN_LEG_DISABLED)
			continue;
		if (leg->state != PLAN_LEG_USABLE) {
			json_array_append_new(list, json_string(text));
			if (!is_in(text, was))
				events_add(&a->events, LOG_LEVEL_WARNING, "agent", "%s", text);
		} else if (leg_policy_mentions(was, leg->name)) {
			events_add(&a->events, LOG_LEVEL_NOTICE, "agent", "%s", text);
		}
	}
	problems_set(&a->problems, PROBLEMS_LEGS, NULL, list);
	json_decref(was);
	json_decref(list);
}

/* Returns whether a worker lacks its accepted transport. The agent must retry then, because the
 * kernel does not notify it when, for example, hugepages become free. */
static bool lacks_agreed(const struct plan *p)
{
	for (size_t i = 0; i < p->n_workers; i++)
		if (p->workers[i].lost)
			return true;
	return false;
}

static int succeed(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;
	bool files = rec->run.source == RECONCILE_FROM_FILES ||
		     rec->run.source == RECONCILE_FROM_STAGED ||
		     rec->run.source == RECONCILE_FROM_HISTORY;

	problems_clear(&a->problems, PROBLEMS_HOST);
	drift_repaired(&a->drift, false);
	note_legs(a);
	required_actions_note(a->running.plan, &a->events, &a->actions_reported);
	rec->pacing.running = (struct reconcile_pace){.pause_ns = RECONCILE_NEWS_NS};
	if (rec->run.source != RECONCILE_FROM_RUNNING)
		note_warnings(a);
	if (lacks_agreed(a->running.plan) || reconcile_choice_waits(rec))
		reconcile_arm(a, RECONCILE_CHOICE_RETRY_NS);
	/* The configuration of a pending apply is written to the files only when it is kept. */
	if (!files || rec->pending.applier)
		return 0;
	return reconcile_keep_config(a, rec->run.source, rec->run.entry, &rec->run.diag);
}

/* ---- failure ---- */

static enum problems_kind kind_of(enum reconcile_source s)
{
	return s == RECONCILE_FROM_FILES    ? PROBLEMS_FILES
	       : s == RECONCILE_FROM_STAGED ? PROBLEMS_STAGED
					    : PROBLEMS_HOST;
}

static void say_failure(struct agent *a, int error)
{
	struct reconcile *rec = &a->reconcile;
	enum problems_kind kind = kind_of(rec->run.source);
	json_t *list = store_diag_to_json(&a->store, &rec->run.diag);
	char head[160];

	snprintf(head, sizeof(head), "%s failed (%s); %s",
		 kind == PROBLEMS_HOST ? reconcile_trigger_to_string(rec->run.trigger)
		 : rec->run.trigger == RECONCILE_API
			 ? "apply"
			 : (rec->run.trigger == RECONCILE_RELOAD ? "reload" : "start"),
		 strerror(-error),
		 a->running.spec ? "the running configuration is unchanged"
				 : "nothing was changed");
	/* A retry that fails in the same way as before is not reported again. */
	if (problems_set(&a->problems, kind, json_array_size(list) ? NULL : head, list) ||
	    rec->run.trigger == RECONCILE_RELOAD || rec->run.trigger == RECONCILE_API) {
		for (size_t i = 0; i < json_array_size(list); i++)
			events_add(&a->events, LOG_LEVEL_ERR, "agent", "%s",
				   json_string_value(json_array_get(list, i)));
		/* for -ECANCELED the text already says that the apply was rolled back */
		if (error != -ECANCELED)
			events_add(&a->events, LOG_LEVEL_ERR, "agent", "%s", head);
	}
	json_decref(list);
}

/* Schedules the next retry. The pause doubles with each failure. */
static void try_later(struct agent *a, struct reconcile_pace *p, bool blocked)
{
	p->blocked = blocked;
	p->at_ns = clock_now_ns() + p->pause_ns;
	reconcile_arm(a, p->pause_ns);
	p->pause_ns = MIN_OF(2 * p->pause_ns, RECONCILE_RETRY_MAX_NS);
}

/* Adds the VFs that the kernel refused to a->failures, so that the next plans do not use them. A
 * retry would interrupt the device and fail again. */
static void note_refused_vfs(struct agent *a, int error)
{
	const struct reconcile *rec = &a->reconcile;
	const struct plan_step *s =
		rec->run.failed_step ? &rec->run.next.plan->steps[rec->run.failed_step - 1] : NULL;
	const struct kernel_pci *v = s ? &s->change.pci_value : NULL;

	if (!s || s->change.kind != KERNEL_PCI || v->attr != KERNEL_PCI_VFS || v->value[0] == '0')
		return;
	if (plan_failures_add_vfs(&a->failures, s->link, (uint32_t)atoi(v->value),
				  strerror(-error)) < 0)
		return;
	reconcile_keep_attempts(a);
	events_add(&a->events, LOG_LEVEL_WARNING, s->leg,
		   "the kernel refused to create %s VFs on %s: %s; retried only by an apply or a "
		   "reload",
		   v->value, s->link, strerror(-error));
}

static void fail(struct agent *a, int error)
{
	struct reconcile *rec = &a->reconcile;

	/* The run of the pending apply has failed, so the apply is rolled back. Its client gets one
	 * answer, after the rollback. */
	if (rec->pending.applier)
		reconcile_pending_order(a, false, 0, "plenumd");
	/* A failed rollback is reported only to its client; the running configuration stays in
	 * force. */
	if (rec->run.source == RECONCILE_FROM_HISTORY)
		return;
	/* Nothing is wrong with the configuration: the operator decides about the programs. A retry
	 * would not ask again. */
	if (rec->run.mounts_refused) {
		rec->pacing.retry_files = false;
		events_add(&a->events, LOG_LEVEL_NOTICE, "agent",
			   rec->run.users
				   ? "apply refused: programs use mounts that it ends or replaces"
				   : "apply refused: the search for programs that use mounts which "
				     "it ends or replaces failed");
		return;
	}
	note_refused_vfs(a, error);
	/* The failure of the files was already reported, and the agent will retry them. */
	if (rec->run.source == RECONCILE_FROM_LAST_GOOD) {
		log_notice("the previous configuration failed too: %s", strerror(-error));
		return;
	}
	/* Another program undid the repair before it was verified. drift.c counts and reports
	 * that. */
	if (reconcile_is_repair(rec) && error == -ETIMEDOUT) {
		reconcile_arm(a, drift_delay_ns(&a->drift));
		return;
	}
	say_failure(a, error);
	drift_repaired(&a->drift, true);
	if (rec->run.source == RECONCILE_FROM_FILES) {
		if (reconcile_is_asked(rec->run.trigger) && rec->run.trigger != RECONCILE_START)
			rec->pacing.files = (struct reconcile_pace){.pause_ns = RECONCILE_NEWS_NS};
		/* An apply that was rolled back because of its effect, or that needed a
		 * confirmation, is not retried. */
		rec->pacing.retry_files =
			rec->run.loaded && error != -ECANCELED && !rec->run.needs_confirmation;
		if (rec->pacing.retry_files)
			try_later(a, &rec->pacing.files, rec->state == RECONCILE_APPLYING);
		if (!a->running.spec && reconcile_has_last_good(rec))
			rec->queue.last_good_pending = true;
	} else if (rec->run.source != RECONCILE_FROM_STAGED) {
		try_later(a, &rec->pacing.running, rec->state == RECONCILE_APPLYING);
	}
}

/* ---- the history ---- */

static const char *what_is_applied(const struct reconcile *rec, char *buf, size_t size)
{
	switch (rec->run.source) {
	case RECONCILE_FROM_STAGED:
		return "staged";
	case RECONCILE_FROM_LAST_GOOD:
	case RECONCILE_FROM_PENDING:
	case RECONCILE_FROM_RUNNING:
		return "previous configuration";
	case RECONCILE_FROM_HISTORY:
		snprintf(buf, size, "rollback to %llu",
			 (unsigned long long)rec->run.client.back_to);
		return buf;
	default:
		return rec->run.trigger == RECONCILE_START    ? "files, at agent start"
		       : rec->run.trigger == RECONCILE_KERNEL ? "files, retried"
		       : rec->run.trigger == RECONCILE_RELOAD ? "files, by a reload"
							      : "files";
	}
}

/* Returns whether this is a start that applies the configuration of the latest history entry again.
 * Such a start gets no entry, because the entry would push out others, and would hide that an apply
 * was interrupted. */
static bool is_repeated_start(const struct agent *a)
{
	const struct reconcile *rec = &a->reconcile;
	const struct spec *spec = rec->run.next.spec ? rec->run.next.spec : a->running.spec;
	autofree char *yaml = rec->run.trigger == RECONCILE_START && !rec->run.is_guarded && spec
				      ? spec_to_yaml(spec)
				      : NULL;

	return yaml && history_is_last(&rec->records.history, yaml);
}

static void enter(struct reconcile *rec)
{
	char buf[48];

	rec->run.entry = history_begin(&rec->records.history, rec->run.client.by,
				       what_is_applied(rec, buf, sizeof(buf)));
}

void reconcile_enter(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;

	if ((reconcile_is_asked(rec->run.trigger) || rec->run.is_guarded) &&
	    rec->run.source != RECONCILE_FROM_LAST_GOOD &&
	    rec->run.source != RECONCILE_FROM_PENDING && !rec->run.entry && !is_repeated_start(a))
		enter(rec);
}

/* Returns whether a retry has succeeded with a configuration that failed when it was requested. The
 * success gets a history entry; the failed retries got none. */
static bool is_late_success(const struct agent *a, int error)
{
	const struct reconcile *rec = &a->reconcile;

	return error >= 0 && rec->run.trigger == RECONCILE_KERNEL &&
	       rec->run.source == RECONCILE_FROM_FILES && !rec->run.entry &&
	       (rec->run.n_steps > 0 || a->running.plan->n_actions > 0);
}

/* Counts the steps of the network and, if the new configuration runs, the actions for workers, as
 * the plan does. */
static size_t count_steps(const struct agent *a, int error)
{
	return a->reconcile.run.n_steps +
	       (error >= 0 && a->running.plan ? a->running.plan->n_actions : 0);
}

/* Returns the text of the first error in the diag, with the configuration key that it concerns. */
static const char *first_error(const struct reconcile *rec, int error, char buf[EVENTS_TEXT_MAX])
{
	const struct diag_entry *e = diag_first_error(&rec->run.diag);

	if (!e)
		return strerror(-error);
	snprintf(buf, EVENTS_TEXT_MAX, "%s%s%s", e->path ? e->path : "", e->path ? ": " : "",
		 e->text);
	return buf;
}

/* Saves the plan beside the history entry. plan NULL: the run failed before it had a plan. */
static void keep_plan(const struct agent *a, const struct plan *plan)
{
	json_t *o = plan ? plan_to_object(plan) : NULL;

	const struct history_extent extent = {.failed_step = a->reconcile.run.failed_step,
					      .changed = a->reconcile.run.n_writes > 0,
					      .unclear = a->reconcile.run.unclear};

	if (o)
		history_plan_keep(&a->reconcile.records.history, a->reconcile.run.entry, o,
				  &extent);
	json_decref(o);
}

/* Adds or completes the history entry. A failed request gets an entry; a run without changes gets
 * none. A failed start gets none either: it is retried, and reported as a problem. */
static void note_history(struct agent *a, int error, bool runs)
{
	struct reconcile *rec = &a->reconcile;
	autofree char *yaml = NULL;
	char why[EVENTS_TEXT_MAX];

	if (error < 0 ? rec->run.trigger != RECONCILE_START && !rec->run.is_guarded
		      : a->running.plan->n_actions > 0)
		reconcile_enter(a);
	if (is_late_success(a, error))
		enter(rec);
	if (rec->pending.applier)
		rec->pending.n_steps = count_steps(a, error);
	if (!rec->run.entry)
		return;
	yaml = !runs || rec->pending.applier ? NULL : spec_to_yaml(a->running.spec);
	history_end(&rec->records.history, rec->run.entry,
		    rec->pending.applier  ? HISTORY_WAITING
		    : runs		  ? HISTORY_APPLIED
		    : error == -ECANCELED ? HISTORY_ROLLED_BACK
					  : HISTORY_FAILED,
		    count_steps(a, error), error < 0 ? first_error(rec, error, why) : NULL, yaml);
	keep_plan(a, runs ? a->running.plan : rec->run.next.plan);
}

/* ---- the end of a run ---- */

static void answer_client(struct agent *a, int error)
{
	struct reconcile *rec = &a->reconcile;
	const struct history_entry *last = history_last(&rec->records.history);
	const struct reconcile_answer answer = {
		.error = error,
		.number = rec->run.entry ? rec->run.entry
			  : last	 ? last->number
					 : 0,
		.steps = count_steps(a, error),
		.kernel_writes = rec->run.n_writes,
		.plan = error < 0 ? NULL : a->running.plan,
		.diag = &rec->run.diag,
		.users = rec->run.users,
		.entry = rec->run.entry,
		.confirm_s = rec->pending.applier ? reconcile_pending_left_s(a) : 0};

	if (rec->pending.applier && reachability_decides(rec))
		reachability_answer_later(a);
	else
		reconcile_answer_client(a, &rec->run.client, &answer);
}

void reconcile_forget_staged(struct agent *a)
{
	if (problems_clear(&a->problems, PROBLEMS_STAGED))
		agent_update_state(a);
}

/* Returns whether the configuration of this run must not be applied again without a request. */
static bool is_refused(const struct agent *a, int error, bool runs)
{
	const struct reconcile *rec = &a->reconcile;

	if (runs || rec->state != RECONCILE_APPLYING || !reconcile_is_ordered(rec))
		return false;
	/* The result of a pending apply, or of an apply that outlives the agent, is not known
	 * yet. */
	return error == -ECANCELED ||
	       (rec->run.needs_confirmation && !rec->pending.applier && a->state != AGENT_STOPPING);
}

void reconcile_conclude(struct agent *a, int error)
{
	struct reconcile *rec = &a->reconcile;
	const bool runs = error >= 0; /* also if the configuration files could not be written */
	char why[EVENTS_TEXT_MAX];

	if (rec->run.source == RECONCILE_FROM_HISTORY)
		/* adds an entry even if the configuration equals the running one */
		reconcile_enter(a);
	if (error >= 0)
		error = succeed(a);
	else if (a->state != AGENT_STOPPING)
		fail(a, error);
	rec->run.error = error;
	note_history(a, error, runs);
	if (is_refused(a, error, runs))
		reconcile_note_refused(a, rec->run.source, rec->run.entry,
				       first_error(rec, error, why), rec->run.next.spec);
	/* The agent's state is "starting" until the requested configuration is up. */
	if (runs && reconcile_is_ordered(rec))
		a->converged = false;
	agent_check_health(a);
	agent_update_state(a);
	if ((rec->run.n_steps > 0 && !reconcile_is_repair(rec)) ||
	    (error >= 0 && rec->run.trigger != RECONCILE_KERNEL))
		events_add(&a->events, LOG_LEVEL_INFO, "agent",
			   "%s: %zu steps applied in %.0f ms, %zu workers desired",
			   rec->run.source == RECONCILE_FROM_LAST_GOOD
				   ? "previous configuration"
				   : reconcile_trigger_to_string(rec->run.trigger),
			   count_steps(a, error),
			   (double)(clock_now_ns() - rec->run.began_ns) / NSEC_PER_MSEC,
			   a->running.n_desired);
	if (rec->run.trigger == RECONCILE_RELOAD)
		loop_notify("READY=1");
	/* The configuration may have taken over a mount made by command. */
	command_mounts_wake(&a->command_mounts);
	answer_client(a, error);
}
