/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pending applies (commit-confirm) and their tickets. A requested apply writes a ticket to the
 * state directory before its applier starts: the configuration, the requester, and how long it may
 * wait. With the ticket the next agent adopts the running applier, or learns whether the new or the
 * previous configuration runs. A configuration that was rolled back is recorded, so that a start
 * does not retry it.
 */
#include "agent/apply/apply_records.h"
#include "agent/control.h"
#include "agent/reconcile_internal.h"
#include "agent/status.h"
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static uint64_t boottime_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

unsigned reconcile_pending_left_s(const struct agent *a)
{
	uint64_t now = boottime_now_ns(), until = a->reconcile.pending.until_ns;

	return until > now ? (unsigned)((until - now + NSEC_PER_SEC - 1) / NSEC_PER_SEC) : 0;
}

/* ---- which applies need a confirmation ---- */

static bool has_disruptive_step(const struct plan *p)
{
	for (size_t i = 0; i < p->n_steps; i++)
		if (p->steps[i].disruptive)
			return true;
	return p->n_moves > 0;
}

static bool is_disruptive(const struct reconcile *rec)
{
	return rec->reachability.takes || has_disruptive_step(rec->run.next.plan);
}

/* Mounts and exports may change without any step. */
static bool is_other_config(const struct agent *a)
{
	autofree char *running = a->running.spec ? spec_to_yaml(a->running.spec) : NULL;
	autofree char *next =
		a->reconcile.run.next.spec ? spec_to_yaml(a->reconcile.run.next.spec) : NULL;

	return next && (!running || strcmp(running, next) != 0);
}

/* Whether the plan moves foreign addresses or routes to another link. */
static bool is_takeover(const struct plan *p)
{
	for (size_t i = 0; i < p->n_steps; i++)
		if (p->steps[i].change.foreign)
			return true;
	return false;
}

unsigned reconcile_confirm_s(const struct agent *a)
{
	const struct reconcile *rec = &a->reconcile;
	unsigned policy_s;

	if (!reconcile_is_ordered(rec))
		return 0;
	if (rec->run.client.confirm_s)
		return rec->run.next.plan->n_steps > 0 || rec->run.next.plan->n_moves > 0 ||
				       is_other_config(a)
			       ? rec->run.client.confirm_s
			       : 0;
	/* The running policy counts first: an apply that removes the policy must still be
	 * confirmed. */
	policy_s = a->running.spec ? a->running.spec->confirm_s : 0;
	if (!policy_s && rec->run.next.spec)
		policy_s = rec->run.next.spec->confirm_s;
	if (!policy_s && is_takeover(rec->run.next.plan))
		policy_s = RECONCILE_TAKEOVER_CONFIRM_S;
	if (is_disruptive(rec) && policy_s)
		return policy_s;
	return reachability_waits(rec) ? REACHABILITY_S : 0;
}

/* Whether the apply waits only until the workers reach their previous peers again, without an
 * operator's confirmation. */
static bool is_reachability_only(const struct agent *a)
{
	const struct reconcile *rec = &a->reconcile;
	const bool policy = (a->running.spec && a->running.spec->confirm_s) ||
			    (rec->run.next.spec && rec->run.next.spec->confirm_s) ||
			    is_takeover(rec->run.next.plan);

	return reachability_waits(rec) && !rec->run.client.confirm_s &&
	       !(policy && is_disruptive(rec));
}

/* ---- the ticket ---- */

static const char *const source_names[] = {[RECONCILE_FROM_FILES] = "files",
					   [RECONCILE_FROM_STAGED] = "staged",
					   [RECONCILE_FROM_HISTORY] = "history"};

struct ticket {
	uint64_t entry;
	enum reconcile_source source;
	unsigned confirm_s;
	size_t n_steps;
	char by[REQUESTER_MAX];
};

