/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends the duplicate address probes of port_neigh early, while a worker is still starting, which
 * can take long with DPDK. Number and interval of the probes are the same. Replies wait in a packet
 * socket until the worker is in its sandbox, because a worker reads no unauthenticated data before.
 * This module only saves time: after any failure, the port sends the probes itself. Only ports on a
 * kernel interface use it.
 */
#ifndef PLENUM_DATAPLANE_PORT_EARLY_H
#define PLENUM_DATAPLANE_PORT_EARLY_H

#include "dataplane/launch.h"
#include "dataplane/port/l2/port_neigh.h"
#include <pthread.h>

struct port_early { /* The early probes of one address. */
	int fd;	    /* the packet socket; -1: early probes are not used */
	char ifname[IFNAMSIZ];
	struct port_l2_local local; /* the port's addresses; the probes contain this MAC */
	unsigned n_sent;  /* count of probes that were sent; 0 if any probe could not be sent */
	uint64_t sent_ns; /* when the last probe was sent */
};

struct port_early_all {
	struct port_early asks[LAUNCH_PORTS_MAX];
	pthread_t thread;
	bool runs;
};

/* Initialises *a without any address. */
void port_early_init(struct port_early_all *a);
/* Adds this port's address. Call it before port_early_begin(). If it fails, the address gets no
 * early probes. */
void port_early_add(struct port_early_all *a, const struct launch_port *lp, unsigned index);
/* Starts the thread that sends the probes. The thread reads nothing. */
void port_early_begin(struct port_early_all *a);
/* Waits until the thread has sent the last probe and has ended. */
void port_early_wait(struct port_early_all *a);
void port_early_done(struct port_early *e);

/* Returns whether the early probes suffice. They suffice if all were sent with this MAC, the link
 * was up before each probe and is up now, the interface stayed up, and the socket dropped no frame.
 * A cable that was pulled and plugged in again between two probes is not detected. Replies from
 * that time are then missing, as for any port that probes. */
bool port_early_is_good(const struct port_early *e, const struct mac_addr *mac);
/* Passes all replies that have arrived so far to neigh. Call port_neigh_probe_sent_early() before.
 * Returns 0; -ENETDOWN if the interface was down; or -EOVERFLOW if there were more frames than one
 * call reads. After an error, replies may be missing, so the port must probe again. */
int port_early_input(const struct port_early *e, struct port_neigh *neigh, uint64_t now_ns);

#endif
