/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides whether a requested apply has to be confirmed, and writes and reads its ticket. */
#include "agent/reconcile/reconcile_ticket.h"
#include "agent/apply/apply_records.h"
#include "agent/reconcile/reachability.h"
#include "agent/reconcile/reconcile_choice.h"
#include "agent/reconcile/reconcile_internal.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

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

/* Returns whether the configuration differs from the running one. Mounts and exports may change
 * without a step. */
static bool is_other_config(const struct agent *a)
{
	autofree char *running = a->running.spec ? spec_to_yaml(a->running.spec) : NULL;
	autofree char *next =
		a->reconcile.run.next.spec ? spec_to_yaml(a->reconcile.run.next.spec) : NULL;

	return next && (!running || strcmp(running, next) != 0);
}

/* Returns whether the plan moves addresses or routes of other programs to another link. */
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
	/* The policy of the running configuration has priority: an apply that removes the policy
	 * must still be confirmed. */
	policy_s = a->running.spec ? a->running.spec->confirm_s : 0;
	if (!policy_s && rec->run.next.spec)
		policy_s = rec->run.next.spec->confirm_s;
	if (!policy_s && is_takeover(rec->run.next.plan))
		policy_s = RECONCILE_TAKEOVER_CONFIRM_S;
	if (is_disruptive(rec) && policy_s)
		return policy_s;
	return reachability_waits(rec) ? REACHABILITY_S : 0;
}

/* Returns whether the apply needs no operator's confirmation and waits only until the workers reach
 * their previous peers again. */
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

int reconcile_ticket_read(const struct agent *a, struct ticket *ret, struct state_file *f)
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

int reconcile_ticket_load(const struct agent *a, struct diag *d, struct spec **ret)
{
	const char *path = a->reconcile.records.pending_path;
	PLENUM_CLEANUP(state_file_done) struct state_file f;
	autofree char *yaml = NULL;
	struct ticket t;
	int r = reconcile_ticket_read(a, &t, &f);

	yaml = r < 0 ? NULL : state_file_block(&f, "config");
	if (r >= 0)
		return yaml ? spec_parse(path, yaml, strlen(yaml), d, ret) : -ENOMEM;
	diag_add(d, DIAG_ERROR, NULL, NULL, "cannot read %s: %s", path, state_file_error(r));
	return r;
}

void reconcile_ticket_drop(const struct agent *a)
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
	/* If a full disk lost the history, its numbers are used a second time. So an earlier
	 * outcome with the same number must not remain. */
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
		reconcile_ticket_drop(a);
}
