/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reconcile brings the host and the workers from a configuration to the desired state; no other
 * code changes them. One reconcile runs at a time. Its first half makes the plan. Then the applier
 * changes the network in a child process, during which the monitor stays responsive. The second
 * half starts the workers. Triggers that arrive during a reconcile are queued: at most one of each
 * kind, and the apply of each client, which gets the result of its own run. Failed runs are retried
 * at growing intervals. The code is in the folder agent/reconcile.
 */
#ifndef PLENUM_AGENT_RECONCILE_H
#define PLENUM_AGENT_RECONCILE_H

#include "agent/apply/applier.h"

#include "agent/apply/history.h"
#include "agent/apply/progress.h"
#include "agent/apply/store.h"
#include "agent/base/problems.h"
#include "agent/clients/clients.h"
#include "netcfg/plan/plan_conflict.h"
#include "netcfg/plan/plan_owned.h"
#include "netcfg/plan/transport_choice.h"
#include "netcfg/plan/worker/plan_worker_ids.h"
#include <inttypes.h>

struct agent;
struct mount_search;

/* Kernel events within this time cause one run. */
#define RECONCILE_DEBOUNCE_NS (100 * NSEC_PER_MSEC)
/* First pause before a retry; it doubles with each failure. While a device may be missing, retries
 * happen at least this often. */
#define RECONCILE_NEWS_NS NSEC_PER_SEC
#define RECONCILE_RETRY_MAX_NS (300 * NSEC_PER_SEC)
/* Delay after the agent's start before edited files are applied; they are applied sooner if all
 * workers are up. */
#define RECONCILE_EDITED_WAIT_NS (10 * NSEC_PER_SEC)
/* Pause between retries of an accepted transport that is unavailable. */
#define RECONCILE_CHOICE_RETRY_NS (30 * NSEC_PER_SEC)
#define RECONCILE_LAST_GOOD_FILE "running.yaml" /* file in the state directory */
/* In the state directory: objects that applies have changed, with their original state. */
#define RECONCILE_OWNED_FILE "owned"
#define RECONCILE_WORKER_IDS_FILE "workers" /* file in the state directory: cores of worker ids */
#define RECONCILE_CHOICE_FILE "agreed"	    /* file in the state directory: accepted transports */
/* In the run directory: failures since the host booted. */
#define RECONCILE_ATTEMPTS_FILE "attempts"
/* In the state directory: ticket of the running or pending apply. */
#define RECONCILE_PENDING_FILE "pending"
#define RECONCILE_REFUSED_FILE "rolled-back"
/* In the run directory: socket of the running applier. */
#define RECONCILE_SOCKET_FILE "applier.sock"
#define RECONCILE_OUTCOME_FILE "outcome"
/* Default confirmation time of an apply that takes over an interface that other programs use. */
#define RECONCILE_TAKEOVER_CONFIRM_S 120
/* Time limits of an apply: for probes of peers, and for the verification of the host. With both
 * limits, an apply takes well below 30 s. */
#define RECONCILE_PROBE_NS (10 * NSEC_PER_SEC)
#define RECONCILE_VERIFY_NS (5 * NSEC_PER_SEC)

enum reconcile_trigger {
	RECONCILE_START,
	RECONCILE_RELOAD, /* SIGHUP */
	RECONCILE_API,
	RECONCILE_KERNEL,   /* the host changed, or a retry is due */
	RECONCILE_FALLBACK, /* a worker cannot use its configured transport */
	RECONCILE_TRIGGER_MAX
};
const char *reconcile_trigger_to_string(enum reconcile_trigger t);

enum reconcile_source {
	RECONCILE_FROM_RUNNING,
	RECONCILE_FROM_FILES,
	RECONCILE_FROM_STAGED,
	/* The last good configuration, at the start or after a rollback. */
	RECONCILE_FROM_LAST_GOOD,
	RECONCILE_FROM_HISTORY, /* the configuration of an earlier apply */
	RECONCILE_FROM_PENDING, /* the pending apply of a previous agent */
};

/* A configuration generation: the results of one run. It replaces the running generation as a
 * whole. */
