/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hosts that clients connect from, by address: what the server has too little of is shared
 * among hosts first and among the sessions of a host second, because a host can open any number of
 * sessions. All IPv6 addresses of a /64 are one host.
 */
#ifndef PLENUM_SERVER_SOURCE_H
#define PLENUM_SERVER_SOURCE_H

#include "dataplane/fuse/server/objects/server_types.h"

#define SERVER_SOURCE_KEY_BYTES 9

/* A host's calls in one queue of one export's I/O helpers: server_fair.c. */
struct server_source_queue {
	struct list node;		 /* in server_fair.waiting while head is set */
	struct server_req *head, **tail; /* calls that wait for their turn */
	unsigned n_submitted;		 /* calls with the helpers */
	uint64_t spent_ns; /* time of the helpers used, comparable with other hosts that wait */
};

/* A host's requests in one export that wait for a free call: server_fair.c. */
struct server_source_calls {
	struct list node; /* in fuse_server.call_waits while head is set */
	struct server_source *source;
	struct server_req *head, **tail;
};

struct server_source {
	struct list node; /* in fuse_server.sources */
	struct fuse_server *server;
	uint8_t key[SERVER_SOURCE_KEY_BYTES];
	unsigned n_live;       /* sessions that take a place */
	unsigned n_refs;       /* clients, also those that have ended but have running requests;
				  and replies that are not acknowledged */
	struct list waiting;   /* clients with waiting requests */
	struct list wait_node; /* in fuse_server.wait_sources while there are any */
	unsigned n_waits[BUF_SIZES]; /* waiting requests of these clients, by the size of replies */
	unsigned n_calls[LAUNCH_EXPORTS_MAX]; /* calls in use */
	struct server_source_calls call_waits[LAUNCH_EXPORTS_MAX];
	unsigned n_running[LAUNCH_EXPORTS_MAX]; /* started requests without a reply */
	unsigned n_replies[BUF_CLASSES];	/* reply buffers in use, by class */
	uint64_t short_ns;			/* when it last had its share of them; 0: never */
	int work_credit; /* units of work that it may start before other hosts, server_wait.c */
	struct server_req *steps, **steps_tail; /* requests that go in steps */
	struct list steps_node; /* in fuse_server.step_sources while there are any */
	struct server_source_queue queues[LAUNCH_EXPORTS_MAX][HELPERS_QUEUE_MAX];
};

/* The host at this address, which lasts until server_source_put(); NULL as address: unknown. NULL:
 * no memory. */
struct server_source *server_source_get(struct fuse_server *srv, const struct ip_addr *from);
void server_source_put(struct server_source *h);
void server_sources_done(struct fuse_server *srv);
/* A reply buffer of the class is in use for the host, or no longer. */
void server_source_reply_take(struct server_source *h, unsigned class);
void server_source_reply_give(struct server_source *h, unsigned class);
/* No place for a session is free: ends the newest idle session of the host with most sessions, if
 * that host has at least two more than the one at `from`. */
void server_source_make_room(struct fuse_server *srv, const struct ip_addr *from);

#endif
