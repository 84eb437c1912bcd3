/* SPDX-License-Identifier: BSD-3-Clause */
/* The limits of a mount: throughput and operations. Only dataplane/fuse/client/ includes this
 * header. */
#ifndef PLENUM_DATAPLANE_FUSE_CLIENT_LIMITS_H
#define PLENUM_DATAPLANE_FUSE_CLIENT_LIMITS_H

#include "netcfg/base/base.h"

struct client_slot;
struct fuse_client;

/* How long a mount is shown as limited after a request was held back. */
#define CLIENT_LIMITS_SHOWN_NS (2 * NSEC_PER_SEC)

/* The limits of the mount, see client_limits.c. */
struct client_limits {
	bool is_on;
	uint64_t now_ns;     /* time of this turn */
	uint64_t due_ns;     /* when the next request that is held back may start; UINT64_MAX: no
				request is held back */
	unsigned n_too_many; /* how many requests must start now in spite of the limits, so that
				slots and buffers remain free */
	bool stopping;	     /* the worker ends: no request is held back */
};

/* Call once, when the client has its state. */
void client_limits_start(struct fuse_client *f, uint64_t now_ns);
/* Call when the worker ends: all requests that wait for a limit start. */
void client_limits_stop(struct fuse_client *f);
/* Returns whether a limit of the mount holds the request back. */
bool client_limits_hold(const struct client_slot *s);
/* Returns how many requests the limits hold back in this worker. */
unsigned client_limits_held(const struct fuse_client *f);
/* Counts data that the client has gathered. The client sends these data later, without waiting for
 * a limit, because another client may wait for the lease of the file. */
void client_limits_count(struct fuse_client *f, uint64_t bytes, uint64_t now_ns);
/* Returns whether a request would have to wait for a limit now. */
bool client_limits_exceeded(const struct fuse_client *f, uint64_t now_ns);

#endif
