/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues triggers and client requests, paces retries, and reports applies that take long. */
#include "agent/reconcile/reconcile_queue.h"
#include "agent/desired/leg_policy.h"
#include "agent/reconcile/reconcile_last_good.h"
#include "netcfg/base/vec.h"
#include <string.h>

#define EDITED_LOOK_NS (NSEC_PER_SEC / 5)

const char *reconcile_trigger_to_string(enum reconcile_trigger t)
{
	static const char *const names[RECONCILE_TRIGGER_MAX] = {"start", "reload", "apply",
								 "kernel event", "fallback"};

	return t < RECONCILE_TRIGGER_MAX ? names[t] : "?";
}

/* Returns whether a trigger has to wait after a failed apply, because that apply's own kernel
 * notifications must not trigger the next try. If so, arms the timer. */
static bool is_blocked(struct agent *a, const struct reconcile_pace *p)
{
	uint64_t now = clock_now_ns();

	if (!p->blocked || now >= p->at_ns)
		return false;
	reconcile_arm(a, p->at_ns - now);
	return true;
}

static bool take_kernel(struct agent *a, struct reconcile_request *ret)
{
	const struct reconcile *rec = &a->reconcile;
	const bool files = !a->running.spec || rec->pacing.retry_files;

	if (files && !is_blocked(a, &rec->pacing.files))
		*ret = (struct reconcile_request){.trigger = a->running.spec ? RECONCILE_KERNEL
									     : RECONCILE_START,
						  .source = RECONCILE_FROM_FILES};
	else if (a->running.spec && !is_blocked(a, &rec->pacing.running))
		*ret = (struct reconcile_request){.trigger = RECONCILE_KERNEL,
						  .source = RECONCILE_FROM_RUNNING};
	else
		return false;
	return true;
}

static void take_client(struct agent *a, struct reconcile_request *ret)
{
	struct reconcile_queue *q = &a->reconcile.queue;
	const struct reconcile_client c = q->clients[0];

	memmove(q->clients, q->clients + 1, --q->n_clients * sizeof(*q->clients));
	*ret = (struct reconcile_request){.trigger = RECONCILE_API,
					  .source = c.back_to ? RECONCILE_FROM_HISTORY
						    : store_has_staged(&a->store)
							    ? RECONCILE_FROM_STAGED
							    : RECONCILE_FROM_FILES,
					  .client = c};
}

/* Returns whether the trigger was requested. Clears the request. */
static bool take(struct reconcile_queue *q, enum reconcile_trigger t)
{
	const bool was = q->requested[t];

	q->requested[t] = false;
	return was;
}

/* Returns whether the files are valid and differ from the configuration that ran last. */
static bool files_are_edited(struct agent *a)
{
	PLENUM_CLEANUP(diag_done) struct diag ignored = DIAG_INIT;
	const struct store_source from = store_disk(&a->store);
	autofree char *is = NULL, *was = NULL;
	struct spec *files = NULL, *last = NULL;

	if (!reconcile_has_last_good(&a->reconcile))
		return false;
	if (spec_load(from.file, from.dropin_dir, &ignored, &files) >= 0)
		is = spec_to_yaml(files);
	if (reconcile_last_good_load(a, &ignored, &last) >= 0)
		was = spec_to_yaml(last);
	spec_free(files);
	spec_free(last);
	return is && was && strcmp(is, was) != 0;
}

/*
 * Makes the first request of the agent. Edited files may interrupt the host's connections, and at a
 * start there may be no operator to notice. So a start first restores the configuration that ran
 * last. Once that configuration works, the files are applied; that apply can then compare which
 * peers answer before and after it.
 */
static void take_start(struct agent *a, struct reconcile_request *ret)
{
	struct reconcile_queue *q = &a->reconcile.queue;

	*ret = (struct reconcile_request){.trigger = RECONCILE_START,
					  .source = RECONCILE_FROM_FILES};
	if (a->running.spec || !files_are_edited(a))
		return;
	events_add(&a->events, LOG_LEVEL_NOTICE, "agent",
		   "the files differ from the configuration that ran last: that configuration "
		   "starts first, then the files are checked as by 'plenum apply'");
	q->edited_files = true;
	q->edited_due_ns = clock_now_ns() + RECONCILE_EDITED_WAIT_NS;
	ret->source = RECONCILE_FROM_LAST_GOOD;
}

/* Returns whether it is time to apply the edited files; if so, *ret is the request. The time has
 * come when all workers are up, at the latest at edited_due_ns. If the configuration that ran last
 * cannot run now, it has come at once. */
