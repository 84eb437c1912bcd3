/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clients that a compute worker refuses: reports each to the operator of this host, who can
 * resolve most refusals, and lists them on the statistics page. Called by worker_compute.c. The
 * table is bounded, in total and for each address, because clients choose the names in it.
 */
#ifndef PLENUM_WORKER_REFUSED_H
#define PLENUM_WORKER_REFUSED_H

#include "dataplane/fuse/server/fuse_server.h"
#include "dataplane/worker/worker.h"

/* A client that is still refused retries at least every five seconds, so one that was not refused
 * for this long has given up, or was accepted. */
#define WORKER_REFUSED_NS (11 * NSEC_PER_SEC)

struct worker_refused_entry {
	struct launch_refused_client is;
	uint8_t mount_id[16];
	uint64_t last_ns;     /* time of the last refusal; 0: the entry is free */
	uint64_t reported_ns; /* time of the last report; 0: never */
	int error; /* negative errno of the last refusal; 0: it is no longer refused, or listed */
	int reported; /* the error that was reported last; 0: none for this client */
};

/* A mount has an entry for each address from which its client asks. */
struct worker_refused {
	struct worker_refused_entry entries[LAUNCH_REFUSED_MAX];
	unsigned n;	   /* entries in use */
	uint64_t look_ns;  /* when to search for old entries next; 0: there are no entries */
	uint64_t refusals; /* number of refusals since the start */
};

/* Records that a client that asked for this, from that address, was refused with `error`, as
 * fuse_server_accept() returns it. Logs a new entry and sends an event, unless a mount of the
 * client's host was refused for this reason before. If the error of an entry changes, does so at
 * most once in WORKER_REFUSED_NS for each address. Errors that pass without an operator are not
 * recorded. */
void worker_refused_add(struct worker *w, struct worker_refused *r,
			const struct fuse_server_asked *q, const struct ip_addr *from, int error);
/* Forgets the refusal of a mount that was accepted. */
void worker_refused_drop(struct worker *w, struct worker_refused *r,
			 const struct fuse_server_asked *q);
/* Forgets old entries. Returns when to call it next. */
uint64_t worker_refused_tick(struct worker *w, struct worker_refused *r);
/* Writes the list to the statistics page, each mount once; call within its seqlock. */
void worker_refused_publish(const struct worker *w, const struct worker_refused *r);

#endif
