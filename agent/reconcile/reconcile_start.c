/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens the reconcile and, before the first run, completes the apply of a previous agent. If that
 * agent's applier is still running, this file adopts the applier. If the applier has ended, it
 * reads the result. If the applier was killed, it rolls back the journal. */
#include "agent/apply/apply_records.h"
#include "agent/reconcile/reachability.h"
#include "agent/reconcile/reconcile_choice.h"
#include "agent/reconcile/reconcile_confirm.h"
#include "agent/reconcile/reconcile_internal.h"
#include "agent/reconcile/reconcile_records.h"
#include "agent/reconcile/reconcile_run.h"
#include "agent/reconcile/reconcile_ticket.h"
#include <stdio.h>
#include <string.h>

#define ORPHAN_POLL_NS (250 * NSEC_PER_MSEC)

/* ---- result of the previous agent's apply ---- */

/* Reads the outcome that the applier of this ticket wrote. Returns 0 if the apply was kept,
 * -ENODATA if the result is unknown, or another negative errno, with the reason in buf, if the
 * apply was not kept. */
static int outcome_read(const struct agent *a, const struct ticket *t, char *buf, size_t size)
{
	const char *path = a->reconcile.records.outcome_path;
	struct reason why;
	uint64_t number;
	int error, r = apply_outcome_load(path, &number, &error, &why);

	if (r < 0 && r != STATE_MISSING)
		log_warning("cannot read %s (%s)", path, state_file_error(r));
	if (r < 0 || number != t->entry)
		return -ENODATA;
	reason_copy_text(buf, size, why.text);
	return error;
}

/* Returns the number of steps for the history entry. The ticket is written before the actions for
 * workers are known. An apply that waited for a confirmation has since recorded a larger number in
 * the history. */
static uint64_t steps_of(const struct history *h, const struct ticket *t)
{
	const struct history_entry *e = history_find(h, t->entry);

	return MAX_OF(e ? e->steps : 0, t->n_steps);
}

/* Called if the new configuration was kept: it becomes the last good configuration. */
static void resolve_kept(struct agent *a, const struct ticket *t, struct state_file *f)
{
	struct reconcile *rec = &a->reconcile;
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct generation kept = {.spec = NULL};
	autofree char *yaml = NULL;

	if (reconcile_ticket_load(a, &d, &kept.spec) < 0)
		return;
	yaml = spec_to_yaml(kept.spec);
	history_end(&rec->records.history, t->entry, HISTORY_APPLIED,
		    steps_of(&rec->records.history, t), "by the previous agent", yaml);
	events_add(&a->events, LOG_LEVEL_INFO, "agent",
		   "the applier of the previous agent finished apply %" PRIu64
		   "; the apply is kept",
		   t->entry);
	reconcile_choice_read(rec, f);
	reconcile_choice_keep(a);
	/* Puts the configuration in force, as if this agent had applied it. */
	generation_swap(a, &kept);
	reconcile_keep_config(a, t->source, t->entry, &d);
	generation_swap(a, &(struct generation){0});
}

static void resolve_rolled_back(struct agent *a, const struct ticket *t, int error, const char *why)
{
	struct reconcile *rec = &a->reconcile;
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct spec *spec = NULL;

	history_end(&rec->records.history, t->entry,
		    error == -ECANCELED ? HISTORY_ROLLED_BACK : HISTORY_FAILED,
		    steps_of(&rec->records.history, t), why, NULL);
	/* An apply that needed a confirmation is not applied again without a request. */
	if ((t->confirm_s || error == -ECANCELED) && reconcile_ticket_load(a, &d, &spec) >= 0)
		reconcile_note_refused(a, t->source, t->entry, why, spec);
	else
		events_add(&a->events, LOG_LEVEL_WARNING, "agent",
			   "apply %" PRIu64 " of the previous agent was rolled back: %.150s",
			   t->entry, why);
	spec_free(spec);
}

static bool was_kept(const struct agent *a, uint64_t entry)
{
	const struct history_entry *e = history_find(&a->reconcile.records.history, entry);

	return e && e->outcome == HISTORY_APPLIED;
}