static bool take_edited(struct agent *a, struct reconcile_request *ret)
{
	struct reconcile_queue *q = &a->reconcile.queue;

	if (!q->edited_files)
		return false;
	if (!a->converged && a->running.spec && clock_now_ns() < q->edited_due_ns) {
		loop_timer_arm(q->soon, EDITED_LOOK_NS);
		return false;
	}
	q->edited_files = false;
	*ret = (struct reconcile_request){.trigger = RECONCILE_START,
					  .source = RECONCILE_FROM_FILES};
	return true;
}

bool reconcile_queue_take(struct agent *a, struct reconcile_request *ret)
{
	struct reconcile_queue *q = &a->reconcile.queue;

	if (q->last_good_pending) {
		q->last_good_pending = false;
		*ret = (struct reconcile_request){.trigger = RECONCILE_START,
						  .source = RECONCILE_FROM_LAST_GOOD};
	} else if (take(q, RECONCILE_START)) {
		take_start(a, ret);
	} else if (take(q, RECONCILE_RELOAD)) {
		*ret = (struct reconcile_request){.trigger = RECONCILE_RELOAD,
						  .source = RECONCILE_FROM_FILES};
	} else if (q->n_clients > 0) {
		take_client(a, ret);
	} else if (take_edited(a, ret)) {
		return true;
	} else if (take(q, RECONCILE_FALLBACK) && a->running.spec) {
		*ret = (struct reconcile_request){.trigger = RECONCILE_FALLBACK,
						  .source = RECONCILE_FROM_RUNNING};
	} else {
		return take(q, RECONCILE_KERNEL) && take_kernel(a, ret);
	}
	return true;
}

/* ---- requests ---- */

void reconcile_ask(struct agent *a, enum reconcile_trigger t)
{
	if (a->state == AGENT_STOPPING)
		return;
	if (t == RECONCILE_RELOAD)
		a->reconcile.queue.reload_is_older = a->reconcile.pending.applier;
	if (t == RECONCILE_RELOAD && a->reconcile.pending.applier)
		events_add(&a->events, LOG_LEVEL_INFO, "agent",
			   "reload queued until apply %llu is confirmed or rolled back",
			   (unsigned long long)a->reconcile.pending.entry);
	a->reconcile.queue.requested[t] = true;
	a->reconcile.queue.run(a);
}

void reconcile_ask_soon(struct agent *a, enum reconcile_trigger t)
{
	if (a->state == AGENT_STOPPING)
		return;
	a->reconcile.queue.requested[t] = true;
	loop_timer_arm(a->reconcile.queue.soon, 0);
}

static int on_soon(void *user)
{
	struct agent *a = user;

	a->reconcile.queue.run(a);
	return 0;
}

void reconcile_answer_client(struct agent *a, const struct reconcile_client *c,
			     const struct reconcile_answer *answer)
{
	if (c->id && a->reconcile.setup.on_applied)
		a->reconcile.setup.on_applied(a, c, answer);
}

void reconcile_refuse_client(struct agent *a, const struct reconcile_client *c, int error)
{
	const struct reconcile_answer answer = {.error = error, .diag = &(struct diag)DIAG_INIT};

	reconcile_answer_client(a, c, &answer);
}

void reconcile_ask_client(struct agent *a, const struct reconcile_client *c)
{
	struct reconcile *rec = &a->reconcile;

	const bool waits = rec->pending.applier &&
			   /* A client's apply is refused while an operator must confirm the pending
			    * one. If the pending apply waits only for peers, that ends soon, so the
			    * request is queued. */
			   !rec->reachability.alone;
	struct reconcile_client *added;

	if (a->state == AGENT_STOPPING || waits) {
		reconcile_refuse_client(a, c, waits ? -EALREADY : -ESHUTDOWN);
		return;
	}
	added = vec_add(&rec->queue.clients, &rec->queue.n_clients, sizeof(*added));
	if (!added) {
		reconcile_refuse_client(a, c, -ENOMEM);
		return;
	}
	*added = *c;
	a->reconcile.queue.run(a);
}

void reconcile_note_worker(struct agent *a)
{
	autofree char(*held)[16] = NULL;
	size_t n = 0;

	if (a->state == AGENT_STOPPING || !a->running.plan || !a->running.plan->n_deferred)
		return;
	if (leg_policy_held_vfs(a->sup, &held, &n) == 0 && n < a->reconcile.inputs.n_held_vfs)
		reconcile_ask_soon(a, RECONCILE_KERNEL);
}

void reconcile_note_ready(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;

	if (!rec->pacing.ready_due || rec->pacing.ready_sent || rec->state != RECONCILE_IDLE ||
	    a->state == AGENT_STOPPING || mounts_await_answer(a->mounts))
		return;
	rec->pacing.ready_sent = true;
	loop_notify("READY=1");
}

