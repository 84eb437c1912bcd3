/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the walk share. */
#ifndef PLENUM_AGENT_RECONCILE_INTERNAL_H
#define PLENUM_AGENT_RECONCILE_INTERNAL_H

#include "agent/agent.h"

/* Somebody wants it, so that what failed is tried again. */
static inline bool reconcile_is_asked(enum reconcile_trigger t)
{
	return t != RECONCILE_KERNEL && t != RECONCILE_FALLBACK;
}

/* Nobody asked: what runs already is looked after. */
static inline bool reconcile_is_repair(const struct reconcile *rec)
{
	return rec->trigger == RECONCILE_KERNEL && rec->source == RECONCILE_FROM_RUNNING;
}

/* Somebody wants just this configuration now: it has a ticket, and may have to be confirmed. */
static inline bool reconcile_is_ordered(const struct reconcile *rec)
{
	return (rec->trigger == RECONCILE_API || rec->trigger == RECONCILE_RELOAD) &&
	       (rec->source == RECONCILE_FROM_FILES || rec->source == RECONCILE_FROM_STAGED ||
		rec->source == RECONCILE_FROM_HISTORY);
}

static inline bool reconcile_has_last_good(const struct reconcile *rec)
{
	return rec->last_good_unsaved || access(rec->last_good, F_OK) == 0;
}

#define RECONCILE_TICK_NS (10 * NSEC_PER_SEC)

/* ---- what waits (reconcile_queue.c) ---- */

int reconcile_queue_init(struct agent *a);
/* The next of those that wait, while none is on its way and no apply waits for its confirmation.
 * Those who ask come first. */
void reconcile_run_next(struct agent *a);

/* ---- the walk ---- */

/* Begins a walk; none is on its way. client NULL: nobody's. */
void reconcile_begin(struct agent *a, enum reconcile_trigger t, enum reconcile_source from,
		     const struct reconcile_client *client);
/* applier_task.on_end of a walk; user: struct agent. */
void reconcile_on_applied(void *user, const struct applier_result *res, const struct diag *d);
/* Data IPs of others, for the plans that follow. 0; -ENOMEM. */
int reconcile_take_conflicts(struct reconcile *rec, const struct plan_conflicts *found);
/* Looks again for the applier of an earlier agent; user: struct agent. */
int reconcile_on_orphan_timer(void *user);
/* What the end of the walk means: problems, state, events, when it is tried again, the client's
 * answer. error: of the walk. */
void reconcile_conclude(struct agent *a, int error);
/* The walk on its way becomes an entry of the history, where somebody asked for it. */
void reconcile_enter(struct agent *a);
/* Answers a client whose walk is not taken. */
void reconcile_refuse_client(struct agent *a, const struct reconcile_client *c, int error);
/* What ran last before this agent started. -ENOENT: nothing did. */
int reconcile_last_good_load(struct agent *a, struct diag *d, struct spec **ret);
/* What ran last is from now on what runs; what was staged is written to its files. 0; negative
 * errno with a problem set and an error in d. */
int reconcile_keep_config(struct agent *a, enum reconcile_source source, uint64_t entry,
			  struct diag *d);
/* Which worker is on which core, and what was agreed to, for the next start. */
void reconcile_save_worker_ids(struct agent *a);

/* ---- what workers with auto were agreed to (reconcile_agreed.c) ---- */

/* Somebody asks for just this, sees it in `plenum plan` and can undo it: workers with auto are
 * taken to the best that can be had. */
static inline bool reconcile_may_move(const struct agent *a)
{
	const struct reconcile *rec = &a->reconcile;

	return rec->trigger == RECONCILE_API && !rec->pending.applier &&
	       (rec->source == RECONCILE_FROM_FILES || rec->source == RECONCILE_FROM_STAGED);
}

/* What counts now: of an apply that waits what it agreed to, which is written nowhere but in its
 * ticket. */
const struct transport_choice *reconcile_choice_now(const struct reconcile *rec);
/* Reads the record unless that is known already; and who answers the workers. Where it cannot be
 * read what runs is what was agreed, until it can; then, and where there is none, 0. -ENOMEM. */
int reconcile_choice_look(struct agent *a, const struct inventory *inv);
/* What was decided stays so while it is done, although the host looks otherwise from step to step.
 * 0, -ENOMEM. */
int reconcile_freeze(struct agent *a, struct plan_context *ctx);
/* It runs for good: so the record says. */
void reconcile_choice_keep(struct agent *a);
/* Events of workers that do without what was agreed to, or have it again. was: NULL: nothing ran.
 */
