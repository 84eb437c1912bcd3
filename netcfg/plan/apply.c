/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of things in an apply: journal, step, mark; and the way back. What a step is, is said
 * by apply_step.c, what the journal looks like by apply_journal.c. */
#include "netcfg/plan/apply.h"
#include "netcfg/plan/apply_journal.h"
#include <stdio.h>
#include <string.h>

#define STEP_TEXT_MAX 160

struct apply {
	struct kernel *kernel;
	struct apply_journal journal; /* no file where the plan was empty */
	char *path;
};

static void why_set(struct apply_outcome *o, int error, const char *text)
{
	o->error = error;
	snprintf(o->why, sizeof(o->why), "%s", text);
}

/* Inverts all that needs it, last first, and goes on past what cannot be inverted: as little as
 * possible shall stay. The journal is kept where something did. */
static int roll_back(struct kernel *k, struct apply_journal *j, struct apply_outcome *o)
{
	int error = 0;

	for (size_t i = j->n; i-- > 0;) {
		struct apply_journal_entry *e = &j->entries[i];
		char why[KERNEL_WHY_MAX] = "", step[STEP_TEXT_MAX];
		size_t len;
		int r;

		if (e->state == APPLY_STEP_KEPT || e->state == APPLY_STEP_ROLLED_BACK)
			continue;
		r = apply_step_undo(k, &e->step, e->state, why);
		if (r == 0) {
			if (e->state == APPLY_STEP_DONE)
				o->n_rolled_back++;
			/* Unwritten, the entry is inverted once more by a recovery: harmless. */
			(void)apply_journal_mark(j, i, APPLY_STEP_ROLLED_BACK);
			continue;
		}
		if (error)
			continue;
		error = r;
		o->stuck = true;
		len = strlen(o->why);
		snprintf(o->why + len, sizeof(o->why) - len, "%scannot roll back '%s': %s",
			 len ? "; " : "", plan_step_describe(&e->step, step, sizeof(step)),
			 why[0] ? why : strerror(-r));
	}
	return error ? error : apply_journal_remove(j);
}

static void why_step_failed(struct apply_outcome *o, const struct plan_step *s, int error,
			    const char *why)
{
	char step[STEP_TEXT_MAX];

	o->error = error;
	snprintf(o->why, sizeof(o->why), "%s: %s", plan_step_describe(s, step, sizeof(step)),
		 why[0] ? why : strerror(-error));
}

static int run_step(struct kernel *k, struct apply_journal *j, const struct plan_step *s,
		    struct apply_outcome *o)
{
	char why[KERNEL_WHY_MAX] = "";
	enum apply_step_state state;
	int r = apply_journal_begin(j, s);

	if (r < 0) {
		snprintf(why, sizeof(why), "cannot write the journal %.128s: %s", j->path,
			 strerror(-r));
		why_step_failed(o, s, r, why);
		return r;
	}
	r = apply_step_do(k, s, &state, why);
	if (r < 0) {
		why_step_failed(o, s, r, why);
		return r;
	}
	/* In memory it is marked in any case; without the line a recovery looks for itself. */
	(void)apply_journal_mark(j, j->n - 1, state);
	o->n_done++;
	return 0;
}

static struct apply *apply_free(struct apply *a)
{
	if (a) {
		apply_journal_done(&a->journal);
		free(a->path);
		free(a);
	}
	return NULL;
}

static int apply_new(struct kernel *k, const char *journal, struct apply **ret)
{
	struct apply *a = calloc(1, sizeof(*a));

	if (!a)
		return -ENOMEM;
	a->kernel = k;
	a->journal = (struct apply_journal)APPLY_JOURNAL_INIT;
	a->path = strdup(journal);
	if (!a->path) {
		apply_free(a);
		return -ENOMEM;
	}
	*ret = a;
	return 0;
}

static int journal_create(struct apply *a, struct apply_outcome *out)
{
	char text[KERNEL_WHY_MAX];
	int r = apply_journal_create(&a->journal, a->path);

	if (r == 0)
		return 0;
	snprintf(text, sizeof(text), "journal %.128s: %s", a->path,
		 r == -EEXIST  ? "an unfinished apply has left it, recover first"
		 : r == -EBUSY ? "another process is applying"
			       : strerror(-r));
	why_set(out, r, text);
	return r;
}

int apply_run(struct kernel *k, const struct plan *p, const char *journal, struct apply **ret,
	      struct apply_outcome *out)
{
	struct apply *a = NULL;
	int r;

	*ret = NULL;
	*out = (struct apply_outcome){0};
	r = apply_new(k, journal, &a);
	if (r < 0) {
		out->error = r;
		return r;
	}
	if (p->n_steps)
		r = journal_create(a, out);
	if (r < 0) {
		apply_free(a);
		return r;
	}
	for (size_t i = 0; i < p->n_steps && r == 0; i++) {
		r = run_step(k, &a->journal, &p->steps[i], out);
		if (r < 0)
			out->failed_step = i;
	}
	if (r == 0) {
		*ret = a;
		return 0;
	}
	/* The kernel's answer to the failed step stays the outcome, whatever the rollback says. */
	(void)roll_back(k, &a->journal, out);
	apply_free(a);
	return r;
}

static void outcome_init(const struct apply *a, struct apply_outcome *out)
{
	*out = (struct apply_outcome){0};
	for (size_t i = 0; i < a->journal.n; i++)
		out->n_done += a->journal.entries[i].state == APPLY_STEP_DONE ||
			       a->journal.entries[i].state == APPLY_STEP_KEPT;
}

int apply_commit(struct apply *a, struct apply_outcome *out)
{
	int r = 0;

	outcome_init(a, out);
	if (a->journal.n)
		r = apply_journal_remove(&a->journal);
	if (r < 0) {
		char text[KERNEL_WHY_MAX];

		snprintf(text, sizeof(text), "the journal %.128s cannot be removed: %s", a->path,
			 strerror(-r));
		why_set(out, r, text);
		(void)roll_back(a->kernel, &a->journal, out);
	}
	apply_free(a);
	return r;
}

int apply_rollback(struct apply *a, struct apply_outcome *out)
{
	int r = 0;

	outcome_init(a, out);
	if (a->journal.n)
		r = roll_back(a->kernel, &a->journal, out);
	out->error = r;
	apply_free(a);
	return r;
}

int apply_recover(struct kernel *k, const char *journal, struct apply_outcome *out)
{
	struct apply_journal j = APPLY_JOURNAL_INIT;
	char text[KERNEL_WHY_MAX];
	int r;

	*out = (struct apply_outcome){0};
	r = apply_journal_open(&j, journal);
	if (r == 0 && j.stale) {
		snprintf(out->why, sizeof(out->why),
			 "journal %.128s is of another boot or network namespace: ignored",
			 journal);
		r = apply_journal_remove(&j);
	} else if (r == 0) {
		for (size_t i = 0; i < j.n; i++)
			out->n_done += j.entries[i].state == APPLY_STEP_DONE;
		r = roll_back(k, &j, out);
		out->error = r;
	} else if (r == -ENOENT) {
		r = 0;
	} else {
		if (r == -EBADMSG)
			snprintf(text, sizeof(text),
				 "journal %.128s: line %zu is not of version %d; look at the host "
				 "and remove the file",
				 journal, j.bad_line, APPLY_JOURNAL_VERSION);
		else
			snprintf(text, sizeof(text), "journal %.128s: %s", journal,
				 r == -EBUSY ? "another process is applying" : strerror(-r));
		why_set(out, r, text);
	}
	apply_journal_done(&j);
	return r;
}
