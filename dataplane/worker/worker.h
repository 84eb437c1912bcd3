/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One worker process: connects the ports, the transport and the file system's client or server, and
 * runs them in one loop. It manages the whole process: its core, privileges and signals, the
 * control channel to the agent and the statistics page. It never changes the network configuration
 * and opens no file by name; it inherits everything that it needs (launch.h). It has one thread.
 * The parts of a worker are in this folder and its subfolders; run/ has the loop that calls them.
 */
#ifndef PLENUM_DATAPLANE_WORKER_H
#define PLENUM_DATAPLANE_WORKER_H

#include "dataplane/launch.h"
#include "dataplane/launch_watch.h"
#include "dataplane/port/port.h"
#include "dataplane/port/rdma/port_rdma.h"
#include "dataplane/rudp/rudp.h"
#include "dataplane/worker/sandbox/worker_sandbox.h"
#include "dataplane/worker/worker_active.h"
#include "dataplane/worker/worker_fault.h"
#include "dataplane/worker/worker_role.h"

/* Sources of events that wake the sleeping loop. The epoll event contains the value. */
enum worker_source {
	WORKER_SOURCE_CONTROL = 1,
	WORKER_SOURCE_ALIVE,
	WORKER_SOURCE_SIGNAL,
	WORKER_SOURCE_ROLE,
	WORKER_SOURCE_RDMA, /* events of an RDMA device */
	WORKER_SOURCE_PORT, /* the index of the port is added */
};

/* Decides whether an idle worker polls or sleeps. Learns how soon work has arrived after earlier
 * idle moments. */
struct worker_spin {
	uint64_t limit_ns;
	/* Whether answers are pending. Idle moments with and without pending answers are learned
	 * separately. */
	bool awaits;
	uint32_t scores[2]; /* how often polling has paid off without pending answers [0] and with
			       pending answers [1], from 0 (never) to 1024 (always) */
	uint64_t gap_ns;    /* mean length of idle moments */
	bool polled; /* the worker always polls, because its ports have no descriptor that could
			wake it */
};

struct worker_capture { /* state of a running capture */
	struct packet_writer to;
	uint32_t ports;		      /* bit mask of the captured ports */
	const struct port_ops *below; /* the port's own operations */
	struct port_ops ops;	      /* the port's own operations, some of which are replaced by
					 those of the capture */
	/* The keys that the capture contains already, by rudp_session_index() and direction (key
	 * for sending, key for receiving). NULL: keys are not captured. */
	struct worker_sent_key {
		uint64_t number, phase;
	} (*sent)[2];
	unsigned n_sent;
};

/* A reason code, and the word that a server adds to a refusal: its list of peers has no address for
 * the name that the client claims. */
#define WORKER_PEER_UNLISTED "peer-unlisted"

/* For each leg: why it is degraded, as a text that begins with the leg's name; not set if the leg
 * is not degraded. */
struct worker_legs_why {
	struct reason leg[LAUNCH_PORTS_MAX];
};