static int ticket_write(struct agent *a, unsigned confirm_s)
{
	struct reconcile *rec = &a->reconcile;
	PLENUM_CLEANUP(state_draft_done) struct state_draft d;
	autofree char *yaml = spec_to_yaml(rec->run.next.spec);

	state_draft_init(&d, &apply_ticket_kind);
	state_draft_put(&d, "apply %" PRIu64 " %s %u %zu", rec->run.entry,
			source_names[rec->run.source], confirm_s, rec->run.next.plan->n_steps);
	state_draft_end(&d);
	state_draft_put(&d, "by");
	state_draft_text(&d, rec->run.client.by[0] ? rec->run.client.by : "plenumd");
	if (!yaml || reconcile_choice_put(rec, &d) < 0)
		return -ENOMEM;
	reachability_put(a, &d);
	state_draft_block(&d, "config", yaml);
	return state_draft_save(&d, rec->records.pending_path);
}

static void ticket_parse_apply(struct state_file *f, struct ticket *t)
{
	const char *source;

	t->entry = state_file_number(f, UINT64_MAX);
	source = state_file_word(f);
	for (size_t i = 0; i < ARRAY_SIZE(source_names); i++)
		if (source_names[i] && strcmp(source, source_names[i]) == 0)
			t->source = (enum reconcile_source)i;
	t->confirm_s = (unsigned)state_file_number(f, UINT_MAX);
	t->n_steps = (size_t)state_file_number(f, SIZE_MAX);
	if (!state_file_line_ends(f))
		t->source = RECONCILE_FROM_RUNNING;
}

/* f: the whole ticket; released by the caller also on failure. */
static int ticket_read(const struct agent *a, struct ticket *ret, struct state_file *f)
{
	struct ticket t = {.source = RECONCILE_FROM_RUNNING};
	int r = state_file_read(f, &apply_ticket_kind, a->reconcile.records.pending_path);

	if (r < 0)
		return r;
	while (state_file_line(f)) {
		const char *word = state_file_word(f);

		if (strcmp(word, "apply") == 0)
			ticket_parse_apply(f, &t);
		else if (strcmp(word, "by") == 0)
			snprintf(t.by, sizeof(t.by), "%s", state_file_text(f));
	}
	if (t.source == RECONCILE_FROM_RUNNING || !t.by[0])
		return STATE_TORN;
	*ret = t;
	return 0;
}

int reconcile_ticket_load(struct agent *a, struct diag *d, struct spec **ret)
{
	const char *path = a->reconcile.records.pending_path;
	PLENUM_CLEANUP(state_file_done) struct state_file f;
	autofree char *yaml = NULL;
	struct ticket t;
	int r = ticket_read(a, &t, &f);

	yaml = r < 0 ? NULL : state_file_block(&f, "config");
	if (r >= 0)
		return yaml ? spec_parse(path, yaml, strlen(yaml), d, ret) : -ENOMEM;
	diag_add(d, DIAG_ERROR, NULL, NULL, "cannot read %s: %s", path, state_file_error(r));
	return r;
}

static void ticket_drop(const struct agent *a)
{
	int r = state_file_remove(&apply_ticket_kind, a->reconcile.records.pending_path);

	if (r < 0)
		log_warning("cannot remove %s: %s", a->reconcile.records.pending_path,
			    strerror(-r));
}

int reconcile_ticket(struct agent *a, struct applier_task *task)
{
	struct reconcile *rec = &a->reconcile;
	int r;

	if (!reconcile_is_ordered(rec))
		return 0;
	task->confirm_s = reconcile_confirm_s(a);
	rec->reachability.alone = is_reachability_only(a);
	rec->run.needs_confirmation = task->confirm_s && !rec->reachability.alone;
	if (has_disruptive_step(rec->run.next.plan))
		task->former = a->running.spec;
	task->probe_ns = RECONCILE_PROBE_NS;
	task->patient = rec->reachability.patient = rec->run.client.confirm_s > 0;
	task->socket = rec->records.applier_socket;
	task->outcome = rec->records.outcome_path;
	task->number = rec->run.entry;
	/* After a full disk a number may be reused, so an older outcome must not remain. */
	r = apply_outcome_remove(rec->records.outcome_path);
	if (r < 0)
		log_warning("cannot remove %s: %s", rec->records.outcome_path, strerror(-r));
	r = ticket_write(a, task->confirm_s);
	if (r < 0)
		diag_add(&rec->run.diag, DIAG_ERROR, NULL, NULL,
			 "cannot write %s: %s; the apply was not started, because a restarted "
			 "agent could not learn how it ended",
			 rec->records.pending_path, state_file_error(r));
	return r;
}

