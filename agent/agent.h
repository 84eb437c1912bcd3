/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monitor, plenumd's main process. It owns the running configuration generation and all modules
 * of the agent. Each trigger, such as a signal or a client's request, starts a reconcile
 * (reconcile.h). The monitor never blocks: operations that may take long run in child processes.
 * There is one monitor per process; it has one thread and one event loop.
 */
#ifndef PLENUM_AGENT_AGENT_H
#define PLENUM_AGENT_AGENT_H

#include "agent/agent_state.h"
#include "agent/apply/store.h"
#include "agent/base/events.h"
#include "agent/base/loop.h"
#include "agent/base/memory_group.h"
#include "agent/clients/clients.h"
#include "agent/cluster/cluster.h"
#include "agent/command_mounts.h"
#include "agent/drift.h"
#include "agent/health/health.h"
#include "agent/health/latency.h"
#include "agent/lldp/carriers.h"
#include "agent/lldp/labels.h"
#include "agent/queue_shares.h"
#include "agent/reconcile.h"
#include "agent/samples.h"
#include "agent/supervise/capture.h"
#include "agent/supervise/faults.h"
#include "agent/supervise/handover/rundir.h"
#include "agent/supervise/mounts/mount_users.h"
#include "agent/supervise/mounts/mounts.h"
#include "agent/supervise/supervise.h"
#include "netcfg/plan/plan.h"

struct agent_options {
	const char *config;    /* path of plenum.yaml; plenum.d is in the same folder */
	const char *run_dir;   /* lock, sockets, worker record and journal; empty after a reboot */
	const char *state_dir; /* folder of the staged configuration, the boot epoch and other files
				  that outlive a reboot */
	const char *worker;    /* path of the worker program */
	enum log_level log_level;
};

#define AGENT_WORKER_ACCOUNT "plenum-worker"
/* Maximum number of child processes that read the host for clients at a time. */
#define CONTROL_QUERIES_MAX 8
struct control_query;
struct control_doctor;

struct agent {
	struct agent_options opt;
	struct loop *loop;
	struct events events;
	struct event_store *event_store;
	struct rundir rundir;
	struct store store;
	struct kernel *kernel;
	struct mounts *mounts;
	struct command_mounts command_mounts;
	struct sup *sup;
	struct clients *clients;
	struct capture *capture;
	char *journal, *socket_path, *admin_path, *neighbours_path;
	enum agent_state state;
	struct reconcile reconcile;
	struct running running;
	struct plan_failures failures; /* transports and VFs that failed since the host booted */
	struct carriers carriers;
	struct labels labels;
	struct lldp *lldp;
	struct cluster *cluster;
	struct servers servers;	 /* servers of the cluster; membership.c updates them */
	struct plan_pools pools; /* this host's addresses in the pools; membership.c updates them */
	struct membership *membership;	   /* NULL: not started yet */
	struct rollout_host *rollout_host; /* likewise */
	struct leg_queues *leg_queues;
	struct leg_queues_share queue_shares[PLAN_PORTS_MAX + 1];
	struct leg_links *leg_links;	 /* NULL: not started yet */
	const struct links_watch *links; /* the findings of leg_links; NULL: not started yet */
	struct leg_wiring *leg_wiring;	 /* NULL: the wiring watch does not run */
	/* The findings of leg_wiring, which owns them; NULL: the wiring watch does not run. */
	const struct wiring *wiring;
	/* At some moment since the start or the last requested apply, all desired workers were
	 * up. */
	bool converged;
	bool degraded_event; /* the last event about the state says degraded */
	struct problems problems;
	struct health health;
	struct latency latency;
	struct samples samples; /* values of the last hour, for plots */
	struct loop_source *health_timer;
	uint64_t health_due_ns; /* time at which the armed health timer fires */
	struct drift drift;
	struct faults faults;	  /* injected faults */
	json_t *actions_reported; /* operator actions that were already reported as events */
	struct applier_host applier_host; /* host that the applier changes; tests set another
					     host */
	struct control_query *queries[CONTROL_QUERIES_MAX];
	struct control_stop *stop;     /* a stop that is being prepared for a client; NULL: none */
	struct control_doctor *doctor; /* the run of the doctor for a client; NULL: none */
	/* Operations that run without a waiting client; NULL: none yet. */
	struct operations *operations;
	uint64_t n_applies; /* applies and repairs since the agent's start that changed the host */
	bool keeps_workers; /* the agent is exiting and leaves its workers running */
	uint64_t started_ns;
	uint64_t verify_ns; /* RECONCILE_VERIFY_NS; tests use less */
	struct loop_source *kernel_source, *stop_timer, *host_source, *files_timer;
	int host_fd;	    /* descriptor of the host lock (host_lock.h); -1: not held */
	bool lacks_account; /* this host has no account AGENT_WORKER_ACCOUNT */
	struct memory_group memory;
	/* Error from creating files of the run directory again; 0: all files exist. */
	int files_error;
};

/* Unmounts, stops the workers and ends the agent. The network configuration stays. */
void agent_stop_all(struct agent *a);
/* Runs the monitor until it is stopped. Returns the program's exit status; AGENT_EXIT_CONFIG if the
 * configuration is invalid and no earlier configuration can run instead. */
#define AGENT_EXIT_CONFIG 78 /* equals EX_CONFIG of sysexits.h */
int agent_main(const struct agent_options *opt);
/* Only checks the configuration and prints its errors. Returns the program's exit status. */
int agent_check(const struct agent_options *opt);

#endif