void reconcile_stop(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;

	for (size_t i = 0; i < rec->queue.n_clients; i++)
		reconcile_refuse_client(a, &rec->queue.clients[i], -ESHUTDOWN);
	reconcile_refuse_client(a, &rec->reachability.client, -ESHUTDOWN);
	rec->reachability.client.id = 0;
	rec->queue.n_clients = 0;
	memset(rec->queue.requested, 0, sizeof(rec->queue.requested));
	rec->queue.last_good_pending = rec->queue.edited_files = false;
	loop_timer_disarm(rec->pacing.debounce);
	if (rec->state == RECONCILE_ORPHAN) {
		loop_timer_disarm(rec->pacing.orphan);
		rec->state = RECONCILE_IDLE;
	}
}

bool reconcile_is_active(const struct agent *a)
{
	return a->reconcile.state != RECONCILE_IDLE;
}

bool reconcile_holds_staged(const struct agent *a)
{
	const struct reconcile *rec = &a->reconcile;

	for (size_t i = 0; i < rec->queue.n_clients; i++)
		if (!rec->queue.clients[i].back_to)
			return true;
	return (rec->state != RECONCILE_IDLE && rec->run.source == RECONCILE_FROM_STAGED) ||
	       (rec->pending.applier && rec->pending.source == RECONCILE_FROM_STAGED);
}

/* ---- timers ---- */

void reconcile_arm(struct agent *a, uint64_t delay_ns)
{
	struct reconcile *rec = &a->reconcile;
	uint64_t at = clock_now_ns() + delay_ns;

	if (a->state == AGENT_STOPPING ||
	    (loop_timer_armed(rec->pacing.debounce) && rec->pacing.fires_at_ns <= at))
		return;
	rec->pacing.fires_at_ns = at;
	loop_timer_arm(rec->pacing.debounce, delay_ns);
}

static int on_debounce(void *user)
{
	reconcile_ask(user, RECONCILE_KERNEL);
	return 0;
}

enum progress reconcile_progress(const struct agent *a, char buf[static PROGRESS_TEXT_MAX])
{
	return progress_read(a->journal, a->reconcile.run.next.plan, a->reconcile.run.next.inv,
			     time(NULL), buf);
}

/* Reports a long apply at doubling intervals, and at once when a driver takes longer than usual. */
static void report_long_apply(struct agent *a, uint64_t now)
{
	struct reconcile *rec = &a->reconcile;
	char step[PROGRESS_TEXT_MAX];
	const enum progress p = reconcile_progress(a, step);
	const bool late = p == PROGRESS_LATE && !rec->run.is_late;

	if (!late && now - rec->run.began_ns < rec->run.mention_ns)
		return;
	rec->run.is_late = rec->run.is_late || late;
	events_add(&a->events, late ? LOG_LEVEL_ERR : LOG_LEVEL_WARNING, "agent",
		   "an apply has been running for %llu s: process %d is %s%s%s",
		   (unsigned long long)((now - rec->run.began_ns) / NSEC_PER_SEC),
		   applier_pid(rec->applier), applier_stage_to_string(applier_stage(rec->applier)),
		   p != PROGRESS_NONE ? ": " : "", step);
	rec->run.mention_ns = 2 * (now - rec->run.began_ns);
}

/* Reports slow applies to the operator, and extends the start timeout of the service manager. */
static int on_tick(void *user)
{
	struct agent *a = user;
	struct reconcile *rec = &a->reconcile;
	uint64_t now = clock_now_ns();

	if (rec->state == RECONCILE_IDLE)
		return 0;
	if (!rec->pacing.ready_sent)
		loop_notify("EXTEND_TIMEOUT_USEC=%llu",
			    (unsigned long long)(6 * RECONCILE_TICK_NS / NSEC_PER_USEC));
	if (rec->applier)
		report_long_apply(a, now);
	loop_timer_arm(rec->pacing.tick, RECONCILE_TICK_NS);
	return 0;
}

int reconcile_queue_init(struct agent *a, void (*run)(struct agent *a))
{
	struct reconcile *rec = &a->reconcile;
	int r = loop_add_timer(a->loop, NSEC_PER_MSEC, on_debounce, a, &rec->pacing.debounce);

	rec->queue.run = run;
	rec->pacing.files.pause_ns = rec->pacing.running.pause_ns = RECONCILE_NEWS_NS;
	if (r >= 0)
		r = loop_add_timer(a->loop, NSEC_PER_SEC, on_tick, a, &rec->pacing.tick);
	if (r >= 0)
		r = loop_add_timer(a->loop, NSEC_PER_MSEC, on_soon, a, &rec->queue.soon);
	return r;
}

void reconcile_queue_done(struct reconcile *rec)
{
	rec->pacing.debounce = loop_source_free(rec->pacing.debounce);
	rec->pacing.tick = loop_source_free(rec->pacing.tick);
	rec->queue.soon = loop_source_free(rec->queue.soon);
	free(ptr_take(rec->queue.clients));
}