void reconcile_ticket_done(struct agent *a)
{
	if (reconcile_is_ordered(&a->reconcile) && a->reconcile.state == RECONCILE_APPLYING &&
	    !a->reconcile.pending.applier)
		ticket_drop(a);
}

/* ---- rolled-back configurations ---- */

/* Records a configuration that must not be retried without a request, with the reason. */
static void refused_write(struct agent *a, const char *why, const struct spec *spec)
{
	autofree char *yaml = spec ? spec_to_yaml(spec) : NULL;

	if (!yaml || apply_refused_save(a->reconcile.records.refused_path, why, yaml) < 0)
		events_add(&a->events, LOG_LEVEL_WARNING, "agent",
			   "cannot write %s: the next start may retry the configuration that was "
			   "rolled back",
			   a->reconcile.records.refused_path);
}

bool reconcile_is_refused(struct agent *a, const struct spec *spec, struct reason *why)
{
	const char *path = a->reconcile.records.refused_path;
	autofree char *refused = NULL, *yaml = NULL;
	struct reason was;
	int r = apply_refused_load(path, &was, &refused);

	if (r < 0 && r != STATE_MISSING)
		log_warning("cannot read %s (%s): a configuration that was rolled back may be "
			    "retried",
			    path, state_file_error(r));
	if (r < 0)
		return false;
	yaml = spec_to_yaml(spec);
	if (yaml && strcmp(yaml, refused) == 0) {
		*why = was;
		return true;
	}
	reconcile_forget_refused(a); /* the files have changed */
	return false;
}

void reconcile_forget_refused(struct agent *a)
{
	const char *path = a->reconcile.records.refused_path;
	int r = apply_refused_remove(path);

	if (r < 0)
		log_warning("cannot remove %s: %s", path, strerror(-r));
}

static void set_problem(struct agent *a, enum problems_kind kind, const char *text)
{
	json_t *none = json_array();

	problems_set(&a->problems, kind, text, none);
	json_decref(none);
}

/* The first error in d. */
static const char *first_error(const struct diag *d)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->entries[i].severity == DIAG_ERROR && d->entries[i].text)
			return d->entries[i].text;
	return "it was interrupted";
}

static bool is_last_good(struct agent *a, const struct spec *spec)
{
	PLENUM_CLEANUP(diag_done) struct diag ignored = DIAG_INIT;
	autofree char *yaml = spec_to_yaml(spec), *last = NULL;
	struct spec *s = NULL;

	if (reconcile_has_last_good(&a->reconcile) &&
	    reconcile_last_good_load(a, &ignored, &s) >= 0)
		last = spec_to_yaml(s);
	spec_free(s);
	return yaml && last && strcmp(yaml, last) == 0;
}

void reconcile_note_refused(struct agent *a, enum reconcile_source source, uint64_t entry,
			    const char *why, const struct spec *spec)
{
	const struct history_entry *e = history_find(&a->reconcile.records.history, entry);
	char text[RECONCILE_REFUSED_MAX], cause[128];

	reason_copy_text(cause, sizeof(cause), why);
	snprintf(text, sizeof(text),
		 "apply %" PRIu64 " (%s, by %s) was rolled back: %s; 'plenum plan' shows it, "
		 "'plenum apply' retries it",
		 entry, e ? e->what : "?", e ? e->by : "?", cause);
	events_add(&a->events, LOG_LEVEL_ERR, "agent", "%s", text);
	if (spec && is_last_good(a, spec))
		return; /* it runs already, only with another transport */
	if (source == RECONCILE_FROM_FILES) {
		refused_write(a, text, spec);
		set_problem(a, PROBLEMS_FILES, text);
	} else if (source == RECONCILE_FROM_STAGED) {
		set_problem(a, PROBLEMS_STAGED, text);
	}
}

