/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the accepted transport choices of workers with `transport: auto`. The record is read once
 * and then kept in memory. It is written when an apply is kept. The choices of a pending apply are
 * in its ticket. transport_choice.h defines the meaning of a choice.
 */
#include "agent/reconcile/reconcile_choice.h"
#include "agent/reconcile/reconcile_internal.h"
#include "netcfg/feature/plan_vf.h"
#include <stdio.h>
#include <string.h>

/* ---- the record ---- */

static void say(struct agent *a, const char *text)
{
	if (problems_set(&a->problems, PROBLEMS_RECORD, text, NULL) && text)
		events_add(&a->events, LOG_LEVEL_WARNING, "agent", "%s", text);
}

static void say_unread(struct agent *a, int error)
{
	char text[600];

	snprintf(text, sizeof(text),
		 "cannot read the record %.200s (%s): running workers with transport: auto keep "
		 "their transport, other workers use UDP, and legs with 'match' select their "
		 "devices again; the agent retries, and 'plenum apply' writes a new record",
		 a->reconcile.records.choice_path, state_file_error(error));
	say(a, text);
}

static void say_unsaved(struct agent *a, int error)
{
	char text[600];

	snprintf(text, sizeof(text),
		 "cannot write the record %.200s (%s): until a retry succeeds, a restart returns "
		 "workers with transport: auto to their previously accepted transports",
		 a->reconcile.records.choice_path, state_file_error(error));
	say(a, text);
}

static const struct inv_link *link_of(const struct inventory *inv, const char *pci)
{
	for (size_t i = 0; i < inv->n_links; i++)
		if (inv->links[i].pci[0] && strcmp(inv->links[i].pci, pci) == 0)
			return &inv->links[i];
	return NULL;
}

/* Adds the VFs that a worker has open to the choice. */
static int add_running(struct transport_choice *to, const struct launch_config *c,
		       const struct inventory *inv)
{
	struct transport_choice_entry e = {.core = c->core,
					   .transport = c->transport == LAUNCH_DPDK
								? SPEC_TRANSPORT_DPDK
								: SPEC_TRANSPORT_DPDK_INTERRUPT};
	bool any = false;
	int r = 0;

	for (uint32_t i = 0; i < c->n_ports && r == 0; i++) {
		const struct launch_port *p = &c->ports[i];
		const struct inv_function *fn =
			launch_port_is_function(p) ? inv_function_find(inv, p->device) : NULL;
		const struct inv_link *pf = fn ? link_of(inv, fn->physfn) : NULL;
		struct transport_choice_entry vf = {.core = c->core,
						    .transport = SPEC_TRANSPORT_UDP};

		if (!pf)
			continue;
		any = true;
		vf.vf = fn->vf;
		snprintf(vf.leg, sizeof(vf.leg), "%s", p->leg);
		transport_choice_identify(pf, vf.device);
		r = transport_choice_add(to, &vf);
	}
	return r == 0 && any ? transport_choice_add(to, &e) : r;
}

/* Called if the record cannot be read: accepts the transports that the adopted workers use. */
static int take_running(struct agent *a, const struct inventory *inv)
{
	int r = 0;

	for (const struct sup_worker *s = sup_first(a->sup); s && r == 0; s = s->next)
		if (s->started && s->started->transport != LAUNCH_UDP)
			r = add_running(&a->reconcile.choice.accepted, s->started, inv);
	return r;
}

static int read_record(struct agent *a, const struct inventory *inv)
{
	struct reconcile *rec = &a->reconcile;
	const bool again = problems_count(&a->problems, PROBLEMS_RECORD) > 0;
	int r = transport_choice_load(&rec->choice.accepted, rec->records.choice_path);

	if (r == -ENOMEM)
		return r;
	rec->choice.known = r == 0 || r == STATE_MISSING;
	rec->choice.unsaved =
		/* If an operator has removed the unreadable record, the running transports count as
		 * accepted, and are written. */
		r == STATE_MISSING && again;
	if (rec->choice.known) {
		say(a, NULL);
		return 0;
	}
	say_unread(a, r);
	return again || a->running.plan ? 0 : take_running(a, inv);
}

int reconcile_choice_look(struct agent *a, const struct inventory *inv)
{
	return a->reconcile.choice.known ? 0 : read_record(a, inv);
}

const struct transport_choice *reconcile_choice_now(const struct reconcile *rec)
{
	return (rec->pending.applier || rec->state == RECONCILE_ADOPTING) &&
			       rec->choice.has_proposed
		       ? &rec->choice.proposed
		       : &rec->choice.accepted;
}

bool reconcile_choice_waits(const struct reconcile *rec)
{
	return !rec->choice.known || rec->choice.unsaved;
}

