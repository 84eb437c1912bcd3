/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the files of the supervisor. A file calls only files listed below it. supervise_adopt.c
 * finds the workers of an earlier agent. supervise.c keeps the set of workers. supervise_events.c
 * handles the events of a worker. supervise_takeover.c adopts or replaces a worker.
 * supervise_messages.c reads a worker's messages and its exit. supervise_worker.c starts and ends a
 * worker's process. supervise_update.c, supervise_ports.c, supervise_rdma.c, supervise_core.c and
 * supervise_exports.c keep a running worker up to date. supervise_mounts.c follows what servers
 * answer to its mounts. supervise_renew.c chooses workers to
 * restart. supervise_send.c sends messages. supervise_report.c adds events.
 */
#ifndef PLENUM_AGENT_SUPERVISE_INTERNAL_H
#define PLENUM_AGENT_SUPERVISE_INTERNAL_H

#include "agent/base/child/async_open.h"
#include "agent/supervise/handover/export_record.h"
#include "agent/supervise/handover/exports.h"
#include "agent/supervise/handover/lock_records.h"
#include "agent/supervise/supervise.h"

struct sup {
	struct sup_setup setup;
	int program_fd; /* worker_path, opened when this agent started; -1: the file was missing */
	/* A pipe by which workers notice that the agent has ended. Workers have the read end of the
	 * pipe; only the agent has the write end. */
	int alive[2];
	bool stopping;			  /* the agent stops: no worker is started again */
	bool reconciled;		  /* sup_reconcile has been called */
	struct sup_worker *workers;	  /* workers in ascending order of id */
	struct exports exports;		  /* states of exports, which outlive the workers */
	struct export_records records;	  /* the recorded identity of each exported folder */
	struct lock_records lock_records; /* the mounts that may hold file locks */
	struct loop_source *lock_timer;	  /* timer of the next write of lock_records */
	bool lock_unsaved;		  /* the last write of lock_records failed */
	struct async_open dirs;		  /* opens the directories of exports */
	struct loop_source *heartbeat;
	struct loop_source *look; /* checks whether servers accept new mounts; look_ns: its delay */
	uint64_t look_ns;
	/* All known revocations of hosts, and the cluster's key that has signed them. */
	struct launch_revoked revoked[LAUNCH_REVOKED_MAX];
	uint32_t n_revoked;
	uint8_t revoked_by[LAUNCH_SECRET_BYTES];
	/* Set by supervise.c and called by the files below it. on_event handles an event of a
	 * worker. on_gone is called when a process has exited, and may free its worker. */
	void (*on_event)(struct sup_worker *w, enum sup_event e);
	void (*on_gone)(struct sup *s);
};

/* ---- supervise.c ---- */

/* Returns the worker with that id, which is created if necessary, or NULL if memory is short. */
struct sup_worker *sup_worker_add(struct sup *s, uint32_t id);

/* ---- supervise_events.c ---- */

void sup_handle_event(struct sup_worker *w, enum sup_event e);
/* Like sup_handle_event(), but waits until the mounts that the worker gives up have been
 * unmounted. */
void sup_handle_when_unmounted(struct sup_worker *w, enum sup_event e);
/* The worker's timer has fired; user: struct sup_worker. */
int sup_on_timer(void *user);

/* ---- supervise_report.c ---- */

/* Returns whether w->reason equals the last reported reason; callers report a repeated reason only
 * once. */
bool sup_is_reported(const struct sup_worker *w);
/* Adds an event whose source is this worker. */
void sup_report(const struct sup_worker *w, enum log_level level, const char *fmt, ...)
	PLENUM_PRINTF(3, 4);

/* ---- supervise_takeover.c ---- */

/* Returns the time within which an adopted worker, started at started_ns, must answer. A worker
 * that is still starting may be waiting for a device, so its time limit is the same as under the
 * agent that started it. */
uint64_t sup_adopt_limit_ns(uint64_t started_ns, uint64_t now_ns);
/* Actions for a worker that was found and checked. sup_do_adopt returns false if one of its mounts
 * is missing, so that it must be restarted. */
bool sup_do_adopt(struct sup_worker *w);
void sup_do_replace(struct sup_worker *w);

/* ---- supervise_messages.c ---- */

