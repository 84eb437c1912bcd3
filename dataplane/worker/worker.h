/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One worker process: ports, transport and file system ends put together, and the loop that drives
 * them. Owns the process: its core, its privileges, its signals, the control channel to the agent
 * and the statistics page. Never touches the network configuration and opens no file by name; all
 * it needs it inherits (launch.h). Single-threaded. Called by main() only; tests drive the parts.
 */
#ifndef PLENUM_DATAPLANE_WORKER_H
#define PLENUM_DATAPLANE_WORKER_H

#include "dataplane/launch.h"
#include "dataplane/port/port.h"
#include "dataplane/port/rdma/port_rdma.h"
#include "dataplane/rudp/rudp.h"
#include "dataplane/worker/worker_active.h"
#include "dataplane/worker/worker_fault.h"
#include "dataplane/worker/worker_role.h"
#include "dataplane/worker/worker_sandbox.h"

/* Descriptors the loop sleeps on; the value is the epoll data. */
enum worker_source {
	WORKER_SOURCE_CONTROL = 1,
	WORKER_SOURCE_ALIVE,
	WORKER_SOURCE_SIGNAL,
	WORKER_SOURCE_ROLE,
	WORKER_SOURCE_RDMA, /* what a device tells of itself */
	WORKER_SOURCE_PORT, /* + port index */
};

/* Is spinning worth it? Learns from how soon work came after the last idle moment. */
struct worker_spin {
	uint64_t limit_ns;
	/* Of two kinds of idle moments: whether answers are due makes another time of it. */
	bool awaits;
	uint32_t scores[2]; /* 0: never, 1024: always worth it */
	uint64_t gap_ns;    /* the mean of all idle moments */
	bool polled;	    /* a polling core: the ports have no descriptor to wait for */
};

struct worker_capture { /* while somebody looks on */
	struct packet_writer to;
	uint32_t ports;		      /* bit per port */
	const struct port_ops *below; /* the port's own operations */
	struct port_ops ops;	      /* theirs, with those that look in between */
	/* Of which keys were told: by rudp_session_index(), of what goes out and of what comes in.
	 * NULL: nobody wants them. */
	struct worker_told_key {
		uint64_t number, phase;
	} (*told)[2];
	unsigned n_told;
};

/* Why legs are less than asked, each with its name; "" where one is not. */
struct worker_legs_why {
	char text[LAUNCH_PORTS_MAX][LAUNCH_REASON_MAX];
};

struct worker {
	struct launch_config *cfg; /* worker_ports.c alone changes it */
	struct launch_stats *stats;
	int control_fd, signal_fd, epoll_fd; /* control_fd -1: closed by a broken agent */
	struct sandbox sandbox;
	struct port_rdma *rdma; /* NULL: no leg is to use it */
	bool rdma_used;		/* there are pairs: as on the statistics page */
	enum port_rdma_reason rdma_said[LAUNCH_PORTS_MAX]; /* as the last event says */
	struct worker_legs_why port_why;		   /* worker_legs.c alone changes it */
	struct worker_legs_why open_why;		   /* what of that opening the ports said */
	/* "" where all is well */
	char peer_why[LAUNCH_REASON_MAX], path_why[LAUNCH_REASON_MAX];
	char backup_why[LAUNCH_REASON_MAX], fault_why[LAUNCH_REASON_MAX];
	char rdma_why[LAUNCH_REASON_MAX];
	const struct port_ops *ops; /* of the ports, but for those that say otherwise */
	struct port ports[LAUNCH_PORTS_MAX];
	bool port_open[LAUNCH_PORTS_MAX];
	/* As the agent and the device itself say: either may know first, or alone. */
	bool carrier_lost[LAUNCH_PORTS_MAX], link_lost[LAUNCH_PORTS_MAX];
	bool port_up[LAUNCH_PORTS_MAX];	 /* what rudp was told */
	bool released[LAUNCH_PORTS_MAX]; /* closed for good: the host has its device back */
	bool came[LAUNCH_PORTS_MAX];	 /* by message, later than the configuration */
	bool unprobed[LAUNCH_PORTS_MAX]; /* joined without a link: its address is to be asked for */
	bool asks[LAUNCH_PORTS_MAX];	 /* and there is one since */
	bool probed;			 /* with failover: the one address was, by some port */
	uint64_t port_retry_ns, port_tick_ns[LAUNCH_PORTS_MAX], announce_ns[LAUNCH_PORTS_MAX];
	struct worker_faults *faults; /* NULL: none */
	struct worker_active backup;  /* with cfg->failover: which port carries */
	uint32_t labels[LAUNCH_PORTS_MAX];
	uint64_t backup_ns; /* when the links are looked at again */
	bool carries;	    /* what the transport knows: one of them works */
	struct rudp *rudp;
	const struct worker_role *role;
	void *end; /* the role's; NULL before it is built */
	struct worker_spin spin;
	struct worker_capture capture;
	uint64_t now_ns;    /* of this turn */
	uint64_t looked_ns; /* when it began to look at the ports */
	uint64_t work_ns, stats_ns, events_ns, stop_ns;
	uint64_t orphan_ns; /* since when there is no agent; 0: there is one */
	bool stopping;
	bool stopped;
	int exit_status;
	/* Whether this turn looks everywhere, or only where something is likely to have come. */
	bool looks_all, looks_all_next;
	unsigned n_partial; /* turns since the last one that did */
	/* Since a sleep that descriptors ended: which of the ports may have something; for so many
	 * turns. */
	bool knows_ports;
	uint32_t ports_told; /* bit per port */
	unsigned n_known;
	uint32_t port_quiet[LAUNCH_PORTS_MAX]; /* looks in a row that found nothing */
};

