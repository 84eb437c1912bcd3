/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joining (port_ops.join) of ports that know their neighbours by themselves: waits for a link to
 * ask by, asks by port_neigh, unless port_early has, and hears what is said, in turns with other
 * ports. Nobody else may have our address: two would take turns at losing packets. Owned by such a
 * port, used by its thread only.
 */
#ifndef PLENUM_DATAPLANE_PORT_JOIN_H
#define PLENUM_DATAPLANE_PORT_JOIN_H

#include "dataplane/port/l2/port_early.h"
#include "dataplane/port/port.h"

#define PORT_JOIN_LINK_NS (3 * NSEC_PER_SEC) /* so long a link is waited for */
#define PORT_JOIN_BURSTS 64U		     /* heard in one look, before the others' turn */

struct port_joining {
	struct port_early early; /* what was asked before there was a port; its fd -1: nothing */
	bool linked;		 /* there was a link */
	uint64_t link_until_ns;	 /* so long one is waited for; 0: not yet */
};

struct port_join_by { /* what a port is at this look */
	struct port *port;
	struct port_neigh *neigh;
	const struct mac_addr *mac;
	bool has_link; /* not asked for once there was one */
	/* Takes a burst of what has come, as far as neighbours are concerned: nobody takes
	 * datagrams yet. Whether more may wait. */
	bool (*hear)(struct port *p);
};

/* Nothing was asked before. */
void port_join_begin(struct port_joining *j);
/* As port_ops.join(). */
int port_join_look(struct port_joining *j, const struct port_join_by *by, char *why);
/* For good, also where it has not begun. */
void port_join_end(struct port_joining *j);

#endif
