/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monitor (plenumd's main process). It owns the running configuration generation and all
 * modules, and starts a reconcile (reconcile.h) for each trigger. It never blocks: child processes
 * do whatever may take long. One per process, single-threaded, driven by the event loop.
 */
#ifndef PLENUM_AGENT_AGENT_H
#define PLENUM_AGENT_AGENT_H

#include "agent/agent_state.h"
#include "agent/apply/store.h"
#include "agent/base/events.h"
#include "agent/base/loop.h"
#include "agent/base/memory_group.h"
#include "agent/clients/clients.h"
#include "agent/drift.h"
#include "agent/health/health.h"
#include "agent/health/latency.h"
#include "agent/leg_queues.h"
#include "agent/lldp/carriers.h"
#include "agent/lldp/labels.h"
#include "agent/reconcile.h"
#include "agent/supervise/capture.h"
#include "agent/supervise/faults.h"
#include "agent/supervise/handover/rundir.h"
#include "agent/supervise/mounts/mounts.h"
#include "agent/supervise/supervise.h"
#include "netcfg/plan/plan.h"

struct agent_options {
	const char *config;    /* plenum.yaml; plenum.d is in the same folder */
	const char *run_dir;   /* lock, sockets, record, journal; lost at a reboot */
	const char *state_dir; /* staged configuration, epoch */
	const char *worker;    /* path of the worker program */
	enum log_level log_level;
};

#define AGENT_WORKER_ACCOUNT "plenum-worker"
#define CONTROL_QUERIES_MAX 8 /* child processes that read the host for clients, at once */
struct control_query;

struct agent {
	struct agent_options opt;
	struct loop *loop;
	struct events events;
	struct event_store *event_store;
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
	struct running running;
	struct plan_failures failures; /* transports and VFs that failed in this boot */
	struct carriers carriers;
	struct labels labels;
	struct lldp *lldp;
	struct leg_queues *leg_queues;
	struct leg_queues_share queue_shares[PLAN_PORTS_MAX + 1];
	struct leg_wiring *leg_wiring; /* NULL: the agent does not watch */
	const struct wiring *wiring;   /* what it has found, owned by leg_wiring; NULL as above */
	bool converged; /* all desired workers were up once since the start or the last apply */
	struct problems problems;
	struct health health;
	struct latency latency;
	struct loop_source *health_timer;
	uint64_t health_due_ns; /* when the armed health timer fires */
	struct drift drift;
	struct faults faults;	  /* injected faults */
	json_t *actions_reported; /* operator actions that were already reported as events */
	struct applier_host applier_host; /* tests set their own */
	struct control_query *queries[CONTROL_QUERIES_MAX];
	struct operations *operations; /* whose clients do not wait; NULL: none yet */
	uint64_t n_applies; /* applies and repairs since the agent's start that changed the host */
	bool keeps_workers; /* the agent exits and leaves its workers running */
	uint64_t started_ns;
	uint64_t verify_ns; /* RECONCILE_VERIFY_NS; tests use less */
	struct loop_source *kernel_source, *stop_timer, *host_source, *files_timer;
	int host_fd;	    /* host_lock.h; -1: not held */
	bool lacks_account; /* of workers, on this host */
	struct memory_group memory;
	int files_error; /* why files of the run directory could not be created again; 0: they are
			    there */
};

/* Unmounts, stops the workers and ends the agent; the network stays. */
void agent_stop_all(struct agent *a);
/* Runs the monitor until it is stopped. Exit status of the program. AGENT_EXIT_CONFIG: the
 * configuration is invalid and there is no earlier one to run. */
#define AGENT_EXIT_CONFIG 78 /* EX_CONFIG of sysexits.h */
int agent_main(const struct agent_options *opt);
/* Only checks the configuration and prints its errors. Exit status of the program. */
int agent_check(const struct agent_options *opt);

#endif
