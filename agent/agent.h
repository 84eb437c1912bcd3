/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monitor: it holds what is running, and whatever wakes it up asks for a walk (reconcile.h)
 * from the configuration to running workers. It never blocks: what may take long is done by a
 * child. One per process, single-threaded, driven by the loop.
 */
#ifndef PLENUM_AGENT_AGENT_H
#define PLENUM_AGENT_AGENT_H

#include "agent/api/clients.h"
#include "agent/apply/store.h"
#include "agent/base/events.h"
#include "agent/base/loop.h"
#include "agent/drift.h"
#include "agent/health/health.h"
#include "agent/lldp/carriers.h"
#include "agent/lldp/labels.h"
#include "agent/reconcile.h"
#include "agent/supervise/capture.h"
#include "agent/supervise/faults.h"
#include "agent/supervise/mounts.h"
#include "agent/supervise/rundir.h"
#include "agent/supervise/supervise.h"
#include "netcfg/plan/plan.h"

struct agent_options {
	const char *config; /* plenum.yaml; plenum.d is looked for beside it */
	const char
		*run_dir; /* lock, sockets, record, and the journal: a reboot undoes all anyway */
	const char *state_dir; /* staged configuration, epoch */
	const char *worker;    /* program of the workers */
	enum log_level log_level;
};

enum agent_state {
	AGENT_STARTING, /* until what is wanted has come up, or counts as missing */
	AGENT_RUNNING,	/* what is wanted runs */
	AGENT_DEGRADED, /* it does not: `problems` says why */
	AGENT_STOPPING,
	AGENT_STATE_MAX
};
const char *agent_state_to_string(enum agent_state s);

#define CONTROL_QUERIES_MAX 8 /* clients for whom children look at the host, at once */
struct control_query;

struct agent {
	struct agent_options opt;
	struct loop *loop;
	struct events events;
	struct rundir rundir;
	struct store store;
	struct kernel *kernel;
	struct mounts *mounts;
	struct sup *sup;
	struct clients *clients;
	struct capture *capture;
	char *journal, *socket_path, *admin_path, *neighbours_path;
	enum agent_state state;
	struct reconcile reconcile;
	struct generation running;     /* what runs */
	struct plan_failures failures; /* what was tried in this boot and did not work */
	struct carriers carriers;
	struct labels labels;
	struct lldp *lldp;
	bool converged; /* what is wanted has been there since the start, or the last apply */
	struct problems problems;
	struct health health;
	struct drift drift;
	struct faults faults;	  /* on purpose */
	json_t *actions_reported; /* what the operator has been told to do (required_actions.h) */
	struct applier_host applier_host; /* tests bring their own */
	struct control_query *queries[CONTROL_QUERIES_MAX];
	struct {
		uint64_t number, time_s; /* of the last apply that changed anything; 0: none yet */
		size_t steps;
		char by[CLIENTS_BY_MAX]; /* whose request it was; "": the agent's own */
	} applied;
	bool keeps_workers; /* stopping: without its workers, which go on */
	uint64_t started_ns;
	uint64_t verify_ns; /* RECONCILE_VERIFY_NS; tests have less patience */
	struct loop_source *kernel_source, *stop_timer, *host_source;
	int host_fd; /* host_lock.h; -1: without it */
};

/* Unmounts, stops the workers and ends the agent; the network stays. */
void agent_stop_all(struct agent *a);
/* Runs the monitor until it is told to stop. Exit status of the program; AGENT_EXIT_CONFIG: the
 * configuration is not valid and nothing ran before. */
#define AGENT_EXIT_CONFIG 78 /* EX_CONFIG of sysexits.h */
int agent_main(const struct agent_options *opt);
/* Reads and checks the configuration only, prints its errors. Exit status of the program. */
int agent_check(const struct agent_options *opt);
/* Takes the notifications that wait; carriers go to the workers at once. */
void agent_read_kernel(struct agent *a);
/* The next look at the host is at what is there, also where nobody said that it changed. */
void agent_forget_host(struct agent *a);
/* Who may make changes, as the running configuration names them. */
void agent_take_rights(struct agent *a);
/* Takes the carriers of an inventory: for workers that start, and for events that were lost. */
void agent_take_carriers(struct agent *a, const struct inventory *inv);
/* The state follows from what runs and the problems. */
void agent_update_state(struct agent *a);
/* Ends the loop where the agent is stopping and no applier is left, nor workers unless they go on.
 */
void agent_end_if_done(struct agent *a);

/* Workers' configurations from a plan; heap array, caller frees. -EINVAL with reasons in d. */
int worker_config_build(const struct spec *spec, const struct plan *plan, enum log_level level,
			struct diag *d, struct launch_config **ret, size_t *ret_n);

/* The cluster's keys, read anew from its file, into those configurations. -EINVAL with the reason
 * in d. */
int secrets_fill(const struct spec *spec, struct diag *d, struct launch_config *desired, size_t n);
/* Those of one that runs. */
void secrets_keep(const struct launch_config *from, struct launch_config *desired, size_t n);

#endif