/* The whole life of a worker process. Returns its exit status (enum launch_exit). */
int worker_main(void);
/* The worker's reasons on the statistics page: of each leg; and of the rest which port stands in,
 * else why a peer refuses it, else what is done to packets on purpose, else what a path does not
 * carry; "" where all is well. */
void worker_reason_publish(struct worker *w);

/* worker_setup.c */

/* Reads and checks the configuration: *ret is on the heap. 0; negative errno with a line in why
 * (LAUNCH_REASON_MAX bytes). -EPROTO: it is of an agent of another version. */
int worker_config_read(int fd, struct launch_config **ret, char *why);
/* 0; negative errno with a line in why. */
int worker_config_check(const struct launch_config *cfg, char *why);
struct launch_stats *worker_stats_map(int fd);
/* Pins the process to its core and names it. 0; negative errno: the core does not exist. */
int worker_process_place(const struct launch_config *cfg);
/* The back end of the ports. 0; negative errno with a line in why. */
int worker_ops_get(struct worker *w, char *why);
/* Opens what is not open yet. Number of open ports. ret_why: what there is to say of each leg now,
 * for worker_legs_explain(). */
unsigned worker_ports_open(struct worker *w, struct worker_legs_why *ret_why);

/* Has the open ports join the network; closes those that may not. As worker_ports_open(). */
unsigned worker_ports_join(struct worker *w, struct worker_legs_why *ret_why);
/* One of them, without telling the transport. What port_ops.join() said in the end. */
int worker_port_join(struct worker *w, unsigned i, struct worker_legs_why *why);
/* A port whose join() found no link has one now, or not: it asks for its address then. */
void worker_probe_begin(struct worker *w, unsigned i, bool has_link);
/* What became of that, after a tick of the port. */
void worker_probe_look(struct worker *w, unsigned i);

/* worker_legs.c: what is said of each leg */

/* "FIRST: SECOND" into text (LAUNCH_REASON_MAX bytes), with "..." where it is too long. */
void worker_reason_join(char *text, const char *first, const char *second);
/* Adds a reason of leg i. */
void worker_legs_say(const struct worker *w, struct worker_legs_why *why, unsigned i,
		     const char *reason);
/* All of them in one line. */
void worker_legs_format(const struct worker_legs_why *why, char *buf, size_t size);
/* That is what there is to say from now on: an event for each leg of which that is new, and the
 * page. */
void worker_legs_explain(struct worker *w, const struct worker_legs_why *why);
void worker_leg_explain(struct worker *w, unsigned i, const char *why);
/* The statistics page: within its seqlock. */
void worker_legs_publish(struct worker *w);

/* worker_ports.c: ports that come while the worker runs */

/* What LAUNCH_MSG_PORT brings. What cannot be is logged and leaves all as it is. */
void worker_port_take(struct worker *w, unsigned index, const struct launch_port *port);
/* Tells the agent which ports those are. */
void worker_ports_tell(struct worker *w);

/* worker_backup.c: with cfg->failover the transport has one port, number 0, whichever carries */

