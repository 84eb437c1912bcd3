/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The workers' life. What to do when something happens to a worker is one const table, state x
 * event -> next state and action, which tests walk through completely; the rest of supervise.c
 * feeds it and carries the actions out. It owns the worker processes, their statistics pages and
 * state memfds, and asks mounts.h for the FUSE descriptors. It never touches the network and never
 * decides what shall run: agent.c does, by sup_reconcile. One supervisor a process, driven by the
 * loop; not thread-safe.
 */
#ifndef PLENUM_AGENT_SUPERVISE_H
#define PLENUM_AGENT_SUPERVISE_H

#include "agent/base/events.h"
#include "agent/base/loop.h"
#include "agent/lldp/carriers.h"
#include "agent/lldp/labels.h"
#include "agent/supervise/mounts.h"
#include "agent/supervise/rundir.h"
#include "dataplane/launch.h"

#define SUP_START_LIMIT_NS (30 * NSEC_PER_SEC)	  /* from spawn to READY */
#define SUP_STOP_LIMIT_NS (5 * NSEC_PER_SEC)	  /* from STOP to SIGKILL */
#define SUP_HEARTBEAT_LIMIT_NS (5 * NSEC_PER_SEC) /* a loop silent for longer is stuck */
#define SUP_HEARTBEAT_CHECK_NS NSEC_PER_SEC
#define SUP_BACKOFF_FIRST_NS (250 * NSEC_PER_MSEC)
#define SUP_BACKOFF_MAX_NS (8 * NSEC_PER_SEC)
/* Until an adopted worker answers that was ready. */
#define SUP_ADOPT_LIMIT_NS (10 * NSEC_PER_SEC)
#define SUP_HEALTHY_NS (60 * NSEC_PER_SEC) /* up for so long: earlier deaths are forgotten */
#define SUP_DEATHS_MANY 5		   /* in a row: it is in trouble, also while it is up */

enum sup_state {
	SUP_STOPPED,  /* no process, none wanted */
	SUP_STARTING, /* spawned, not ready yet */
	SUP_UP,
	SUP_STOPPING, /* told to stop */
	SUP_BACKOFF,  /* died; waits to be started again */
	SUP_FAILED,   /* cannot work; waits for another configuration */
	SUP_STATE_MAX
};

enum sup_event {
	SUP_EV_WANT,
	SUP_EV_UNWANT,
	SUP_EV_CONFIG_CHANGED,
	SUP_EV_READY,
	SUP_EV_FAILED_MSG, /* the worker says why it will exit */
	SUP_EV_EXITED_0,
	SUP_EV_EXITED_CONFIG,
	SUP_EV_CRASHED, /* any other death */
	SUP_EV_SPAWN_FAILED,
	SUP_EV_MUST_WAIT, /* what it shall serve, another still serves, who was told to stop */
	SUP_EV_HEARTBEAT_MISSED,
	SUP_EV_START_TIMEOUT,
	SUP_EV_TIMER, /* the end of a backoff, or of the patience with a stopping worker; what a
			 failed one lacked is there */
	SUP_EV_FOUND, /* another agent's worker runs, and can go on */
	SUP_EV_FOUND_OTHER, /* the same, but of another version */
	SUP_EVENT_MAX
};

enum sup_action {
	SUP_ACT_UNSET, /* a hole in the table; tests find none */
	SUP_ACT_NONE,
	SUP_ACT_SPAWN,
	SUP_ACT_STOP,	 /* ask it to stop, kill it if it does not */
	SUP_ACT_KILL,	 /* its exit comes as an event of its own */
	SUP_ACT_BACKOFF, /* count the death, start again after a while */
	SUP_ACT_WAIT,	 /* until the other is gone */
	SUP_ACT_GIVE_UP, /* report, take its mounts away */
	SUP_ACT_NOTE_UP,
	SUP_ACT_NOTE_REASON,
	SUP_ACT_REAPED,	 /* gone as asked; start again if it is wanted with a new configuration */
	SUP_ACT_ADOPT,	 /* ask it to go on with us */
	SUP_ACT_REPLACE, /* end it in a way that every version understands */
	SUP_ACT_DISARM,	 /* no longer wanted before it was started again */
	SUP_ACTION_MAX
};

