/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides whether one path is slow, with hysteresis. It evaluates time windows of some seconds by
 * two values: the minimum round trip without the delay of the hosts, and the round trip without
 * this sender's own queue. So neither a busy host nor load makes a path count as slow. A path is
 * slow if its round trip is far above that of another port's path to the same peer. A path is also
 * slow if its round trip is far above its usual value while no other path is slow. If all paths are
 * late, the cause is not one leg. It only computes, and does not depend on packets or sessions.
 * Times in ns.
 */
#ifndef PLENUM_DATAPLANE_RUDP_LATENCY_H
#define PLENUM_DATAPLANE_RUDP_LATENCY_H

#include "netcfg/base/base.h"

/* A path is slow if its round trip is this many times the usual round trip. */
#define RUDP_LATENCY_FAR 5U
/* The round trip of a slow path exceeds the usual round trip at least by this. */
#define RUDP_LATENCY_MORE_NS NSEC_PER_MSEC
#define RUDP_LATENCY_WINDOW_NS (2 * NSEC_PER_SEC)
#define RUDP_LATENCY_OWN_PAST (-1)

struct rudp_latency { /* a struct of zeros: nothing is known yet */
	/* The current window. It ignores samples that may consist only of the hosts' delay. */
	uint64_t window_ns, least;
	unsigned samples;
	/* The last complete window. last: its minimum round trip; last_ns: when it ended;
	 * last_took: how long it lasted. */
	uint64_t last, last_ns, last_took;
	uint64_t usual;	  /* average of `last` over windows that were not slow */
	unsigned windows; /* count of windows in that average, up to a limit */
	uint64_t slow;	  /* round trip because of which the path counts as slow; 0: the path is
			     not slow */
	uint64_t than;	  /* the round trip with which `slow` was compared */
	int than_port;	  /* port of the path with which `slow` was compared, or
			     RUDP_LATENCY_OWN_PAST */
	uint8_t slow_run, good_run; /* consecutive slow windows, consecutive good windows */
};

/* Summary of the other ports' paths to the same peer; all zeros: the peer has no other paths. */
struct rudp_latency_others {
	uint64_t least; /* the minimum of `last` among these paths; 0: none of them has a recent
			   value */
	int port;	/* the port whose path has `least` */
	bool late;	/* one of these paths is far slower than it was before */
};

enum rudp_latency_news { RUDP_LATENCY_NO_NEWS, RUDP_LATENCY_SLOW, RUDP_LATENCY_GOOD };

/* Adds a sample. host: the part of rtt that may be delay of the hosts. If a host cannot measure its
 * delay, pass all of rtt as host: the sample is then ignored, and a path without other samples is
 * never slow. */
void rudp_latency_add(struct rudp_latency *l, uint64_t rtt, uint64_t host, uint64_t now);
/* Forgets the current window; call it when the path comes up after it was down. */
void rudp_latency_restart(struct rudp_latency *l, uint64_t now);
/* Returns whether the current window is complete. */
bool rudp_latency_is_due(const struct rudp_latency *l, uint64_t now);
/* Ends the window and decides whether the path is slow. base: the path's round trip without this
 * sender's own queue; o: NULL for a path that must not be evaluated, such as a standby path. */
enum rudp_latency_news rudp_latency_close(struct rudp_latency *l, uint64_t base,
					  const struct rudp_latency_others *o, uint64_t now);
/* Adds the path of another port to the summary. */
void rudp_latency_compare(const struct rudp_latency *l, int port, uint64_t now,
			  struct rudp_latency_others *o);

#endif
