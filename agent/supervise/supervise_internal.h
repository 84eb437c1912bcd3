/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the files of the supervisor, each of which calls only those below it: supervise_adopt.c
 * finds workers of an earlier agent, supervise.c keeps the set of workers, supervise_events.c
 * handles the events of one, supervise_takeover.c adopts or replaces one, supervise_messages.c
 * reads its messages and exit, supervise_worker.c starts and ends its process, supervise_update.c,
 * supervise_ports.c, supervise_rdma.c, supervise_core.c and supervise_exports.c keep a running one
 * up to date, supervise_renew.c chooses workers to restart, supervise_send.c sends messages,
 * supervise_report.c adds events.
 */
#ifndef PLENUM_AGENT_SUPERVISE_INTERNAL_H
#define PLENUM_AGENT_SUPERVISE_INTERNAL_H

#include "agent/base/child/async_open.h"
#include "agent/supervise/handover/export_record.h"
#include "agent/supervise/handover/exports.h"
#include "agent/supervise/supervise.h"

struct sup {
	struct sup_setup setup;
	int program_fd;	 /* worker_path, opened when this agent started; -1: missing */
	int alive[2];	 /* a pipe; the workers have its read end, only the agent its write end */
	bool stopping;	 /* for good: nothing is started any more */
	bool reconciled; /* sup_reconcile has run */
	struct sup_worker *workers;    /* ascending id */
	struct exports exports;	       /* state that outlives the workers */
	struct export_records records; /* which folders the exports are */
	struct async_open dirs;	       /* directories of exports */
	struct loop_source *heartbeat;
	/* supervise.c's, for the files below it: a worker has sent or done something; a process has
	 * exited, and its worker may be freed. */
	void (*on_event)(struct sup_worker *w, enum sup_event e);
	void (*on_gone)(struct sup *s);
};

/* ---- supervise.c ---- */

/* The worker of that id, created if necessary. NULL: out of memory. */
struct sup_worker *sup_worker_add(struct sup *s, uint32_t id);

/* ---- supervise_events.c ---- */

void sup_handle_event(struct sup_worker *w, enum sup_event e);
/* The same once the mounts that leave the worker are unmounted. */
void sup_handle_when_unmounted(struct sup_worker *w, enum sup_event e);
/* The worker's timer has fired; user: struct sup_worker. */
int sup_on_timer(void *user);

/* ---- supervise_report.c ---- */

/* Whether w->reason was the last one reported: a repeated reason is reported once. */
bool sup_is_reported(const struct sup_worker *w);
/* Adds an event of this worker. */
void sup_report(const struct sup_worker *w, enum log_level level, const char *fmt, ...)
	PLENUM_PRINTF(3, 4);

/* ---- supervise_takeover.c ---- */

/* The time for an adopted worker, started at started_ns, to answer: one that is still starting may
 * wait for a device, as under the agent that started it. */
uint64_t sup_adopt_limit_ns(uint64_t started_ns, uint64_t now_ns);
/* The actions; the process has been found and checked. False: one of its mounts is missing, so it
 * has to be restarted. */
bool sup_do_adopt(struct sup_worker *w);
void sup_do_replace(struct sup_worker *w);

/* ---- supervise_messages.c ---- */

/* Watches the process and its control socket. */
int sup_watch(struct sup_worker *w);
/* Reads at most n_max messages; an end of file only ends the watching of the socket. */
void sup_read_control(struct sup_worker *w, unsigned n_max);
/* Reads all messages that the worker has sent before the call. One that keeps sending does not keep
 * the agent from its other work. */
void sup_read_sent(struct sup_worker *w);

/* ---- supervise_update.c: messages that keep a running worker up to date ---- */

/* Sends keys that the worker lacks. If the socket has no room, the next call retries. */
void sup_update_keys(struct sup_worker *w);
/* After its start or adoption. */
void sup_update_links(struct sup_worker *w);
void sup_update_labels(struct sup_worker *w, bool all);
void sup_update_faults(struct sup_worker *w);

/* ---- supervise_worker.c ---- */

/* Whether legs and exports of w->config are available; if not, w->reason says why. */
int sup_check_resources(struct sup_worker *w);
/* Whether the mounts that it serves as a mount worker have appeared, gone or been replaced. */
bool sup_shared_mounts_differ(const struct sup_worker *w);
/* Starts the process. Negative errno, with w->reason if there are details; w->pidfd says whether a
 * process exists nevertheless. */
