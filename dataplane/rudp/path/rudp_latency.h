/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides whether one path is slow, with hysteresis. It judges windows of some seconds by two
 * values, so that neither a busy host nor load makes a path slow: the least round trip without the
 * hosts' own delay, and the round trip without our own queue. A path is slow if its round trip is
 * far above that of another port's path to the same peer. It is also slow if its round trip is far
 * above its own past while no other path is late: if all are late, the cause is not one leg. It
 * only computes; it knows nothing of packets or sessions. Times in ns.
 */
#ifndef PLENUM_DATAPLANE_RUDP_LATENCY_H
#define PLENUM_DATAPLANE_RUDP_LATENCY_H

#include "netcfg/base/base.h"

/* A path is slow if its round trip is this many times the usual one. */
#define RUDP_LATENCY_FAR 5U
/* A slow path also exceeds the usual round trip by at least this. */
#define RUDP_LATENCY_MORE_NS NSEC_PER_MSEC
#define RUDP_LATENCY_WINDOW_NS (2 * NSEC_PER_SEC)
#define RUDP_LATENCY_OWN_PAST (-1)

struct rudp_latency { /* all zeros: nothing is known yet */
	/* The current window; samples that may consist only of the hosts' delay are left out. */
	uint64_t window_ns, least;
	unsigned samples;
	/* The last complete window: its round trip, when it ended, and how long it took. */
	uint64_t last, last_ns, last_took;
	uint64_t usual;	  /* average of `last` over windows that were not slow */
	unsigned windows; /* number of windows in that average, up to a limit */
	uint64_t slow;	  /* the round trip of a slow path; 0: it is not slow */
	uint64_t than;	  /* the round trip that `slow` was compared with */
	int than_port; /* port of the path that `slow` was compared with; or RUDP_LATENCY_OWN_PAST
			*/
	uint8_t slow_run, good_run; /* consecutive slow windows, consecutive good windows */
};

/* Summary of the other ports' paths to the same peer; all zeros: there are none. */
struct rudp_latency_others {
	uint64_t least; /* the least `last` of them; 0: no recent value */
	int port;	/* whose */
	bool late;	/* one of them is far above its own past */
};

enum rudp_latency_news { RUDP_LATENCY_NO_NEWS, RUDP_LATENCY_SLOW, RUDP_LATENCY_GOOD };

/* Adds a sample. host: the part of rtt that may be the hosts' delay. If a host cannot measure its
 * delay, host is all of rtt, and the path gets no verdict. */
void rudp_latency_add(struct rudp_latency *l, uint64_t rtt, uint64_t host, uint64_t now);
/* Forgets the current window; call it when the path comes up after it was down. */
void rudp_latency_restart(struct rudp_latency *l, uint64_t now);
/* Whether the current window is complete. */
bool rudp_latency_is_due(const struct rudp_latency *l, uint64_t now);
/* Ends the window and judges it. base: the path's least round trip without its own queue; o: NULL
 * for a path that gets no verdict, such as a standby path. */
enum rudp_latency_news rudp_latency_close(struct rudp_latency *l, uint64_t base,
					  const struct rudp_latency_others *o, uint64_t now);
/* Adds another port's path to the summary. */
void rudp_latency_compare(const struct rudp_latency *l, int port, uint64_t now,
			  struct rudp_latency_others *o);

#endif
