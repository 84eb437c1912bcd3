/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Supervises the workers. One const table (supervise_table.c) maps state and event to the next
 * state and an action; supervise.c handles the events and carries out the actions. The supervisor
 * owns the worker processes, their statistics pages and state memfds, and gets FUSE descriptors
 * from mounts.h. It never touches the network, and it does not decide which workers are to run: the
 * agent does, via sup_reconcile. One supervisor per process, driven by the event loop; not
 * thread-safe.
 */
#ifndef PLENUM_AGENT_SUPERVISE_H
#define PLENUM_AGENT_SUPERVISE_H

#include "agent/base/events.h"
#include "agent/base/loop.h"
#include "agent/lldp/carriers.h"
#include "agent/lldp/labels.h"
#include "agent/supervise/handover/rundir.h"
#include "agent/supervise/mounts/mounts.h"
#include "dataplane/launch.h"

#define SUP_START_LIMIT_NS (30 * NSEC_PER_SEC)	  /* from spawn to READY */
#define SUP_STOP_LIMIT_NS (5 * NSEC_PER_SEC)	  /* from STOP to SIGKILL */
#define SUP_HEARTBEAT_LIMIT_NS (5 * NSEC_PER_SEC) /* a loop silent for longer is stuck */
#define SUP_HEARTBEAT_CHECK_NS NSEC_PER_SEC
#define SUP_BACKOFF_FIRST_NS (250 * NSEC_PER_MSEC)
#define SUP_BACKOFF_MAX_NS (8 * NSEC_PER_SEC)
/* Time for an adopted worker that was ready to answer. */
#define SUP_ADOPT_LIMIT_NS (10 * NSEC_PER_SEC)
#define SUP_HEALTHY_NS (60 * NSEC_PER_SEC) /* after this long up, earlier deaths do not count */
#define SUP_DEATHS_MANY                                        \
	5 /* in a row: the worker is reported as failing, even \
	   * while it is up */

#define SUP_BY_MAX 96 /* describes an operator */

enum sup_state {
	SUP_STOPPED,  /* no process, and none wanted */
	SUP_STARTING, /* spawned, not ready yet */
	SUP_UP,
	SUP_STOPPING, /* asked to stop */
	SUP_BACKOFF,  /* exited; waits for its restart */
	SUP_FAILED,   /* cannot work; waits for another configuration */
	SUP_STATE_MAX
};

enum sup_event {
	SUP_EV_WANT,
	SUP_EV_UNWANT,
	SUP_EV_CONFIG_CHANGED,
	SUP_EV_READY,
	SUP_EV_FAILED_MSG, /* the worker reports why it will exit */
	SUP_EV_EXITED_0,
	SUP_EV_EXITED_CONFIG,
	SUP_EV_CRASHED, /* any other exit */
	SUP_EV_SPAWN_FAILED,
	SUP_EV_MUST_WAIT, /* another worker, which was asked to stop, still serves its mounts or
			   * exports */
	SUP_EV_HEARTBEAT_MISSED,
	SUP_EV_START_TIMEOUT,
	SUP_EV_TIMER, /* a backoff or the time limit of a stop has ended; a failed worker's missing
		       * resource is available */
	SUP_EV_FOUND, /* an earlier agent's worker runs and can be adopted */
	SUP_EV_FOUND_OTHER, /* the same, of another version */
	SUP_EVENT_MAX
};

enum sup_action {
	SUP_ACT_UNSET, /* a hole in the table; tests find none */
	SUP_ACT_NONE,
	SUP_ACT_SPAWN,
	SUP_ACT_STOP,	 /* ask it to stop, kill it after the time limit */
	SUP_ACT_KILL,	 /* its exit arrives as an event */
	SUP_ACT_BACKOFF, /* count the death, restart after a delay */
	SUP_ACT_WAIT,	 /* until the other worker has exited */
	SUP_ACT_GIVE_UP, /* report it and unmount its mounts */
	SUP_ACT_NOTE_UP,
	SUP_ACT_NOTE_REASON,
	SUP_ACT_REAPED,	 /* the worker exited as asked; restart it if it is wanted */
	SUP_ACT_ADOPT,	 /* ask it to continue under this agent */
	SUP_ACT_REPLACE, /* end it in a way that every version understands */
	SUP_ACT_DISARM,	 /* cancel the restart: the worker is no longer wanted */
	SUP_ACTION_MAX
};

struct sup_rule {
	enum sup_state next;
	enum sup_action action;
};

const char *sup_state_to_string(enum sup_state s); /* "UP", as in the process table */
const char *sup_event_to_string(enum sup_event e);
const struct sup_rule *sup_rule_get(enum sup_state s, enum sup_event e);
/* Delay of the restart after the nth death in a row (from 1), without jitter. The first two
 * restarts are immediate, since programs wait. */
