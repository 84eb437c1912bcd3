/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements port_ops.join() for ports that resolve neighbours themselves. Joining verifies that no
 * other host has the leg's address: two hosts with one address would lose each other's packets. It
 * waits for a link, sends probes with port_neigh (unless port_early has sent them), and processes
 * the replies. Each call is one step, so several ports can join in turns. Each port owns a struct
 * port_joining and uses it in its own thread.
 */
#ifndef PLENUM_DATAPLANE_PORT_JOIN_H
#define PLENUM_DATAPLANE_PORT_JOIN_H

#include "dataplane/port/l2/port_early.h"
#include "dataplane/port/port.h"

#define PORT_JOIN_LINK_NS (3 * NSEC_PER_SEC) /* how long to wait for a link */
/* After this many bursts, a call returns, so that the worker can read from other ports. */
#define PORT_JOIN_BURSTS 64U

struct port_joining {
	struct port_early early; /* the early probes; fd is -1 if there are none */
	bool linked;		 /* the link was up at least once */
	uint64_t link_until_ns;	 /* when to stop waiting for the link; 0: not waiting yet */
};

struct port_join_by { /* State of the port, which the caller fills in at each call. */
	struct port *port;
	struct port_neigh *neigh;
	const struct mac_addr *mac;
	bool has_link; /* whether the link is up now; ignored after the link was up once */
	/* Passes a burst of received frames to port_neigh, and drops datagrams. Returns whether
	 * more frames may be waiting. */
	bool (*receive)(struct port *p);
};

/* Initialises *j without early probes. */
void port_join_begin(struct port_joining *j);
/* Makes one step. Has the contract of port_ops.join(). */
int port_join_step(struct port_joining *j, const struct port_join_by *by, struct reason *why);
/* Ends joining; may be called even if joining has not begun. */
void port_join_end(struct port_joining *j);

#endif