static void resolve(struct agent *a, const struct applier_result *res, const struct diag *d)
{
	char why[RECONCILE_REFUSED_MAX] = "it was interrupted";
	PLENUM_CLEANUP(state_file_done) struct state_file f;
	struct ticket t;
	const struct diag_entry *e;
	int error, r = reconcile_ticket_read(a, &t, &f);

	if (r < 0 && r != STATE_MISSING)
		events_add(&a->events, LOG_LEVEL_WARNING, "agent",
			   "cannot read %s (%s): the result of the previous agent's apply is not "
			   "in 'plenum history'",
			   a->reconcile.records.pending_path, state_file_error(r));
	if (r < 0)
		return;
	if (res->committed || a->reconcile.state == RECONCILE_ADOPTING) {
		error = res->committed ? 0 : res->error;
		e = error < 0 ? diag_first_error(d) : NULL;
		if (e)
			snprintf(why, sizeof(why), "%s", e->text);
	} else {
		/* If a journal was found, the apply has now been rolled back, even if the outcome
		 * file says that it was kept: the applier writes the outcome before it removes the
		 * journal. After a reboot there is no outcome file, so the entry that the former
		 * agent wrote to the history decides. */
		error = outcome_read(a, &t, why, sizeof(why));
		if (error == -ENODATA && was_kept(a, t.entry))
			error = 0;
		if (error == -ENODATA || (error == 0 && (res->error < 0 || res->n_rolled_back > 0)))
			error = -EINTR;
	}
	if (error == 0)
		resolve_kept(a, &t, &f);
	else
		resolve_rolled_back(a, &t, error, why);
	reconcile_ticket_drop(a);
}

static int adopt_applier(struct agent *a, struct applier_task *task)
{
	struct reconcile *rec = &a->reconcile;
	PLENUM_CLEANUP(state_file_done) struct state_file f;
	struct ticket t;
	int r = reconcile_ticket_read(a, &t, &f);

	if (r < 0)
		return r;
	task->socket = rec->records.applier_socket;
	task->number = rec->run.entry = t.entry;
	rec->run.source = t.source;
	memcpy(rec->run.client.by, t.by, sizeof(rec->run.client.by));
	r = applier_adopt(task, &rec->applier);
	if (r < 0)
		return r;
	rec->state = RECONCILE_ADOPTING;
	reachability_inherit(a, &f);
	reconcile_choice_read(rec, &f);
	return 0;
}

/* ---- the applier of the previous agent ---- */

static void on_recovered(void *user, const struct applier_result *res, const struct diag *d);
static void note_orphan(struct agent *a);

/* Called when the adopted applier waits for a confirmation: this agent starts workers with the
 * configuration of that apply. */
static void on_adopted_wait(void *user, uint64_t until_ns, const struct plan_conflicts *conflicts)
{
	struct agent *a = user;
	struct reconcile *rec = &a->reconcile;
	const struct history_entry *e = history_find(&rec->records.history, rec->run.entry);
	const struct reconcile_request rq = {.trigger = RECONCILE_START,
					     .source = RECONCILE_FROM_PENDING,
					     .client = rec->run.client};

	problems_clear(&a->problems, PROBLEMS_HOST);
	history_close_stale(&rec->records.history, rec->run.entry);
	reconcile_pending_begin(a, ptr_take(rec->applier), until_ns);
	if (e)
		rec->pending.since_s = e->time_s;
	if (reconcile_take_conflicts(rec, conflicts) < 0)
		log_warning("out of memory: some address conflicts are not recorded");
	reconcile_begin(a, &rq);
}

static void on_adopted_end(void *user, const struct applier_result *res, const struct diag *d)
{
	struct agent *a = user;

	if (a->reconcile.pending.applier) {
		reconcile_on_applied(user, res, d);
		return;
	}
	resolve(a, res, d);
	a->reconcile.state = RECONCILE_RECOVERING;
	on_recovered(user, res, d);
}

/* Adopts the running applier of a previous agent. Returns whether there was one. */
static bool adopt(struct agent *a)
{
	struct applier_task task = {.loop = a->loop,
				    .host = &a->applier_host,
				    .journal = a->journal,
				    .on_wait = on_adopted_wait,
				    .on_not_yet = reconcile_on_not_yet,
				    .on_end = on_adopted_end,
				    .user = a};
	int r = adopt_applier(a, &task);

	if (r >= 0)
		note_orphan(a);
	return r >= 0;
}