uint64_t sup_backoff_ns(unsigned n_deaths);

struct sup_worker { /* read by the status; written by the supervisor only */
	uint32_t id;
	enum sup_state state;
	bool wanted, adopted; /* adopted: an earlier agent started this process */
	bool agreed;	      /* config comes from sup_reconcile; otherwise from an earlier agent */
	struct launch_config config;   /* desired */
	struct launch_config *started; /* configuration of the process; NULL: no process */
	uint64_t boot_id;	       /* identity of the worker, kept with its state */
	pid_t pid;
	int pidfd, control_fd, state_fd;
	int pins_fd; /* control socket of a worker of another version, until it exits */
	const struct launch_stats *stats; /* mapped read-only; NULL before the first start */
	uint64_t started_ns, up_since_ns;
	uint64_t down_since_ns; /* since when the worker has not served; 0: it serves */
	bool is_late;		/* an excessive downtime was reported */
	bool no_transport;	/* the last exit was because the transport was unavailable */
	bool waits;		/* for another worker's exit */
	bool released[LAUNCH_PORTS_MAX]; /* ports of `started` that the worker has released since */
	/* Missing RDMA devices: the device files when it was last updated, and the time of the next
	 * check without a change of them. */
	uint64_t rdma_seen, rdma_due_ns, rdma_wait_ns;
	bool keys_unsure;	  /* adopted: it is unknown which cluster keys the worker has */
	unsigned n_deaths;	  /* in a row */
	unsigned n_failed_starts; /* of these, before it was up: they count until it is */
	uint64_t n_restarts;	  /* restarts since the worker became wanted */
	char reason[LAUNCH_REASON_MAX * 2];
	char lacks[LAUNCH_REASON_MAX * 2]; /* exports missing when the worker started; "": none */
	char off_core[LAUNCH_REASON_MAX * 2]; /* while it cannot use its core: why; "" */
	char reported[LAUNCH_REASON_MAX * 2]; /* reason of the last death that was reported */
	char died_of[LAUNCH_REASON_MAX * 2];  /* reason of the last death */
	uint64_t died_ms;		      /* its time, wall clock; 0: none is known */
	enum sup_event deferred; /* event for when the mounts are unmounted; SUP_EVENT_MAX: none */
	uint64_t ping_asked, ping_until_ns; /* last RDMA test sent to the worker; 0: none */
	struct launch_ping ping_want;	    /* that test's parameters */
	struct launch_ping pinged;	    /* result of that test, if the id matches */
	bool renew;			    /* restart it when all wanted workers are up */
	bool held;			    /* an operator has stopped it: not started meanwhile */
	char held_by[SUP_BY_MAX];	    /* that operator */
	bool leave;			    /* keep the process: the next agent adopts it */
	struct {
		int config_fd, stats_fd;
	} found; /* during adoption */
	struct sup *sup;
	struct loop_source *control_source, *pid_source, *timer;
	struct sup_worker *next;
};

struct sup;
struct sup_setup {
	struct loop *loop;
	struct events *events;
	struct mounts *mounts;
	struct rundir *rundir;
	const struct carriers *carriers; /* state of the links, for starting workers */
	const struct faults *faults;	 /* faults to inject; NULL: none */
	const struct labels *labels;	 /* labels of the legs */
	struct memory_group *memory;	 /* explains deaths; NULL: it is unknown */
	/*
	 * Borrowed. Workers execute the file that is there at sup_new, even after it was replaced.
	 */
	const char *worker_path;
	/* Called when a worker's state has changed; may be NULL. */
	void (*on_change)(void *user);
	/* Called when a worker has released a device that the host wanted back; may be NULL. */
	void (*on_release)(void *user);
	/* Called when a worker has exited because its transport is not available, before its
	 * restart; may be NULL. */
	void (*on_no_transport)(void *user, uint32_t worker_id, const char *reason);
	/* Whether an apply is on trial, so that removed workers may become wanted again, with their
	 * states: they stay until the next sup_reconcile, and so do removed mounts. NULL: never. */
	bool (*on_trial)(void *user);
	void *user;
};

/* Clears the fields that a start fills in, so that two configurations can be compared. */
void sup_config_normalise(struct launch_config *c);
/* Whether a worker that runs with `is` must be restarted to get the configuration `want`
 * (normalised). Settings that it receives by message, or at its next start, do not count. */
bool sup_config_differs(const struct launch_config *want, const struct launch_config *is);
/* Whether a worker with the ports of `is` can switch to those of `want` while it runs: it gets no
 * other leg, and no leg gets another address. */
bool sup_ports_follow(const struct launch_config *is, const struct launch_config *want);
/* The port of a leg; NULL: it has none. */
const struct launch_port *sup_port_find(const struct launch_config *c, const char *leg);
/* Whether both ports are equal, except for their labels. */
bool sup_port_equal(const struct launch_port *a, const struct launch_port *b);
/* Whether the worker keeps running and needs other keys. */
bool sup_lacks_keys(const struct sup_worker *w, const struct launch_config *want);

