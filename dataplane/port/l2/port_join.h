/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joining (port_ops.join) for ports that resolve neighbours themselves: waits for a link, probes
 * with port_neigh unless port_early has done so, and processes replies, in turns with other ports.
 * Two hosts with one address would lose each other's packets. One port owns it and uses it in its
 * thread.
 */
#ifndef PLENUM_DATAPLANE_PORT_JOIN_H
#define PLENUM_DATAPLANE_PORT_JOIN_H

#include "dataplane/port/l2/port_early.h"
#include "dataplane/port/port.h"

#define PORT_JOIN_LINK_NS (3 * NSEC_PER_SEC) /* how long to wait for a link */
#define PORT_JOIN_BURSTS 64U		     /* bursts read per call, before other ports' turn */

struct port_joining {
	struct port_early early; /* early probes; its fd -1: none */
	bool linked;		 /* a link was seen */
	uint64_t link_until_ns;	 /* end of the wait for one; 0: not started */
};

struct port_join_by { /* the port's state at this call */
	struct port *port;
	struct port_neigh *neigh;
	const struct mac_addr *mac;
	bool has_link; /* not queried once there was a link */
	/* Passes a burst of received frames to port_neigh; datagrams are dropped. Whether more may
	 * wait. */
	bool (*receive)(struct port *p);
};

/* Starts without early probes. */
void port_join_begin(struct port_joining *j);
/* As port_ops.join(). */
int port_join_step(struct port_joining *j, const struct port_join_by *by, struct reason *why);
/* Ends joining, also if it has not begun. */
void port_join_end(struct port_joining *j);

#endif