struct worker {
	/* the configuration; worker_ports.c may change its ports, and worker_loop.c wipes its
	 * secrets */
	struct launch_config *cfg;
	struct launch_stats *stats;
	struct launch_watch *watch; /* the list of sessions for operators; NULL: the agent has
				       provided no memory for it */
	unsigned next_session;	    /* the next update of the list begins with this
				       rudp_session_index() */
	/* control_fd is -1 if the channel was closed because the agent malfunctions. */
	int control_fd, signal_fd, epoll_fd;
	struct sandbox sandbox;
	struct port_rdma *rdma; /* the RDMA devices; NULL: RDMA is not used on any leg */
	bool rdma_used;		/* whether the statistics page says that queue pairs exist */
	enum port_rdma_reason rdma_reported[LAUNCH_PORTS_MAX]; /* the reason that was last reported
								  by an event */
	struct worker_legs_why port_why; /* why legs are degraded; only worker_legs.c changes it */
	struct worker_legs_why open_why; /* limitations and failures that the ports reported
					    when the worker opened them */
	/* Other reasons why the worker is degraded, see worker_reason_publish(); "": no problem. */
	char peer_why[LAUNCH_REASON_MAX], path_why[LAUNCH_REASON_MAX];
	char backup_why[LAUNCH_REASON_MAX], fault_why[LAUNCH_REASON_MAX];
	char rdma_why[LAUNCH_REASON_MAX];
	/* The operations of the worker's back end. A single port may have other operations,
	 * ports[i].ops. */
	const struct port_ops *ops;
	struct port ports[LAUNCH_PORTS_MAX];
	bool port_open[LAUNCH_PORTS_MAX];
	/* For each port: whether the agent reports that the port has no carrier, and whether the
	 * port's device reports that it has no link. Either of them may notice the loss of a link
	 * first, or alone. */
	bool carrier_lost[LAUNCH_PORTS_MAX], link_lost[LAUNCH_PORTS_MAX];
	bool port_up[LAUNCH_PORTS_MAX];	 /* whether the port is up, as last reported to rudp */
	bool released[LAUNCH_PORTS_MAX]; /* the port is closed until the worker restarts,
					    because the host removes the device */
	bool came[LAUNCH_PORTS_MAX];	 /* a message of the agent has added the port to the running
					    worker */
	bool unprobed[LAUNCH_PORTS_MAX]; /* the port joined without a link, so its address has not
					    been probed yet */
	bool asks[LAUNCH_PORTS_MAX];	 /* the link has come up, and the worker is probing the
					    address */
	bool probed; /* the address that the ports share (failover) was probed */
	uint64_t port_retry_ns, port_tick_ns[LAUNCH_PORTS_MAX], announce_ns[LAUNCH_PORTS_MAX];
	struct worker_faults *faults; /* injected faults; NULL: no fault is injected */
	struct worker_active backup;  /* which port is active; used with cfg->failover */
	uint32_t labels[LAUNCH_PORTS_MAX];
	uint64_t backup_ns; /* when to check the links next */
	bool carries;	    /* whether any port works, as last reported to rudp; used with
			       cfg->failover */
	struct rudp *rudp;
	const struct worker_role *role;
	void *end; /* the role's state; NULL before worker_build() */
	struct worker_spin spin;
	struct worker_capture capture;
	uint64_t now_ns;    /* time at which this turn of the loop began */
	uint64_t looked_ns; /* when the worker began to read the ports in this turn */
	uint64_t work_ns, events_ns, stop_ns;
	uint64_t stats_ns;	/* when the statistics page was last updated; 0: the next update
				   must not wait */
	uint64_t stats_made_ns; /* when the statistics page was last updated, even if stats_ns is
				   0 */
	uint64_t orphan_ns;	/* when the agent exited; 0: an agent is connected */
	bool stopping;
	bool stopped;
	int exit_status;
	/* looks_all: in this turn the worker polls all sources, not only those that are likely to
	 * have work. looks_all_next: it does so in the next turn. */
	bool looks_all, looks_all_next;
	unsigned n_partial; /* count of turns since the last turn that polled all sources */
	/* After events of descriptors have ended a sleep, the worker knows for some turns which
	 * ports may have packets. knows_ports: it knows that at present. ports_ready: a bit for
	 * each such port. n_known: count of turns since the sleep. */
	bool knows_ports;
	uint32_t ports_ready; /* bit mask of ports */
	unsigned n_known;
	uint32_t port_quiet[LAUNCH_PORTS_MAX]; /* count of consecutive reads without a packet */
};

/* worker_open.c: opening the ports */

/* Selects the back end of the ports. Returns 0, or a negative errno with a sentence in why. */
int worker_ops_get(struct worker *w, struct reason *why);
/* Opens the ports that are not open yet. Returns the number of open ports. *ret_why: the reasons of
 * each leg, for worker_legs_set_reasons(). */
