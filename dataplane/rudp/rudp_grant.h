/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Grants, by which a server decides which client may send its next big request. This module also
 * decides how much a client may send without a grant. Only rudp_grant*.c write these structures,
 * except for the memory accounts (held_bytes, stall_shift, short_of_memory), which rudp_call.c
 * maintains.
 */
#ifndef PLENUM_DATAPLANE_RUDP_GRANT_H
#define PLENUM_DATAPLANE_RUDP_GRANT_H

#include "dataplane/rudp/rudp.h"
#include "netcfg/base/list.h"

struct slot;

/* Server: the part of a slot that rudp_grant*.c use while the slot's request arrives. */
struct incoming {
	struct list node;	/* node in one of these lists: grant_peer.announced, grants.fresh,
				   grants.stale */
	struct list grant_node; /* node in the session's list of grants to send */
	bool granted;		/* the client may send the whole request */
	bool counted;		/* granted_bytes is included in grants.granted_bytes */
	uint8_t stall_shift;	/* how often the stall timeout was doubled for this request */
	uint32_t granted_bytes;
	uint16_t progress_chunks; /* count of chunks that had arrived at progress_ns */
	uint64_t announced_ns, last_chunk_ns, progress_ns;
};

/* Count of size classes of requests that wait for a grant: up to 32 KiB, up to 64 KiB and so on;
 * the last class has no upper limit. */
#define GRANT_CLASSES 7
/* Interval of the search for stalled requests. */
#define GRANT_CHECK_NS (50 * NSEC_PER_MSEC)
struct grant_peer {
	struct list announced[GRANT_CLASSES]; /* slots of announced requests, in order of arrival */
	struct list nodes[GRANT_CLASSES];     /* one per class: node in grants.queues while
						 `announced` of that class is not empty */
	struct list to_send;		      /* slots whose grant must be sent */
	uint32_t held_bytes;		      /* bytes of memory that the peer's requests of
						 more than 16 KiB occupy */
	uint32_t
		n_incoming; /* count of the peer's requests that are announced or partly received */
	uint8_t stall_shift; /* how often the stall timeout is doubled for the next request;
				incremented with each stall */
};
struct grants {				   /* one per endpoint */
	struct list queues[GRANT_CLASSES]; /* sessions that wait for a grant */
	struct list fresh, stale; /* partly received requests, ordered by the time of their latest
				     chunk */
	uint64_t granted_bytes;	  /* bytes that were granted and have not arrived, not counting
				     stale requests */
	unsigned granted_scale; /* scale of the limit for granted_bytes, in units of 1/GRANTED_SCALE
				 */
	unsigned n_granted, n_peers; /* n_peers: count of peers with a request that is announced or
					partly received */
	unsigned turn;
	bool short_of_memory;			      /* the last call of buf_get returned NULL */
	uint64_t window_ns, window_bytes, rate_bytes; /* rate_bytes: bytes received per WINDOW_NS */
	uint64_t check_ns, retry_ns;
};

void rudp_grant_init(struct rudp *r);
void rudp_grant_peer_init(struct rudp_session *s);
/* Call when a request was announced, or when its first chunk arrived without an announcement. The
 * request then waits for memory and for its turn. */
void rudp_grant_announced(struct rudp_session *s, struct slot *slot);
/* Moves the request to the head of the client's requests of the same size class, because this
 * request has received memory before its turn. */
void rudp_grant_move_first(struct rudp_session *s, struct slot *slot);
/* Call when the first chunk of a small request of several chunks was stored. Such a request needs
 * no grant. */
void rudp_grant_begin(struct rudp_session *s, struct slot *slot);
/* Call when a chunk of a request was stored. */
void rudp_grant_progress(struct rudp_session *s, struct slot *slot, uint32_t bytes);
/* Call when the request is complete, or was dropped. */
void rudp_grant_end(struct rudp_session *s, struct slot *slot);
/* Queues a message to the peer about `slot`: a grant, or the demand to send the request again. */
void rudp_grant_queue(struct rudp_session *s, struct slot *slot);
/* Queues grants again, because a packet with grants was lost. */
void rudp_grant_lost(struct rudp_session *s);
/* Grants the announced request. There must be memory for it. */
void rudp_grant_give(struct rudp_session *s, struct slot *slot);

/* Limits of the bytes that were granted and have not arrived. The current limit is twice the bytes
 * received in one window, so that a single sender can keep the link busy, but at least the minimum
 * and at most the maximum. It is at least two requests, so that the link stays busy if one of two
 * senders is late. */
#define GRANTED_BYTES_MIN (1U << 20)
#define GRANTED_BYTES_MAX (16U << 20)
#define GRANTED_REQUESTS_MIN 2U
#define GRANTED_SCALE 256U /* value of grants.granted_scale while the limit is not reduced */
/* Returns whether the limit of granted bytes is reached. */
static inline bool rudp_granted_is_full(const struct grants *g)
{
	uint64_t window = 2 * g->rate_bytes * g->granted_scale / GRANTED_SCALE;
	uint64_t most = MIN_OF(MAX_OF(window, GRANTED_BYTES_MIN), GRANTED_BYTES_MAX);

	return g->n_granted >= (g->granted_scale < GRANTED_SCALE ? 1 : GRANTED_REQUESTS_MIN) &&
	       g->granted_bytes >= most;
}

/* Issues grants and drops stalled partial requests. In rudp_grant_run.c. */
void rudp_grant_run(struct rudp *r, uint64_t now);
uint64_t rudp_grant_deadline(const struct rudp *r);
/* Adjusts the limit of granted bytes to the packets that were lost on one port within about a
 * millisecond. */
void rudp_grant_losses(struct rudp *r, uint64_t lost, uint64_t packets);
/* Returns how many bytes of a request this peer may send before a grant. */
uint32_t rudp_grant_free_bytes(const struct rudp_session *s);

#endif