struct generation {
	struct spec *spec; /* NULL: keep the running spec */
	struct inventory *inv;
	struct plan *plan; /* borrows from spec */
	struct launch_config *desired;
	size_t n_desired;
};
void generation_done(struct generation *r);

/* The generation in force. Only generation_swap() replaces it, and no code changes its contents. */
struct running {
	const struct spec *spec; /* NULL: no configuration runs */
	const struct inventory *inv;
	const struct plan *plan;
	const struct launch_config *desired;
	size_t n_desired;
};
/* Replaces the running generation by *next, becomes the owner of the contents of *next, and frees
 * the replaced generation. If *next has no spec but other contents, the running spec is kept. If
 * *next is empty, no configuration runs afterwards. */
void generation_swap(struct agent *a, struct generation *next);
/* Replaces the desired configurations of the running generation by an equal number of others, of
 * which it becomes the owner. */
void generation_put_desired(struct agent *a, struct launch_config *desired);

struct reconcile_client { /* the client that waits for an apply */
	uint64_t id;	  /* 0: no client */
	char by[REQUESTER_MAX];
	/* Blast-radius checks to override, see plan_context.forced. */
	char forced[PLAN_FORCED_MAX][PLENUM_NAME_MAX];
	size_t n_forced;
	unsigned confirm_s; /* time to confirm in seconds; 0: as the policy says */
	/* Number in the history to return to; 0: apply the staged configuration or the files. */
	uint64_t back_to;
};

/* The result of an apply that the client gets. */
struct reconcile_answer {
	int error;
	uint64_t number, steps, kernel_writes;
	const struct plan *plan; /* includes the actions; NULL: nothing was applied */
	const struct diag *diag;
	uint64_t entry;	     /* number in the history; 0: not recorded */
	unsigned confirm_s;  /* seconds left to confirm the apply; 0: it needs no confirmation */
	const json_t *users; /* the processes that use mounts which it would end; NULL: none */
	bool unserved;	     /* rolled back because a new mount was not served */
};

/* The result of a client's request to confirm or roll back the pending apply. */
struct reconcile_decision {
	uint64_t client; /* the client that requested it */
	uint64_t entry;	 /* number in the history */
	bool keep;	 /* the client asked to keep the apply */
	/* 0: the apply is kept; -EHOSTUNREACH: it is still pending; else it was rolled back */
	int error;
	bool written; /* the kept configuration was written to the files */
	const struct diag *diag;
};

/* Callbacks of the agent; each may be NULL. */
struct reconcile_setup {
	/* Called when the apply of a client has ended, or is pending until it is confirmed. */
	void (*on_applied)(struct agent *a, const struct reconcile_client *c,
			   const struct reconcile_answer *answer);
	/* Called when the pending apply was kept or rolled back as a client decided, or the
	 * decision was refused. */
	void (*on_decided)(struct agent *a, const struct reconcile_decision *d);
	/* Called when another configuration is in force. */
	void (*on_spec)(struct agent *a);
};

/* The apply that waits for a confirmation. The host and the workers already have the new
 * configuration, but the files still have the previous one. No reconcile runs meanwhile, because
 * the applier owns the journal. */
struct reconcile_pending {
	struct applier *applier; /* NULL: no apply is pending */
	uint64_t entry;		 /* number in the history */
	char by[REQUESTER_MAX];
	uint64_t since_s, until_ns; /* since_s: wall clock since 1970; until_ns: CLOCK_BOOTTIME */
	enum reconcile_source source;
	size_t n_steps;
	uint64_t client; /* the client that decided and waits for the result; 0: none */
	bool keep;	 /* that client's decision: keep the apply, else roll it back */
};

/* A peer that answered a worker before an apply and must answer again afterwards
 * (reachability.c). */
struct verified_peer {
	uint32_t worker;
	enum launch_role role;
	bool by_dpdk, full; /* full: the peer received frames of the leg's full MTU */
	bool counted;	    /* rx has a value */
	uint64_t rx;	    /* packets received when the host reached the desired state */
	char leg[PLENUM_NAME_MAX], peer[PLENUM_NAME_MAX], remote[IP_ADDR_STR_MAX];
};

/* Maximum number of peers to verify; a larger sample would not find more faults. */
#define REACHABILITY_MAX 64
#define REACHABILITY_S 60 /* seconds that the applier waits if no operator confirms the apply */

