/* SPDX-License-Identifier: BSD-3-Clause */
/* Takes over from a previous agent before the first reconcile: adopts its applier if that still
 * runs, reads how it ended, or rolls back the journal of a killed one. */
#include "agent/reconcile_internal.h"
#include "agent/status.h"
#include <string.h>

#define ORPHAN_POLL_NS (250 * NSEC_PER_MSEC)

static void on_recovered(void *user, const struct applier_result *res, const struct diag *d);
static void note_orphan(struct agent *a);

/* The adopted applier waits for a confirmation: this agent's workers start with its configuration.
 */
static void on_adopted_wait(void *user, uint64_t until_ns, const struct plan_conflicts *conflicts)
{
	struct agent *a = user;
	struct reconcile *rec = &a->reconcile;
	const struct history_entry *e = history_find(&rec->records.history, rec->run.entry);
	const struct reconcile_client client = rec->run.client;

	problems_clear(&a->problems, PROBLEMS_HOST);
	history_close_stale(&rec->records.history, rec->run.entry);
	reconcile_pending_begin(a, ptr_take(rec->applier), until_ns);
	if (e)
		rec->pending.since_s = e->time_s;
	if (reconcile_take_conflicts(rec, conflicts) < 0)
		log_warning("out of memory: some address conflicts are not recorded");
	reconcile_begin(a, RECONCILE_START, RECONCILE_FROM_PENDING, &client);
}

static void on_adopted_end(void *user, const struct applier_result *res, const struct diag *d)
{
	struct agent *a = user;

	if (a->reconcile.pending.applier) {
		reconcile_on_applied(user, res, d);
		return;
	}
	reconcile_resolve(a, res, d);
	a->reconcile.state = RECONCILE_RECOVERING;
	on_recovered(user, res, d);
}

/* Adopts the running applier of an agent that was killed. */
static bool adopt(struct agent *a)
{
	struct applier_task task = {.loop = a->loop,
				    .host = &a->applier_host,
				    .journal = a->journal,
				    .on_wait = on_adopted_wait,
				    .on_not_yet = reconcile_on_not_yet,
				    .on_end = on_adopted_end,
				    .user = a};
	int r = reconcile_adopt(a, &task);

	if (r >= 0)
		note_orphan(a);
	return r >= 0;
}

static void recover(struct agent *a)
{
	const struct applier_task task = {.loop = a->loop,
					  .host = &a->applier_host,
					  .journal = a->journal,
					  .on_end = on_recovered,
					  .user = a};
	int r;

	a->reconcile.state = RECONCILE_RECOVERING;
	r = applier_start(&task, &a->reconcile.applier);
	if (r < 0) {
		struct applier_result res = {.error = r};

		on_recovered(a, &res, &(struct diag)DIAG_INIT);
	}
}

int reconcile_on_orphan_timer(void *user)
{
	if (!adopt(user))
		recover(user);
	return 0;
}

static void note_orphan(struct agent *a)
{
	static const char text[] =
		"an apply of the previous agent is still running; waiting for its end";
	json_t *none = json_array();

	if (problems_set(&a->problems, PROBLEMS_HOST, text, none))
		events_add(&a->events, LOG_LEVEL_WARNING, "agent", "%s", text);
	json_decref(none);
	status_publish(a);
}

static void on_recovered(void *user, const struct applier_result *res, const struct diag *d)
{
	struct agent *a = user;
	struct reconcile *rec = &a->reconcile;

	rec->applier = NULL;
	if (a->state == AGENT_STOPPING) {
		rec->state = RECONCILE_IDLE;
		agent_end_if_done(a);
		return;
	}
	if (res->error == -EBUSY) {
		rec->state = RECONCILE_ORPHAN;
		note_orphan(a);
		loop_timer_arm(rec->pacing.orphan, ORPHAN_POLL_NS);
		return;
	}
	problems_clear(&a->problems, PROBLEMS_HOST);
	reconcile_resolve(a, res, d);
	history_close_stale(&rec->records.history, 0);
	for (size_t i = 0; i < d->n; i++)
		events_add(&a->events,
			   d->entries[i].severity == DIAG_ERROR ? LOG_LEVEL_ERR : LOG_LEVEL_NOTICE,
			   "agent", "%s", d->entries[i].text);
	/* The first reconcile takes the host to the desired state from any state. */
	rec->state = RECONCILE_IDLE;
	reconcile_ask(a, RECONCILE_START);
}

void reconcile_start(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;

	rec->state = RECONCILE_RECOVERING;
	rec->run =
		(struct reconcile_run){.began_ns = clock_now_ns(), .mention_ns = RECONCILE_TICK_NS};
	loop_timer_arm(rec->pacing.tick, RECONCILE_TICK_NS);
	if (!adopt(a))
		recover(a);
}