/*
 * Whether it has died SUP_DEATHS_MANY times in a row, and has not been up for SUP_HEALTHY_NS since.
 */
bool sup_dies_again(const struct sup_worker *w, uint64_t now_ns);

int sup_new(const struct sup_setup *setup, struct sup **ret);
/* Leaves the running workers to the next agent. Accepts NULL, returns NULL. */
struct sup *sup_free(struct sup *s);
/* Adopts a descriptor by the name under which it was stored. 0: fd is ours;
 * -ENOENT: it belongs to no worker and is still the caller's. */
int sup_adopt_stored(struct sup *s, int fd, const char *name);
/*
 * Call after sup_adopt_stored and before the first sup_reconcile: adopts the workers of an earlier
 * agent that the descriptor store or the record names. An adopted worker keeps running, is in
 * SUP_STARTING until it answers, and counts as wanted until sup_reconcile decides. A worker of
 * another version is stopped and restarted with its state.
 */
void sup_adopt(struct sup *s);
/*
 * Makes the running workers match `wants` (descriptors, epoch and ids of mounts are filled in
 * here): starts missing ones, restarts changed ones, stops the others, and leaves equal ones alone.
 * Retries failed ones if retry_failed, and then exports the folders that the paths of exports lead
 * to now, except in the first call. 0 or negative errno for lack of memory; a worker that cannot
 * start is an event, not an error.
 */
int sup_reconcile(struct sup *s, const struct launch_config *wants, size_t n, bool retry_failed);
/* Removes workers that are neither wanted nor running, and releases the pinned files of removed
 * exports, unless sup_reconcile has not run yet or an apply is on trial. Happens by itself when a
 * worker exits; the end of a trial calls it. Returns whether there were any. */
bool sup_sweep(struct sup *s);
/* Reports a change of a link's carrier to the workers on that interface, at once. Returns the
 * number of workers reached. */
unsigned sup_link_changed(struct sup *s, uint32_t ifindex, bool up);
/* Sends changed labels of legs to the workers. */
void sup_labels_changed(struct sup *s);
/* Sends an injected fault, or its end, to all workers. */
void sup_fault_changed(struct sup *s, const struct launch_fault *f);
/* Has a worker write its packets to a ring (packet_ring.h), fd; lc NULL: end it. 0; negative errno:
 * it does not run, or does not read. */
int sup_capture(struct sup *s, uint32_t worker_id, const struct launch_capture *lc, int fd);
/* Has a worker run an RDMA test. 0; -EBUSY: one is running; -ENOTCONN: it does not run, or does not
 * read. The result appears in `pinged`. */
int sup_ping(struct sup *s, uint32_t worker_id, const struct launch_ping *p);
/* Called by mounts.h: mounts have appeared or gone; another process has unmounted one of that
 * worker. */
void sup_mounts_changed(struct sup *s);
void sup_mount_lost(struct sup *s, uint32_t worker_id);
/* Unmounts everything, asks every worker to stop, and starts none any more; calls on_change as they
 * exit, until sup_is_idle. */
void sup_stop_all(struct sup *s);
/* For workers that did not stop. */
void sup_kill_all(struct sup *s);
/* Whether an earlier agent has started it with another program than this agent's. */
bool sup_is_outdated(const struct sup_worker *w);
/* Restarts that worker, once all wanted workers are up: so several are restarted one at a time.
 * False: it does not run. */
bool sup_renew(struct sup *s, uint32_t worker_id);
/* Stops that worker and starts it no more until sup_release, or until it is not wanted any more;
 * its mounts stay and wait, as for a worker that died. False: no wanted worker has that ID. */
bool sup_hold(struct sup *s, uint32_t worker_id, const char *by);
/* Starts a worker that sup_hold has stopped. 0; -ENOENT: no wanted worker has that ID; -EALREADY:
 * it was not stopped. */
int sup_release(struct sup *s, uint32_t worker_id);
/* Whether the installed worker program differs from the one that workers run. */
bool sup_program_is_replaced(const struct sup *s);
/* Whether there was no worker program when this agent started, and still is none: no worker can
 * start. */
bool sup_program_is_missing(const struct sup *s);
bool sup_is_idle(const struct sup *s); /* no process, and no unmount in progress */
/* Whether no wanted worker is starting, stopping or waiting for its restart. */
bool sup_is_settled(const struct sup *s);
unsigned sup_count_processes(const struct sup *s);
/* Set if the export's path leads to another folder than the exported one, or to none, as far as
 * known. */
const struct reason *sup_export_differs(const struct sup *s, const struct launch_export *e);
const struct sup_worker *sup_first(const struct sup *s); /* ascending id */

#endif
