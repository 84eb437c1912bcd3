/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reconcile takes host and workers from a configuration to the desired state; nothing else
 * changes them. One runs at a time, in two halves with the applier between them, during which the
 * monitor continues. Other triggers are queued meanwhile: one of each kind, and every client's
 * apply, which gets the answer of its own run. Failed runs are retried at growing intervals. The
 * files are in the folder agent/reconcile.
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
#include "netcfg/plan/worker/plan_worker_ids.h"
#include "netcfg/plan/worker/transport_choice.h"
#include <inttypes.h>

struct agent;

#define RECONCILE_DEBOUNCE_NS (100 * NSEC_PER_MSEC) /* a burst of kernel events is one run */
/* First pause before a retry, doubled with each failure; a possibly missing device is looked for at
 * least as soon. */
#define RECONCILE_NEWS_NS NSEC_PER_SEC
#define RECONCILE_RETRY_MAX_NS (300 * NSEC_PER_SEC)
/* From a start until edited files are applied, unless all workers are up sooner. */
#define RECONCILE_EDITED_WAIT_NS (10 * NSEC_PER_SEC)
#define RECONCILE_CHOICE_RETRY_NS \
	(30 * NSEC_PER_SEC) /* between retries of an unavailable accepted transport */
#define RECONCILE_LAST_GOOD_FILE "running.yaml" /* in the state directory */
#define RECONCILE_OWNED_FILE \
	"owned" /* there too: objects that applies changed, with their original state */
#define RECONCILE_WORKER_IDS_FILE "workers" /* there too: the core of each worker id */
#define RECONCILE_CHOICE_FILE "agreed"	    /* there too: accepted transports */
#define RECONCILE_ATTEMPTS_FILE "attempts"  /* in the run directory: failures of this boot */
#define RECONCILE_PENDING_FILE \
	"pending" /* in the state directory: ticket of the running or pending apply */
#define RECONCILE_REFUSED_FILE "rolled-back"
#define RECONCILE_SOCKET_FILE "applier.sock" /* in the run directory */
#define RECONCILE_OUTCOME_FILE "outcome"
/* Default confirmation time of an apply that takes over an interface used by others. */
#define RECONCILE_TAKEOVER_CONFIRM_S 120
#define RECONCILE_PROBE_NS (10 * NSEC_PER_SEC) /* a whole apply stays well below 30 s */
#define RECONCILE_VERIFY_NS (5 * NSEC_PER_SEC)

enum reconcile_trigger {
	RECONCILE_START,
	RECONCILE_RELOAD, /* SIGHUP */
	RECONCILE_API,
	RECONCILE_KERNEL,   /* the host changed, or a retry is due */
	RECONCILE_FALLBACK, /* a worker cannot use its transport */
	RECONCILE_TRIGGER_MAX
};
const char *reconcile_trigger_to_string(enum reconcile_trigger t);

enum reconcile_source {
	RECONCILE_FROM_RUNNING,
	RECONCILE_FROM_FILES,
	RECONCILE_FROM_STAGED,
	RECONCILE_FROM_LAST_GOOD, /* the last good configuration: at the start or after a rollback
				   */
	RECONCILE_FROM_HISTORY,	  /* the configuration of an earlier apply */
	RECONCILE_FROM_PENDING,	  /* the pending apply of a previous agent */
};

/* A configuration generation: everything that one run makes. It replaces the running one as a
 * whole. */
struct generation {
	struct spec *spec; /* NULL: the running spec stays */
	struct inventory *inv;
	struct plan *plan; /* borrows from spec */
	struct launch_config *desired;
	size_t n_desired;
};
void generation_done(struct generation *r);

/* The generation in force. Only generation_swap() replaces it, and no code changes its contents. */
struct running {
	const struct spec *spec; /* NULL: none runs */
	const struct inventory *inv;
	const struct plan *plan;
	const struct launch_config *desired;
	size_t n_desired;
};
/* Replaces the running generation by *next, which it takes and empties, and frees the old one. A
 * next one without a spec keeps the running spec, unless it is wholly empty: then none runs. */
void generation_swap(struct agent *a, struct generation *next);

