/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of clients that a compute worker refuses. Reports each refusal to the operator of this
 * host, who can resolve most of them, and shows the list on the statistics page. worker_compute.c
 * uses it. The list has a maximum size, in total and for each address, because clients choose the
 * names in it.
 */
#ifndef PLENUM_WORKER_REFUSED_H
#define PLENUM_WORKER_REFUSED_H

#include "dataplane/fuse/server/fuse_server.h"
#include "dataplane/worker/worker.h"

/* A refused client retries at least every five seconds. So a client that was not refused for this
 * long has stopped trying, or was accepted. */
#define WORKER_REFUSED_NS (11 * NSEC_PER_SEC)

struct worker_refused_entry {
	struct launch_refused_client is;
	uint8_t mount_id[16];
	uint64_t last_ns;     /* time of the last refusal; 0: the entry is free */
	uint64_t reported_ns; /* time of the last report; 0: never */
	int error;    /* negative errno of the last refusal; 0: the client is no longer refused, so
			 the entry is not listed */
	int reported; /* the error that was last reported; 0: none was reported for this client */
};

/* A mount has an entry for each address from which its client asks. */
struct worker_refused {
	struct worker_refused_entry entries[LAUNCH_REFUSED_MAX];
	unsigned n;	   /* count of entries in use */
	uint64_t look_ns;  /* when to search for old entries next; 0: the list is empty */
	uint64_t refusals; /* count of refusals since the start */
};

/* Records a refusal. from: the client's address; q: what the client asked for; error: the result of
 * fuse_server_accept() or worker_identity_check(), with the word of the latter or "". Logs a new
 * entry and sends an event, unless the same refusal of a mount of that host was reported before. If
 * the error of an entry changes, reports that at most once in WORKER_REFUSED_NS for each address.
 * Ignores refusals that end without action by an operator. */
void worker_refused_add(struct worker *w, struct worker_refused *r,
			const struct fuse_server_asked *q, const struct ip_addr *from, int error,
			const char *word);
/* Removes the refusal of a mount that was accepted now. */
void worker_refused_drop(struct worker *w, struct worker_refused *r,
			 const struct fuse_server_asked *q);
/* Removes old entries. Returns when to call it next. */
uint64_t worker_refused_tick(struct worker *w, struct worker_refused *r);
/* Writes the list to the statistics page, with one entry per mount; call within its seqlock. */
void worker_refused_publish(const struct worker *w, const struct worker_refused *r);

#endif
