/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Grants for big requests, given by the receiver: which client may send its next request, and how
 * much may be sent without a grant. Only rudp_grant*.c write these structures, except for the
 * memory accounts (held_bytes, stall_shift, short_of_memory), which rudp_call.c maintains.
 */
#ifndef PLENUM_DATAPLANE_RUDP_GRANT_H
#define PLENUM_DATAPLANE_RUDP_GRANT_H

#include "dataplane/rudp/rudp.h"
#include "netcfg/base/list.h"

struct slot;

/* Server: the part of a slot that belongs to rudp_grant*.c while its request arrives. */
struct incoming {
	struct list node;	/* in the list of its state: announced, fresh or stale */
	struct list grant_node; /* in the session's list of grants to send */
	bool granted;		/* the client may send all of it */
	bool counted;		/* included in grants.granted_bytes */
	uint8_t stall_shift;	/* how often the stall timeout was doubled */
	uint32_t granted_bytes;
	uint16_t progress_chunks; /* number of chunks received at progress_ns */
	uint64_t announced_ns, last_chunk_ns, progress_ns;
};

/* Size classes of requests waiting for a grant: up to 32 KiB, up to 64 KiB and so on; the last has
 * no limit. */
#define GRANT_CLASSES 7
#define GRANT_CHECK_NS (50 * NSEC_PER_MSEC) /* interval of the search for stalled requests */
struct grant_peer {
	struct list announced[GRANT_CLASSES]; /* slots, in order of arrival */
	struct list nodes[GRANT_CLASSES];     /* one per class: node in the endpoint's queue while
						 `announced` is not empty */
	struct list to_send;		      /* slots whose grant must be sent */
	uint32_t held_bytes;		      /* memory of its requests of more than 16 KiB */
	uint32_t n_incoming; /* its requests that are announced or partly received */
	uint8_t stall_shift; /* doublings of the stall timeout for the next request; grows with each
				stall */
};
struct grants {				   /* one per endpoint */
	struct list queues[GRANT_CLASSES]; /* sessions */
	struct list fresh, stale; /* partial requests, ordered by the time of their latest chunk */
	uint64_t granted_bytes;	  /* granted and not received yet, without stalled requests */
	unsigned granted_scale; /* scale of the limit for granted_bytes, in units of 1/GRANTED_SCALE
				 */
	unsigned n_granted, n_peers; /* peers with a request that is announced or partly received */
	unsigned turn;
	bool short_of_memory;			      /* the last call of buf_get returned NULL */
	uint64_t window_ns, window_bytes, rate_bytes; /* per WINDOW_NS */
	uint64_t check_ns, retry_ns;
};

void rudp_grant_init(struct rudp *r);
void rudp_grant_peer_init(struct rudp_session *s);
/* Call when a request was announced: it waits for memory, or has memory (SLOT_RECEIVING) and waits
 * for its turn. */
void rudp_grant_announced(struct rudp_session *s, struct slot *slot);
/* Moves the request, which has memory, before requests of its client that have none. */
void rudp_grant_move_first(struct rudp_session *s, struct slot *slot);
/* Call when a small request, which needs no grant, begins to arrive. */
void rudp_grant_begin(struct rudp_session *s, struct slot *slot);
/* Call when a chunk of a request was stored. */
void rudp_grant_progress(struct rudp_session *s, struct slot *slot, uint32_t bytes);
/* Call when the request is complete, or was dropped. */
void rudp_grant_end(struct rudp_session *s, struct slot *slot);
/* Queues the grant of `slot` for the peer, or the order to resend the request. */
void rudp_grant_queue(struct rudp_session *s, struct slot *slot);
/* Queues grants again after a packet with grants was lost. */
void rudp_grant_lost(struct rudp_session *s);
/* Grants the announced request; it must have memory. */
void rudp_grant_give(struct rudp_session *s, struct slot *slot);

/* Limit of granted bytes that have not arrived: twice the bytes received in one window, between a
 * minimum and a maximum. One sender with that much keeps the link busy; the minimum is two
 * requests, in case a sender is late. */
#define GRANTED_BYTES_MIN (1U << 20)
#define GRANTED_BYTES_MAX (16U << 20)
#define GRANTED_REQUESTS_MIN 2U
#define GRANTED_SCALE 256U /* unit of grants.granted_scale */
/* Whether the limit of granted bytes is reached. */
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
/* Reports the losses of about one millisecond on one of our ports. */
void rudp_grant_losses(struct rudp *r, uint64_t lost, uint64_t packets);
/* How many bytes of a request this peer may send before a grant. */
uint32_t rudp_grant_free_bytes(const struct rudp_session *s);

#endif
