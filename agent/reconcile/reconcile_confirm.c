/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pending applies (commit-confirm): begins the wait for a confirmation and carries out the
 * decision. A kept apply becomes the last good configuration. After a rollback, the rejected
 * configuration is recorded and the previous one runs again.
 */
#include "agent/reconcile/reconcile_confirm.h"
#include "agent/reconcile/reachability.h"
#include "agent/reconcile/reconcile_last_good.h"
#include "agent/reconcile/reconcile_mounts.h"
#include "agent/reconcile/reconcile_pending.h"
#include "agent/reconcile/reconcile_records.h"
#include "agent/reconcile/reconcile_ticket.h"
#include <stdio.h>
#include <string.h>

void reconcile_pending_begin(struct agent *a, struct applier *applier, uint64_t until_ns)
{
	struct reconcile *rec = &a->reconcile;

	rec->pending = (struct reconcile_pending){
		.applier = applier,
		.entry = rec->run.entry,
		.since_s = (uint64_t)time(NULL),
		.until_ns = until_ns,
		.source = rec->run.source,
		.n_steps = rec->run.next.plan ? rec->run.next.plan->n_steps : 0};
	memcpy(rec->pending.by, rec->run.client.by, sizeof(rec->pending.by));
	reachability_begin(a);
}

/* Keeps the confirmed apply. Returns 0, or negative errno if the files still have the previous
 * configuration. */
static int keep(struct agent *a, const struct reconcile_pending *p,
		const struct applier_result *res, struct diag *d)
{
	autofree char *yaml = spec_to_yaml(a->running.spec);
	char text[REQUESTER_MAX + 20] = "";

	if (res->by[0])
		snprintf(text, sizeof(text), "confirmed by %s", res->by);
	history_end(&a->reconcile.records.history, p->entry, HISTORY_APPLIED, p->n_steps, text,
		    yaml);
	events_add(&a->events, LOG_LEVEL_INFO, "agent", "apply %" PRIu64 " kept: %s", p->entry,
		   text[0] ? text : "confirmed");
	reconcile_save_worker_ids(a);
	/* The trial is over, so removed mounts can be unmounted. */
	if (reconcile_mounts_apply(a, false) < 0)
		log_warning("out of memory: removed mounts stay until the next apply");
	(void)sup_sweep(a->sup);
	return reconcile_keep_config(a, p->source, p->entry, d);
}

/* Undoes the first apply of a host. The host has no earlier configuration, so no worker runs
 * afterwards. */
static void run_nothing(struct agent *a)
{
	sup_reconcile(a->sup, NULL, 0, true);
	generation_swap(a, &(struct generation){0});
}

static void undo(struct agent *a, const struct reconcile_pending *p,
		 const struct applier_result *res, const struct diag *d)
{
	struct reconcile *rec = &a->reconcile;
	PLENUM_CLEANUP(diag_done) struct diag ignored = DIAG_INIT;
	const struct diag_entry *error = diag_first_error(d);
	const char *why = error ? error->text : "it was interrupted";
	struct spec *spec = NULL;

	history_end(&rec->records.history, p->entry, HISTORY_ROLLED_BACK, p->n_steps, why, NULL);
	/* Prevents a retry, even if the following record of the rolled-back configuration cannot be
	 * written. */
	rec->pacing.retry_files = false;
	/* Reads the rolled-back configuration from the ticket. The running configuration may still
	 * be the one from before the apply, if the workers could not get the new one. */
	(void)reconcile_ticket_load(a, &ignored, &spec);
	reconcile_note_refused(a, p->source, p->entry, why, spec);
	spec_free(spec);
	for (size_t i = 0; i < d->n; i++)
		if (d->entries[i].text && d->entries[i].text != why)
			events_add(&a->events, LOG_LEVEL_NOTICE, "agent", "%s", d->entries[i].text);
	if (res->stuck)
		history_plan_unclear(&rec->records.history, p->entry);
	if (res->stuck)
		problems_set(&a->problems, PROBLEMS_HOST,
			     d->n ? d->entries[d->n - 1].text : "the host is partially configured",
			     NULL);
	if (a->state == AGENT_STOPPING)
		return;
	if (reconcile_has_last_good(rec))
		rec->queue.last_good_pending = true;
	else
		run_nothing(a);
}

void reconcile_pending_end(struct agent *a, const struct applier_result *res, const struct diag *d)
{
	struct reconcile *rec = &a->reconcile;
	PLENUM_CLEANUP(diag_done) struct diag all = DIAG_INIT;
	struct reconcile_pending p = rec->pending;
	int written = 0;

	if (res->error < 0 && rec->reachability.lost[0])
		diag_add(&all, DIAG_ERROR, NULL, NULL, "%s", rec->reachability.lost);
	diag_append(&all, d);
	reachability_answer(a, res, &all);
	rec->pending = (struct reconcile_pending){.applier = NULL};
	if (res->error == 0)
		written = keep(a, &p, res, &all);
	else
		undo(a, &p, res, &all);
	reconcile_ticket_drop(a);
	command_mounts_wake(&a->command_mounts);
	agent_check_health(a);
	agent_update_state(a);
	agent_publish(a);
	reconcile_answer_decision(a, &(struct reconcile_decision){.client = p.client,
								  .entry = p.entry,
								  .keep = p.keep,
								  .error = res->error,
								  .written = written >= 0,
								  .diag = &all});
}

int reconcile_pending_decide(struct agent *a, bool keep_it, uint64_t client, const char *by)
{
	const struct reconcile_pending *p = &a->reconcile.pending;

	/* While a peer does not answer, no client can confirm the apply. */
	if (keep_it && p->applier && !p->client && reachability_is_lost(a))
		return -EHOSTUNREACH;
	return reconcile_pending_order(a, keep_it, client, by);
}

void reconcile_on_not_yet(void *user, const char *why)
{
	struct agent *a = user;
	PLENUM_CLEANUP(diag_done) struct diag d = DIAG_INIT;
	struct reconcile_pending *p = &a->reconcile.pending;
	const uint64_t client = p->client;

	p->client = 0;
	diag_add(&d, DIAG_ERROR, NULL, NULL, "%s", why);
	reconcile_answer_decision(a, &(struct reconcile_decision){.client = client,
								  .entry = p->entry,
								  .keep = p->keep,
								  .error = -EHOSTUNREACH,
								  .written = true,
								  .diag = &d});
}
