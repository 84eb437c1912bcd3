/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verdict about the latency of one path, with hysteresis. Judges windows of some seconds, by their
 * least round trip without the hosts' own delay, and by the round trip without our own queue, so
 * that neither a busy host nor load makes a path slow. A path is slow if it is far above another
 * port's path to the same peer, or far above its own past while no other path is: if all are late,
 * no leg is to blame. Pure numbers; knows nothing of packets or sessions. Times in ns.
 */
#ifndef PLENUM_DATAPLANE_RUDP_LATENCY_H
#define PLENUM_DATAPLANE_RUDP_LATENCY_H

#include "netcfg/base/base.h"

#define RUDP_LATENCY_FAR 5U		   /* times the usual round trip, */
#define RUDP_LATENCY_MORE_NS NSEC_PER_MSEC /* and this much more: a slow path */
#define RUDP_LATENCY_WINDOW_NS (2 * NSEC_PER_SEC)
#define RUDP_LATENCY_OWN_PAST (-1)

struct rudp_latency { /* zeros: nothing known */
	/* The current window; a sample that may be all the hosts' delay does not count. */
	uint64_t window_ns, least;
	unsigned samples;
	/* The last complete window: its round trip, its end, and how long it took. */
	uint64_t last, last_ns, last_took;
	uint64_t usual;		    /* average of `last` while it was usual */
	unsigned windows;	    /* in that average, up to a limit */
	uint64_t slow;		    /* the round trip of a slow path; 0: no verdict */
	uint64_t than;		    /* and the one it is compared with */
	int than_port;		    /* of that path; RUDP_LATENCY_OWN_PAST */
	uint8_t slow_run, good_run; /* windows in a row */
};

/* What the other ports' paths to the same peer show; zeros: there are none. */
struct rudp_latency_others {
	uint64_t least; /* the least `last` of them; 0: none is current */
	int port;	/* whose */
	bool late;	/* one of them is itself far above its past */
};

enum rudp_latency_news { RUDP_LATENCY_NO_NEWS, RUDP_LATENCY_SLOW, RUDP_LATENCY_GOOD };

/* host: the part that may be the hosts' delay; all of it, if a host cannot tell. Then the path has
 * no verdict. */
void rudp_latency_add(struct rudp_latency *l, uint64_t rtt, uint64_t host, uint64_t now);
/* Forgets the current window: the path was down. */
void rudp_latency_restart(struct rudp_latency *l, uint64_t now);
/* Whether the current window is complete. */
bool rudp_latency_is_due(const struct rudp_latency *l, uint64_t now);
/* Ends the window and judges it. base: the path's least round trip without its own queue; o: NULL
 * for a path without a verdict, as on standby. */
enum rudp_latency_news rudp_latency_close(struct rudp_latency *l, uint64_t base,
					  const struct rudp_latency_others *o, uint64_t now);
/* Adds another port's path to the summary. */
void rudp_latency_compare(const struct rudp_latency *l, int port, uint64_t now,
			  struct rudp_latency_others *o);

#endif
