/* SPDX-License-Identifier: BSD-3-Clause */
#include "netcfg/plan/apply.h"
#include "netcfg/plan/apply_journal.h"
#include <stdio.h>
#include <string.h>

#define STEP_TEXT_MAX 160

static void why_set(struct apply_outcome *o, int error, const char *text)
{
	o->error = error;
	snprintf(o->why, sizeof(o->why), "%s", text);
}

/* Undoes all that needs it, last first, and goes on past what cannot be undone: as little as
 * possible shall stay. The journal is kept where something did. */
static int undo_all(struct kernel *k, struct apply_journal *j, struct apply_outcome *o)
{
	int error = 0;

	for (size_t i = j->n; i-- > 0;) {
		struct apply_journal_entry *e = &j->entries[i];
		char why[KERNEL_WHY_MAX] = "", step[STEP_TEXT_MAX];
		size_t len;
		int r;

		if (e->state == APPLY_STEP_KEPT || e->state == APPLY_STEP_UNDONE)
			continue;
		r = apply_step_undo(k, &e->step, e->state, why);
		if (r == 0) {
			if (e->state == APPLY_STEP_DONE)
				o->n_undone++;
			/* Unwritten, the entry is undone once more by a recovery: harmless. */
			(void)apply_journal_mark(j, i, APPLY_STEP_UNDONE);
			continue;
		}
		if (error)
			continue;
		error = r;
		o->stuck = true;
		len = strlen(o->why);
		snprintf(o->why + len, sizeof(o->why) - len, "%scannot undo '%s': %s",
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

int apply_run(struct kernel *k, const struct plan *p, const char *journal,
	      struct apply_outcome *ret)
{
	struct apply_journal j = APPLY_JOURNAL_INIT;
	int r;

	*ret = (struct apply_outcome){0};
	if (!p->n_steps)
		return 0;
	r = apply_journal_create(&j, journal);
	if (r < 0) {
		char text[KERNEL_WHY_MAX];

		snprintf(text, sizeof(text), "journal %.128s: %s", journal,
			 r == -EEXIST  ? "an unfinished apply has left it, recover first"
			 : r == -EBUSY ? "another process is applying"
				       : strerror(-r));
		why_set(ret, r, text);
		return r;
	}
	for (size_t i = 0; i < p->n_steps && r == 0; i++) {
		r = run_step(k, &j, &p->steps[i], ret);
		if (r < 0)
			ret->failed_step = i;
	}
	if (r == 0) {
		r = apply_journal_remove(&j);
		if (r < 0)
			why_set(ret, r, "the journal cannot be removed");
	}
	/* The kernel's answer to the failed step stays the outcome, whatever the undo says. */
	if (r < 0)
		(void)undo_all(k, &j, ret);
	apply_journal_done(&j);
	return r;
}

int apply_recover(struct kernel *k, const char *journal, struct apply_outcome *ret)
{
	struct apply_journal j = APPLY_JOURNAL_INIT;
	char text[KERNEL_WHY_MAX];
	int r;

	*ret = (struct apply_outcome){0};
	r = apply_journal_open(&j, journal);
	if (r == 0 && j.stale) {
		snprintf(ret->why, sizeof(ret->why),
			 "journal %.128s is of another boot or network namespace: ignored",
			 journal);
		r = apply_journal_remove(&j);
	} else if (r == 0) {
		for (size_t i = 0; i < j.n; i++)
			ret->n_done += j.entries[i].state == APPLY_STEP_DONE;
		r = undo_all(k, &j, ret);
		ret->error = r;
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
		why_set(ret, r, text);
	}
	apply_journal_done(&j);
	return r;
}
