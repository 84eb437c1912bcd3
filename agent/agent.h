/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The monitor: it holds what is running and walks from the configuration to running workers. The
 * walk (agent_walk) is the only way by which the host or the set of workers changes; everything
 * else here is about when it happens. One per process, single-threaded, driven by the loop.
 */
#ifndef PLENUM_AGENT_AGENT_H
#define PLENUM_AGENT_AGENT_H

#include "agent/carriers.h"
#include "agent/clients.h"
#include "agent/events.h"
#include "agent/loop.h"
#include "agent/mounts.h"
#include "agent/rundir.h"
#include "agent/store.h"
#include "agent/supervise.h"
#include "netcfg/plan/apply.h"
#include "netcfg/plan/plan.h"

#define AGENT_DEBOUNCE_NS (100 * NSEC_PER_MSEC) /* a burst of kernel events is one walk */
#define AGENT_DEBOUNCE_MAX_NS (30 * NSEC_PER_SEC)
#define AGENT_NEWS_NS \
	NSEC_PER_SEC /* the longest wait for a look at what may be the missing device */
#define AGENT_VERIFY_NS (5 * NSEC_PER_SEC)

struct agent_options {
	const char *config; /* plenum.yaml; plenum.d is looked for beside it */
	const char
		*run_dir; /* lock, sockets, record, and the journal: a reboot undoes all anyway */
	const char *state_dir; /* staged configuration, epoch */
	const char *worker;    /* program of the workers */
	enum log_level log_level;
};

enum agent_state {
	AGENT_STARTING,
	AGENT_RUNNING,	/* the last walk did all it should */
	AGENT_DEGRADED, /* it did not: `problems` says why */
	AGENT_STOPPING,
	AGENT_STATE_MAX
};
const char *agent_state_to_string(enum agent_state s);

enum agent_trigger {
	AGENT_TRIGGER_START,
	AGENT_TRIGGER_RELOAD, /* SIGHUP */
	AGENT_TRIGGER_API,
	AGENT_TRIGGER_KERNEL,	/* something changed on the host; the configuration is not read */
	AGENT_TRIGGER_FALLBACK, /* a worker cannot have its transport; nor is it here */
	AGENT_TRIGGER_MAX
};

/* Everything one walk makes; it replaces what was running when all of it is there. */
struct agent_round {
	struct spec *spec;
	struct inventory *inv;
	struct plan *plan; /* borrows from spec */
	struct launch_config *wants;
	size_t n_wants;
};
void agent_round_done(struct agent_round *r);

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
	char *journal, *socket_path, *admin_path;
	enum agent_state state;
	struct agent_round now;	       /* what runs */
	struct plan_failures failures; /* its workers that could not have DPDK */
	char **problems;	       /* why the state is degraded, one sentence each */
	struct carriers carriers;
	size_t n_problems;
	struct {
		uint64_t number, time_s; /* of the last apply that changed anything; 0: none yet */
		size_t steps;
		char by[CLIENTS_BY_MAX]; /* whose request it was; "": the agent's own */
	} applied;
	uint64_t started_ns, debounce_ns, repaired_ns;
	uint64_t verify_ns;  /* AGENT_VERIFY_NS; tests have less patience */
	bool falls_back;     /* the walk that is waited for is AGENT_TRIGGER_FALLBACK */
	uint64_t walk_at_ns; /* when the debounce timer fires, while it is armed */
	struct loop_source *debounce, *kernel_source, *stop_timer;
};

/* Runs the monitor until it is told to stop. Exit status of the program. */
int agent_main(const struct agent_options *opt);
/* Reads and checks the configuration only, prints its errors. Exit status of the program. */
int agent_check(const struct agent_options *opt);
/*
 * The data walk: from the configuration (from->file; kept as it is where from is NULL) to running
 * workers. 0; negative errno with the reasons in d: then the host and the workers are as before,
 * or, where even undoing failed, a reason says so.
 */
int agent_walk(struct agent *a, enum agent_trigger trigger, const struct store_source *from,
	       struct diag *d);
/* Drops the notifications that wait, because the host is looked at anew; another look follows. */
void agent_skip_kernel_events(struct agent *a);
/* Takes the carriers of an inventory: for workers that start, and for events that were lost. */
void agent_take_carriers(struct agent *a, const struct inventory *inv);
/* agent_walk, and the outcome as state, events and status. The client's errors are in d too. */
int agent_run_walk(struct agent *a, enum agent_trigger trigger, const struct store_source *from,
		   struct diag *d);

/* Workers' configurations from a plan; heap array, caller frees. -EINVAL with reasons in d. */
int wants_build(const struct spec *spec, const struct plan *plan, enum log_level level,
		struct diag *d, struct launch_config **ret, size_t *ret_n);

#endif