struct reconcile_client { /* the client that waits for an apply */
	uint64_t id;	  /* 0: none */
	char by[REQUESTER_MAX];
	char forced[PLAN_FORCED_MAX][PLENUM_NAME_MAX]; /* plan_context.forced */
	size_t n_forced;
	unsigned confirm_s; /* 0: as the policy says */
	uint64_t back_to;   /* number in the history; 0: staged configuration or files */
};

/* The answer to an apply. */
struct reconcile_answer {
	int error;
	uint64_t number, steps, kernel_writes;
	const struct plan *plan; /* with the actions; NULL: not applied */
	const struct diag *diag;
	uint64_t entry;	    /* in the history; 0: none */
	unsigned confirm_s; /* time left to confirm it; 0: it is kept already */
	bool unserved;	    /* rolled back because a new mount was not served */
};

/* The result of a confirmation or rollback of the pending apply. */
struct reconcile_decision {
	uint64_t client; /* the one that decided */
	uint64_t entry;	 /* in the history */
	bool keep;	 /* what the client wanted */
	int error;	 /* 0: the apply is kept; -EHOSTUNREACH: it still waits; else rolled back */
	bool written;	 /* the kept configuration is in the files */
	const struct diag *diag;
};

/* What the owner hears; each may be NULL. */
struct reconcile_setup {
	/* The apply of a client has ended, or waits for its confirmation. */
	void (*on_applied)(struct agent *a, const struct reconcile_client *c,
			   const struct reconcile_answer *answer);
	/* A client's decision about the pending apply has ended it, or is refused. */
	void (*on_decided)(struct agent *a, const struct reconcile_decision *d);
	/* Another configuration is in force. */
	void (*on_spec)(struct agent *a);
};

/* The pending apply, which waits for a confirmation. Host and workers have the new configuration;
 * the files have the previous one. No reconcile runs meanwhile: the applier owns the journal. */
struct reconcile_pending {
	struct applier *applier; /* NULL: none is pending */
	uint64_t entry;		 /* in the history */
	char by[REQUESTER_MAX];
	uint64_t since_s, until_ns; /* wall clock since 1970; CLOCK_BOOTTIME */
	enum reconcile_source source;
	size_t n_steps;
	uint64_t client; /* the client that decided and waits for the answer; 0: none */
	bool keep;	 /* the decision of the client: keep the apply or roll it back */
};

/* A peer that answered a worker before an apply and must answer afterwards, see reachability.c. */
struct verified_peer {
	uint32_t worker;
	enum launch_role role;
	bool by_dpdk, full; /* frames of the leg's full MTU arrived */
	bool counted;	    /* rx is known */
	uint64_t rx;	    /* packets received when the host reached the desired state */
	char leg[PLENUM_NAME_MAX], peer[PLENUM_NAME_MAX], remote[IP_ADDR_STR_MAX];
};

#define REACHABILITY_MAX 64 /* peers to verify; more would not tell more */
#define REACHABILITY_S 60   /* the applier's wait if no operator confirms the apply */

struct reachability {
	struct verified_peer paths[REACHABILITY_MAX];
	size_t n;			/* 0: no peer to wait for */
	json_t *replaced;		/* paths of served mounts that others replace, which must be
					 * served too */
	json_t *served;			/* paths of served mounts that stay or are replaced */
	bool takes;			/* the apply ends a served mount or export */
	bool unserved;			/* lost describes such a mount */
	bool moves;			/* the apply moves workers to VFs: they must come up */
	bool alone;			/* no operator has to confirm the apply */
	bool patient;			/* an operator confirms: peers have until then to answer */
	bool inherited;			/* read from a previous agent's ticket */
	struct reconcile_client client; /* answered when this is decided, or the apply ends */
	struct diag warnings;		/* of the apply, kept for that answer */
	uint64_t n_writes;		/* its kernel writes, kept for the same answer */
	uint64_t began_ns, busy_ns;
	char lost[256 + LAUNCH_REASON_MAX + 64]; /* the peer or mount that does not answer; "" */
	struct loop_source *timer;
};

/* What the reconcile is doing. An apply that waits for a confirmation is `pending` instead. */
enum reconcile_state {
	RECONCILE_IDLE,
	RECONCILE_RECOVERING, /* at the start: rolling back the journal of a killed applier */
	RECONCILE_ORPHAN,     /* at the start: a previous agent's applier still runs; polled */
	RECONCILE_ADOPTING,   /* at the start: that applier reports to this agent */
	RECONCILE_LOADING,    /* up to the plan */
	RECONCILE_APPLYING,   /* from the start of the applier to the end of the run */
};