unsigned worker_ports_open(struct worker *w, struct worker_legs_why *ret_why);
/* Joins the open ports: verifies that no other host has their addresses (port_ops.join). Closes
 * ports whose address is in use or could not be verified. Returns the same values as
 * worker_ports_open(). */
unsigned worker_ports_join(struct worker *w, struct worker_legs_why *ret_why);
/* Joins one port, without a report to the transport. Returns the same values as port_ops.join(). */
int worker_port_join(struct worker *w, unsigned i, struct worker_legs_why *why);

/* worker_legs.c: the reasons of the worker and of each leg */

/* Adds a reason to the reasons of leg i. */
void worker_legs_add(const struct worker *w, struct worker_legs_why *why, unsigned i,
		     const struct reason *reason);
/* Formats all reasons in one line. */
void worker_legs_format(const struct worker_legs_why *why, struct reason *ret);
/* Replaces the reasons of the legs. Sends an event for each leg whose reason has changed, and
 * updates the statistics page. */
void worker_legs_set_reasons(struct worker *w, const struct worker_legs_why *why);
void worker_leg_explain(struct worker *w, unsigned i, const char *why);
/* Writes the legs' part of the statistics page; call within its seqlock. */
void worker_legs_publish(struct worker *w);
/*
 * Publishes on the statistics page why each leg is degraded, and the first of these reasons that
 * applies to the worker itself ("" if there is none):
 * - which backup port carries the traffic
 * - why a peer refuses
 * - which faults are injected
 * - what a path does not carry
 * - why RDMA is missing although the spec asks for it
 */
void worker_reason_publish(struct worker *w);

/* worker_ports.c: ports that the agent sends while the worker runs */

/* Handles LAUNCH_MSG_PORT: adds the port with the next index, or replaces the device of an existing
 * port, and confirms that to the agent. The port is opened in this turn. If the message is invalid,
 * logs that and changes nothing. */
void worker_port_take(struct worker *w, unsigned index, const struct launch_port *port);
/* Confirms to the agent each port that it has sent to this worker. */
void worker_ports_report(struct worker *w);

/* worker_link.c: link state, probes and removal of the running worker's ports */

/* Announces the address of each open port that is not on standby to the switches
 * (port_ops.announce), at most ten times a second. */
void worker_announce(struct worker *w);
/* Reads the link state of port i from its device. Call it after a tick of the port. */
void worker_link_look(struct worker *w, unsigned i);
/* Reports to rudp if the state of port i has changed. */
void worker_link_judge(struct worker *w, unsigned i);
/* Closes port i if the host wants to remove its device. Call it after a tick of the port. */
void worker_release_look(struct worker *w, unsigned i);
/* Reports to the agent which ports were closed because the host removes their devices. */
void worker_release_report(struct worker *w);
/* Call when the link of a port that joined without a link has come up or gone down. Once the link
 * is up, the address is probed. */
void worker_probe_begin(struct worker *w, unsigned i, bool has_link);
/* Continues the probe of port i. If the probe fails, closes the port, adds the reason to its leg,
 * and ends the worker if no port is left. Call it after a tick of the port. */
void worker_probe_look(struct worker *w, unsigned i);

/* worker_backup.c: used with cfg->failover. The transport then sees a single port, number 0, which
 * stands for all ports. */

void worker_backup_init(struct worker *w);
/* Like worker_ports_join(), but only the first port with a link probes the address, and the others
 * are on standby. */
unsigned worker_backup_join(struct worker *w, struct worker_legs_why *ret_why);
/* Moves the address to another port if the link states require that. */
void worker_backup_look(struct worker *w);
/* Like worker_backup_look(), when time has passed. Returns when to call it next. */
uint64_t worker_backup_turn(struct worker *w);
/* Stores the label of port i that the agent has sent, and passes it to rudp if the port is
 * active. */