void worker_backup_init(struct worker *w);
/* As worker_ports_join(): the first that has a link asks, the others stand by. */
unsigned worker_backup_join(struct worker *w, struct worker_legs_why *ret_why);
/* Moves the address where it has to: for what is known of the links has changed. */
void worker_backup_look(struct worker *w);
/* The same, for the time that has passed. When it wants to be called again. */
uint64_t worker_backup_turn(struct worker *w);
/* What the agent says of port i. */
void worker_backup_label(struct worker *w, unsigned i, uint32_t label);
/* The port that carries what the transport sends by its port, and back. */
static inline unsigned worker_port(const struct worker *w, unsigned way)
{
	return w->cfg->failover ? w->backup.active : way;
}
static inline unsigned worker_way(const struct worker *w, unsigned port)
{
	return w->cfg->failover ? 0 : port;
}

/* worker_loop.c */

/* The port as the transport knows it. */
struct rudp_port_info worker_port_info(const struct launch_port *p, bool up);
/* As rudp_ops; user: the worker. */
int worker_tx(void *user, unsigned port, const struct datagram_addr *dst,
	      const struct datagram *pkt);
void worker_tx_flush(void *user);
/* The loop shall wake up for it. fd negative: nothing to watch. */
void worker_watch(struct worker *w, int fd, uint32_t source, uint32_t events);
void worker_unwatch(struct worker *w, int fd);
/* Builds rudp and the role's end. 0; negative errno with a line in why. */
int worker_build(struct worker *w, char *why);
void worker_run(struct worker *w);

/* worker_rdma.c: bulk data beside the packets */

/* Finds the devices of the legs that may use it: while there are files and privileges. */
int worker_rdma_open(struct worker *w, char *why);
void worker_rdma_watch(struct worker *w);
/* What LAUNCH_MSG_RDMA brings; fd is borrowed. */
void worker_rdma_take(struct worker *w, int fd, const struct launch_msg *m);
/* When it wants to be called again. */
uint64_t worker_rdma_turn(struct worker *w);
/* The statistics page: within its seqlock. True: whether any is used, or what is to be said of it,
 * has changed. */
bool worker_rdma_publish(struct worker *w);

/* worker_control.c: the agent, the signals and the statistics page */

/* fuse_server_hold_cb, by the agent. */
bool worker_hold(void *user, uint32_t export_index, uint64_t key, int fd);
void worker_send_port(struct worker *w, unsigned index, const struct launch_port *port);
void worker_send(struct worker *w, enum launch_msg_type type, int code, unsigned index,
		 const char *text);
void worker_send_ping(struct worker *w, const struct launch_ping *p);
void worker_control_read(struct worker *w);
/* Asks the device of port i for its link, after a tick of the port. */
void worker_link_look(struct worker *w, unsigned i);
/* Tells rudp whether port i carries, where that has changed. */
void worker_link_judge(struct worker *w, unsigned i);
/* Closes port i where the host wants its device back, after a tick of the port. */
void worker_release_look(struct worker *w, unsigned i);
/* Tells the agent which ports were closed for that. */
void worker_release_tell(struct worker *w);
/* A label as rudp takes it: equal ones give equal numbers on all hosts. "" gives 0. */
uint32_t worker_label_hash(const char *label);
/* Looks whether the agent is still there. */
void worker_alive_read(struct worker *w);
void worker_signal_read(struct worker *w);
/* What rudp tells, passed on to log and agent. */
void worker_report(struct worker *w, struct rudp_session *s, enum rudp_event e, unsigned path,
		   int code);
void worker_stats_publish(struct worker *w);

/* worker_capture.c */

/* Takes the place of an earlier one. fd: of the ring, stays the caller's. */
void worker_capture_begin(struct worker *w, const struct launch_capture *lc, int fd);
void worker_capture_end(struct worker *w); /* also where there is none */
/* Tells of keys that were not told of yet, where they are wanted: each turn, so that a session that
 * soon ends is not missed. */
void worker_capture_keys(struct worker *w);

/* worker_spin.c */

/* Work came after idle_ns without any. */
void worker_spin_learn(struct worker_spin *s, uint64_t idle_ns);
/* Whether to look again instead of going to sleep, idle_ns after the last work. */
bool worker_spin_wanted(const struct worker_spin *s, uint64_t idle_ns);
/* Whether it sleeps, and work comes so rarely that little is gained by waiting for more of it. */
bool worker_spin_rests(const struct worker_spin *s);

#endif