/* One run; reconcile_begin() sets all of it. */
struct reconcile_run {
	enum reconcile_trigger trigger;
	enum reconcile_source source;
	struct reconcile_client client;
	struct generation next; /* the generation that this run creates */
	struct diag diag;
	bool loaded;		 /* the configuration is valid */
	bool is_guarded;	 /* a start, or a retry, replaces what runs by the files: checked
				  * and rolled back as an operator's apply */
	bool needs_confirmation; /* an operator has to confirm it */
	unsigned n_tries;	 /* retries after a recovery or an address conflict */
	uint64_t began_ns, n_writes;
	uint64_t mention_ns; /* duration after which it is reported as slow */
	bool is_late;	     /* a step exceeded its driver's time and was reported */
	size_t n_steps;	     /* steps done */
	size_t failed_step;  /* number of the step that the kernel refused, from 1; 0: none */
	uint64_t entry;	     /* in the history; 0: none (yet) */
	int error;	     /* its result */
};

/* Reconciles that wait for the running one. */
struct reconcile_queue {
	bool requested[RECONCILE_TRIGGER_MAX];
	bool reload_is_older;	/* the reload was requested while an apply was pending */
	bool last_good_pending; /* the last good configuration is to be applied */
	bool edited_files;	/* since the start, which applied the last good configuration */
	uint64_t edited_due_ns; /* when they are applied, at the latest */
	struct reconcile_client *clients;
	size_t n_clients;
	struct loop_source *soon;     /* runs the queue after the current callback */
	void (*run)(struct agent *a); /* starts the next of these requests if it can */
};

struct reconcile_pace {
	bool blocked; /* the last try changed the host and was rolled back: wait until at_ns */
	uint64_t pause_ns, at_ns;
};

/* Retries and timers. */
struct reconcile_pacing {
	bool retry_files; /* the files failed because of the host's state */
	struct reconcile_pace files, running;
	uint64_t fires_at_ns; /* of the armed debounce timer */
	struct loop_source *debounce, *tick, *orphan;
	bool ready_sent; /* READY=1 was sent to the service manager */
};

/* What the plan is made from besides spec and inventory. */
struct reconcile_inputs {
	struct plan_owned owned;
	struct plan_worker_ids worker_ids;
	struct plan_conflicts conflicts; /* found since the last request */
	char (*held_vfs)[16];		 /* functions that workers have open */
	size_t n_held_vfs;
	unsigned *answered_cores; /* cores whose workers a peer answers */
	size_t n_answered_cores;
};

/* Transports of auto workers, see reconcile_choice.c. */
struct reconcile_choice {
	struct transport_choice accepted; /* of the last kept apply */
	bool known;			  /* the record was read or written by this agent */
	bool unsaved;			  /* the record could not be written */
	/* Of the running or pending apply, accepted when that is kept; and the PFs whose VFs it
	 * makes. */
	struct transport_choice proposed;
	bool has_proposed;
	bool by_request; /* an operator requested the whole change */
	char vf_pfs[PLAN_PORTS_MAX][16];
	size_t n_vf_pfs;
};

/* Files in the state and run directories. */
struct reconcile_records {
	char *owned_path, *worker_ids_path, *choice_path, *attempts_path;
	char *pending_path; /* ticket of the running or pending apply */
	char *refused_path; /* the configuration that was rolled back last */
	char *applier_socket, *outcome_path;
	char *last_good;	 /* path of the last good configuration */
	char *last_good_text;	 /* what this agent wrote to the last good file; NULL: nothing */
	char *last_good_unsaved; /* what it could not write to that file; NULL: nothing */
	struct history history;
};

struct reconcile {
	struct reconcile_setup setup;
	enum reconcile_state state;
	struct applier *applier; /* of the run, or of a recovery; NULL: none */
	struct reconcile_run run;
	struct reconcile_queue queue;
	struct reconcile_pacing pacing;
	struct reconcile_pending pending;
	struct reachability reachability;
	struct reconcile_inputs inputs;
	struct reconcile_choice choice;
	struct reconcile_records records;
};

