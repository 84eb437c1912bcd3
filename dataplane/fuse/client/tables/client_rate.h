/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Token bucket of a mount: limits how many units (bytes or operations) the requests of all workers
 * of the mount use in a second. The bucket is one word in memory that the workers share, so it
 * needs no lock and no system call, and outlives each of them. The word is the time at which all
 * units that were taken so far are paid. A request may start when that time has come, and then adds
 * its own units. So a large request is never refused for its size, and the average is exact.
 *
 * Idle time is credited for at most CLIENT_RATE_BURST_NS. Because several workers may start a
 * request at the same moment, at most one more request per worker starts too early; the bucket
 * counts it nevertheless.
 */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_RATE_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_RATE_H

#include "netcfg/base/base.h"

#define CLIENT_RATE_BURST_NS (200 * NSEC_PER_MSEC)
/* How far in the future the word may be if a request must start before the limit allows it, because
 * slots and buffers run out. */
#define CLIENT_RATE_AHEAD_NS NSEC_PER_SEC
/* How many of the largest requests may start early beyond that: all requests that a worker repeats
 * after the death of its predecessor. A later word is damaged, or is from the time of a far lower
 * limit. */
#define CLIENT_RATE_UNPAID_MAX 256U

struct client_rate {
	uint64_t per_s; /* units per second; 0: no limit */
	uint64_t most;	/* units of the largest request */
};

/* Returns 0 if a request may start now, otherwise the earliest time at which it may start. */
uint64_t client_rate_due(const struct client_rate *r, const uint64_t *paid_ns, uint64_t now_ns);
/* Takes the units of a request that starts now. */
void client_rate_take(const struct client_rate *r, uint64_t *paid_ns, uint64_t units,
		      uint64_t now_ns);
/* Returns units that a request has taken but not used. */
void client_rate_return(const struct client_rate *r, uint64_t *paid_ns, uint64_t units);

#endif
