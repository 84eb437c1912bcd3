/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiver-driven grants for big requests: which client may send its next request, and how much may
 * be sent without a grant. rudp_grant*.c alone write these structures, except for memory accounts
 * (held_bytes, stall_shift, short_of_memory), which rudp_call.c keeps.
 */
#ifndef PLENUM_DATAPLANE_RUDP_GRANT_H
#define PLENUM_DATAPLANE_RUDP_GRANT_H

#include "dataplane/rudp/rudp.h"
#include "netcfg/base/list.h"

struct slot;

/* Server: rudp_grant*.c's part of a slot while its request arrives. */
struct incoming {
	struct list node;	/* in the list for its state: announced, fresh or stale */
	struct list grant_node; /* in the session's list of grants to send */
	bool granted;		/* all of it may be sent */
	bool counted;		/* included in grants.granted_bytes */
	uint8_t stall_shift;	/* doublings of the stall timeout */
	uint32_t granted_bytes;
	uint16_t progress_chunks; /* chunks received at progress_ns */
	uint64_t announced_ns, last_chunk_ns, progress_ns;
};

/* Size classes of requests waiting for a grant: up to 32 KiB, 64 KiB ... and larger. */
#define GRANT_CLASSES 7
#define GRANT_CHECK_NS (50 * NSEC_PER_MSEC) /* between looks for stalled requests */
struct grant_peer {
	struct list announced[GRANT_CLASSES]; /* slots, in order of arrival */
	struct list
		nodes[GRANT_CLASSES]; /* in the endpoint's queue while `announced` is not empty */
	struct list to_send;	      /* slots whose grant must be sent */
	uint32_t held_bytes;	      /* memory of its requests of more than 16 KiB */
	uint32_t n_incoming;	      /* its requests announced or partly received */
	uint8_t stall_shift; /* doublings of the next request's stall timeout; grows with each stall
			      */
};
struct grants {				   /* of the endpoint */
	struct list queues[GRANT_CLASSES]; /* sessions */
	struct list fresh, stale;	   /* partial requests, by time of their latest chunk */
	uint64_t granted_bytes;		   /* granted and not received; without stalled requests */
	unsigned granted_scale; /* scale of the limit for granted_bytes, of GRANTED_SCALE */
	unsigned n_granted,
		n_peers; /* n_peers: peers with a request announced or partly received */
	unsigned turn;
	bool short_of_memory;			      /* buf_get returned NULL last time */
	uint64_t window_ns, window_bytes, rate_bytes; /* per WINDOW_NS */
	uint64_t check_ns, retry_ns;
};

void rudp_grant_init(struct rudp *r);
void rudp_grant_peer_init(struct rudp_session *s);
/* A request was announced: it waits for memory, or has memory (SLOT_RECEIVING) and waits for its
 * turn. */
void rudp_grant_announced(struct rudp_session *s, struct slot *slot);
/* The request already has memory: moves it before requests of its client that have none. */
void rudp_grant_move_first(struct rudp_session *s, struct slot *slot);
/* A small request, which needs no grant, began to arrive. */
void rudp_grant_begin(struct rudp_session *s, struct slot *slot);
/* A chunk of a request was stored. */
void rudp_grant_progress(struct rudp_session *s, struct slot *slot, uint32_t bytes);
/* The request is complete, or was dropped. */
void rudp_grant_end(struct rudp_session *s, struct slot *slot);
/* Queues the grant (or the request to resend) of `slot` for the peer. */
void rudp_grant_queue(struct rudp_session *s, struct slot *slot);
/* A packet with grants was lost: queues them again. */
void rudp_grant_lost(struct rudp_session *s);
/* Grants the announced request, which has memory. */
void rudp_grant_give(struct rudp_session *s, struct slot *slot);

/* Limit of granted bytes not received yet: twice the bytes received in one window, within bounds.
 * One sender with that much keeps the link busy; at least two requests cover late senders. */
#define GRANTED_BYTES_MIN (1U << 20)
#define GRANTED_BYTES_MAX (16U << 20)
#define GRANTED_REQUESTS_MIN 2U
#define GRANTED_SCALE 256U /* of grants.granted_scale */
/* Whether as much is granted as may be in flight. */
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
/* Losses of about one millisecond on one of our ports. */
void rudp_grant_losses(struct rudp *r, uint64_t lost, uint64_t packets);
/* How many bytes of a request this peer may send before a grant. */
uint32_t rudp_grant_free_bytes(const struct rudp_session *s);

#endif
