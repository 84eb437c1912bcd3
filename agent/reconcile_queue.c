/* SPDX-License-Identifier: BSD-3-Clause */
/* What waits to be walked, and when: triggers, clients, the pause before what failed is tried
 * again. Apart from the walk itself, of which one is on its way at a time. */
#include "agent/agent.h"
#include "agent/apply/progress.h"
#include "agent/leg_policy.h"
#include "agent/reconcile_internal.h"
#include <string.h>

/* What changed the host and failed is not tried again for the very notifications that it made. */
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
	const struct reconcile *w = &a->reconcile;
	bool files = !a->now.spec || w->retry_files;

	if (files && !is_blocked(a, &w->of_files))
		reconcile_begin(a, a->now.spec ? RECONCILE_KERNEL : RECONCILE_START,
				RECONCILE_FROM_FILES, NULL);
	else if (a->now.spec && !is_blocked(a, &w->of_running))
		reconcile_begin(a, RECONCILE_KERNEL, RECONCILE_FROM_RUNNING, NULL);
}

static void begin_client(struct agent *a)
{
	struct reconcile *w = &a->reconcile;
	struct reconcile_client c = w->clients[0];

	memmove(w->clients, w->clients + 1, --w->n_clients * sizeof(*w->clients));
	reconcile_begin(a, RECONCILE_API,
			c.back_to		      ? RECONCILE_FROM_HISTORY
			: store_has_staged(&a->store) ? RECONCILE_FROM_STAGED
						      : RECONCILE_FROM_FILES,
			&c);
}

/* The next of those that wait, while none is on its way and no apply waits for its confirmation.
 * Those who ask come first. */
