/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which of several ports carries where they have one address between them: the first that works,
 * and once it has failed not before it has worked again for a while. Pure, time is passed in; it
 * knows no back end and moves nothing. Owned by a worker, used by its thread only.
 */
#ifndef PLENUM_DATAPLANE_WORKER_ACTIVE_H
#define PLENUM_DATAPLANE_WORKER_ACTIVE_H

#include "dataplane/launch.h"

/* A port that fails again soon after it was taken back is waited for twice as long the next time,
 * up to 2^WORKER_ACTIVE_DOUBLED_MAX times the hold time. */
#define WORKER_ACTIVE_DOUBLED_MAX 6
#define WORKER_ACTIVE_SOON 10 /* hold times after which it counts as steady */

struct worker_active {
	unsigned n, active;
	uint64_t hold_ns;
	unsigned doubled;		     /* how often the hold time is doubled now */
	uint64_t since_ns[LAUNCH_PORTS_MAX]; /* it works since then */
	bool works[LAUNCH_PORTS_MAX];
	uint64_t server_ns; /* when an earlier port was taken back last; 0: never */
};

/* n ports that work, of which the first carries. */
void worker_active_init(struct worker_active *b, unsigned n, uint64_t hold_ns);
/* What port i does from now on. Nothing moves before worker_active_choose(). */
void worker_active_set(struct worker_active *b, unsigned i, bool works, uint64_t now_ns);
/* True: another port carries from now on, b->active. *ret_due_ns: when to ask again though nothing
 * has changed, UINT64_MAX: never. */
bool worker_active_choose(struct worker_active *b, uint64_t now_ns, uint64_t *ret_due_ns);

/* Whether the one that is to carry does; false: none works. */
static inline bool worker_active_carries(const struct worker_active *b)
{
	return b->works[b->active];
}

#endif
