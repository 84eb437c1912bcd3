/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs an apply: writes each step to the journal, runs it and marks it as done, or rolls back.
 * apply_step.c runs a single step; apply_journal.c writes the journal. */
#include "netcfg/apply/apply.h"
#include "netcfg/apply/apply_journal.h"
#include "netcfg/base/file.h"
#include "netcfg/object/object.h"
#include "netcfg/plan/plan_owned.h"
#include <stdio.h>
#include <string.h>

#define STEP_TEXT_MAX 160

struct apply {
	struct kernel *kernel;
	struct apply_journal journal; /* the journal has no path if the plan was empty */
	size_t n_done;
	size_t next; /* index of the plan's next step, if the apply stopped before the addresses */
};

/* Inverts all steps that need it, in reverse order. The function continues after a failure, so that
 * as few changes as possible remain; in that case the journal stays. */
static int roll_back(struct kernel *k, struct apply_journal *j, struct apply_outcome *o)
{
	int error = 0;

	for (size_t i = j->n; i-- > 0;) {
		struct apply_journal_entry *e = &j->entries[i];
		struct reason why = {.code = ""};
		char step[STEP_TEXT_MAX];
		int r;

		if (e->state == APPLY_STEP_KEPT || e->state == APPLY_STEP_ROLLED_BACK)
			continue;
		r = apply_step_roll_back(k, &e->step, e->state, &why);
		if (r == 0) {
			if (e->state == APPLY_STEP_DONE)
				o->n_rolled_back++;
			/* A missing mark "rolled back" is harmless: a recovery then inverts the
			 * step once more. */
			(void)apply_journal_mark(j, i, APPLY_STEP_ROLLED_BACK);
			continue;
		}
		if (error)
			continue;
		error = r;
		o->stuck = true;
		reason_append(&o->why, "cannot roll back '%s': %s",
			      plan_step_describe(&e->step, step, sizeof(step)), why.text);
	}
	return error ? error : apply_journal_remove(j);
}

static void why_step_failed(struct apply_outcome *o, const struct plan_step *s, int error,
			    const struct reason *why)
{
	char step[STEP_TEXT_MAX];

	o->error = error;
	o->why = *why;
	if (!reason_is_set(why))
		reason_set_text(&o->why, "%s", strerror(-error));
	reason_prefix(&o->why, "%s", plan_step_describe(s, step, sizeof(step)));
}

static int run_step(struct kernel *k, struct apply_journal *j, const struct plan_step *planned,
		    struct apply_outcome *o)
{
	struct plan_step s = *planned;
	struct reason why = {.code = ""};
	enum apply_step_state state;
	int r = apply_step_capture(k, &s, &why);

	if (r < 0) {
		why_step_failed(o, &s, r, &why);
		return r;
	}
	r = apply_journal_begin(j, &s);
	if (r < 0) {
		reason_set_text(&why, "cannot write the journal %s: %s", j->path, strerror(-r));
		why_step_failed(o, &s, r, &why);
		return r;
	}
	r = apply_step_do(k, &s, &state, &why);
	if (r < 0) {
		why_step_failed(o, &s, r, &why);
		return r;
	}
	/* A missing mark "done" is harmless: the state is set in memory, and a recovery finds out
	 * from the host whether the step took effect. */
	(void)apply_journal_mark(j, j->n - 1, state);
	o->n_done++;
	return 0;
}

/* Writes to the journal that the value of the step is to be removed from the record of owned
 * values, so that a recovery can complete the record. */
static int run_disowned(struct apply_journal *j, const struct plan_step *s, struct apply_outcome *o)
{
	struct reason why;
	int r = apply_journal_begin(j, s);

	reason_set_text(&why, "cannot write the journal");
	if (r < 0)
		why_step_failed(o, s, r, &why);
	else
		(void)apply_journal_mark(j, j->n - 1, APPLY_STEP_KEPT);
	return r;
}

static struct apply *apply_free(struct apply *a)
{
	if (a) {
		apply_journal_done(&a->journal);
		free(a);
	}
	return NULL;
}

