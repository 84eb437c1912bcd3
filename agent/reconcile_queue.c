/* SPDX-License-Identifier: BSD-3-Clause */
/* Queues triggers and client requests and paces retries; starts the next reconcile when the running
 * one ends. */
#include "agent/agent.h"
#include "agent/apply/progress.h"
#include "agent/desired/leg_policy.h"
#include "agent/reconcile_internal.h"
#include "netcfg/base/vec.h"
#include <string.h>

/* After a failed apply, its own kernel notifications must not trigger the next try. */
static bool is_blocked(struct agent *a, const struct reconcile_pace *p)
{
	uint64_t now = clock_now_ns();

	if (!p->blocked || now >= p->at_ns)
		return false;
	reconcile_arm(a, p->at_ns - now);
	return true;
}

static void begin_kernel(struct agent *a)
{
	const struct reconcile *rec = &a->reconcile;
	bool files = !a->running.spec || rec->pacing.retry_files;

	if (files && !is_blocked(a, &rec->pacing.files))
		reconcile_begin(a, a->running.spec ? RECONCILE_KERNEL : RECONCILE_START,
				RECONCILE_FROM_FILES, NULL);
	else if (a->running.spec && !is_blocked(a, &rec->pacing.running))
		reconcile_begin(a, RECONCILE_KERNEL, RECONCILE_FROM_RUNNING, NULL);
}

static void begin_client(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;
	struct reconcile_client c = rec->queue.clients[0];

	memmove(rec->queue.clients, rec->queue.clients + 1,
		--rec->queue.n_clients * sizeof(*rec->queue.clients));
	reconcile_begin(a, RECONCILE_API,
			c.back_to		      ? RECONCILE_FROM_HISTORY
			: store_has_staged(&a->store) ? RECONCILE_FROM_STAGED
						      : RECONCILE_FROM_FILES,
			&c);
}

void reconcile_run_next(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;

	while (rec->state == RECONCILE_IDLE && !rec->pending.applier &&
	       a->state != AGENT_STOPPING) {
		if (rec->queue.last_good_pending) {
			rec->queue.last_good_pending = false;
			reconcile_begin(a, RECONCILE_START, RECONCILE_FROM_LAST_GOOD, NULL);
		} else if (rec->queue.requested[RECONCILE_START] ||
			   rec->queue.requested[RECONCILE_RELOAD]) {
			enum reconcile_trigger t = rec->queue.requested[RECONCILE_START]
							   ? RECONCILE_START
							   : RECONCILE_RELOAD;

			rec->queue.requested[t] = false;
			reconcile_begin(a, t, RECONCILE_FROM_FILES, NULL);
		} else if (rec->queue.n_clients > 0) {
			begin_client(a);
		} else if (rec->queue.requested[RECONCILE_FALLBACK]) {
			rec->queue.requested[RECONCILE_FALLBACK] = false;
			if (a->running.spec)
				reconcile_begin(a, RECONCILE_FALLBACK, RECONCILE_FROM_RUNNING,
						NULL);
		} else if (rec->queue.requested[RECONCILE_KERNEL]) {
			rec->queue.requested[RECONCILE_KERNEL] = false;
			begin_kernel(a);
		} else {
			return;
		}
	}
}

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
	reconcile_run_next(a);
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
	reconcile_run_next(user);
	return 0;
}

void reconcile_ask_client(struct agent *a, const struct reconcile_client *c)
{
	struct reconcile *rec = &a->reconcile;

	const bool waits = rec->pending.applier &&
			   !rec->reachability.alone; /* that wait ends by itself, soon */
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
	reconcile_run_next(a);
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

void reconcile_stop(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;

	for (size_t i = 0; i < rec->queue.n_clients; i++)
		reconcile_refuse_client(a, &rec->queue.clients[i], -ESHUTDOWN);
	reconcile_refuse_client(a, &rec->reachability.client, -ESHUTDOWN);
	rec->reachability.client.id = 0;
	rec->queue.n_clients = 0;
	memset(rec->queue.requested, 0, sizeof(rec->queue.requested));
	rec->queue.last_good_pending = false;
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

/* Reports a long apply at doubling intervals, and at once when a driver exceeds its time. */
static void mention(struct agent *a, uint64_t now)
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

/* Reports slow applies to the operator and extends the service manager's start timeout. */
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
		mention(a, now);
	loop_timer_arm(rec->pacing.tick, RECONCILE_TICK_NS);
	return 0;
}

int reconcile_queue_init(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;
	int r = loop_add_timer(a->loop, NSEC_PER_MSEC, on_debounce, a, &rec->pacing.debounce);

	if (r >= 0)
		r = loop_add_timer(a->loop, NSEC_PER_SEC, on_tick, a, &rec->pacing.tick);
	if (r >= 0)
		r = loop_add_timer(a->loop, NSEC_PER_MSEC, on_soon, a, &rec->queue.soon);
	return r;
}
