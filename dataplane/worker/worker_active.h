/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses which of several ports with one address carries traffic: the first that works; after a
 * failure it must work for the hold time before it carries again. Pure: callers pass the time; it
 * knows no back end and moves nothing. Owned by a worker, used by its thread only.
 */
#ifndef PLENUM_DATAPLANE_WORKER_ACTIVE_H
#define PLENUM_DATAPLANE_WORKER_ACTIVE_H

#include "dataplane/launch.h"

/* A port that fails soon after its return must work twice as long the next time, up to
 * 2^WORKER_ACTIVE_DOUBLED_MAX times the hold time. */
#define WORKER_ACTIVE_DOUBLED_MAX 6
#define WORKER_ACTIVE_SOON 10 /* hold times after which it counts as steady */

struct worker_active {
	unsigned n, active;
	uint64_t hold_ns;
	unsigned doubled;		     /* how often the hold time is doubled at present */
	uint64_t since_ns[LAUNCH_PORTS_MAX]; /* works since */
	bool works[LAUNCH_PORTS_MAX];
	uint64_t server_ns; /* last return of an earlier port; 0: never */
};

/* n working ports, of which the first carries. */
void worker_active_init(struct worker_active *b, unsigned n, uint64_t hold_ns);
/* Sets the state of port i. Nothing moves before worker_active_choose(). */
void worker_active_set(struct worker_active *b, unsigned i, bool works, uint64_t now_ns);
/* True: another port now carries, b->active. *ret_due_ns: when to call again even if nothing has
 * changed, UINT64_MAX: never. */
bool worker_active_choose(struct worker_active *b, uint64_t now_ns, uint64_t *ret_due_ns);

/* Whether the active port works; false: none works. */
static inline bool worker_active_carries(const struct worker_active *b)
{
	return b->works[b->active];
}

#endif