struct reachability {
	struct verified_peer paths[REACHABILITY_MAX];
	size_t n; /* 0: no peer has to answer */
	/* Paths of served mounts that new mounts replace; the new mounts must be served too. */
	json_t *replaced;
	json_t *served; /* paths of mounts that were served before and that stay or are replaced */
	bool takes;	/* the apply ends a mount or export that is in use */
	bool unserved;	/* `lost` describes a mount that is not served */
	bool moves;	/* the apply moves workers to VFs, so the workers must come up */
	bool alone;	/* no operator has to confirm the apply */
	bool patient;	/* an operator has to confirm the apply, and the peers have the whole
			   confirmation time to answer */
	bool inherited; /* this check was begun by a previous agent: its data come from the ticket
			   of the apply (reconcile_ticket.h) */
	/* The client that requested the apply. It gets its answer when the check has a result or
	 * the apply ends. */
	struct reconcile_client client;
	struct diag warnings; /* warnings of the apply, for the answer to `client` */
	uint64_t n_writes;    /* kernel writes of the apply, for the same answer */
	uint64_t began_ns, busy_ns;
	/* The peer or mount that does not answer; "": none. */
	char lost[256 + LAUNCH_REASON_MAX + 64];
	struct loop_source *timer;
};

/* State of the reconcile. While an apply waits for a confirmation, the state is IDLE and `pending`
 * is set. */
enum reconcile_state {
	RECONCILE_IDLE,
	RECONCILE_RECOVERING, /* at the start: rolling back the journal of a killed applier */
	/* At the start: the applier of a previous agent still runs, and this agent waits for its
	 * end. */
	RECONCILE_ORPHAN,
	RECONCILE_ADOPTING, /* at the start: the applier of a previous agent is connected to this
			       agent */
	RECONCILE_LOADING,  /* the run has begun, and the plan is not made yet */
	RECONCILE_APPLYING, /* the applier has started, and the run has not ended */
};

/* The current run. reconcile_begin() sets all members. */
struct reconcile_run {
	enum reconcile_trigger trigger;
	enum reconcile_source source;
	struct reconcile_client client;
	struct generation next; /* the generation that this run creates */
	struct diag diag;
	bool loaded; /* the configuration is valid */
	/* The files replace a running configuration at a start or a retry: the run is checked, and
	 * rolled back if necessary, like an operator's apply. */
	bool is_guarded;
	bool needs_confirmation; /* an operator has to confirm the apply */
	unsigned n_tries;	 /* count of retries after a recovery or an address conflict */
	/* Searches for processes that use mounts which this run ends; the run continues when it has
	 * ended. NULL: none. */
	struct mount_search *search;
	void (*after_search)(struct agent *a, int error);
	bool searched; /* that search has ended */
	json_t *users; /* the processes that it found; NULL: none */
	/* The search has found processes, or has failed: the apply is refused and is not retried,
	 * because a retry would not ask. */
	bool mounts_refused;
	bool awaits_pools; /* the run waits for the cluster's answer about pools */
	/* Addresses for this configuration were requested from the cluster. */
	bool asked_pools;
	uint64_t began_ns, n_writes;
	uint64_t mention_ns; /* a run that takes longer is reported as slow */
	bool is_late;	/* a step took longer than its driver usually needs, and was reported */
	size_t n_steps; /* count of steps done */
	/* The state of the host after the failed apply is not known step by step. */
	bool unclear;
	size_t failed_step; /* index from 1 of the step that the kernel refused; 0: none */
	uint64_t entry;	    /* number in the history; 0: not recorded yet */
	int error;	    /* result of the run */
};

/* Reconciles that wait until the running one has ended. */
struct reconcile_queue {
	bool requested[RECONCILE_TRIGGER_MAX];
	bool reload_is_older;	/* the reload was requested while an apply was pending */
	bool last_good_pending; /* the last good configuration has to be applied */
	/* The files were edited before the start, which applied the last good configuration. */
	bool edited_files;
	uint64_t edited_due_ns; /* latest time to apply the edited files */
	struct reconcile_client *clients;
	size_t n_clients;
	struct loop_source *soon;     /* runs the queue after the current callback has returned */
	void (*run)(struct agent *a); /* starts the next queued request if possible */
};