struct sup_rule {
	enum sup_state next;
	enum sup_action action;
};

const char *sup_state_to_string(enum sup_state s); /* "UP", as in the process table */
const char *sup_event_to_string(enum sup_event e);
const struct sup_rule *sup_rule_get(enum sup_state s, enum sup_event e);
/* How long the nth death in a row (from 1) delays the restart; without jitter. The first two do not
 * delay it at all: programs wait. */
uint64_t sup_backoff_ns(unsigned n_deaths);

struct sup_worker { /* read by status.c; written by supervise.c only */
	uint32_t id;
	enum sup_state state;
	bool wanted, adopted; /* adopted: another agent started this process */
	bool agreed; /* config is what sup_reconcile wants; else what another agent wanted */
	struct launch_config config;   /* as it is wanted */
	struct launch_config *started; /* as its process was; NULL: there is none */
	uint64_t boot_id;	       /* its identity, which goes with its state */
	pid_t pid;
	int pidfd, control_fd, state_fd;
	const struct launch_stats *stats; /* mapped read-only; NULL before the first start */
	uint64_t started_ns, up_since_ns;
	uint64_t down_since_ns;		 /* since when it does not serve; 0: it does */
	bool is_late;			 /* that has been reported as too long */
	bool no_transport;		 /* it ended last because its transport cannot be had */
	bool waits;			 /* for another worker's end */
	bool released[LAUNCH_PORTS_MAX]; /* of `started`: ports that it has let go of since */
	/* RDMA devices that it lacks: which there were when it was last told, and when to look for
	 * another reason to. */
	uint64_t rdma_seen, rdma_due_ns, rdma_wait_ns;
	bool keys_unsure;    /* adopted: what it was told of the cluster's keys, nobody knows */
	unsigned n_deaths;   /* in a row */
	uint64_t n_restarts; /* since it is wanted */
	char reason[LAUNCH_REASON_MAX * 2];
	char lacks[LAUNCH_REASON_MAX * 2];    /* the exports that it runs without; "" */
	char reported[LAUNCH_REASON_MAX * 2]; /* the reason of the last death that was an event */
	char died_of[LAUNCH_REASON_MAX * 2];  /* of the last of n_deaths */
	enum sup_event deferred; /* waits for its mounts to be unmounted; SUP_EVENT_MAX: none */
	uint64_t ping_asked,
		ping_until_ns;	      /* the try of RDMA that it was asked for last; 0: none */
	struct launch_ping ping_want; /* that try, as it was asked */
	struct launch_ping pinged;    /* what came of it, where it has that id */
	bool leave;		      /* forgotten, not ended: the next agent finds it */
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
	const struct carriers *carriers; /* what a worker that starts is told of its links */
	const struct faults *faults;	 /* and of what it is to do on purpose; NULL: nothing */
	const struct labels *labels;	 /* and of the switches behind them */
	/* Borrowed. Workers run the file that is there at sup_new, also once it was replaced. */
	const char *worker_path;
	/* Told whenever a worker's state changes; may be NULL. */
	void (*on_change)(void *user);
	/* Told when a worker has let go of a device that the host wanted back; may be NULL. */
	void (*on_release)(void *user);
	/* Told when a worker ended because its transport cannot be had, before it is tried again;
	 * may be NULL. */
	void (*on_no_transport)(void *user, uint32_t worker_id, const char *reason);
	/* Whether workers that are removed may be wanted again, with what they know: they stay
	 * until the next sup_reconcile. NULL: never. */
	bool (*on_trial)(void *user);
	void *user;
};

/* Clears what a start fills in, which is no part of the comparison of two configurations. */
void sup_config_normalise(struct launch_config *c);
/* Whether a worker that runs with `is` must be started anew to be what `want`, normalised, says;
 * not for what it is told by message, or has from its next start. */
