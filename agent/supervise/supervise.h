/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Supervises the workers. One const table (supervise_table.c) maps a state and an event to the next
 * state and an action; supervise_events.c carries out the actions. The supervisor owns the worker
 * processes, their statistics pages and their state memfds, and gets FUSE descriptors from
 * mounts.h. It never changes the network. It does not decide which workers run either: the agent
 * passes the desired workers to sup_reconcile. There is one supervisor per process. It is driven by
 * the event loop and not thread-safe.
 */
#ifndef PLENUM_AGENT_SUPERVISE_H
#define PLENUM_AGENT_SUPERVISE_H

#include "agent/base/events.h"
#include "agent/base/loop.h"
#include "agent/lldp/carriers.h"
#include "agent/lldp/labels.h"
#include "agent/supervise/handover/rundir.h"
#include "agent/supervise/mounts/mounts.h"
#include "dataplane/launch_watch.h"

#define SUP_START_LIMIT_NS (30 * NSEC_PER_SEC) /* time limit from the spawn to READY */
#define SUP_STOP_LIMIT_NS (5 * NSEC_PER_SEC)   /* time limit from STOP to SIGKILL */
/* A worker whose heartbeat is older is considered stuck. */
#define SUP_HEARTBEAT_LIMIT_NS (5 * NSEC_PER_SEC)
#define SUP_HEARTBEAT_CHECK_NS NSEC_PER_SEC
#define SUP_BACKOFF_FIRST_NS (250 * NSEC_PER_MSEC)
#define SUP_BACKOFF_MAX_NS (8 * NSEC_PER_SEC)
/* Time within which an adopted worker must answer if it was ready before. */
#define SUP_ADOPT_LIMIT_NS (10 * NSEC_PER_SEC)
/* A worker that was up this long is healthy: earlier deaths no longer count. */
#define SUP_HEALTHY_NS (60 * NSEC_PER_SEC)
/* After this many deaths in a row the worker is reported as failing, even while it is up. */
#define SUP_DEATHS_MANY 5

#define SUP_BY_MAX 96 /* size of the text that describes an operator */

enum sup_state {
	SUP_STOPPED,  /* no process is running, and none is wanted */
	SUP_STARTING, /* spawned, not ready yet */
	SUP_UP,
	SUP_STOPPING, /* asked to stop, still running */
	SUP_BACKOFF,  /* the process has exited and will be restarted after a delay */
	SUP_FAILED,   /* cannot work with its configuration; waits for another attempt */
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
	/* This worker must not start: another worker that was asked to stop still serves a mount or
	 * export of it. */
	SUP_EV_MUST_WAIT,
	SUP_EV_HEARTBEAT_MISSED,
	SUP_EV_START_TIMEOUT,
	/* The delay before a restart or the time limit of a stop has passed, or a resource that a
	 * failed worker lacked is available now. */
	SUP_EV_TIMER,
	SUP_EV_FOUND, /* an earlier agent's worker runs and can be adopted */
	/* An earlier agent's worker of another version runs, which cannot be adopted. */
	SUP_EV_FOUND_OTHER,
	SUP_EVENT_MAX
};

