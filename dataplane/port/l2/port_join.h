/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements port_ops.join for ports that resolve neighbours themselves. Joining verifies that no
 * other host has the leg's address, because two hosts with one address would lose each other's
 * packets. It waits for a link, sends probes with port_neigh (unless port_early has sent them), and
 * processes the replies. Each call is one step, so several ports can join in turns. Each port owns
 * a struct port_joining and uses it in its own thread.
 */
#ifndef PLENUM_DATAPLANE_PORT_JOIN_H
#define PLENUM_DATAPLANE_PORT_JOIN_H

#include "dataplane/port/l2/port_early.h"
#include "dataplane/port/port.h"

#define PORT_JOIN_LINK_NS (3 * NSEC_PER_SEC) /* how long to wait for a link */
/* Number of bursts that one call reads before other ports get their turn. */
#define PORT_JOIN_BURSTS 64U

struct port_joining {
	struct port_early early; /* the early probes; fd is -1 if there are none */
	bool linked;		 /* the link has been up */
	uint64_t link_until_ns;	 /* when waiting for the link ends; 0: waiting has not started */
};

struct port_join_by { /* the port's state at the time of a call */
	struct port *port;
	struct port_neigh *neigh;
	const struct mac_addr *mac;
	bool has_link; /* whether the link is up now; ignored once the link has been up */
	/* Passes a burst of received frames to port_neigh, and drops datagrams. Returns whether
	 * more frames may be waiting. */
	bool (*receive)(struct port *p);
};

/* Initialises *j without early probes. */
void port_join_begin(struct port_joining *j);
/* Does one step. Has the same contract as port_ops.join(). */
int port_join_step(struct port_joining *j, const struct port_join_by *by, struct reason *why);
/* Ends joining; may be called even if joining has not begun. */
void port_join_end(struct port_joining *j);

#endif