bool sup_config_differs(const struct launch_config *want, const struct launch_config *is);
/* Whether a worker that has the ports of `is` can be told of those of `want` while it runs: it has
 * no other leg, and of none another address. */
bool sup_ports_follow(const struct launch_config *is, const struct launch_config *want);
/* The port of a leg; NULL: it has none. */
const struct launch_port *sup_port_find(const struct launch_config *c, const char *leg);
/* Whether both are the same; labels are no part of them. */
bool sup_port_equal(const struct launch_port *a, const struct launch_port *b);
/* Whether it goes on and is to be told of other keys. */
bool sup_lacks_keys(const struct sup_worker *w, const struct launch_config *want);

/* Whether it has died time and again, and has not been up for long since. */
bool sup_dies_again(const struct sup_worker *w, uint64_t now_ns);

int sup_new(const struct sup_setup *setup, struct sup **ret);
/* Leaves what still runs to the next agent. Accepts NULL, returns NULL. */
struct sup *sup_free(struct sup *s);
/* A descriptor that the service manager kept, by the name under which it was stored. 0: fd is ours;
 * -ENOENT: it is none of a worker's, still the caller's. */
int sup_adopt_stored(struct sup *s, int fd, const char *name);
/*
 * After these, and before the first sup_reconcile: takes over the workers of another agent, of
 * which the service manager or the record knows. Each goes on as it is, in SUP_STARTING until it
 * answers, and counts as wanted until sup_reconcile says otherwise. One of another version is
 * stopped, and started anew with its state.
 */
void sup_adopt(struct sup *s);
/*
 * Makes the running workers those of `wants` (descriptors, epoch and ids of mounts are filled in
 * here): starts the missing, restarts the changed, stops the rest, leaves equal ones alone. Failed
 * ones are tried again where retry_failed. 0 or negative errno for lack of memory; a worker that
 * cannot start is an event, not an error.
 */
int sup_reconcile(struct sup *s, const struct launch_config *wants, size_t n, bool retry_failed);
/* Forgets those that are neither wanted nor running, which nobody can want back any more, and what
 * is held of exports that are removed: not before it is known what is wanted, nor on trial. It
 * happens by itself when a worker ends; this is for who ends a trial. Whether there were any. */
bool sup_sweep(struct sup *s);
/* Passes a carrier that changed to the workers on that interface, at once. Number of workers that
 * were reached. */
unsigned sup_link_changed(struct sup *s, uint32_t ifindex, bool up);
/* Passes the labels of legs to the workers that run with others. */
void sup_labels_changed(struct sup *s);
/* Passes a fault on purpose, or its end, to all workers. */
void sup_fault_changed(struct sup *s, const struct launch_fault *f);
/* Has a worker put what it sends and receives into a ring (packet_ring.h), fd; lc NULL: no more. 0;
 * negative errno: it does not run, or does not read. */
int sup_capture(struct sup *s, uint32_t worker_id, const struct launch_capture *lc, int fd);
/* Has a worker try RDMA. 0; -EBUSY: it does already; -ENOTCONN: it does not run, or does not read.
 * Its answer is in `pinged`. */
int sup_ping(struct sup *s, uint32_t worker_id, const struct launch_ping *p);
/* For mounts.h: mounts have come or gone; somebody else has unmounted one of that worker. */
void sup_mounts_changed(struct sup *s);
void sup_mount_lost(struct sup *s, uint32_t worker_id);
/* Unmounts all, asks every worker to stop, and starts none any more; on_change is called as they
 * go, until sup_is_idle. */
void sup_stop_all(struct sup *s);
/* For those that did not. */
void sup_kill_all(struct sup *s);
/* Whether another program of workers is installed than those that are started run. */
bool sup_program_is_replaced(const struct sup *s);
bool sup_is_idle(const struct sup *s); /* no process, and nothing being unmounted */
/* Whether no worker that is wanted is between two processes, or not ready yet. */
bool sup_is_settled(const struct sup *s);
unsigned sup_count_processes(const struct sup *s);
const struct sup_worker *sup_first(const struct sup *s); /* in order of id */

#endif
