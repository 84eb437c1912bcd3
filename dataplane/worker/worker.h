/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One worker process: ports, transport and file system ends put together, and the loop that drives
 * them. Owns the process: its core, its privileges, its signals, the control channel to the agent
 * and the statistics page. Never touches the network configuration and opens no file by name; all
 * it needs it inherits (launch.h). Single-threaded. Called by main() only; tests drive the parts.
 */
#ifndef PLENUM_DATAPLANE_WORKER_H
#define PLENUM_DATAPLANE_WORKER_H

#include "dataplane/fuse/fuse_back.h"
#include "dataplane/fuse/fuse_front.h"
#include "dataplane/launch.h"
#include "dataplane/port/port.h"
#include "dataplane/rudp/rudp.h"

#define WORKER_PEERS_MAX 64

/* Descriptors the loop sleeps on; the value is the epoll data. */
enum worker_source {
	WORKER_SOURCE_CONTROL = 1,
	WORKER_SOURCE_ALIVE,
	WORKER_SOURCE_SIGNAL,
	WORKER_SOURCE_FUSE,
	WORKER_SOURCE_DISK,
	WORKER_SOURCE_PORT, /* + port index */
};

struct worker_peer { /* who is at the other end of a session, for people to read */
	const struct rudp_session *session;
	char name[PLENUM_NAME_MAX];
};

/* Is spinning worth it? Learns from how soon work came after the last idle moment. */
struct worker_spin {
	uint64_t limit_ns;
	uint32_t score; /* 0: never, 1024: always worth it */
	bool polled;	/* a polling core: the ports have no descriptor to wait for */
};

struct worker {
	const struct launch_config *cfg;
	struct launch_stats *stats;
	int control_fd, signal_fd, epoll_fd; /* control_fd -1: closed by a broken agent */
	const struct port_ops *ops;
	struct port ports[LAUNCH_PORTS_MAX];
	bool port_open[LAUNCH_PORTS_MAX];
	uint64_t port_retry_ns, port_tick_ns[LAUNCH_PORTS_MAX], announce_ns[LAUNCH_PORTS_MAX];
	struct rudp *rudp;
	struct fuse_front *fronts[LAUNCH_MOUNTS_MAX];
	bool unmounted[LAUNCH_MOUNTS_MAX];
	uint64_t timeouts_seen[LAUNCH_MOUNTS_MAX];
	bool absence_told[LAUNCH_MOUNTS_MAX]; /* once until the peer is back */
	int refusal_told[LAUNCH_MOUNTS_MAX];  /* so is a refusal, each code */
	struct fuse_back *back;
	struct worker_peer peers[WORKER_PEERS_MAX];
	struct worker_spin spin;
	uint64_t now_ns; /* of this turn */
	uint64_t work_ns, stats_ns, events_ns, stop_ns;
	uint64_t orphan_ns; /* since when there is no agent; 0: there is one */
	bool stopping;
	bool stopped;
	int exit_status;
};

/* The whole life of a worker process. Returns its exit status (enum launch_exit). */
int worker_main(void);
/* Why the network is less than asked, for the statistics page; "" where it is not. */
void worker_reason_set(struct worker *w, const char *why);

/* worker_setup.c */

/* Reads and checks the configuration. NULL with a line in why (LAUNCH_REASON_MAX bytes). */
const struct launch_config *worker_config_read(int fd, char *why);
/* 0; negative errno with a line in why. */
int worker_config_check(const struct launch_config *cfg, char *why);
struct launch_stats *worker_stats_map(int fd);
/* Pins the process to its core and names it. 0; negative errno: the core does not exist. */
int worker_process_place(const struct launch_config *cfg);
/* Gives up every privilege that the role does not need, for good. 0; negative errno. */
int worker_privileges_drop(enum launch_role role);
/* Opens what is not open yet. Number of open ports; why holds the last reason of a failure. */
unsigned worker_ports_open(struct worker *w, char *why);

/* worker_loop.c */

/* Builds rudp and the file system end. 0; negative errno with a line in why. */
int worker_build(struct worker *w, char *why);
void worker_run(struct worker *w);

/* worker_control.c: the agent, the signals and the statistics page */

/* fuse_back_hold_cb, by the agent. */
bool worker_hold(void *user, uint32_t mount, uint64_t node, int fd);
void worker_send(struct worker *w, enum launch_msg_type type, int code, unsigned index,
		 const char *text);
void worker_control_read(struct worker *w);
/* Looks whether the agent is still there. */
void worker_alive_read(struct worker *w);
void worker_signal_read(struct worker *w);
/* What rudp tells, passed on to log and agent. */
void worker_report(struct worker *w, struct rudp_session *s, enum rudp_event e, unsigned path,
		   int code);
void worker_peer_set(struct worker *w, const struct rudp_session *s, const char *name);
const char *worker_peer_name(const struct worker *w, const struct rudp_session *s);
void worker_stats_publish(struct worker *w);

/* worker_spin.c */

/* Work came after idle_ns without any. */
void worker_spin_learn(struct worker_spin *s, uint64_t idle_ns);
/* Whether to look again instead of going to sleep, idle_ns after the last work. */
bool worker_spin_wanted(const struct worker_spin *s, uint64_t idle_ns);

#endif
