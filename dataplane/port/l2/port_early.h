/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends the duplicate address probes of port_neigh for kernel interfaces early, while a worker is
 * busy with slow start-up work such as starting DPDK. Number and interval of the probes are the
 * same. Replies wait in a packet socket until the worker is confined, because nothing
 * unauthenticated is read before. This module decides nothing: after any failure the port sends the
 * probes itself. Used by ports on a kernel interface.
 */
#ifndef PLENUM_DATAPLANE_PORT_EARLY_H
#define PLENUM_DATAPLANE_PORT_EARLY_H

#include "dataplane/launch.h"
#include "dataplane/port/l2/port_neigh.h"
#include <pthread.h>

struct port_early { /* probes for one address */
	int fd;	    /* -1: no probes */
	char ifname[IFNAMSIZ];
	struct port_l2_local local; /* the MAC that sent the probes */
	unsigned n_sent;	    /* number of probes sent; 0 also if one could not be sent */
	uint64_t sent_ns;	    /* time of the last one */
};

struct port_early_all {
	struct port_early asks[LAUNCH_PORTS_MAX];
	pthread_t thread;
	bool runs;
};

/* Initialises *a without any address. */
void port_early_init(struct port_early_all *a);
/* Adds this port's address; call it before _begin(). On failure there are no early probes for the
 * address. */
void port_early_add(struct port_early_all *a, const struct launch_port *lp, unsigned index);
/* Starts the thread that sends the probes; it reads nothing. */
void port_early_begin(struct port_early_all *a);
/* Waits until the last probe was sent; the thread has then ended. */
void port_early_wait(struct port_early_all *a);
void port_early_done(struct port_early *e);

/* Whether the early probes suffice. They do if all were sent from that MAC, the link was up before
 * each of them and is up now, the interface stayed up, and no frame was dropped. A cable that was
 * pulled and plugged in between is not detected; replies during that time are lost, as for any port
 * that probes. */
bool port_early_is_good(const struct port_early *e, const struct mac_addr *mac);
/* Passes all replies that arrived so far to neigh; call port_neigh_probe_sent_early before. Returns
 * 0. After a negative errno replies may be missing, and the port must probe again: -ENETDOWN: the
 * interface was down; -EOVERFLOW: more frames arrived than were read. */
int port_early_input(const struct port_early *e, struct port_neigh *neigh, uint64_t now_ns);

#endif
