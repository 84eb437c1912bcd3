/* SPDX-License-Identifier: BSD-3-Clause */
/* The data walk of agent.h. */
#include "agent/agent.h"
#include "agent/status.h"
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

void agent_round_done(struct agent_round *r)
{
	free(r->wants);
	plan_free(r->plan);
	inv_free(r->inv);
	spec_free(r->spec);
	*r = (struct agent_round){0};
}

/* Puts the new round in the place of the running one; `next` is left with what shall be freed. A
 * round without a specification of its own goes on with the running one. */
static void agent_take_round(struct agent *a, struct agent_round *next)
{
	struct agent_round old = a->now;

	a->now = *next;
	if (!a->now.spec) {
		a->now.spec = old.spec;
		old.spec = NULL;
	}
	*next = old;
}

static void agent_note_steps(struct agent *a, enum agent_trigger trigger, const struct plan *p)
{
	char text[200];

	for (size_t i = 0; i < p->n_steps; i++) {
		plan_step_describe(&p->steps[i], text, sizeof(text));
		if (trigger == AGENT_TRIGGER_KERNEL)
			events_add(&a->events, LOG_LEVEL_WARNING, "agent",
				   "somebody changed what is ours; repairing: %s", text);
		else
			log_info("%s (%s)", text, p->steps[i].reason);
	}
}

static int agent_apply_plan(struct agent *a, const struct plan *p, struct diag *d,
			    struct apply **ret)
{
	struct apply_outcome out = {0};
	char step[200] = "?";
	int r = apply_run(a->kernel, p, a->journal, ret, &out);

	if (r >= 0)
		return 0;
	if (r ==
	    -EEXIST) /* an rollback that failed has left it: try that again before anything new */
		r = apply_recover(a->kernel, a->journal, &out);
	if (r >= 0) {
		diag_add(d, DIAG_ERROR, NULL, NULL,
			 "what an earlier apply left had to be rolled back first");
		return -EAGAIN;
	}
	if (out.failed_step < p->n_steps)
		plan_step_describe(&p->steps[out.failed_step], step, sizeof(step));
	diag_add(d, DIAG_ERROR, NULL, NULL, "apply failed: %s; %zu of %zu steps rolled back%s",
		 out.why[0] ? out.why : step, out.n_rolled_back, out.n_done,
		 out.stuck ? ", and the rollback failed too: the host is between the two" : "");
	return r;
}

static void agent_count_apply(struct agent *a, const struct plan *p)
{
	a->applied.number++;
	a->applied.steps = p->n_steps;
	a->applied.time_s = (uint64_t)time(NULL);
}

/* The host did not become as wanted: it shall be as before. */
static void agent_roll_back(struct apply *apply, struct diag *d)
{
	struct apply_outcome out = {0};
	int r = apply_rollback(apply, &out);

	if (r < 0)
		diag_add(d, DIAG_ERROR, NULL, NULL,
			 "what was applied cannot be rolled back: %s%s%s; the host is between the "
			 "two",
			 strerror(-r), out.why[0] ? ": " : "", out.why);
	else
		diag_add(d, DIAG_ERROR, NULL, NULL, "all %zu steps were rolled back",
			 out.n_rolled_back);
}

/* Applies the round's plan; what is not verified is rolled back. 0: the host is as wanted. */
static int agent_change_host(struct agent *a, const struct agent_round *next,
			     const struct spec *spec, const struct plan_context *ctx,
			     struct diag *d)
{
	struct apply_outcome out = {0};
	struct apply *apply = NULL;
	int r = agent_apply_plan(a, next->plan, d, &apply);

	if (r < 0)
		return r;
	r = apply_verify(a->kernel, spec, ctx, clock_now_ns() + a->verify_ns, d);
	if (r < 0) {
		agent_roll_back(apply, d);
		return r;
	}
	r = apply_commit(apply, &out);
	if (r < 0)
		diag_add(d, DIAG_ERROR, NULL, NULL, "%s", out.why);
	return r;
}

/* Somebody wants it, so that what failed is tried again. */
static bool agent_is_asked(enum agent_trigger t)
{
	return t != AGENT_TRIGGER_KERNEL && t != AGENT_TRIGGER_FALLBACK;
}

int agent_walk(struct agent *a, enum agent_trigger trigger, const struct store_source *from,
	       struct diag *d)
{
	PLENUM_CLEANUP(agent_round_done) struct agent_round next = {0};
	const struct plan_context ctx = {.running = a->now.plan, .failures = &a->failures};
	const struct spec *spec = a->now.spec;
	int r;