void reconcile_choice_note(struct agent *a, const struct plan *was, const struct plan *is);
/* Not all is well with the record: it is to be looked at again. */
bool reconcile_choice_waits(const struct reconcile *rec);
/* What is agreed to by keeping the walk on its way, as comments of its ticket; and whose VFs are
 * made meanwhile. NULL: no memory. */
char *reconcile_choice_format(const struct reconcile *rec);
/* From the ticket of an earlier agent. */
void reconcile_choice_read(struct reconcile *rec, const char *ticket);

#define RECONCILE_REFUSED_MAX 400 /* why a configuration is not tried again, with a NUL */

/* ---- applies that wait, and what is known of them (reconcile_confirm.c) ---- */

/* How long the one on its way is to wait for a confirmation once it is done; 0: it does not. */
unsigned reconcile_confirm_s(const struct agent *a);
/* Writes the ticket of the walk on its way, and fills in the task what goes with it. 0; negative
 * errno with an error in the walk's diag. */
int reconcile_ticket(struct agent *a, struct applier_task *task);
/* ---- who answers the workers (reachability.c) ---- */

int reachability_init(struct agent *a);
/* Whether only those workers may be taken to VFs whom somebody answers: nobody is to confirm it. */
bool reconcile_needs_verified_peer(const struct agent *a, const struct reconcile_client *c,
				   const struct spec *spec);
/* The cores of the workers whom somebody answers who will be there after an apply of spec as well.
 * 0 and *ret, the caller's; -ENOMEM. */
int reachability_answered_cores(const struct agent *a, const struct spec *spec, unsigned **ret,
				size_t *ret_n);
/* The walk on its way has somebody to look at when it is done. */
bool reachability_waits(const struct reconcile *rec);
/* Which paths are up now that the walk on its way may cut off and a worker has to vouch for. */
void reachability_before(struct agent *a);
/* The apply waits, and the workers are about to be what it wants. Looks from now on whether they
 * answer; it is rolled back where one does not, and kept where nobody else is to confirm it. */
void reachability_begin(struct agent *a);
/* What the next agent has to know of it, as comments of the ticket; "" where nobody is looked at.
 * 0 and *ret, the caller's; -ENOMEM. */
int reachability_format(const struct agent *a, char **ret);
/* From the ticket of an earlier agent. What is no such comment, or was not written by one, is
 * passed over. */
void reachability_inherit(struct agent *a, const char *ticket);
/* Whether somebody who has to answer the workers of an apply that waits does not (yet). */
bool reachability_is_lost(struct agent *a);
/* It was kept, or rolled back: so hears the client that waits for that, and nothing is looked at
 * any more. */
void reachability_answer(struct agent *a, const struct applier_result *res, const struct diag *d);

/* The walk has ended: nobody needs its ticket, unless it waits. */
void reconcile_ticket_done(struct agent *a);
/* A confirmation is not taken: its client hears why, and it goes on waiting.
 * applier_task.on_not_yet; user: struct agent. */
void reconcile_on_not_yet(void *user, const char *why);
/* The walk's applier waits for a confirmation. */
void reconcile_pending_begin(struct agent *a, struct applier *applier, uint64_t until_ns);
/* It was confirmed, or rolled back. What waits is the caller's to go on with. */
void reconcile_pending_end(struct agent *a, const struct applier_result *res, const struct diag *d);
/* An apply of this configuration was rolled back: it becomes a problem and, where the files say it,
 * is not tried again by itself. */
void reconcile_note_refused(struct agent *a, enum reconcile_source source, uint64_t entry,
			    const char *why, const struct spec *spec);
/* An earlier configuration runs, as somebody wanted; where the files say another it is a problem.
 */
void reconcile_note_gone_back(struct agent *a, uint64_t entry);
/* Whether this is the configuration that was rolled back last, and why. */
bool reconcile_is_refused(struct agent *a, const struct spec *spec,
			  char why[static RECONCILE_REFUSED_MAX]);
void reconcile_forget_refused(struct agent *a);
/* Finds the applier of the apply that an earlier agent began. 0: its end is reported by the task;
 * negative errno: there is none. */
int reconcile_adopt(struct agent *a, struct applier_task *task);
/* Nobody is at that apply any more: what became of it, by the end of its applier or of the recovery
 * of its journal. */
void reconcile_resolve(struct agent *a, const struct applier_result *res, const struct diag *d);

#endif
