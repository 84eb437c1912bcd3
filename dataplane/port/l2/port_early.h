/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Asks the network for the addresses of kernel interfaces while a worker does what takes long and
 * reads nothing that anybody may have sent, as DPDK's start does: the probes of port_neigh, at its
 * pace and as many. What is said to them waits in a packet socket until the worker is confined.
 * Nothing is decided here: whatever went wrong, the port asks as if nobody had. Used by the ports
 * that have a kernel interface.
 */
#ifndef PLENUM_DATAPLANE_PORT_EARLY_H
#define PLENUM_DATAPLANE_PORT_EARLY_H

#include "dataplane/launch.h"
#include "dataplane/port/l2/port_neigh.h"
#include <pthread.h>

struct port_early { /* of one address */
	int fd;	    /* -1: none is asked for */
	char ifname[IFNAMSIZ];
	struct port_l2_local local; /* of this MAC the probes were */
	unsigned n_sent;	    /* probes; 0 also where one of them did not leave */
	uint64_t sent_ns;	    /* the last */
};

struct port_early_all {
	struct port_early asks[LAUNCH_PORTS_MAX];
	pthread_t thread;
	bool runs;
};

/* Nothing is asked yet. */
void port_early_init(struct port_early_all *a);
/* For this port, too. Before _begin(). Where it cannot be, nothing is asked. */
void port_early_add(struct port_early_all *a, const struct launch_port *lp, unsigned index);
/* The probes leave from now on, by a thread that reads nothing. */
void port_early_begin(struct port_early_all *a);
/* Until the last of them has left: the thread is gone. */
void port_early_wait(struct port_early_all *a);
void port_early_done(struct port_early *e);

/* Whether nobody needs to ask again: all probes of that MAC have left, the link was there before
 * each and is now, the interface was up all the time, and no frame was lost for want of room. Of a
 * cable that was out in between nothing is seen: what was said meanwhile is lost, as for any port
 * that asks. */
bool port_early_is_good(const struct port_early *e, const struct mac_addr *mac);
/* All that was said so far, to neigh, which knows that it was asked (port_neigh_probe_asked). 0;
 * negative errno: something may be missing, so that all has to be asked anew: -ENETDOWN: the
 * interface was down; -EOVERFLOW: more comes than is read. */
int port_early_hear(const struct port_early *e, struct port_neigh *neigh, uint64_t now_ns);

#endif
