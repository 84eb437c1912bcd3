/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data walk, from a configuration to running workers: the only way by which the host or the set
 * of workers changes. It has two halves with the applier between them, and the monitor goes on in
 * between; one walk is on its way at a time. Triggers that come meanwhile wait: of each kind one,
 * but every client's apply, which gets the answer of its own walk. This file keeps what waits,
 * paces what is tried again, and remembers what was asked for and failed.
 */
#ifndef PLENUM_AGENT_RECONCILE_H
#define PLENUM_AGENT_RECONCILE_H

#include "agent/apply/applier.h"

#include "agent/api/clients.h"
#include "agent/apply/history.h"
#include "agent/apply/progress.h"
#include "agent/apply/store.h"
#include "agent/base/problems.h"
#include "netcfg/plan/plan_conflict.h"
#include "netcfg/plan/plan_owned.h"
#include "netcfg/plan/plan_worker_ids.h"
#include "netcfg/plan/transport_choice.h"
#include <inttypes.h>

struct agent;

#define RECONCILE_DEBOUNCE_NS (100 * NSEC_PER_MSEC) /* a burst of kernel events is one walk */
/* The longest wait for a look at what may be the missing device, and the first pause before what
 * failed is tried again; each further one is twice as long. */
#define RECONCILE_NEWS_NS NSEC_PER_SEC
#define RECONCILE_RETRY_MAX_NS (300 * NSEC_PER_SEC)
#define RECONCILE_CHOICE_RETRY_NS \
	(30 * NSEC_PER_SEC) /* between looks whether what was agreed can be had */
#define RECONCILE_LAST_GOOD_FILE "running.yaml" /* in the state directory */
#define RECONCILE_OWNED_FILE                                                 \
	"owned" /* there too: what applies have changed and how it was found \
		 */
#define RECONCILE_WORKER_IDS_FILE "workers" /* and which worker is on which core */
#define RECONCILE_CHOICE_FILE "agreed"	    /* and which were taken to VFs */
#define RECONCILE_ATTEMPTS_FILE \
	"attempts" /* in the run directory: what this boot has tried in vain */
#define RECONCILE_PENDING_FILE "pending" /* there too: the apply that is under way */
#define RECONCILE_REFUSED_FILE "rolled-back"
#define RECONCILE_SOCKET_FILE "applier.sock" /* in the run directory */
#define RECONCILE_OUTCOME_FILE "outcome"
/* What takes over an interface that others use is confirmed, also where nobody has asked for it. */
#define RECONCILE_TAKEOVER_CONFIRM_S 120
#define RECONCILE_PROBE_NS (10 * NSEC_PER_SEC) /* with the rest of an apply well below 30 s */
#define RECONCILE_VERIFY_NS (5 * NSEC_PER_SEC)

enum reconcile_trigger {
	RECONCILE_START,
	RECONCILE_RELOAD, /* SIGHUP */
	RECONCILE_API,
	RECONCILE_KERNEL,   /* something changed on the host, or what failed is tried again */
	RECONCILE_FALLBACK, /* a worker cannot have its transport */
	RECONCILE_TRIGGER_MAX
};
const char *reconcile_trigger_to_string(enum reconcile_trigger t);

enum reconcile_source {
	RECONCILE_FROM_RUNNING,
	RECONCILE_FROM_FILES,
	RECONCILE_FROM_STAGED,
	RECONCILE_FROM_LAST_GOOD, /* what ran before: before this agent, or before a rollback */
	RECONCILE_FROM_HISTORY,	  /* what an earlier apply left */
	RECONCILE_FROM_PENDING,	  /* what an earlier agent's apply has done, which waits */
};

/* Everything one walk makes; it replaces what was running when all of it is there. */
struct generation {
	struct spec *spec; /* NULL: the running one goes on */
	struct inventory *inv;
	struct plan *plan; /* borrows from spec */
	struct launch_config *desired;
	size_t n_desired;
};
void generation_done(struct generation *r);

struct reconcile_client { /* who waits for the answer to an apply */
	uint64_t id;	  /* 0: nobody */
	char by[REQUESTER_MAX];
	char forced[PLAN_FORCED_MAX][PLENUM_NAME_MAX]; /* plan_context.forced */
	size_t n_forced;
	unsigned confirm_s; /* 0: as the policy says */
	uint64_t back_to;   /* number in the history; 0: what is staged, or the files */
};

/* What a client is answered with. */
struct reconcile_answer {
	int error;
	uint64_t number, steps, kernel_writes;
	const struct plan *plan; /* with the actions; NULL: none was done */
	const struct diag *diag;
	uint64_t entry;	    /* in the history; 0: none */
	unsigned confirm_s; /* it is to be confirmed in that time; 0: it is kept already */
};

/* The apply that waits to be confirmed. The host and the workers are as it desired; what is on disk
 * is as it was. Meanwhile no walk is taken: its applier has the journal. */
struct reconcile_pending {
	struct applier *applier; /* NULL: none waits */
	uint64_t entry;		 /* in the history */
	char by[REQUESTER_MAX];
	uint64_t since_s, until_ns; /* wall clock since 1970; CLOCK_BOOTTIME */
	enum reconcile_source source;
	size_t n_steps;
	uint64_t client; /* who has decided and waits for the answer; 0: nobody */
	bool keep;	 /* what he decided */
};