void reconcile_run_next(struct agent *a)
{
	struct reconcile *w = &a->reconcile;

	while (!w->active && !w->pending.applier && a->state != AGENT_STOPPING) {
		if (w->last_good_waits) {
			w->last_good_waits = false;
			reconcile_begin(a, RECONCILE_START, RECONCILE_FROM_LAST_GOOD, NULL);
		} else if (w->waiting[RECONCILE_START] || w->waiting[RECONCILE_RELOAD]) {
			enum reconcile_trigger t =
				w->waiting[RECONCILE_START] ? RECONCILE_START : RECONCILE_RELOAD;

			w->waiting[t] = false;
			reconcile_begin(a, t, RECONCILE_FROM_FILES, NULL);
		} else if (w->n_clients > 0) {
			begin_client(a);
		} else if (w->waiting[RECONCILE_FALLBACK]) {
			w->waiting[RECONCILE_FALLBACK] = false;
			if (a->now.spec)
				reconcile_begin(a, RECONCILE_FALLBACK, RECONCILE_FROM_RUNNING,
						NULL);
		} else if (w->waiting[RECONCILE_KERNEL]) {
			w->waiting[RECONCILE_KERNEL] = false;
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
		a->reconcile.reload_is_older = a->reconcile.pending.applier;
	if (t == RECONCILE_RELOAD && a->reconcile.pending.applier)
		events_add(&a->events, LOG_LEVEL_NOTICE, "agent",
			   "a reload waits until apply %llu is confirmed or rolled back",
			   (unsigned long long)a->reconcile.pending.entry);
	a->reconcile.waiting[t] = true;
	reconcile_run_next(a);
}

void reconcile_ask_soon(struct agent *a, enum reconcile_trigger t)
{
	if (a->state == AGENT_STOPPING)
		return;
	a->reconcile.waiting[t] = true;
	loop_timer_arm(a->reconcile.soon, 0);
}

static int on_soon(void *user)
{
	reconcile_run_next(user);
	return 0;
}

void reconcile_ask_client(struct agent *a, const struct reconcile_client *c)
{
	struct reconcile *w = &a->reconcile;

	const bool waits =
		w->pending.applier && !w->vouch.alone; /* that ends by itself, and soon */

	if (a->state == AGENT_STOPPING || waits) {
		reconcile_refuse_client(a, c, waits ? -EALREADY : -ESHUTDOWN);
		return;
	}
	if (w->n_clients == w->cap_clients) {
		size_t cap = MAX_OF(2 * w->cap_clients, 8);
		struct reconcile_client *clients = reallocarray(w->clients, cap, sizeof(*clients));

		if (!clients) {
			reconcile_refuse_client(a, c, -ENOMEM);
			return;
		}
		w->clients = clients;
		w->cap_clients = cap;
	}
	w->clients[w->n_clients++] = *c;
	reconcile_run_next(a);
}

void reconcile_note_worker(struct agent *a)
{
	autofree char(*held)[16] = NULL;
	size_t n = 0;

	if (a->state == AGENT_STOPPING || !a->now.plan || !a->now.plan->n_deferred)
		return;
	if (leg_policy_held(a->sup, &held, &n) == 0 && n < a->reconcile.n_held)
		reconcile_ask_soon(a, RECONCILE_KERNEL);
}

void reconcile_stop(struct agent *a)
{
	struct reconcile *w = &a->reconcile;

	for (size_t i = 0; i < w->n_clients; i++)
		reconcile_refuse_client(a, &w->clients[i], -ESHUTDOWN);
	reconcile_refuse_client(a, &w->vouch.client, -ESHUTDOWN);
	w->vouch.client.id = 0;
	w->n_clients = 0;
	memset(w->waiting, 0, sizeof(w->waiting));
	w->last_good_waits = false;
	loop_timer_disarm(w->debounce);
	if (w->waits_orphan && !w->applier) {
		loop_timer_disarm(w->orphan);
		w->active = false;
	}
}

bool reconcile_is_active(const struct agent *a)
{
	return a->reconcile.active;
}

bool reconcile_holds_staged(const struct agent *a)
{
	const struct reconcile *w = &a->reconcile;

	for (size_t i = 0; i < w->n_clients; i++)
		if (!w->clients[i].back_to)
			return true;
	return (w->active && w->source == RECONCILE_FROM_STAGED) ||
	       (w->pending.applier && w->pending.source == RECONCILE_FROM_STAGED);
}

/* ---- timers ---- */

void reconcile_arm(struct agent *a, uint64_t delay_ns)
{
	struct reconcile *w = &a->reconcile;
	uint64_t at = clock_now_ns() + delay_ns;

	if (a->state == AGENT_STOPPING || (loop_timer_armed(w->debounce) && w->fires_at_ns <= at))
		return;
	w->fires_at_ns = at;
	loop_timer_arm(w->debounce, delay_ns);
}

static int on_debounce(void *user)
{
	reconcile_ask(user, RECONCILE_KERNEL);
	return 0;
}

/* Each time later; but at once when a driver needs longer than it ever should. */
static void mention(struct agent *a, uint64_t now)
{
	struct reconcile *w = &a->reconcile;
	char step[PROGRESS_TEXT_MAX];
	const enum progress p = progress_of(a, step);
	const bool late = p == PROGRESS_LATE && !w->is_late;

	if (!late && now - w->began_ns < w->mention_ns)
		return;
	w->is_late = w->is_late || late;
	events_add(&a->events, late ? LOG_LEVEL_ERR : LOG_LEVEL_WARNING, "agent",
		   "an apply has been on its way for %llu s: process %d is %s%s%s",
		   (unsigned long long)((now - w->began_ns) / NSEC_PER_SEC),
		   applier_pid(w->applier), applier_stage_to_string(applier_stage(w->applier)),
		   p != PROGRESS_NONE ? ": " : "", step);
	w->mention_ns = 2 * (now - w->began_ns);
}

/* A step that takes long is the kernel's affair, but an operator wants to know, and a service
 * manager wants to hear that the start goes on. */
static int on_tick(void *user)
{
	struct agent *a = user;
	struct reconcile *w = &a->reconcile;
	uint64_t now = clock_now_ns();

	if (!w->active)
		return 0;
	if (!w->ready)
		loop_notify("EXTEND_TIMEOUT_USEC=%llu",
			    (unsigned long long)(6 * RECONCILE_TICK_NS / NSEC_PER_USEC));
	if (w->applier)
		mention(a, now);
	loop_timer_arm(w->tick, RECONCILE_TICK_NS);
	return 0;
}

int reconcile_queue_init(struct agent *a)
{
	struct reconcile *w = &a->reconcile;
	int r = loop_add_timer(a->loop, NSEC_PER_MSEC, on_debounce, a, &w->debounce);

	if (r >= 0)
		r = loop_add_timer(a->loop, NSEC_PER_SEC, on_tick, a, &w->tick);
	if (r >= 0)
		r = loop_add_timer(a->loop, NSEC_PER_MSEC, on_soon, a, &w->soon);
	return r;
}
