/* SPDX-License-Identifier: BSD-3-Clause */
/* Describes the apply that waits for a confirmation, and passes decisions to the applier. */
#include "agent/reconcile/reconcile_pending.h"
#include <stdio.h>
#include <string.h>

static uint64_t boottime_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

unsigned reconcile_pending_left_s(const struct agent *a)
{
	uint64_t now = boottime_now_ns(), until = a->reconcile.pending.until_ns;

	return until > now ? (unsigned)((until - now + NSEC_PER_SEC - 1) / NSEC_PER_SEC) : 0;
}

void reconcile_pending_describe(const struct agent *a, char *buf, size_t size)
{
	const struct reconcile_pending *p = &a->reconcile.pending;
	const struct history_entry *e = history_find(&a->reconcile.records.history, p->entry);
	const time_t since = (time_t)p->since_s, until = time(NULL) + reconcile_pending_left_s(a);
	char from[16] = "?", to[16] = "?";
	struct tm tm;

	if (localtime_r(&since, &tm))
		strftime(from, sizeof(from), "%H:%M:%S", &tm);
	if (localtime_r(&until, &tm))
		strftime(to, sizeof(to), "%H:%M:%S", &tm);
	snprintf(buf, size,
		 "apply %" PRIu64 " (%s, by %s) waits for %s (since %s, until %s, %u s left)",
		 p->entry, e ? e->what : "?", p->by[0] ? p->by : "plenumd",
		 !a->reconcile.reachability.alone  ? "its confirmation"
		 : a->reconcile.reachability.n	   ? "its workers' peers"
		 : a->reconcile.reachability.moves ? "its workers"
						   : "its mounts",
		 from, to, reconcile_pending_left_s(a));
}

bool reconcile_on_trial(void *user)
{
	const struct agent *a = user;
	const struct reconcile *rec = &a->reconcile;

	/* An apply also counts as pending while a rollback is restoring the previous
	 * configuration. */
	return rec->pending.applier || rec->queue.last_good_pending ||
	       (rec->run.source == RECONCILE_FROM_LAST_GOOD && rec->applier);
}

/* Sets why to the reason that the apply is not pending any more, with its result. */
static void say_none_waits(const struct agent *a, uint64_t number, struct reason *why)
{
	const struct history_entry *e = history_find(&a->reconcile.records.history, number);

	if (e)
		reason_set_text(why,
				"no apply waits for a confirmation: apply %" PRIu64
				" is '%s' in 'plenum history'",
				number, history_outcome_to_string(e->outcome));
	else
		reason_set_text(why, "no apply waits for a confirmation");
}

int reconcile_pending_match(const struct agent *a, uint64_t number, uid_t uid, bool keep,
			    struct reason *why)
{
	const struct reconcile_pending *p = &a->reconcile.pending;
	const struct history_entry *e = history_find(&a->reconcile.records.history, p->entry);
	const char *verb = keep ? "confirm" : "rollback", *by = p->by[0] ? p->by : "plenumd";

	if (!p->applier) {
		say_none_waits(a, number, why);
		return -ENOENT;
	}
	if (number == p->entry || (!number && clients_is_by(by, uid)))
		return 0;
	if (number)
		reason_set_text(why,
				"apply %" PRIu64 " does not wait for a confirmation, apply %" PRIu64
				" (%s, by %s) does; use 'plenum %s %" PRIu64 "' for that apply",
				number, p->entry, e ? e->what : "?", by, verb, p->entry);
	else
		reason_set_text(why,
				"apply %" PRIu64
				" (%s, by %s) belongs to another user; use 'plenum %s %" PRIu64
				"' if you mean that apply",
				p->entry, e ? e->what : "?", by, verb, p->entry);
	return -EPERM;
}

int reconcile_pending_check_files(struct agent *a, struct diag *d)
{
	return a->reconcile.pending.source == RECONCILE_FROM_STAGED ? store_check_base(&a->store, d)
								    : 0;
}

int reconcile_pending_order(struct agent *a, bool keep, uint64_t client, const char *by)
{
	struct reconcile_pending *p = &a->reconcile.pending;
	int r;

	if (!p->applier)
		return -ENOENT;
	if (p->client)
		return -EALREADY;
	r = applier_order(p->applier, keep, by);
	if (r < 0)
		return r;
	p->client = client;
	p->keep = keep;
	return 0;
}

void reconcile_answer_decision(struct agent *a, const struct reconcile_decision *d)
{
	if (d->client && a->reconcile.setup.on_decided)
		a->reconcile.setup.on_decided(a, d);
}