	if (from) {
		r = spec_load(from->file, from->dropin_dir, d, &next.spec);
		if (r < 0)
			return r;
		spec = next.spec;
	}
	r = inv_collect(a->kernel, d, &next.inv);
	if (r < 0)
		return r;
	if (agent_is_asked(trigger))
		plan_failures_clear(&a->failures);
	r = plan_build(spec, next.inv, &ctx, d, &next.plan);
	if (r < 0)
		return r;
	r = wants_build(spec, next.plan, a->opt.log_level, d, &next.wants, &next.n_wants);
	if (r < 0)
		return r;
	if (next.plan->n_steps > 0) {
		agent_note_steps(a, trigger, next.plan);
		r = agent_change_host(a, &next, spec, &ctx, d);
		if (r < 0)
			return r;
		agent_count_apply(a, next.plan);
		next.inv = inv_free(next.inv);
		agent_skip_kernel_events(a);
		r = inv_collect(a->kernel, d, &next.inv);
		if (r < 0)
			return r;
	}
	agent_take_round(a, &next);
	agent_take_carriers(a, a->now.inv);
	r = sup_reconcile(a->sup, a->now.wants, a->now.n_wants, agent_is_asked(trigger));
	if (r < 0)
		return r;
	status_publish(a);
	return 0;
}

/* ---- the outcome ---- */

static void agent_clear_problems(struct agent *a)
{
	for (size_t i = 0; i < a->n_problems; i++)
		free(a->problems[i]);
	free(a->problems);
	a->problems = NULL;
	a->n_problems = 0;
}

static void agent_keep_problems(struct agent *a, const struct diag *d)
{
	json_t *list = store_diag_to_json(&a->store, d);
	size_t n = list ? json_array_size(list) : 0;

	agent_clear_problems(a);
	a->problems = calloc(MAX_OF(n, 1), sizeof(*a->problems));
	for (size_t i = 0; a->problems && i < n; i++) {
		char *text = strdup(json_string_value(json_array_get(list, i)));

		if (text)
			a->problems[a->n_problems++] = text;
	}
	json_decref(list);
}

static bool agent_same_problems(const struct agent *a, const struct diag *d)
{
	json_t *list = store_diag_to_json(&a->store, d);
	bool same = list && json_array_size(list) == a->n_problems;

	for (size_t i = 0; same && i < a->n_problems; i++)
		same = strcmp(json_string_value(json_array_get(list, i)), a->problems[i]) == 0;
	json_decref(list);
	return same;
}

static const char *agent_trigger_to_string(enum agent_trigger t)
{
	static const char *const names[AGENT_TRIGGER_MAX] = {"start", "reload", "apply",
							     "kernel event", "fallback"};

	return t < AGENT_TRIGGER_MAX ? names[t] : "?";
}

/* A burst of kernel events that fails the same way again says nothing new. */
static void agent_report_failure(struct agent *a, enum agent_trigger trigger, int error,
				 const struct diag *d)
{
	if ((trigger == AGENT_TRIGGER_KERNEL || trigger == AGENT_TRIGGER_START) &&
	    a->state == AGENT_DEGRADED && agent_same_problems(a, d))
		return;
	agent_keep_problems(a, d);
	for (size_t i = 0; i < a->n_problems; i++)
		events_add(&a->events, LOG_LEVEL_ERR, "agent", "%s", a->problems[i]);
	events_add(&a->events, LOG_LEVEL_ERR, "agent", "%s refused (%s); %s",
		   agent_trigger_to_string(trigger), strerror(-error),
		   a->now.spec ? "what runs goes on unchanged" : "nothing was changed");
}

int agent_run_walk(struct agent *a, enum agent_trigger trigger, const struct store_source *from,
		   struct diag *d)
{
	uint64_t applied = a->applied.number, began = clock_now_ns();
	int r;

	if (!from && !a->now.spec)
		return 0;
	r = agent_walk(a, trigger, from, d);
	if (a->state != AGENT_STOPPING && r < 0) {
		agent_report_failure(a, trigger, r, d);
		a->state = AGENT_DEGRADED;
	} else if (a->state != AGENT_STOPPING) {
		agent_keep_problems(a, d); /* warnings */
		a->state = AGENT_RUNNING;
	}
	if (a->applied.number != applied || (r >= 0 && trigger != AGENT_TRIGGER_KERNEL))
		events_add(&a->events, LOG_LEVEL_NOTICE, "agent",
			   "%s: %zu steps applied in %.0f ms, %zu workers wanted",
			   agent_trigger_to_string(trigger),
			   a->applied.number != applied ? a->applied.steps : (size_t)0,
			   (double)(clock_now_ns() - began) / NSEC_PER_MSEC, a->now.n_wants);
	status_publish(a);
	/* A walk is the agent's only large user of the heap. */
	malloc_trim(0);
	return r;
}