/* The operator went back, so the files differ from the running configuration on purpose. */
void reconcile_note_gone_back(struct agent *a, uint64_t entry)
{
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	const struct history_entry *e = history_find(&a->reconcile.records.history, entry);
	struct store_source from = store_disk(&a->store);
	autofree char *files = NULL, *now = spec_to_yaml(a->running.spec);
	char text[RECONCILE_REFUSED_MAX];
	struct spec *spec = NULL;

	reconcile_forget_refused(a);
	problems_clear(&a->problems, PROBLEMS_FILES);
	if (spec_load(from.file, from.dropin_dir, &d, &spec) >= 0)
		files = spec_to_yaml(spec);
	if (files && now && strcmp(files, now) != 0) {
		snprintf(text, sizeof(text),
			 "the running configuration differs from the files since apply %" PRIu64
			 " (%s, by %s); 'plenum plan' shows the difference, 'plenum apply' returns "
			 "to the files",
			 entry, e ? e->what : "?", e ? e->by : "?");
		refused_write(a, text, spec);
		set_problem(a, PROBLEMS_FILES, text);
	}
	spec_free(spec);
}

/* ---- the pending apply ---- */

void reconcile_pending_begin(struct agent *a, struct applier *applier, uint64_t until_ns)
{
	struct reconcile *rec = &a->reconcile;

	rec->pending = (struct reconcile_pending){
		.applier = applier,
		.entry = rec->run.entry,
		.since_s = (uint64_t)time(NULL),
		.until_ns = until_ns,
		.source = rec->run.source,
		.n_steps = rec->run.next.plan ? rec->run.next.plan->n_steps : 0};
	memcpy(rec->pending.by, rec->run.client.by, sizeof(rec->pending.by));
	reachability_begin(a);
}

void reconcile_pending_describe(const struct agent *a, char *buf, size_t size)
{
	const struct reconcile_pending *p = &a->reconcile.pending;
	const struct history_entry *e = history_find(&a->reconcile.records.history, p->entry);
	const time_t since = (time_t)p->since_s, until = time(NULL) + reconcile_pending_left_s(a);
	char from[16] = "?", to[16] = "?";
	struct tm tm;

	if (localtime_r(&since, &tm))
		strftime(from, sizeof(from), "%H:%M:%S", &tm);
	if (localtime_r(&until, &tm))
		strftime(to, sizeof(to), "%H:%M:%S", &tm);
	snprintf(buf, size,
		 "apply %" PRIu64 " (%s, by %s) waits for %s since %s, until %s (%u s left)",
		 p->entry, e ? e->what : "?", p->by[0] ? p->by : "plenumd",
		 !a->reconcile.reachability.alone  ? "its confirmation"
		 : a->reconcile.reachability.n	   ? "its workers' peers"
		 : a->reconcile.reachability.moves ? "its workers"
						   : "its mounts",
		 from, to, reconcile_pending_left_s(a));
}

bool reconcile_on_trial(void *user)
{
	const struct agent *a = user;
	const struct reconcile *rec = &a->reconcile;

	/* An apply also counts as pending while a rollback restores the previous configuration. */
	return rec->pending.applier || rec->queue.last_good_pending ||
	       (rec->run.source == RECONCILE_FROM_LAST_GOOD && rec->applier);
}

/* Keeps the confirmed apply. 0; negative errno: the files still contain the previous configuration.
 */
static int keep(struct agent *a, const struct reconcile_pending *p,
		const struct applier_result *res, struct diag *d)
{
	autofree char *yaml = spec_to_yaml(a->running.spec);
	char text[80] = "";

	if (res->by[0])
		snprintf(text, sizeof(text), "confirmed by %s", res->by);
	history_end(&a->reconcile.records.history, p->entry, HISTORY_APPLIED, p->n_steps, text,
		    yaml);
	events_add(&a->events, LOG_LEVEL_INFO, "agent", "apply %" PRIu64 " kept: %s", p->entry,
		   text[0] ? text : "confirmed");
	reconcile_save_worker_ids(a);
	if (reconcile_mounts_apply(a, false) < 0) /* the trial is over: removed mounts end */
		log_warning("out of memory: removed mounts stay until the next apply");
	(void)sup_sweep(a->sup);
	return reconcile_keep_config(a, p->source, p->entry, d);
}

