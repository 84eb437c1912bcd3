/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses which of several ports that share an address carries traffic: the first port in the list
 * that works. After a failure, a port must work for the hold time before it carries traffic again.
 * Callers pass the time. This module only chooses the port: it uses no back end and does not move
 * the address. Only the worker's thread uses it.
 */
#ifndef PLENUM_DATAPLANE_WORKER_ACTIVE_H
#define PLENUM_DATAPLANE_WORKER_ACTIVE_H

#include "dataplane/launch.h"

/* If a port fails soon after its return, the hold time is doubled, up to
 * 2^WORKER_ACTIVE_DOUBLED_MAX times the configured hold time. */
#define WORKER_ACTIVE_DOUBLED_MAX 6
#define WORKER_ACTIVE_SOON 10 /* after this many hold times, a port counts as stable again */

struct worker_active {
	unsigned n, active;
	uint64_t hold_ns;
	unsigned doubled; /* how many times the hold time is doubled at present */
	uint64_t since_ns[LAUNCH_PORTS_MAX]; /* when works[] of the port last changed; 0: never */
	bool works[LAUNCH_PORTS_MAX];
	/* When the active port last changed to an earlier one in the list, which had worked again
	 * for the hold time; 0: never. */
	uint64_t returned_ns;
};

/* Begins with n working ports, of which the first is active. */
void worker_active_init(struct worker_active *b, unsigned n, uint64_t hold_ns);
/* Sets whether port i works. Only worker_active_choose() changes the active port. */
void worker_active_set(struct worker_active *b, unsigned i, bool works, uint64_t now_ns);
/* Returns true if the active port has changed, so that b->active must carry the traffic from now
 * on. *ret_due_ns: when to call it again even if nothing has changed; UINT64_MAX: never. */
bool worker_active_choose(struct worker_active *b, uint64_t now_ns, uint64_t *ret_due_ns);

/* Returns whether the active port works. If it does not, no port does. */
static inline bool worker_active_carries(const struct worker_active *b)
{
	return b->works[b->active];
}

#endif