struct reconcile_pace {
	/* The last try changed the host and was rolled back, so no retry begins before at_ns. */
	bool blocked;
	uint64_t pause_ns, at_ns;
};

/* Retries and timers. */
struct reconcile_pacing {
	bool retry_files; /* the files could not be applied because of the state of the host */
	struct reconcile_pace files, running;
	uint64_t fires_at_ns; /* time at which the armed debounce timer fires */
	struct loop_source *debounce, *tick, *orphan;
	bool ready_due;	 /* the first run has ended, so READY=1 may be sent */
	bool ready_sent; /* READY=1 has been sent to the service manager */
};

/* The inputs of the plan besides the spec and the inventory. */
struct reconcile_inputs {
	struct plan_owned owned;
	struct plan_worker_ids worker_ids;
	struct plan_conflicts conflicts; /* address conflicts found since the last request */
	char (*held_vfs)[16];		 /* PCI functions that workers have open */
	size_t n_held_vfs;
	unsigned *answered_cores; /* cores of the workers that have an answering peer */
	size_t n_answered_cores;
};

/* Accepted transports of workers with `transport: auto` (reconcile_choice.c). */
struct reconcile_choice {
	struct transport_choice accepted; /* choices of the last kept apply */
	bool known;			  /* this agent has read or written the record */
	bool unsaved;			  /* writing the record failed */
	/* Transports of the running or pending apply, and the PFs whose VFs the apply creates. The
	 * transports become accepted when the apply is kept. */
	struct transport_choice proposed;
	bool has_proposed;
	bool by_request; /* an operator requested all changes of this apply */
	char vf_pfs[PLAN_PORTS_MAX][16];
	size_t n_vf_pfs;
};

/* Files in the state and run directories. */
struct reconcile_records {
	char *owned_path, *worker_ids_path, *choice_path, *attempts_path;
	char *pending_path; /* ticket of the running or pending apply */
	char *refused_path; /* the configuration that the last rollback undid */
	char *applier_socket, *outcome_path;
	char *last_good;	 /* path of the last good configuration */
	char *last_good_text;	 /* text that this agent wrote to the last good file; NULL: none */
	char *last_good_unsaved; /* text that this agent could not write to that file; NULL: none */
	struct history history;
};

struct reconcile {
	struct reconcile_setup setup;
	enum reconcile_state state;
	struct applier *applier; /* applier of the running reconcile or of a recovery; NULL: no
				    applier runs */
	struct reconcile_run run;
	struct reconcile_queue queue;
	struct reconcile_pacing pacing;
	struct reconcile_pending pending;
	struct reachability reachability;
	struct reconcile_inputs inputs;
	struct reconcile_choice choice;
	struct reconcile_records records;
};

/* Creates the reconcile. setup NULL: no callbacks. Returns 0 or negative errno. */
int reconcile_init(struct agent *a, const struct reconcile_setup *setup);
/* Frees the reconcile. An applier that still runs finishes without the agent. */
void reconcile_done(struct agent *a);
/* Adopts the applier of a previous agent, or rolls back the journal of an applier that was killed,
 * then starts the first reconcile. */
void reconcile_start(struct agent *a);
/* Requests a reconcile, which starts now or after the running one. */
void reconcile_ask(struct agent *a, enum reconcile_trigger t);
/* Like reconcile_ask(), for callbacks of the supervisor: the request is handled after the callback,
 * because a reconcile may be calling the supervisor at that moment. */
void reconcile_ask_soon(struct agent *a, enum reconcile_trigger t);
/* Requests an apply for a client, which gets the result through on_applied. */
void reconcile_ask_client(struct agent *a, const struct reconcile_client *c);
/* Saves a->failures for the next agent that starts before a reboot. */
void reconcile_keep_attempts(struct agent *a);
/* Requests a reconcile with the trigger RECONCILE_KERNEL in at most delay_ns. */
void reconcile_arm(struct agent *a, uint64_t delay_ns);
/* Call when a worker's state has changed. Requests a reconcile if devices that the worker had open
 * can be restored now. */