static int journal_create(struct apply *a, const struct plan *p, const char *path,
			  struct apply_outcome *out)
{
	int r = apply_journal_create(&a->journal, path, p->record);

	if (r == 0)
		return 0;
	out->error = r;
	reason_set_text(&out->why, "journal %s: %s", path,
			r == -EEXIST  ? "an unfinished apply must be rolled back first"
			: r == -EBUSY ? "another process is applying"
				      : strerror(-r));
	return r;
}

static int run_all_disowned(struct apply *a, const struct plan *p, struct apply_outcome *out)
{
	int r = 0;

	for (size_t i = 0; i < p->n_disowned && r == 0; i++)
		r = run_disowned(&a->journal, &p->disowned[i], out);
	return r;
}

/* Runs steps from a->next up to, but not including, the phase `before`. */
static int run_steps(struct apply *a, const struct plan *p, unsigned before,
		     struct apply_outcome *out)
{
	int r = 0;

	for (; a->next < p->n_steps && p->steps[a->next].phase < before && r == 0; a->next++) {
		r = run_step(a->kernel, &a->journal, &p->steps[a->next], out);
		if (r < 0)
			out->failed_step = a->next;
	}
	a->n_done = out->n_done;
	return r;
}

/* Rolls everything back after a failed step, and frees a. Returns the error of that step. */
static int give_up(struct apply *a, int error, struct apply_outcome *out)
{
	(void)roll_back(a->kernel, &a->journal, out);
	apply_free(a);
	return error;
}

static int start(struct kernel *k, const struct plan *p, const char *journal, unsigned before,
		 struct apply **ret, struct apply_outcome *out)
{
	struct apply *a = calloc(1, sizeof(*a));
	int r = 0;

	*ret = NULL;
	*out = (struct apply_outcome){.error = a ? 0 : -ENOMEM, .failed_step = SIZE_MAX};
	if (!a)
		return -ENOMEM;
	a->kernel = k;
	a->journal = (struct apply_journal)APPLY_JOURNAL_INIT;
	if (p->n_steps) {
		r = journal_create(a, p, journal, out);
		if (r < 0) {
			apply_free(a);
			return r;
		}
		r = run_all_disowned(a, p, out);
		if (r == 0)
			r = run_steps(a, p, before, out);
	}
	if (r < 0)
		return give_up(a, r, out);
	*ret = a;
	return 0;
}

int apply_run(struct kernel *k, const struct plan *p, const char *journal, struct apply **ret,
	      struct apply_outcome *out)
{
	return start(k, p, journal, OBJECT_PHASE_MAX, ret, out);
}

int apply_run_links(struct kernel *k, const struct plan *p, const char *journal, struct apply **ret,
		    struct apply_outcome *out)
{
	return start(k, p, journal, OBJECT_PHASE_ADDR, ret, out);
}

int apply_go_on(struct apply *a, const struct plan *p, bool is_new, struct apply_outcome *out)
{
	int r = 0;

	*out = (struct apply_outcome){.n_done = a->n_done, .failed_step = SIZE_MAX};
	if (is_new) {
		a->next = 0;
		r = run_all_disowned(a, p, out);
	}
	if (r == 0)
		r = run_steps(a, p, OBJECT_PHASE_MAX, out);
	return r < 0 ? give_up(a, r, out) : 0;
}

/* Prepares the new record of owned values: the record on disk, updated by the steps of the journal.
 * A recovery may repeat this after an interruption, because recording a step twice has no further
 * effect. */
static int record_prepare(const struct apply_journal *j)
{
	PLENUM_CLEANUP(plan_owned_done) struct plan_owned owned = {.path = NULL};
	/* Errors of the record go to d. They are ignored, because the plan has already reported
	 * them. */
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	int r = plan_owned_load(&owned, j->record, &d);

	for (size_t i = 0; i < j->n && r == 0; i++)
		r = plan_owned_note(&owned, &j->entries[i].step,
				    j->entries[i].state == APPLY_STEP_KEPT);
	return r == 0 ? plan_owned_prepare(&owned, j->record) : r;
}