/* setup NULL: no function is called. 0; negative errno. */
int reconcile_init(struct agent *a, const struct reconcile_setup *setup);
/* A running applier continues alone. */
void reconcile_done(struct agent *a);
/* Adopts the applier of a previous agent or rolls back its journal, then starts the first
 * reconcile. */
void reconcile_start(struct agent *a);
/* Requests a reconcile: now, or after the running one. */
void reconcile_ask(struct agent *a, enum reconcile_trigger t);
/* The same from a callback of the supervisor, which a reconcile may call: it starts afterwards. */
void reconcile_ask_soon(struct agent *a, enum reconcile_trigger t);
/* Requests an apply for a client: on_applied gets the answer. */
void reconcile_ask_client(struct agent *a, const struct reconcile_client *c);
/* Saves a->failures for the next agent of this boot. */
void reconcile_keep_attempts(struct agent *a);
/* Requests a reconcile for RECONCILE_KERNEL in at most delay_ns. */
void reconcile_arm(struct agent *a, uint64_t delay_ns);
/* A worker's state changed: devices that it held may be restored now. */
void reconcile_note_worker(struct agent *a);
/* The agent stops: answers queued requests; the running reconcile starts no workers. */
void reconcile_stop(struct agent *a);
bool reconcile_is_active(const struct agent *a);
/* The step that the applier is running now, see progress.h. */
enum progress reconcile_progress(const struct agent *a, char buf[static PROGRESS_TEXT_MAX]);
/* Whether a running, queued or pending apply uses the staged configuration, so that it must not be
 * replaced. */
bool reconcile_holds_staged(const struct agent *a);
/* A worker cannot use the transport of the pending apply: roll that back. */
void reachability_refuse(struct agent *a, uint32_t worker, const char *why);
/* Whether the worker of that core moved to VFs with the pending apply. */
bool reconcile_is_on_trial(const struct agent *a, unsigned core);
/* For sup_setup; user: struct agent. While an apply is pending, what it removed may come back by a
 * rollback. */
bool reconcile_on_trial(void *user);
/* Whether the client means the pending apply: by its number or, where that is 0, as its user. 0;
 * -ENOENT: none is pending; -EPERM: it is another one; with the reason in why. */
int reconcile_pending_match(const struct agent *a, uint64_t number, uid_t uid, bool keep,
			    struct reason *why);
/* Whether the files that the pending apply would replace are unchanged since it began. 0; -ESTALE
 * with the reason in d; other errors. */
int reconcile_pending_check_files(struct agent *a, struct diag *d);
/* Keeps the pending apply or rolls it back; on_decided gets the answer. -ENOENT: none is
 * pending; -EALREADY: another client has just decided; other negative errno. */
int reconcile_pending_decide(struct agent *a, bool keep, uint64_t client, const char *by);
/* The peer that does not answer the workers of a pending apply that an operator confirms; "": none.
 */
const char *reachability_unreachable(const struct agent *a);
/* Loads the last good configuration: that to which a rollback of the pending apply returns.
 * -ENOENT: there is none. */
int reconcile_last_good_load(struct agent *a, struct diag *d, struct spec **ret);
/* Makes the plan of next->spec with its actions, as the apply of that client would, on the host
 * that k shows. Changes nothing and may block: for a child process. may_move: as for an apply of
 * the files. 0 and *next; negative errno with reasons in d. */
int reconcile_preview(struct agent *a, struct kernel *k, const struct reconcile_client *c,
		      bool may_move, struct diag *d, struct generation *next);
/* "apply 7 (staged, by uid 0, pid 12) waits for its confirmation since 12:00:00, until 12:02:00 (90
 * s left)" */
void reconcile_pending_describe(const struct agent *a, char *buf, size_t size);
/* What the operator can do; takes the number twice. */
#define RECONCILE_PENDING_WORDS \
	"'plenum confirm %" PRIu64 "' keeps it, 'plenum rollback %" PRIu64 "' undoes it"
unsigned reconcile_pending_left_s(const struct agent *a);
/* Clears the problem of a failed staged configuration, which was replaced. */
void reconcile_forget_staged(struct agent *a);

#endif