/* There is no previous configuration. */
static void run_nothing(struct agent *a)
{
	sup_reconcile(a->sup, NULL, 0, true);
	generation_swap(a, &(struct generation){0});
}

static void undo(struct agent *a, const struct reconcile_pending *p,
		 const struct applier_result *res, const struct diag *d)
{
	struct reconcile *rec = &a->reconcile;
	PLENUM_CLEANUP(diag_done) struct diag ignored = DIAG_INIT;
	const char *why = first_error(d);
	struct spec *spec = NULL;

	history_end(&rec->records.history, p->entry, HISTORY_ROLLED_BACK, p->n_steps, why, NULL);
	rec->pacing.retry_files = false; /* even if nothing can be written */
	/* From the ticket: if the workers could not get the new configuration, the running one is
	 * the previous. */
	(void)reconcile_ticket_load(a, &ignored, &spec);
	reconcile_note_refused(a, p->source, p->entry, why, spec);
	spec_free(spec);
	for (size_t i = 0; i < d->n; i++)
		if (d->entries[i].text && d->entries[i].text != why)
			events_add(&a->events, LOG_LEVEL_NOTICE, "agent", "%s", d->entries[i].text);
	if (res->stuck)
		set_problem(a, PROBLEMS_HOST,
			    d->n ? d->entries[d->n - 1].text : "the host is partially configured");
	if (a->state == AGENT_STOPPING)
		return;
	if (reconcile_has_last_good(rec))
		rec->queue.last_good_pending = true;
	else
		run_nothing(a);
}

void reconcile_pending_end(struct agent *a, const struct applier_result *res, const struct diag *d)
{
	struct reconcile *rec = &a->reconcile;
	PLENUM_CLEANUP(diag_done) struct diag all = DIAG_INIT;
	struct reconcile_pending p = rec->pending;
	int written = 0;

	if (res->error < 0 && rec->reachability.lost[0])
		diag_add(&all, DIAG_ERROR, NULL, NULL, "%s", rec->reachability.lost);
	diag_append(&all, d);
	reachability_answer(a, res, &all);
	rec->pending = (struct reconcile_pending){.applier = NULL};
	if (res->error == 0)
		written = keep(a, &p, res, &all);
	else
		undo(a, &p, res, &all);
	ticket_drop(a);
	agent_check_health(a);
	agent_update_state(a);
	status_publish(a);
	control_on_decided(a, p.client, p.entry, p.keep, res->error, written >= 0, &all);
}

/* The operator's apply is not pending any more; says how it ended. */
static void say_none_waits(const struct agent *a, uint64_t number, struct reason *why)
{
	const struct history_entry *e = history_find(&a->reconcile.records.history, number);

	if (e)
		reason_set_text(why,
				"no apply waits for a confirmation: apply %" PRIu64
				" is '%s' in 'plenum history'",
				number, history_outcome_to_string(e->outcome));
	else
		reason_set_text(why, "no apply waits for a confirmation");
}

int reconcile_pending_match(const struct agent *a, uint64_t number, uid_t uid, bool keep,
			    struct reason *why)
{
	const struct reconcile_pending *p = &a->reconcile.pending;
	const struct history_entry *e = history_find(&a->reconcile.records.history, p->entry);
	const char *verb = keep ? "confirm" : "rollback", *by = p->by[0] ? p->by : "plenumd";

	if (!p->applier) {
		say_none_waits(a, number, why);
		return -ENOENT;
	}
	if (number == p->entry || (!number && clients_is_by(by, uid)))
		return 0;
	if (number)
		reason_set_text(why,
				"apply %" PRIu64 " does not wait for a confirmation, apply %" PRIu64
				" (%s, by %s) does; use 'plenum %s %" PRIu64 "' for that one",
				number, p->entry, e ? e->what : "?", by, verb, p->entry);
	else
		reason_set_text(why,
				"apply %" PRIu64
				" (%s, by %s) belongs to another user; use 'plenum %s %" PRIu64
				"' if you mean it",
				p->entry, e ? e->what : "?", by, verb, p->entry);
	return -EPERM;
}