/* Watches the process and its control socket. */
int sup_watch(struct sup_worker *w);
/* Reads at most n_max messages. At end of file it stops watching the socket. */
void sup_read_control(struct sup_worker *w, unsigned n_max);
/* Reads all messages that the worker sent before the call. The number is limited, so that a worker
 * that keeps sending does not block the agent. */
void sup_read_sent(struct sup_worker *w);

/* ---- supervise_update.c: messages that keep a running worker up to date ---- */

/* Sends the cluster keys that the worker lacks. If the socket is full, the next call retries. */
void sup_update_keys(struct sup_worker *w);
/* sup_update_limits: sends the worker the limits of its mounts that have changed; if the socket is
 * full, the next heartbeat check retries. sup_limits_copy: copies the limits of equal mounts, so
 * that only other differences of the two configurations are left. */
void sup_update_limits(struct sup_worker *w);
void sup_limits_copy(struct launch_config *to, const struct launch_config *from);

/* ---- supervise_revoked.c ---- */

/* Adds the revocations of the configuration to the known ones, and all known ones to it. */
void sup_revoked_merge(struct sup *s, struct launch_config *c);
/* Sends the worker the revocations of w->config that it lacks. */
void sup_update_revoked(struct sup_worker *w);
/* Call after the worker's start or adoption. */
void sup_update_links(struct sup_worker *w);
void sup_update_labels(struct sup_worker *w, bool all);
void sup_update_faults(struct sup_worker *w);

/* ---- supervise_worker.c ---- */

/* Returns 0 if w->config has a port and, if it has exports, at least one of their folders can be
 * opened; otherwise negative errno with the reason in w->reason. */
int sup_check_resources(struct sup_worker *w);
/* Returns whether mounts that the worker serves as a mount worker have appeared, gone or been
 * replaced. */
bool sup_shared_mounts_differ(const struct sup_worker *w);
/* Starts the process. Returns 0, or negative errno, with details in w->reason if there are any. A
 * process may exist in spite of an error; w->pidfd is set if it does. */
int sup_start(struct sup_worker *w);
/* Stores the configuration of a process that was started or adopted. Returns 0 or -ENOMEM. */
int sup_keep_started(struct sup_worker *w, const struct launch_config *c);
/* Writes a process that was started or adopted with this configuration to the record. */
void sup_record(const struct sup_worker *w, pid_t pid, const struct launch_config *c);
/* Drops the exited process. Its state memfd and mounts stay for the successor. */
void sup_forget_process(struct sup_worker *w);
void sup_kill(struct sup_worker *w);
/* Sets the time and reason of the worker's last death. */
void sup_note_death(struct sup_worker *w, const char *why);
/* Stores fd (fd_store.h) under the name "WHAT-ID", or drops the descriptor of that name. */
void sup_store(const struct sup_worker *w, const char *what, int fd);
void sup_unstore(const struct sup_worker *w, const char *what);
/* Maps a statistics page read-only. Returns NULL if that is not possible, for example because the
 * file could shrink. */
const struct launch_stats *sup_stats_map(int fd);
const struct launch_watch *sup_watch_map(int fd);
void sup_stats_unmap(struct sup_worker *w);
/* Reads the worker's identity from the name of a state memfd. */
bool sup_state_identity(int fd, uint64_t *ret);

/* ---- supervise_send.c: messages to a worker; functions return 0 or negative errno ---- */

int sup_send(struct sup_worker *w, enum launch_msg_type type, int32_t code, uint32_t index);
int sup_send_text(struct sup_worker *w, enum launch_msg_type type, uint32_t index,
		  const char *text);
int sup_send_fault(struct sup_worker *w, const struct launch_fault *f);
/* Sends the cluster keys of w->config. */
int sup_send_keys(struct sup_worker *w);
int sup_send_limits(struct sup_worker *w, uint32_t index, const struct launch_limits *limits);
int sup_send_revoked(struct sup_worker *w, const struct launch_revoked *r);
int sup_send_port(struct sup_worker *w, uint32_t index, const struct launch_port *port);

/* ---- supervise_renew.c ---- */

/* Returns the next worker with a requested restart, and clears its request. Returns NULL if there
 * is none, or if a wanted worker that no operator has stopped is down. */
struct sup_worker *sup_renew_choose(struct sup *s);
/* Sets the reason of a worker that an operator has stopped. In supervise_events.c. */
void sup_explain_hold(struct sup_worker *w);