static void recover(struct agent *a)
{
	const struct applier_task task = {.loop = a->loop,
					  .host = &a->applier_host,
					  .journal = a->journal,
					  .on_end = on_recovered,
					  .user = a};
	int r;

	a->reconcile.state = RECONCILE_RECOVERING;
	r = applier_start(&task, &a->reconcile.applier);
	if (r < 0) {
		struct applier_result res = {.error = r};

		on_recovered(a, &res, &(struct diag)DIAG_INIT);
	}
}

static int on_orphan_timer(void *user)
{
	if (!adopt(user))
		recover(user);
	return 0;
}

static void note_orphan(struct agent *a)
{
	static const char text[] =
		"an apply of the previous agent is still running; waiting for its end";
	json_t *none = json_array();

	if (problems_set(&a->problems, PROBLEMS_HOST, text, none))
		events_add(&a->events, LOG_LEVEL_WARNING, "agent", "%s", text);
	json_decref(none);
	agent_publish(a);
}

static void on_recovered(void *user, const struct applier_result *res, const struct diag *d)
{
	struct agent *a = user;
	struct reconcile *rec = &a->reconcile;

	rec->applier = NULL;
	if (a->state == AGENT_STOPPING) {
		rec->state = RECONCILE_IDLE;
		agent_end_if_done(a);
		return;
	}
	if (res->error == -EBUSY) {
		rec->state = RECONCILE_ORPHAN;
		note_orphan(a);
		loop_timer_arm(rec->pacing.orphan, ORPHAN_POLL_NS);
		return;
	}
	problems_clear(&a->problems, PROBLEMS_HOST);
	resolve(a, res, d);
	history_close_stale(&rec->records.history, 0);
	for (size_t i = 0; i < d->n; i++)
		events_add(&a->events,
			   d->entries[i].severity == DIAG_ERROR ? LOG_LEVEL_ERR : LOG_LEVEL_NOTICE,
			   "agent", "%s", d->entries[i].text);
	/* The reconcile is started even if the recovery failed, because it can start from any state
	 * of the host. */
	rec->state = RECONCILE_IDLE;
	reconcile_ask(a, RECONCILE_START);
}

void reconcile_start(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;

	rec->state = RECONCILE_RECOVERING;
	rec->run =
		(struct reconcile_run){.began_ns = clock_now_ns(), .mention_ns = RECONCILE_TICK_NS};
	loop_timer_arm(rec->pacing.tick, RECONCILE_TICK_NS);
	if (!adopt(a))
		recover(a);
}

/* ---- opening and closing ---- */

int reconcile_init(struct agent *a, const struct reconcile_setup *setup)
{
	struct reconcile *rec = &a->reconcile;
	int r;

	if (setup)
		rec->setup = *setup;
	r = reconcile_queue_init(a, reconcile_run_next);
	if (r >= 0)
		r = reconcile_records_init(a);
	if (r >= 0)
		r = loop_add_timer(a->loop, NSEC_PER_MSEC, on_orphan_timer, a, &rec->pacing.orphan);
	return r < 0 ? r : reachability_init(a);
}

void reconcile_done(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;

	rec->applier = applier_forget(rec->applier);
	rec->pending.applier = applier_forget(rec->pending.applier);
	generation_done(&rec->run.next);
	rec->run.search = mount_search_cancel(rec->run.search);
	json_decref(rec->run.users);
	diag_done(&rec->run.diag);
	rec->pacing.orphan = loop_source_free(rec->pacing.orphan);
	reconcile_queue_done(rec);
	reachability_done(rec);
	plan_owned_done(&rec->inputs.owned);
	free(ptr_take(rec->inputs.held_vfs));
	free(ptr_take(rec->inputs.answered_cores));
	plan_worker_ids_done(&rec->inputs.worker_ids);
	plan_conflicts_done(&rec->inputs.conflicts);
	reconcile_choice_done(rec);
	reconcile_records_done(rec);
}
