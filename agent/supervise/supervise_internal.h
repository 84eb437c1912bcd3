/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between the files of the supervisor: supervise.c turns events into actions and keeps the set of
 * workers, supervise_worker.c is one process (its descriptors, its start, what it sends),
 * supervise_adopt.c takes over those that another agent started.
 */
#ifndef PLENUM_AGENT_SUPERVISE_INTERNAL_H
#define PLENUM_AGENT_SUPERVISE_INTERNAL_H

#include "agent/supervise/async_open.h"
#include "agent/supervise/exports.h"
#include "agent/supervise/supervise.h"

struct sup {
	struct sup_setup setup;
	int program_fd;	 /* of worker_path, as it was at our start; -1: it was not there */
	int alive[2];	 /* a pipe; workers have its read end, nobody else its write end */
	bool stopping;	 /* for good: nothing is started any more */
	bool reconciled; /* it is known what is wanted */
	struct sup_worker *workers; /* ascending id */
	struct exports exports;	    /* what outlives the workers that serve them */
	struct async_open dirs;	    /* directories of exports */
	struct loop_source *heartbeat;
};

/* ---- supervise.c ---- */

void sup_handle_event(struct sup_worker *w, enum sup_event e);
/* A process that served something has ended: who waits for that may start. Not within
 * sup_handle_event; a worker that is not wanted is freed. */
void sup_process_gone(struct sup *s);
/* The worker of that id, made where there is none. NULL: out of memory. */
struct sup_worker *sup_worker_add(struct sup *s, uint32_t id);
/* Whether w->reason is what was reported last: said once, however often it comes again. */
bool sup_is_reported(const struct sup_worker *w);
void sup_say(const struct sup_worker *w, enum log_level level, const char *fmt, ...)
	PLENUM_PRINTF(3, 4);

/* ---- supervise_adopt.c ---- */

/* How long one that says it was started then has to answer: who is still starting may wait for a
 * device, as under the agent that has started it. */
uint64_t sup_adopt_limit_ns(uint64_t started_ns, uint64_t now_ns);
/* The actions; the process is found and checked already. */
void sup_do_adopt(struct sup_worker *w);
void sup_do_replace(struct sup_worker *w);

/* ---- supervise_worker.c ---- */

/* Whether legs and exports of w->config can be had; if not, w->reason says why. */
int sup_check_resources(struct sup_worker *w);
/* Whether the directory of an export that it was started without is there by now. */
bool sup_gains_export(struct sup_worker *w);
/* Whether mounts whose lanes it is to have have come, gone or been made anew. */
bool sup_lanes_differ(const struct sup_worker *w);
/* Starts the process. Negative errno, with w->reason where there is more to say; w->pidfd tells
 * whether there is a process all the same. */
int sup_start(struct sup_worker *w);
/* Keeps the configuration of a process that was started or taken over. 0, -ENOMEM. */
int sup_keep_started(struct sup_worker *w, const struct launch_config *c);
/* Records a process that was started, or taken over, with this configuration. */
void sup_record(const struct sup_worker *w, pid_t pid, const struct launch_config *c);
/* Watches the process and its control socket. */
int sup_watch(struct sup_worker *w);
/* Lets go of the dead process; state memfd and mounts stay for its successor. */
void sup_forget_process(struct sup_worker *w);
void sup_kill(struct sup_worker *w);
int sup_send(struct sup_worker *w, enum launch_msg_type type, int32_t code, uint32_t index);
int sup_send_text(struct sup_worker *w, enum launch_msg_type type, uint32_t index,
		  const char *text);
int sup_send_fault(struct sup_worker *w, const struct launch_fault *f);
/* Those of w->config. */
int sup_send_keys(struct sup_worker *w);
int sup_send_port(struct sup_worker *w, uint32_t index, const struct launch_port *port);

/* ---- supervise_ports.c ---- */

/* Tells a worker that is up which of its wanted ports it lacks. False: it cannot be what is wanted
 * without a restart. */
bool sup_tell_ports(struct sup_worker *w);

/* ---- supervise_rdma.c ---- */

struct sup_rdma {
	char file[32], device[64]; /* of the device, below /dev/infiniband; its name */
	bool is_old;		   /* its driver is too old to be used */
};
/* The RDMA device of a leg, in the sysfs at root: with a GID that is the leg's address, of that
 * version of RoCE (0: any), or the port's of its IPoIB interface. False: there is none. */
bool sup_rdma_search(int root, const struct launch_port *port, uint8_t roce, struct sup_rdma *ret);
/* Hands such a device to the worker, for the leg of that port, or says that it may not have it.
 * False: not now. */
bool sup_rdma_tell(const struct sup_worker *w, unsigned port, const struct sup_rdma *s);
/* Hands a worker that is up the files of RDMA devices that its legs lack and that are there now;
 * to be called every second. */
void sup_tell_rdma(struct sup_worker *w, uint64_t now_ns);
/* It has one by an earlier agent's word. */
void sup_take_port(struct sup_worker *w, uint32_t index, const struct launch_port *port);
/* Of one that a worker tells of: its texts have an end. */
bool sup_port_is_sane(const struct launch_port *p);
/* What is known now of the switch behind the leg, into port. */
void sup_fill_label(const struct sup_worker *w, struct launch_port *port);
/* Reads at most n_max messages; an end of the socket only ends the watching of it. */
void sup_read_control(struct sup_worker *w, unsigned n_max);
/* Has the service manager keep fd under "WHAT-ID", or forget that. */
void sup_store(const struct sup_worker *w, const char *what, int fd);
void sup_unstore(const struct sup_worker *w, const char *what);
/* Maps a statistics page read-only; NULL where it is not one that cannot shrink. */
const struct launch_stats *sup_stats_map(int fd);
void sup_stats_unmap(struct sup_worker *w);
/* The identity that a state memfd carries in its name. */
bool sup_state_identity(int fd, uint64_t *ret);

#endif