/* ---- supervise_exports.c ---- */

/* Returns the table of file locks for a worker, a borrowed descriptor, or negative errno. A new
 * table contains the recorded mounts. */
int sup_give_locks(struct sup *s);
/* Handles LAUNCH_MSG_LOCK_KEEP or LAUNCH_MSG_LOCK_FORGET. */
void sup_lock_record(struct sup_worker *w, const struct launch_msg *msg);
/* Begins to open the folders of all exports of the configuration. */
void sup_ask_exports(struct sup *s, const struct launch_config *c);
/* Opens the export's folder. The first open records the folder's identity; later opens reject any
 * other folder. Returns a descriptor, or negative errno with the reason in w->reason. */
int sup_open_export(struct sup_worker *w, const struct launch_export *e);
/* Returns whether a new process could serve all exports that this process serves and that are still
 * wanted, as far as the kernel's cache shows. */
bool sup_exports_stay(const struct sup_worker *w);
/* Returns whether an export that was missing at the worker's start can be served now. If not,
 * updates the reason in w->lacks. */
bool sup_gains_export(struct sup_worker *w);
/* Checks that the paths of served exports still lead to the exported folders, and sets the member
 * `differs` of their records. Call every second. */
void sup_watch_exports(struct sup_worker *w);
/* Call when an operator applies these configurations: records the folders at the exports' paths as
 * the exported folders. */
void sup_take_exports(struct sup *s, const struct launch_config *wants, size_t n);
/* Returns whether sup_take_exports() changed a folder of the worker. Valid until
 * sup_keep_exports(). */
bool sup_export_taken(const struct sup_worker *w);
/* Forgets the folders of exports that are no longer configured. */
void sup_keep_exports(struct sup *s, const struct launch_config *wants, size_t n);

/* ---- supervise_mounts.c ---- */

/* Makes the timer. Returns 0 or negative errno. */
int sup_mounts_init(struct sup *s);
/* Passes to mounts.c what the servers have answered to the worker's mounts. */
void sup_look_at_mounts(struct sup_worker *w);
/* Calls sup_look_at_mounts() for all workers, a moment later. Call when a worker has reported news
 * of a server. */
void sup_look_at_mounts_soon(struct sup *s);

/* ---- supervise_ports.c ---- */

/* Sends to a worker that is up the wanted ports that it lacks. Returns false if only a restart can
 * give the worker these ports. */
bool sup_update_ports(struct sup_worker *w);
/* Stores a port that the worker got from an earlier agent. */
void sup_take_port(struct sup_worker *w, uint32_t index, const struct launch_port *port);
/* Returns whether the memory at `flag`, which another process has written, has a valid bool.
 * Reading any other value as a bool is undefined behaviour. */
bool sup_flag_is_valid(const bool *flag);
/* Validates a port that a worker reports: its texts are terminated, its names are printable, and
 * its flags are valid. */
bool sup_port_is_valid(const struct launch_port *p);
/* Writes the current label of the leg to port. */
void sup_fill_label(const struct sup_worker *w, struct launch_port *port);

/* ---- supervise_core.c ---- */

/* Sets w->off_core while a worker that is up cannot use its core. Call every second. */
void sup_watch_core(struct sup_worker *w);

/* ---- supervise_rdma.c ---- */

struct sup_rdma {
	char file[32], device[64]; /* file: below /dev/infiniband; device: its name */
	bool is_old;		   /* the device's driver is too old to be used */
};
/* Finds the RDMA device of a leg, in the sysfs at root. The device has a GID that is the leg's
 * address (with v2_only, a GID of RoCE v2), or the GID of the port of the leg's IPoIB interface.
 * Returns false if there is no such device. */
bool sup_rdma_search(int root, const struct launch_port *port, bool v2_only, struct sup_rdma *ret);
/* Passes an RDMA device to the worker for the leg of that port, or reports to it that the device
 * cannot be used. Returns false if this is not possible now. */
bool sup_rdma_send(const struct sup_worker *w, unsigned port, const struct sup_rdma *s);
/* Passes to a worker that is up the files of RDMA devices that its legs lack. Call every second. */
void sup_update_rdma(struct sup_worker *w, uint64_t now_ns);

#endif
