/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the reconcile*.c files and reachability.c. */
#ifndef PLENUM_AGENT_RECONCILE_INTERNAL_H
#define PLENUM_AGENT_RECONCILE_INTERNAL_H

#include "agent/agent.h"
#include "netcfg/base/state_file.h"

/* An operator asked for it, so failed configurations are retried. */
static inline bool reconcile_is_asked(enum reconcile_trigger t)
{
	return t != RECONCILE_KERNEL && t != RECONCILE_FALLBACK;
}

/* A repair of the running configuration, without a request. */
static inline bool reconcile_is_repair(const struct reconcile *rec)
{
	return rec->run.trigger == RECONCILE_KERNEL && rec->run.source == RECONCILE_FROM_RUNNING;
}

/* An operator asked for exactly this configuration: it gets a ticket and may have to be confirmed.
 */
static inline bool reconcile_is_ordered(const struct reconcile *rec)
{
	return (rec->run.trigger == RECONCILE_API || rec->run.trigger == RECONCILE_RELOAD) &&
	       (rec->run.source == RECONCILE_FROM_FILES ||
		rec->run.source == RECONCILE_FROM_STAGED ||
		rec->run.source == RECONCILE_FROM_HISTORY);
}

static inline bool reconcile_has_last_good(const struct reconcile *rec)
{
	return rec->records.last_good_unsaved || access(rec->records.last_good, F_OK) == 0;
}

#define RECONCILE_TICK_NS (10 * NSEC_PER_SEC)

/* ---- the queue (reconcile_queue.c) ---- */

int reconcile_queue_init(struct agent *a);
/* Starts the next queued reconcile while none runs and no apply is pending. Requests come before
 * repairs. */
void reconcile_run_next(struct agent *a);

/* ---- the run (reconcile.c) ---- */

/* Starts a reconcile; none is running. client NULL: none. */
void reconcile_begin(struct agent *a, enum reconcile_trigger t, enum reconcile_source from,
		     const struct reconcile_client *client);
/* applier_task.on_end; user: struct agent. */
void reconcile_on_applied(void *user, const struct applier_result *res, const struct diag *d);
/* Records data IPs that other hosts use, for the next plans. 0; -ENOMEM. */
int reconcile_take_conflicts(struct reconcile *rec, const struct plan_conflicts *found);
/* Retries to adopt the applier of a previous agent; user: struct agent. */
int reconcile_on_orphan_timer(void *user);
/* Handles the end of a reconcile: problems, state, events, retry time and the client's answer.
 * error: its result. */
void reconcile_conclude(struct agent *a, int error);
/* Adds a requested reconcile to the history. */
void reconcile_enter(struct agent *a);
/* Answers a client whose reconcile does not start. */
void reconcile_refuse_client(struct agent *a, const struct reconcile_client *c, int error);
/* Loads the last good configuration. -ENOENT: there is none. */
int reconcile_last_good_load(struct agent *a, struct diag *d, struct spec **ret);
/* Saves the running configuration as the last good one, and a staged one to its files. 0; negative
 * errno with a problem set and an error in d. */
int reconcile_keep_config(struct agent *a, enum reconcile_source source, uint64_t entry,
			  struct diag *d);
/* Saves the worker ids and accepted transports for the next start. */
void reconcile_save_worker_ids(struct agent *a);

/* ---- accepted transports of auto workers (reconcile_choice.c) ---- */

/* Only an operator's apply may move auto workers to VFs: its effect is visible in `plenum plan` and
 * can be rolled back. */
static inline bool reconcile_may_move(const struct agent *a)
{
	const struct reconcile *rec = &a->reconcile;

	return rec->run.trigger == RECONCILE_API && !rec->pending.applier &&
	       (rec->run.source == RECONCILE_FROM_FILES ||
		rec->run.source == RECONCILE_FROM_STAGED);
}

/* The choices in force: those of the pending apply (recorded only in its ticket) or the accepted
 * ones. */
const struct transport_choice *reconcile_choice_now(const struct reconcile *rec);
/* Reads the record of accepted choices, if not read yet, and finds the workers that a peer answers.
 * While the record is unreadable, the running transports count as accepted. 0, also where there is
 * no record; -ENOMEM. */
int reconcile_choice_look(struct agent *a, const struct inventory *inv);
/* Freezes the plan's choices for the rest of the run, although the host's state changes from step
 * to step. 0, -ENOMEM. */
int reconcile_freeze(struct agent *a, struct plan_context *ctx);
/* Writes the choices of a kept apply to the record. */
void reconcile_choice_keep(struct agent *a);
/* Adds events for workers that lost their accepted transport or have it again. was NULL: nothing
 * ran before. */
void reconcile_choice_note(struct agent *a, const struct plan *was, const struct plan *is);
/* Whether the record could not be read or written, so that a retry is pending. */
bool reconcile_choice_waits(const struct reconcile *rec);
/* Adds the choices of the running reconcile and the PFs whose VFs it makes to its ticket. 0;
 * -ENOMEM. */