int reconcile_pending_check_files(struct agent *a, struct diag *d)
{
	return a->reconcile.pending.source == RECONCILE_FROM_STAGED ? store_check_base(&a->store, d)
								    : 0;
}

int reconcile_pending_decide(struct agent *a, bool keep_it, uint64_t client, const char *by)
{
	struct reconcile_pending *p = &a->reconcile.pending;
	int r;

	if (!p->applier)
		return -ENOENT;
	if (p->client)
		return -EALREADY;
	if (keep_it && reachability_is_lost(a)) /* no matter who confirms */
		return -EHOSTUNREACH;
	r = applier_order(p->applier, keep_it, by);
	if (r < 0)
		return r;
	p->client = client;
	p->keep = keep_it;
	return 0;
}

void reconcile_on_not_yet(void *user, const char *why)
{
	struct agent *a = user;
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct reconcile_pending *p = &a->reconcile.pending;
	const uint64_t client = p->client;

	p->client = 0;
	diag_add(&d, DIAG_ERROR, NULL, NULL, "%s", why);
	control_on_decided(a, client, p->entry, p->keep, -EHOSTUNREACH, true, &d);
}

/* ---- the ticket of a previous agent ---- */

/* Reads the outcome that this ticket's applier wrote. 0: it was kept; -ENODATA: unknown; other: it
 * was not, with the reason in buf. */
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

/* The new configuration runs and becomes the last good one. */
static void resolve_kept(struct agent *a, const struct ticket *t, struct state_file *f)
{
	struct reconcile *rec = &a->reconcile;
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct generation kept = {.spec = NULL};
	autofree char *yaml = NULL;

	if (reconcile_ticket_load(a, &d, &kept.spec) < 0)
		return;
	yaml = spec_to_yaml(kept.spec);
	history_end(&rec->records.history, t->entry, HISTORY_APPLIED, t->n_steps,
		    "by the previous agent", yaml);
	events_add(&a->events, LOG_LEVEL_INFO, "agent",
		   "the applier of the previous agent finished apply %" PRIu64
		   "; the apply is kept",
		   t->entry);
	reconcile_choice_read(rec, f);
	reconcile_choice_keep(a);
	/* As if this agent had applied it. */
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
		    error == -ECANCELED ? HISTORY_ROLLED_BACK : HISTORY_FAILED, t->n_steps, why,
		    NULL);
	/* An apply that needed a confirmation is not retried without a request. */
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

void reconcile_resolve(struct agent *a, const struct applier_result *res, const struct diag *d)
{
	char why[RECONCILE_REFUSED_MAX] = "it was interrupted";
	PLENUM_CLEANUP(state_file_done) struct state_file f;
	struct ticket t;
	int error, r = ticket_read(a, &t, &f);

	if (r < 0 && r != STATE_MISSING)
		events_add(&a->events, LOG_LEVEL_WARNING, "agent",
			   "cannot read %s (%s): the result of the previous agent's apply is not "
			   "in 'plenum history'",
			   a->reconcile.records.pending_path, state_file_error(r));
	if (r < 0)
		return;
	if (res->committed || a->reconcile.state == RECONCILE_ADOPTING) {
		error = res->committed ? 0 : res->error;
		if (error < 0)
			snprintf(why, sizeof(why), "%s", first_error(d));
	} else {
		/* A journal, if there was one, decides: the outcome is written before the journal
		 * is removed. A reboot loses the outcome, but not the history, which is written
		 * first. */
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
	ticket_drop(a);
}

int reconcile_adopt(struct agent *a, struct applier_task *task)
{
	struct reconcile *rec = &a->reconcile;
	PLENUM_CLEANUP(state_file_done) struct state_file f;
	struct ticket t;
	int r = ticket_read(a, &t, &f);

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
