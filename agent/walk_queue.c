/* SPDX-License-Identifier: BSD-3-Clause */
/* What waits to be walked, and when: triggers, clients, the pause before what failed is tried
 * again. Apart from the walk itself, of which one is on its way at a time. */
#include "agent/agent.h"
#include "agent/apply/progress.h"
#include "agent/legs.h"
#include "agent/walk_internal.h"
#include <string.h>

/* What changed the host and failed is not tried again for the very notifications that it made. */
static bool is_blocked(struct agent *a, const struct walk_pace *p)
{
	uint64_t now = clock_now_ns();

	if (!p->blocked || now >= p->at_ns)
		return false;
	walk_arm(a, p->at_ns - now);
	return true;
}

static void begin_kernel(struct agent *a)
{
	const struct walk *w = &a->walk;
	bool files = !a->now.spec || w->retry_files;

	if (files && !is_blocked(a, &w->of_files))
		walk_begin(a, a->now.spec ? WALK_KERNEL : WALK_START, WALK_FROM_FILES, NULL);
	else if (a->now.spec && !is_blocked(a, &w->of_running))
		walk_begin(a, WALK_KERNEL, WALK_FROM_RUNNING, NULL);
}

static void begin_client(struct agent *a)
{
	struct walk *w = &a->walk;
	struct walk_client c = w->clients[0];

	memmove(w->clients, w->clients + 1, --w->n_clients * sizeof(*w->clients));
	walk_begin(a, WALK_API,
		   c.back_to			 ? WALK_FROM_HISTORY
		   : store_has_staged(&a->store) ? WALK_FROM_STAGED
						 : WALK_FROM_FILES,
		   &c);
}

/* The next of those that wait, while none is on its way and no apply waits for its confirmation.
 * Those who ask come first. */
void walk_go_on(struct agent *a)
{
	struct walk *w = &a->walk;

	while (!w->active && !w->pending.applier && a->state != AGENT_STOPPING) {
		if (w->last_good_waits) {
			w->last_good_waits = false;
			walk_begin(a, WALK_START, WALK_FROM_LAST_GOOD, NULL);
		} else if (w->waiting[WALK_START] || w->waiting[WALK_RELOAD]) {
			enum walk_trigger t = w->waiting[WALK_START] ? WALK_START : WALK_RELOAD;

			w->waiting[t] = false;
			walk_begin(a, t, WALK_FROM_FILES, NULL);
		} else if (w->n_clients > 0) {
			begin_client(a);
		} else if (w->waiting[WALK_FALLBACK]) {
			w->waiting[WALK_FALLBACK] = false;
			if (a->now.spec)
				walk_begin(a, WALK_FALLBACK, WALK_FROM_RUNNING, NULL);
		} else if (w->waiting[WALK_KERNEL]) {
			w->waiting[WALK_KERNEL] = false;
			begin_kernel(a);
		} else {
			return;
		}
	}
}

void walk_ask(struct agent *a, enum walk_trigger t)
{
	if (a->state == AGENT_STOPPING)
		return;
	if (t == WALK_RELOAD)
		a->walk.reload_is_older = a->walk.pending.applier;
	if (t == WALK_RELOAD && a->walk.pending.applier)
		events_add(&a->events, LOG_LEVEL_NOTICE, "agent",
			   "a reload waits until apply %llu is confirmed or rolled back",
			   (unsigned long long)a->walk.pending.entry);
	a->walk.waiting[t] = true;
	walk_go_on(a);
}

void walk_ask_soon(struct agent *a, enum walk_trigger t)
{
	if (a->state == AGENT_STOPPING)
		return;
	a->walk.waiting[t] = true;
	loop_timer_arm(a->walk.soon, 0);
}

static int on_soon(void *user)
{
	walk_go_on(user);
	return 0;
}

void walk_ask_client(struct agent *a, const struct walk_client *c)
{
	struct walk *w = &a->walk;

	const bool waits =
		w->pending.applier && !w->vouch.alone; /* that ends by itself, and soon */

	if (a->state == AGENT_STOPPING || waits) {
		walk_refuse_client(a, c, waits ? -EALREADY : -ESHUTDOWN);
		return;
	}
	if (w->n_clients == w->cap_clients) {
		size_t cap = MAX_OF(2 * w->cap_clients, 8);
		struct walk_client *clients = reallocarray(w->clients, cap, sizeof(*clients));

		if (!clients) {
			walk_refuse_client(a, c, -ENOMEM);
			return;
		}
		w->clients = clients;
		w->cap_clients = cap;
	}
	w->clients[w->n_clients++] = *c;
	walk_go_on(a);
}

void walk_note_worker(struct agent *a)
{
	autofree char(*held)[16] = NULL;
	size_t n = 0;

	if (a->state == AGENT_STOPPING || !a->now.plan || !a->now.plan->n_deferred)
		return;
	if (legs_held(a->sup, &held, &n) == 0 && n < a->walk.n_held)
		walk_ask_soon(a, WALK_KERNEL);
}

void walk_stop(struct agent *a)
{
	struct walk *w = &a->walk;

	for (size_t i = 0; i < w->n_clients; i++)
		walk_refuse_client(a, &w->clients[i], -ESHUTDOWN);
	walk_refuse_client(a, &w->vouch.client, -ESHUTDOWN);
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

bool walk_is_active(const struct agent *a)
{
	return a->walk.active;
}

bool walk_holds_staged(const struct agent *a)
{
	const struct walk *w = &a->walk;

	for (size_t i = 0; i < w->n_clients; i++)
		if (!w->clients[i].back_to)
			return true;
	return (w->active && w->source == WALK_FROM_STAGED) ||
	       (w->pending.applier && w->pending.source == WALK_FROM_STAGED);
}

/* ---- timers ---- */

void walk_arm(struct agent *a, uint64_t delay_ns)
{
	struct walk *w = &a->walk;
	uint64_t at = clock_now_ns() + delay_ns;

	if (a->state == AGENT_STOPPING || (loop_timer_armed(w->debounce) && w->fires_at_ns <= at))
		return;
	w->fires_at_ns = at;
	loop_timer_arm(w->debounce, delay_ns);
}

static int on_debounce(void *user)
{
	walk_ask(user, WALK_KERNEL);
	return 0;
}

/* Each time later; but at once when a driver needs longer than it ever should. */
static void mention(struct agent *a, uint64_t now)
{
	struct walk *w = &a->walk;
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
	struct walk *w = &a->walk;
	uint64_t now = clock_now_ns();

	if (!w->active)
		return 0;
	if (!w->ready)
		loop_notify("EXTEND_TIMEOUT_USEC=%llu",
			    (unsigned long long)(6 * WALK_TICK_NS / NSEC_PER_USEC));
	if (w->applier)
		mention(a, now);
	loop_timer_arm(w->tick, WALK_TICK_NS);
	return 0;
}

int walk_queue_init(struct agent *a)
{
	struct walk *w = &a->walk;
	int r = loop_add_timer(a->loop, NSEC_PER_MSEC, on_debounce, a, &w->debounce);

	if (r >= 0)
		r = loop_add_timer(a->loop, NSEC_PER_SEC, on_tick, a, &w->tick);
	if (r >= 0)
		r = loop_add_timer(a->loop, NSEC_PER_MSEC, on_soon, a, &w->soon);
	return r;
}