int reconcile_choice_put(const struct reconcile *rec, struct state_draft *ticket);
/* Reads the choices from the ticket of a previous agent. */
void reconcile_choice_read(struct reconcile *rec, struct state_file *ticket);

#define RECONCILE_REFUSED_MAX 400 /* reason why a configuration is not retried, with its NUL */

/* ---- pending applies and tickets (reconcile_confirm.c) ---- */

/* How long the running reconcile has to wait for a confirmation; 0: not at all. */
unsigned reconcile_confirm_s(const struct agent *a);
/* Writes the ticket of the running reconcile and completes the applier's task. 0; negative errno
 * with an error in its diag. */
int reconcile_ticket(struct agent *a, struct applier_task *task);
/* ---- mounts and exports that an apply takes away (reconcile_mounts.c) ---- */

/* Notes which served mounts and exports the running reconcile ends, and which mounts take their
 * place. 0; -ENOMEM. */
int reconcile_mounts_before(struct agent *a);
/* Whether the server of one of these new mounts does not serve it (yet). */
bool reconcile_mounts_lost(const struct agent *a, struct reason *why);
/* Hands the desired workers to the supervisor; while an apply is pending, with the mounts that it
 * removes. 0; negative errno as sup_reconcile. */
int reconcile_mounts_apply(struct agent *a, bool retry_failed);

/* ---- peers of workers (reachability.c) ---- */

int reachability_init(struct agent *a);
/* No operator will confirm this apply: only workers that a peer answers may move to VFs. */
bool reconcile_needs_verified_peer(const struct agent *a, const struct reconcile_client *c,
				   const struct spec *spec);
/* The cores of workers that are answered by a peer which stays in spec. 0 and *ret, owned by the
 * caller; -ENOMEM. */
int reachability_answered_cores(const struct agent *a, const struct spec *spec, unsigned **ret,
				size_t *ret_n);
/* The operator wants to keep the apply whatever does not answer afterwards: --force probes. */
bool reachability_is_forced(const struct reconcile_client *c);
/* Whether the running reconcile has peers, workers or mounts to check after its apply. */
bool reachability_waits(const struct reconcile *rec);
/* Whether the pending apply is rolled back if peers or mounts do not answer in time; false if the
 * requester has asked for a confirmation. */
bool reachability_decides(const struct reconcile *rec);
/* Answers the running reconcile's client when that is decided, or the apply ends. */
void reachability_answer_later(struct agent *a);
/* Records the paths that are up now, that this run may cut off, and that a worker uses afterwards.
 */
void reachability_before(struct agent *a);
/* Starts the checks: the apply is pending and its workers are starting. Rolls it back if a peer
 * stays silent; keeps it if no operator has to confirm it. */
void reachability_begin(struct agent *a);
/* Adds the checks to the ticket. */
void reachability_put(const struct agent *a, struct state_draft *ticket);
/* Reads them from the ticket of a previous agent; skips all other lines. */
void reachability_inherit(struct agent *a, struct state_file *ticket);
/* Whether a peer that must answer the pending apply's workers does not. */
bool reachability_is_lost(struct agent *a);
/* Ends the checks: the pending apply was kept or rolled back. Answers the client that waits for it.
 */
void reachability_answer(struct agent *a, const struct applier_result *res, const struct diag *d);

/* Loads the configuration in the ticket. 0; negative errno with an error in d. */
int reconcile_ticket_load(struct agent *a, struct diag *d, struct spec **ret);
/* Removes the ticket at the end of a run, unless its apply is pending. */
void reconcile_ticket_done(struct agent *a);
/* Answers the client of a refused confirmation; the apply stays pending. applier_task.on_not_yet;
 * user: struct agent. */
void reconcile_on_not_yet(void *user, const char *why);
/* The applier waits for a confirmation: the apply becomes the pending one. */
void reconcile_pending_begin(struct agent *a, struct applier *applier, uint64_t until_ns);
/* The pending apply was confirmed or rolled back. The caller starts the next reconcile. */
void reconcile_pending_end(struct agent *a, const struct applier_result *res, const struct diag *d);
/* Reports a configuration that was rolled back as a problem; if the files contain it, it is not
 * retried without a request. */
void reconcile_note_refused(struct agent *a, enum reconcile_source source, uint64_t entry,
			    const char *why, const struct spec *spec);
/* An operator went back to an earlier configuration: a problem where the files contain another one.
 */
void reconcile_note_gone_back(struct agent *a, uint64_t entry);
/* Whether this configuration was rolled back last, and why. */
bool reconcile_is_refused(struct agent *a, const struct spec *spec, struct reason *why);
void reconcile_forget_refused(struct agent *a);
/* Adopts the applier of a previous agent. 0: the task reports its end; negative errno: none runs.
 */
int reconcile_adopt(struct agent *a, struct applier_task *task);
/* Determines the end of a previous agent's apply from its applier or from the recovery of its
 * journal. */
void reconcile_resolve(struct agent *a, const struct applier_result *res, const struct diag *d);

#endif