enum sup_action {
	SUP_ACT_UNSET, /* the table has no rule; a test shows that this never happens */
	SUP_ACT_NONE,
	SUP_ACT_SPAWN,
	SUP_ACT_STOP,	 /* ask the worker to stop; kill it after the time limit */
	SUP_ACT_KILL,	 /* kill the process; its exit arrives as an event */
	SUP_ACT_BACKOFF, /* count the death and restart the worker after a delay */
	SUP_ACT_WAIT,	 /* wait until the other worker has exited */
	SUP_ACT_GIVE_UP, /* report the failure and unmount the worker's mounts */
	SUP_ACT_NOTE_UP,
	SUP_ACT_NOTE_REASON,
	SUP_ACT_REAPED,	 /* the worker exited as requested; restart it if it is wanted */
	SUP_ACT_ADOPT,	 /* ask it to continue under this agent */
	SUP_ACT_REPLACE, /* stop it with a signal, which workers of all versions understand */
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
/* Returns the delay before the restart after the nth death in a row, counted from 1, without
 * jitter. The first two restarts are immediate, because programs wait for the worker. */
uint64_t sup_backoff_ns(unsigned n_deaths);

struct sup_worker { /* one worker; the supervisor writes it, the status reads it */
	uint32_t id;
	enum sup_state state;
	bool wanted, adopted; /* adopted: an earlier agent started this process */
	/* true: config comes from sup_reconcile; false: config comes from an earlier agent */
	bool agreed;
	struct launch_config config;   /* the desired configuration */
	struct launch_config *started; /* configuration of the process; NULL: no process */
	uint64_t boot_id;	       /* identity of the worker, kept with its state */
	pid_t pid;
	int pidfd, control_fd, state_fd;
	int pins_fd; /* control socket of a worker of another version, until it exits */
	const struct launch_stats *stats; /* mapped read-only; NULL before the first start */
	/* The list of sessions behind the statistics page, mapped read-only. NULL: an agent of
	 * another version made the memfd without this list. */
	const struct launch_watch *watch;
	uint64_t started_ns, up_since_ns;
	uint64_t down_since_ns; /* time since which the worker has not served; 0: it serves */
	bool is_late;		/* an excessive downtime was reported */
	bool no_transport;	/* the process exited last because its transport was unavailable */
	bool waits;		/* waits for the exit of another worker */
	bool other_locks;	/* the process uses another table of file locks than this agent */
	/* Ports of `started` that the worker has released since its start. */
	bool released[LAUNCH_PORTS_MAX];
	/* Missing RDMA devices. rdma_seen: hash of the device files at the last search;
	 * rdma_due_ns: time of the next search if the files do not change; rdma_wait_ns: pause
	 * between such searches. */
	uint64_t rdma_seen, rdma_due_ns, rdma_wait_ns;
	bool keys_unsure;	  /* it is unknown which cluster keys this adopted worker has */
	bool limits_unsure;	  /* the same for the limits of its mounts */
	bool revoked_unsure;	  /* the same for the revocations */
	unsigned n_deaths;	  /* deaths in a row */
	unsigned n_failed_starts; /* deaths in a row before the worker was up */
	uint64_t n_restarts;	  /* count of restarts since the worker became wanted */
	char reason[LAUNCH_REASON_MAX * 2];
	char lacks[LAUNCH_REASON_MAX * 2]; /* exports missing when the worker started; "": none */
	char off_core[LAUNCH_REASON_MAX * 2]; /* why the worker cannot use its core; "": it can */
	char reported[LAUNCH_REASON_MAX * 2]; /* reason of the last death that was reported */
	char died_of[LAUNCH_REASON_MAX * 2];  /* reason of the last death */
	uint64_t died_ms; /* wall clock time of the last death; 0: none is known */
	/* Event to handle once the mounts are unmounted; SUP_EVENT_MAX: no event waits. */
	enum sup_event deferred;
	uint64_t ping_asked, ping_until_ns; /* last RDMA test sent to the worker; 0: none */
	struct launch_ping ping_want;	    /* parameters of that test */
	/* The last result that the worker reported. It belongs to the test above if the ids are
	 * equal. */
	struct launch_ping pinged;
	/* The restart with a changed configuration waits, because a new process could not open the
	 * folder of an export that this process serves. */
	bool postponed;
	bool renew; /* the worker is to restart once all wanted workers are up */
	bool held;  /* an operator stopped the worker; the agent does not start it until
		       sup_release() */
	char held_by[SUP_BY_MAX]; /* description of that operator */
	bool leave;		  /* leave the process to the next agent, which adopts it */
	struct {
		int config_fd, stats_fd;
	} found; /* descriptors found during adoption */
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
	/* Carriers of the links, which workers need when they start. */
	const struct carriers *carriers;
	const struct faults *faults; /* faults to inject; NULL: none */
	const struct labels *labels; /* labels of the legs */
	/* Shows whether the kernel killed a worker for lack of memory; NULL: unknown. */
	struct memory_group *memory;
	/*
	 * Borrowed. Workers execute the file that has this path when sup_new is called, even if it
	 * is replaced later.
	 */
	const char *worker_path;
	/* Called when the state of a worker or the problem of an export has changed, and after
	 * workers were removed; may be NULL. */
	void (*on_change)(void *user);
	/* Called when a worker has released a device that the host needs; may be NULL. */
	void (*on_release)(void *user);
	/* Called when a worker has exited because its transport is not available, before the worker
	 * is restarted; may be NULL. */
	void (*on_no_transport)(void *user, uint32_t worker_id, const char *reason);
	/* Returns whether an apply is on trial, so that it may still be rolled back. Workers that
	 * the apply removed are kept with their states until the next sup_reconcile, because they
	 * may become wanted again; removed mounts are kept too. NULL: no apply is ever on trial. */
	bool (*on_trial)(void *user);
	void *user;
};

/* Clears the members of a configuration that the supervisor fills in at a worker's start, so that
 * two configurations can be compared. */
void sup_config_normalise(struct launch_config *c);
/* Returns whether a worker that runs with `is` must be restarted to get `want`, a normalised
 * configuration. Settings that a running worker gets by message, or that can wait for its next
 * start, do not count. */
bool sup_config_differs(const struct launch_config *want, const struct launch_config *is);
/* Returns whether a running worker can change from the ports in `is` to the ports in `want`: all
 * legs of `is` are in `want` and keep their addresses. Legs may be added, and a leg may move to
 * another device. */
bool sup_ports_follow(const struct launch_config *is, const struct launch_config *want);
/* Returns the port of that leg, or NULL if the worker has no port there. */
const struct launch_port *sup_port_find(const struct launch_config *c, const char *leg);
/* Returns whether the ports are equal. Their labels are not compared. */
bool sup_port_equal(const struct launch_port *a, const struct launch_port *b);
/* Returns whether the running worker has other cluster keys than `want`, and so must get new
 * ones. */
bool sup_lacks_keys(const struct sup_worker *w, const struct launch_config *want);
/* Returns whether the worker serves the mount with other limits. */
bool sup_limits_differ(const struct sup_worker *w, const struct launch_mount *want);

/*
 * Returns whether the worker has died SUP_DEATHS_MANY times in a row and has not been up for
 * SUP_HEALTHY_NS since.
 */
bool sup_dies_again(const struct sup_worker *w, uint64_t now_ns);

int sup_new(const struct sup_setup *setup, struct sup **ret);
/* Frees the supervisor. The workers keep running for the next agent. Accepts NULL, returns NULL. */
struct sup *sup_free(struct sup *s);
/* Adopts a stored descriptor by its name. Returns 0 if the supervisor owns fd now. Returns -ENOENT
 * if fd belongs to no worker; the caller then keeps it. */
int sup_adopt_stored(struct sup *s, int fd, const char *name);
/*
 * Adopts the workers of an earlier agent that the descriptor store or the record names. Call after
 * sup_adopt_stored and before the first sup_reconcile. An adopted worker keeps running. It is in
 * SUP_STARTING until it answers, and counts as wanted until sup_reconcile decides. A worker of
 * another version is stopped and restarted with its state.
 */
void sup_adopt(struct sup *s);
/*
 * Makes the running workers match `wants`: starts missing workers, restarts those whose
 * configuration changed, stops those that are not wanted, and leaves the others running. The
 * supervisor fills in descriptors, epoch and mount ids itself. With retry_failed it also restarts
 * failed workers. With retry_failed, except in the first call, it also exports the folders that the
 * exports' paths lead to now. Returns 0, -ENOMEM, or -ESHUTDOWN if the supervisor is stopping. A
 * worker that cannot start is reported as an event, not as an error.
 */
int sup_reconcile(struct sup *s, const struct launch_config *wants, size_t n, bool retry_failed);
/* Revokes the certificates of that host up to the epoch: the workers end its sessions. */
void sup_revoke(struct sup *s, const char *host, uint64_t epoch);
/*
 * Removes workers that are neither wanted nor running, and releases the pinned files of removed
 * exports. Does nothing before the first sup_reconcile or while an apply is on trial. The
 * supervisor calls it when a worker exits; the agent calls it at the end of a trial. Returns
 * whether it removed a worker.
 */
bool sup_sweep(struct sup *s);
/* Reports a changed carrier at once to the workers that use the link. Returns how many workers got
 * the message. */
unsigned sup_link_changed(struct sup *s, uint32_t ifindex, bool up);
/* Sends changed labels of legs to the workers. */
void sup_labels_changed(struct sup *s);
/* Sends an injected fault, or its end, to all workers. */
void sup_fault_changed(struct sup *s, const struct launch_fault *f);
/* Makes a worker write its packets to the ring fd (packet_ring.h); with lc NULL, makes it stop.
 * Returns 0, or negative errno if the worker does not run or does not read messages. */
int sup_capture(struct sup *s, uint32_t worker_id, const struct launch_capture *lc, int fd);
/* Makes a worker log messages up to that level, until it restarts. Returns 0; -ENOTCONN if no
 * worker with that id is up; -EPROTONOSUPPORT if the worker's program does not know that message;
 * or another negative errno if the worker does not read messages. */
int sup_set_log_level(struct sup *s, uint32_t worker_id, enum log_level level);
/* Makes a worker run an RDMA test. The result appears in `pinged`. Returns 0, -EBUSY if a test is
 * running, or -ENOTCONN if the worker does not run or does not read messages. */
int sup_ping(struct sup *s, uint32_t worker_id, const struct launch_ping *p);
/* Returns the memory with the file locks of clients, a borrowed descriptor, or -1 if it does not
 * exist yet. */
int sup_locks_fd(const struct sup *s);
/* Makes a compute worker break the file lock with this id. The worker reports the result as an
 * event. Returns 0, or -ENOTCONN if none is up. */
int sup_lock_break(struct sup *s, uint64_t id);
/* mounts.c calls sup_mounts_changed() when mounts have appeared or gone, and sup_mount_lost() when
 * another process has unmounted a mount of that worker. */
void sup_mounts_changed(struct sup *s);
void sup_mount_lost(struct sup *s, uint32_t worker_id);
/* Unmounts all mounts, asks all workers to stop, and starts no further ones. on_change is called as
 * workers exit; sup_is_idle() returns true when all have exited. */
void sup_stop_all(struct sup *s);
/* Kills the workers that have not stopped. */
void sup_kill_all(struct sup *s);
/* Returns what the running process reports about mount `i` of w->config. Returns NULL if the worker
 * has no page, or does not serve that mount because it still runs with its former configuration. */
const struct launch_mount_stats *sup_mount_stats(const struct sup_worker *w, uint32_t i);
/* Returns whether an earlier agent started the worker with another version of the program than this
 * agent's. */
bool sup_is_outdated(const struct sup_worker *w);
/* Restarts that worker, once all wanted workers that no operator has stopped are up, so that
 * several requested workers restart one at a time. Returns false if the worker does not run or is
 * not wanted. */
bool sup_renew(struct sup *s, uint32_t worker_id);
/* Stops that worker. It is not started again until sup_release, or until a configuration no longer
 * wants it. Its mounts stay, and programs on them wait as for a worker that died. Returns false if
 * no wanted worker has that id. */
bool sup_hold(struct sup *s, uint32_t worker_id, const char *by);
/* Starts a worker that sup_hold has stopped. Returns 0, -ENOENT if no wanted worker has that id, or
 * -EALREADY if sup_hold has not stopped it. */
int sup_release(struct sup *s, uint32_t worker_id);
/* Returns whether the installed worker program differs from the one that workers execute. */
bool sup_program_is_replaced(const struct sup *s);
/* Returns whether no worker can start: the worker program did not exist when this agent started,
 * and still does not exist. */
bool sup_program_is_missing(const struct sup *s);
bool sup_is_idle(const struct sup *s); /* no process runs, and no unmount is in progress */
/* Returns whether no wanted worker is starting, stopping or waiting to be restarted. */
bool sup_is_settled(const struct sup *s);
unsigned sup_count_processes(const struct sup *s);
/* Returns the latest known problem of a served export, such as a path that leads to another folder
 * or a full file system. The reason is not set if the export has no problem. */
const struct reason *sup_export_differs(const struct sup *s, const struct launch_export *e);
/* Returns the number of removed files that are kept for clients which have them open. */
unsigned sup_export_pinned(const struct sup *s, const char *export_name);
/* Returns the first worker; workers are in ascending order of id. */
const struct sup_worker *sup_first(const struct sup *s);

#endif