int sup_start(struct sup_worker *w);
/* Keeps the configuration of a process that was started or adopted. 0, -ENOMEM. */
int sup_keep_started(struct sup_worker *w, const struct launch_config *c);
/* Records a process that was started or adopted with this configuration. */
void sup_record(const struct sup_worker *w, pid_t pid, const struct launch_config *c);
/* Drops the exited process; state memfd and mounts stay for its successor. */
void sup_forget_process(struct sup_worker *w);
void sup_kill(struct sup_worker *w);
/* Records the time and reason of the worker's last death. */
void sup_note_death(struct sup_worker *w, const char *why);
/* Stores fd (fd_store.h) under "WHAT-ID", or drop it. */
void sup_store(const struct sup_worker *w, const char *what, int fd);
void sup_unstore(const struct sup_worker *w, const char *what);
/* Maps a statistics page read-only; NULL if the file could shrink. */
const struct launch_stats *sup_stats_map(int fd);
void sup_stats_unmap(struct sup_worker *w);
/* The identity that a state memfd carries in its name. */
bool sup_state_identity(int fd, uint64_t *ret);

/* ---- supervise_send.c: messages to a worker. 0 or a negative errno ---- */

int sup_send(struct sup_worker *w, enum launch_msg_type type, int32_t code, uint32_t index);
int sup_send_text(struct sup_worker *w, enum launch_msg_type type, uint32_t index,
		  const char *text);
int sup_send_fault(struct sup_worker *w, const struct launch_fault *f);
/* Sends the keys of w->config. */
int sup_send_keys(struct sup_worker *w);
int sup_send_port(struct sup_worker *w, uint32_t index, const struct launch_port *port);

/* ---- supervise_renew.c ---- */

/* Takes the next worker off the list of requested restarts. NULL: none may restart now. */
struct sup_worker *sup_renew_choose(struct sup *s);
/* Sets the reason of a worker that an operator has stopped. */
void sup_explain_hold(struct sup_worker *w);

/* ---- supervise_exports.c ---- */

/* Starts opening the folders of all exports of the configuration. */
void sup_ask_exports(struct sup *s, const struct launch_config *c);
/* Opens the export's folder. Records its identity at the first open, and rejects any other folder
 * later. A descriptor; negative errno with w->reason. */
int sup_open_export(struct sup_worker *w, const struct launch_export *e);
/* Whether the folder of an export that was left out at the worker's start can be served now. */
bool sup_gains_export(struct sup_worker *w);
/* Compares the paths of served exports with the folders; call every second. */
void sup_watch_exports(struct sup_worker *w);
/* An operator applies these configurations: the folders that their paths lead to are exported from
 * now on. */
void sup_take_exports(struct sup *s, const struct launch_config *wants, size_t n);
/* Whether sup_take_exports() gave the worker another folder; until sup_keep_exports(). */
bool sup_export_taken(const struct sup_worker *w);
/* Forgets the folders of exports that are no longer configured. */
void sup_keep_exports(struct sup *s, const struct launch_config *wants, size_t n);

/* ---- supervise_ports.c ---- */

/* Sends a worker that is up the wanted ports that it lacks. False: only a restart can give it the
 * wanted ports. */
bool sup_update_ports(struct sup_worker *w);
/* Notes a port that the worker got from an earlier agent. */
void sup_take_port(struct sup_worker *w, uint32_t index, const struct launch_port *port);
/* Whether another process left a valid value there; any other is undefined behaviour to read. */
bool sup_flag_is_valid(const bool *flag);
/* Validates a port that a worker reports: its texts are terminated, its names can be shown, and its
 * flags are valid. */
bool sup_port_is_valid(const struct launch_port *p);
/* Writes the current label of the leg to port. */
void sup_fill_label(const struct sup_worker *w, struct launch_port *port);

/* ---- supervise_core.c ---- */

/* Sets w->off_core while a worker that is up cannot use its core; call every second. */
void sup_watch_core(struct sup_worker *w);

/* ---- supervise_rdma.c ---- */

struct sup_rdma {
	char file[32], device[64]; /* file below /dev/infiniband; name of the device */
	bool is_old;		   /* its driver is too old to be used */
};
/* Finds the RDMA device of a leg, in the sysfs at root: one with a GID that is the leg's address,
 * with v2_only one of RoCE v2, or the GID of the port of its IPoIB interface. False: none. */
bool sup_rdma_search(int root, const struct launch_port *port, bool v2_only, struct sup_rdma *ret);
/* Passes such a device to the worker, for the leg of that port, or reports that the device cannot
 * be used. False: not now. */
bool sup_rdma_send(const struct sup_worker *w, unsigned port, const struct sup_rdma *s);
/* Passes the files of RDMA devices that its legs lack to a worker that is up; call every second. */
void sup_update_rdma(struct sup_worker *w, uint64_t now_ns);

#endif