int reconcile_choice_freeze(struct agent *a, struct plan_context *ctx)
{
	struct reconcile *rec = &a->reconcile;
	int r = transport_choice_follow(reconcile_choice_now(rec), rec->run.next.plan,
					&rec->choice.proposed);

	if (!rec->pending.applier) {
		rec->choice.n_vf_pfs = plan_vf_made(rec->run.next.plan, rec->choice.vf_pfs);
		rec->choice.by_request = reconcile_may_move(rec);
	}
	rec->choice.has_proposed = r == 0;
	ctx->accepted = &rec->choice.proposed;
	ctx->may_move = false;
	ctx->n_made = rec->choice.n_vf_pfs;
	return r;
}

/* Writes the record. If the write fails, it is retried; the choices in memory are in force in any
 * case. */
static void save(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;
	int r = transport_choice_save(&rec->choice.accepted, rec->records.choice_path);

	rec->choice.unsaved = r < 0;
	if (r < 0) {
		say_unsaved(a, r);
		reconcile_arm(a, RECONCILE_CHOICE_RETRY_NS);
	} else {
		say(a, NULL);
	}
}

void reconcile_choice_keep(struct agent *a)
{
	struct reconcile *rec = &a->reconcile;
	autofree char *was = transport_choice_format(&rec->choice.accepted),
		      *is = transport_choice_format(&rec->choice.proposed);

	if (!rec->choice.has_proposed)
		return;
	transport_choice_done(&rec->choice.accepted);
	rec->choice.accepted = rec->choice.proposed;
	rec->choice.proposed = (struct transport_choice){0};
	rec->choice.has_proposed = false;
	/* A record that cannot be read may contain more than the choices in memory. It is
	 * overwritten only if an operator requested all changes of the apply. */
	if (!rec->choice.known && !rec->choice.by_request)
		return;
	if (!rec->choice.known || rec->choice.unsaved || !was || !is || strcmp(was, is) != 0)
		save(a);
	rec->choice.known = true;
}

/* ---- events ---- */

static const struct plan_worker *worker_on(const struct plan *p, unsigned core)
{
	for (size_t i = 0; p && i < p->n_workers; i++)
		if (p->workers[i].core == core)
			return &p->workers[i];
	return NULL;
}

void reconcile_choice_note(struct agent *a, const struct plan *was, const struct plan *is)
{
	for (size_t i = 0; i < is->n_workers; i++) {
		const struct plan_worker *w = &is->workers[i], *old = worker_on(was, w->core);
		const bool had_lost = old && old->lost;
		char why[REASON_FORMAT_MAX];

		if (w->lost && !(had_lost && reason_equal(&old->reason, &w->reason)))
			events_add(&a->events, LOG_LEVEL_WARNING, "agent",
				   "worker %u: %s unavailable, using fallback: %s", w->id,
				   spec_transport_to_string(w->claim),
				   reason_format(&w->reason, why, sizeof(why)));
		else if (!w->lost && had_lost && w->claim != SPEC_TRANSPORT_UDP)
			events_add(&a->events, LOG_LEVEL_NOTICE, "agent",
				   "worker %u: %s available again", w->id,
				   spec_transport_to_string(w->claim));
	}
}

bool reconcile_is_on_trial(const struct agent *a, unsigned core)
{
	const struct reconcile *rec = &a->reconcile;

	return rec->pending.applier && rec->choice.has_proposed &&
	       transport_choice_moves(&rec->choice.accepted, &rec->choice.proposed, core);
}

/* ---- the ticket ---- */

int reconcile_choice_put(const struct reconcile *rec, struct state_draft *ticket)
{
	autofree char *agreed = transport_choice_format(&rec->choice.proposed);
	const bool whole =
		rec->choice.has_proposed && (rec->choice.known || rec->choice.by_request);

	if (!agreed)
		return -ENOMEM;
	if (whole)
		state_draft_block(ticket, "agreed", agreed);
	for (size_t i = 0; i < rec->choice.n_vf_pfs; i++) {
		state_draft_put(ticket, "vfs-of");
		state_draft_word(ticket, rec->choice.vf_pfs[i]);
		state_draft_end(ticket);
	}
	return 0;
}

/* If the ticket has no choices, the accepted choices stay in force. */
void reconcile_choice_read(struct reconcile *rec, struct state_file *ticket)
{
	autofree char *agreed = state_file_block(ticket, "agreed");

	rec->choice.n_vf_pfs = 0;
	rec->choice.by_request = rec->choice.has_proposed =
		agreed && agreed[0] && transport_choice_parse(&rec->choice.proposed, agreed) == 0;
	state_file_rewind(ticket);
	while (state_file_line(ticket) && rec->choice.n_vf_pfs < ARRAY_SIZE(rec->choice.vf_pfs)) {
		char *pf = rec->choice.vf_pfs[rec->choice.n_vf_pfs];

		if (strcmp(state_file_word(ticket), "vfs-of") != 0)
			continue;
		state_file_copy(ticket, pf, sizeof(rec->choice.vf_pfs[0]));
		rec->choice.n_vf_pfs += state_file_line_ends(ticket) && pf[0];
	}
}

void reconcile_choice_done(struct reconcile *rec)
{
	transport_choice_done(&rec->choice.accepted);
	transport_choice_done(&rec->choice.proposed);
}
