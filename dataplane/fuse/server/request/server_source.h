/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hosts from which clients connect, identified by their address. Scarce resources of the server
 * are shared among hosts first and among the sessions of a host second, because a host can open any
 * number of sessions. All IPv6 addresses of a /64 are one host.
 */
#ifndef PLENUM_SERVER_SOURCE_H
#define PLENUM_SERVER_SOURCE_H

#include "dataplane/fuse/server/objects/server_types.h"

#define SERVER_SOURCE_KEY_BYTES 9

/* A host's calls in one queue of one export's I/O helpers, see server_fair.c. */
struct server_source_queue {
	struct list node;		 /* node in server_fair.waiting while head is not NULL */
	struct server_req *head, **tail; /* calls that wait for their turn */
	unsigned n_submitted; /* count of the host's calls that were submitted to the helpers */
	uint64_t spent_ns;    /* for how long the host has used the helpers; raised when the host
				 begins to wait, so that it can be compared with other hosts */
};

/* A host's requests in one export that wait for a free call, see server_fair.c. */
struct server_source_calls {
	struct list node; /* node in fuse_server.call_waits while head is not NULL */
	struct server_source *source;
	struct server_req *head, **tail;
};

struct server_source {
	struct list node; /* node in fuse_server.sources */
	struct fuse_server *server;
	uint8_t key[SERVER_SOURCE_KEY_BYTES];
	unsigned n_live; /* count of the host's sessions that count against the limit */
	unsigned n_refs; /* count of clients (including ended ones that have running requests) plus
			    number of unacknowledged replies */
	struct list waiting; /* clients with waiting requests */
	/* Node in fuse_server.wait_sources while there are waiting clients. */
	struct list wait_node;
	unsigned n_waits[BUF_SIZES]; /* count of waiting requests of these clients, by range of
					sizes of their replies */
	unsigned n_calls[LAUNCH_EXPORTS_MAX]; /* count of helper calls in use */
	struct server_source_calls call_waits[LAUNCH_EXPORTS_MAX];
	unsigned n_running[LAUNCH_EXPORTS_MAX]; /* count of requests that were started and have no
						   reply yet */
	unsigned n_replies[BUF_CLASSES];	/* count of reply buffers in use, by class */
	uint64_t short_ns;	/* when the host last had all the reply buffers that it may have; 0:
				   never */
	uint64_t begun_in_turn; /* index of the turn in which work_begun was counted */
	int work_begun;		/* units of work that the host began at once in that turn */
	int work_credit; /* units of work (server_wait.c) that the host may still begin before
			    it is the next host's turn */
	struct server_req *steps, **steps_tail; /* requests that are executed in steps, see
						   server_steps.c */
	struct list steps_node; /* node in fuse_server.step_sources while the host has such
				   requests */
	struct server_source_queue queues[LAUNCH_EXPORTS_MAX][HELPERS_QUEUE_MAX];
};

/* Returns the host at this address (NULL: unknown). It is valid until server_source_put(). Returns
 * NULL if memory is short. */
struct server_source *server_source_get(struct fuse_server *srv, const struct ip_addr *from);
void server_source_put(struct server_source *h);
void server_sources_done(struct fuse_server *srv);
/* Count the host's reply buffers: call _take when the host has received a buffer of this class, and
 * _give when this buffer was freed. */
void server_source_reply_take(struct server_source *h, unsigned class);
void server_source_reply_give(struct server_source *h, unsigned class);
/* Call when no session is free: ends the newest idle session of the host with the most sessions, if
 * that host has at least two more than the host at `from`. */
void server_source_make_room(struct fuse_server *srv, const struct ip_addr *from);

#endif