static int record_prepare_or_say(const struct apply_journal *j, struct apply_outcome *out)
{
	int r = j->record ? record_prepare(j) : -ENOENT;

	if (r < 0 && j->record)
		reason_set_text(
			&out->why,
			"cannot write the record %s: %s; settings that this apply changed will "
			"keep their new values even when the configuration no longer needs them",
			j->record, strerror(-r));
	return r;
}

/* Updates the record and removes the journal. The apply is already committed, so a failure here
 * does not roll it back, and a later recovery completes the record. */
static void finish(const struct apply_journal *j, bool recorded, struct apply_outcome *out)
{
	int r = recorded ? file_commit(j->record) : 0;

	if (r == 0)
		r = apply_journal_remove(j);
	if (r < 0)
		reason_set_text(
			&out->why,
			"the apply is committed, but its journal %s cannot be completed: %s",
			j->path, strerror(-r));
}

/* Commits the apply even if the record cannot be written, because a rollback would leave the host
 * without its data network. */
int apply_commit(struct apply *a, struct apply_outcome *out)
{
	struct apply_journal *j = &a->journal;
	bool recorded = false;
	int r = 0;

	*out = (struct apply_outcome){.n_done = a->n_done};
	if (j->path) {
		recorded = record_prepare_or_say(j, out) == 0;
		r = apply_journal_commit(j);
	}
	if (r < 0) {
		out->error = r;
		reason_set_text(&out->why, "cannot write the journal %s: %s", j->path,
				strerror(-r));
		if (recorded)
			file_abandon(j->record);
		(void)roll_back(a->kernel, j, out);
	} else if (j->path) {
		finish(j, recorded, out);
	}
	apply_free(a);
	return r;
}

int apply_rollback(struct apply *a, struct apply_outcome *out)
{
	*out = (struct apply_outcome){.n_done = a->n_done};
	if (a->journal.path)
		out->error = roll_back(a->kernel, &a->journal, out);
	apply_free(a);
	return out->error;
}

/* Completes the record of a committed apply. It looks the links up again, because the journal has
 * no ifindexes. */
static void recover_committed(struct kernel *k, struct apply_journal *j, struct apply_outcome *out)
{
	for (size_t i = 0; i < j->n; i++) {
		(void)object_find(k, &j->entries[i].step);
	}
	out->committed = true;
	finish(j, record_prepare_or_say(j, out) == 0, out);
}

static int recover_open(struct kernel *k, struct apply_journal *j, struct apply_outcome *out)
{
	for (size_t i = 0; i < j->n; i++)
		out->n_done += j->entries[i].state == APPLY_STEP_DONE;
	if (j->record)
		file_abandon(j->record);
	return roll_back(k, j, out);
}

static void why_unreadable(struct apply_outcome *out, const struct apply_journal *j,
			   const char *path, int error)
{
	out->error = error;
	if (error == -EBADMSG)
		reason_set_text(&out->why,
				"journal %s: line %zu is invalid for version %d; check the host by "
				"hand, then remove the file",
				path, j->bad_line, APPLY_JOURNAL_VERSION);
	else
		reason_set_text(&out->why, "journal %s: %s", path,
				error == -EBUSY ? "another process is applying" : strerror(-error));
}

int apply_recover(struct kernel *k, const char *journal, struct apply_outcome *out)
{
	struct apply_journal j = APPLY_JOURNAL_INIT;
	int r;

	*out = (struct apply_outcome){0};
	r = apply_journal_open(&j, journal);
	if (r == 0 && j.stale) {
		reason_set_text(
			&out->why,
			"journal %s is of another boot or network namespace and was ignored",
			journal);
		r = apply_journal_remove(&j);
	} else if (r == 0) {
		if (j.committed)
			recover_committed(k, &j, out);
		else
			out->error = r = recover_open(k, &j, out);
	} else if (r == -ENOENT) {
		r = 0;
	} else {
		why_unreadable(out, &j, journal, r);
	}
	apply_journal_done(&j);
	return r;
}