void worker_backup_label(struct worker *w, unsigned i, uint32_t label);
/* `way` is a port number of the transport. worker_port(): returns the index of the port that sends
 * for it. worker_way() does the reverse. */
static inline unsigned worker_port(const struct worker *w, unsigned way)
{
	return w->cfg->failover ? w->backup.active : way;
}
static inline unsigned worker_way(const struct worker *w, unsigned port)
{
	return w->cfg->failover ? 0 : port;
}

/* worker_io.c: ports and descriptors for the transport and the roles */

/* Returns the number by which rudp knows a label: equal labels have equal numbers on all hosts; ""
 * has 0. */
uint32_t worker_label_hash(const char *label);
/* Describes the port for the transport. */
struct rudp_port_info worker_port_info(const struct launch_port *p, bool up);
/* Has the same contract as in rudp_ops; user: the worker. */
int worker_tx(void *user, unsigned port, const struct datagram_addr *dst,
	      const struct datagram *pkt);
void worker_tx_flush(void *user);
/* Makes events of fd wake the loop. Does nothing if fd is negative. */
void worker_watch(struct worker *w, int fd, uint32_t source, uint32_t events);
void worker_unwatch(struct worker *w, int fd);

/* worker_rdma.c: RDMA devices for bulk data */

/* Opens the RDMA devices of the legs that may use RDMA. Call it while the worker still has its
 * privileges and access to files. */
int worker_rdma_open(struct worker *w, struct reason *why);
void worker_rdma_watch(struct worker *w);
/* Handles LAUNCH_MSG_RDMA: opens the device whose file is fd, for the legs that have no device.
 * With a code, port m->index must not use its device, because the device's driver is too old. The
 * caller still owns fd. */
void worker_rdma_take(struct worker *w, int fd, const struct launch_msg *m);
/* Checks the RDMA devices. Returns when to call it next. */
uint64_t worker_rdma_turn(struct worker *w);
/* Writes the RDMA part of the statistics page; call within its seqlock. Returns true if the use of
 * RDMA, or a reason about it, has changed. */
bool worker_rdma_publish(struct worker *w);

/* worker_message.c: messages to the agent */

/* A fuse_server_pin_cb: asks the agent to pin a file, or to release the pin. */
bool worker_hold(void *user, uint32_t export_index, uint64_t key, int fd);
void worker_send_port(struct worker *w, unsigned index, const struct launch_port *port);
void worker_send(struct worker *w, enum launch_msg_type type, int code, unsigned index,
		 const char *text);
void worker_send_ping(struct worker *w, const struct launch_ping *p);
/* Sends LOCK_KEEP or LOCK_FORGET; drops the message while no agent runs. */
void worker_send_lock(void *user, const struct launch_msg *m);

/* worker_report.c */

/* Passes rudp's reports on to the log and the agent. */
void worker_report(struct worker *w, struct rudp_session *s, enum rudp_event e, unsigned path,
		   int code);
void worker_stats_publish(struct worker *w);

/* worker_sessions.c: the list of sessions for operators (launch_watch.h). These functions do
 * nothing if the agent has provided no memory for the list. */

/* Maps the list behind the statistics page. Call it after the configuration was read. */
void worker_sessions_open(struct worker *w, int fd);
/* Writes `level`, an enum log_level, to the list as the level in use. */
void worker_sessions_set_log_level(struct worker *w, uint32_t level);
/* Writes the next part of the list. The amount of work is bounded. */
void worker_sessions_publish(struct worker *w);

/* worker_capture.c */

/* Begins a capture, after ending an earlier one. fd: descriptor of the packet ring; the caller
 * still owns it. */
void worker_capture_begin(struct worker *w, const struct launch_capture *lc, int fd);
void worker_capture_end(struct worker *w); /* Ends the capture, if there is one. */
/* Writes new keys of the sessions to the capture, if keys are captured. Call it in each turn, so
 * that no short session is missed. */
void worker_capture_keys(struct worker *w);

#endif