/* A path of a worker's session that was up before an apply; see reachability.c. */
struct verified_peer {
	uint32_t worker;
	enum launch_role role;
	bool by_dpdk, full; /* frames of the leg's MTU arrived */
	bool counted;	    /* rx is known */
	uint64_t rx;	    /* packets, when the host was as wanted */
	char leg[PLENUM_NAME_MAX], peer[PLENUM_NAME_MAX], remote[IP_ADDR_STR_MAX];
};

#define REACHABILITY_MAX 64 /* who is looked at, at most; more would tell no more */
#define REACHABILITY_S 60   /* as long its applier waits where nobody else confirms the apply */

struct reachability {
	struct verified_peer paths[REACHABILITY_MAX];
	size_t n;	/* 0: there is nobody to wait for (any more) */
	bool moves;	/* it takes workers to VFs: these have to run with them */
	bool alone;	/* nobody else is to confirm it */
	bool patient;	/* somebody is: until then who does not answer may begin to */
	bool inherited; /* an earlier agent's, read from its ticket */
	struct reconcile_client client; /* who waits for the answer then */
	uint64_t began_ns, busy_ns;
	char lost[3 * PLENUM_NAME_MAX + 160]; /* who has been cut off; "" */
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
	struct generation next; /* what this run makes */
	struct diag diag;
	bool loaded;		 /* the configuration is valid */
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
	struct reconcile_client *clients;
	size_t n_clients;
	struct loop_source *soon; /* runs the queue after the current callback */
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
	bool ready_sent; /* the service manager was told READY=1 */
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
	bool by_request; /* an operator asked for all of it */
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
	char *last_good_text;	 /* what this agent wrote there; NULL: nothing */
	char *last_good_unsaved; /* what it failed to write there; NULL: nothing */
	struct history history;
};

struct reconcile {
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

int reconcile_init(struct agent *a);
/* An applier that is at work goes on alone. */
void reconcile_done(struct agent *a);
/* Rolls back what a killed predecessor left half-way, waits for the applier of one that is still
 * alive, then takes the first walk. */
void reconcile_start(struct agent *a);
/* Asks for a walk: now, or after the one on its way. */
void reconcile_ask(struct agent *a, enum reconcile_trigger t);
/* The same from within a callback of the supervisor, which a walk would call: after it. */
void reconcile_ask_soon(struct agent *a, enum reconcile_trigger t);
/* An apply for a client: control_on_applied gets the answer. */
void reconcile_ask_client(struct agent *a, const struct reconcile_client *c);
/* Keeps a->failures for the next agent of this boot. */
void reconcile_keep_attempts(struct agent *a);
/* Has a walk for RECONCILE_KERNEL begin in delay_ns at the latest. */
void reconcile_arm(struct agent *a, uint64_t delay_ns);
/* A worker's state has changed: what its process held may be given back now. */
void reconcile_note_worker(struct agent *a);
/* The workers are told to stop: what waits is answered, what is on its way changes no worker. */
void reconcile_stop(struct agent *a);
bool reconcile_is_active(const struct agent *a);
/* The step that the applier is running now, see progress.h. */
enum progress reconcile_progress(const struct agent *a, char buf[static PROGRESS_TEXT_MAX]);
/* The staged configuration is being applied, or is to be as it was when somebody asked for that, so
 * that it must not be replaced. */
bool reconcile_holds_staged(const struct agent *a);
/* A worker cannot have what the apply that waits has taken it to: that is rolled back. */
void reachability_refuse(struct agent *a, uint32_t worker, const char *why);
/* The worker of that core has VFs only since the apply that waits. */
bool reconcile_is_on_trial(const struct agent *a, unsigned core);
/* For sup_setup, user is the agent: what an apply that waits for a word has removed comes back
 * where that is undone. */
bool reconcile_on_trial(void *user);
/* Whether the apply that waits is the one that is meant: the one of that number, or, where that is
 * 0, one of that user. 0; -ENOENT: none waits; -EPERM: it is another; with the reason in why. */
int reconcile_pending_is_meant(const struct agent *a, uint64_t number, uid_t uid, bool keep,
			       char *why, size_t size);
/* Whether the files that the apply that waits would replace are as they were when it began, or
 * else. 0; -ESTALE with the reason in d; other errors. */
int reconcile_pending_check_files(struct agent *a, struct diag *d);
/* Keeps the apply that waits, or has it rolled back; control_on_decided gets the answer. -ENOENT:
 * none waits; -EALREADY: somebody has decided just now; other negative errno. */
int reconcile_pending_decide(struct agent *a, bool keep, uint64_t client, const char *by);
/* Who does not answer the workers of the apply that waits for somebody's confirmation; "": nobody
 * is missed. */
const char *reachability_unreachable(const struct agent *a);
/* "apply 7 (staged, by uid 0, pid 12) waits for its confirmation since 12:00:00, until 12:02:00 (90
 * s left)" */
void reconcile_pending_describe(const struct agent *a, char *buf, size_t size);
/* What can be done about it; twice its number. */
#define RECONCILE_PENDING_WORDS \
	"'plenum confirm %" PRIu64 "' keeps it, 'plenum rollback %" PRIu64 "' undoes it"
unsigned reconcile_pending_left_s(const struct agent *a);
/* What is staged is no longer asked for. */
void reconcile_forget_staged(struct agent *a);

#endif