void reconcile_note_worker(struct agent *a);
/* Tells the service manager once that the agent is ready. The agent is ready after the first run,
 * when each new mount is attached or the mount's server has refused it. A program that is started
 * after the agent then cannot write to the directory below a mount by mistake. Call when workers or
 * mounts have changed. */
void reconcile_note_ready(struct agent *a);
/* Call when the agent stops: answers the queued requests, and the running reconcile starts no
 * workers. */
void reconcile_stop(struct agent *a);
bool reconcile_is_active(const struct agent *a);
/* Describes the step that the applier is executing (progress.h). */
enum progress reconcile_progress(const struct agent *a, char buf[static PROGRESS_TEXT_MAX]);
/* Returns whether a running, queued or pending apply uses the staged configuration, which must not
 * be replaced in this case. */
bool reconcile_holds_staged(const struct agent *a);
/* Rolls back the pending apply, because the worker cannot use the transport that this apply gave
 * it. */
void reachability_refuse(struct agent *a, uint32_t worker, const char *why);
/* Returns whether the pending apply moved the worker of that core to VFs. */
bool reconcile_is_on_trial(const struct agent *a, unsigned core);
/* Callback for sup_setup. user: struct agent. Returns true while an apply is pending, because a
 * rollback may bring back the objects that the apply removed, and while such a rollback restores
 * the previous configuration. */
bool reconcile_on_trial(void *user);
/* Checks whether the client means the pending apply: it gives the apply's number or, with number 0,
 * belongs to the user who requested the apply. Returns 0; -ENOENT if no apply is pending; or -EPERM
 * if the client does not mean this apply. After an error, why has the reason. */
int reconcile_pending_match(const struct agent *a, uint64_t number, uid_t uid, bool keep,
			    struct reason *why);
/* Checks the files that the pending apply would replace. Returns 0 if they are as they were when
 * the apply began, -ESTALE with the reason in d if they have changed, or another negative errno. */
int reconcile_pending_check_files(struct agent *a, struct diag *d);
/* Keeps the pending apply or rolls it back; on_decided gets the result. Returns 0, -ENOENT if no
 * apply is pending, -EALREADY if another client has just decided, or another negative errno. */
int reconcile_pending_decide(struct agent *a, bool keep, uint64_t client, const char *by);
/* Returns the peer that does not answer the workers of a pending apply, if an operator has to
 * confirm the apply. Returns "" if all peers answer. */
const char *reachability_unreachable(const struct agent *a);
/* Loads the last good configuration, which a rollback of the pending apply restores. Returns
 * -ENOENT if there is no such configuration. */
int reconcile_last_good_load(struct agent *a, struct diag *d, struct spec **ret);
/*
 * Makes the plan, with its actions, that an apply of next->spec by that client would carry out on
 * the host that k shows. Changes nothing and may block: call it in a child process. may_move:
 * whether workers may move to other transports, as in an apply of the files. Returns 0 and *next,
 * or negative errno with reasons in d.
 */
int reconcile_preview(struct agent *a, struct kernel *k, const struct reconcile_client *c,
		      bool may_move, struct diag *d, struct generation *next);
/* Writes a sentence such as "apply 7 (staged, by uid 0, pid 12) waits for its confirmation since
 * 12:00:00, until 12:02:00 (90 s left)" to buf. */
void reconcile_pending_describe(const struct agent *a, char *buf, size_t size);
/* Format of the commands that end the pending apply; takes its number twice. */
#define RECONCILE_PENDING_WORDS \
	"'plenum confirm %" PRIu64 "' keeps it, 'plenum rollback %" PRIu64 "' undoes it"
unsigned reconcile_pending_left_s(const struct agent *a);
/* Returns whether a worker serves the mount. If not, why has the reason that the server reported,
 * or is empty. */
bool reconcile_is_served(const struct agent *a, const struct launch_mount *m, struct reason *why);
/* Passes the changed mounts of a->command_mounts to the workers, without a reconcile run: the
 * network and a pending apply stay as they are. Call when no run is active. Returns 0 or negative
 * errno. */
int reconcile_refresh_mounts(struct agent *a);
/* Clears the problem of a staged configuration that failed, because the configuration has been
 * replaced since. */
void reconcile_forget_staged(struct agent *a);

#endif
