/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests and responses of a session: messages in both directions, slots with their generations,
 * and the requests that the application is executing. rudp_call.c changes slots and calls.
 * rudp_tx.c selects chunks of slot.tx to send, and rudp_grant*.c change slot.in.
 */
#ifndef PLENUM_DATAPLANE_RUDP_CALL_H
#define PLENUM_DATAPLANE_RUDP_CALL_H

#include "dataplane/rudp/rudp.h"
#include "dataplane/rudp/rudp_grant.h"
#include "dataplane/rudp/wire/wire.h"
#include "netcfg/base/list.h"

#define RUDP_CHUNK_WORDS ((WIRE_CHUNKS_MAX + 63) / 64)
#define RUDP_LINE_BYTES 64 /* cache line of the processor */

/* An outgoing message. */
enum tx_queue {
	TX_NONE,   /* nothing to send now */
	TX_URGENT, /* the message has lost chunks, which are sent first */
	TX_SMALL,
	TX_BIG,
	TX_QUEUE_MAX
};
struct tx_msg {
	struct list node;
	const uint8_t *data;
	uint32_t len;
	uint16_t chunk_bytes, n_chunks;
	uint16_t next_chunk;	 /* first chunk that was not sent yet */
	uint16_t allowed_chunks; /* count of chunks that may be sent: all of them, unless the
				    message needs a grant */
	uint16_t n_lost, n_acked;
	uint8_t queue;	/* enum tx_queue */
	bool active;	/* the message is being sent: acknowledgements of its chunks are recorded */
	bool granted;	/* the peer has memory for the whole message, or the message needs no
			   grant */
	bool announce;	/* the announcement of the message must be sent */
	uint8_t turn;	/* running number of a big message, by which its source port is chosen */
	uint8_t prefer; /* for a response: the path on which the request arrived, which is preferred
			   among equal paths */
	struct chunk_word { /* a bit for each of 64 chunks; acked and lost are side by side, because
			       most messages need only one chunk_word */
		uint64_t acked, lost;
	} chunks[RUDP_CHUNK_WORDS];
};

/* An incoming message. */
struct rx_msg {
	uint8_t *buf;
	uint32_t len;
	uint16_t chunk_bytes, n_chunks, n_got;
	bool active;
	uint64_t got[RUDP_CHUNK_WORDS]; /* a bit for each chunk that arrived, if the message has
					   several chunks */
};

enum slot_state {
	SLOT_IDLE,
	SLOT_CALLING,	 /* client: request sent, response awaited */
	SLOT_ANNOUNCED,	 /* server: the request was announced, but has no memory yet */
	SLOT_RECEIVING,	 /* server: a part of the request has arrived and is stored */
	SLOT_DISCARDED,	 /* server: the request stalled, and what had arrived was dropped; the
			    client must send it again */
	SLOT_EXECUTING,	 /* server: the application executes the request */
	SLOT_RESPONDING, /* server: the response is not fully acknowledged */
};

/* The members are in the order of their use, so that a message of one packet only touches the first
 * cache lines of slot and tx. This matters when many messages are in flight. */
struct slot {
	_Alignas(RUDP_LINE_BYTES) uint32_t gen; /* generation of the current use */
	uint32_t free_bytes; /* client: how many bytes of the request may be sent without a grant */
	uint16_t index;
	uint8_t state;
	bool big;		/* client: the request is counted in n_active_big */
	uint64_t cookie;	/* client: value that was passed to rudp_call_send() as cookie */
	struct rudp_call *call; /* server: the call, in SLOT_EXECUTING */
	void *token;		/* server: the response's token, in SLOT_RESPONDING */
	struct list answer;	/* server: node in the session's list of responses */
	uint64_t answer_ns;	/* when the response began; 0: the response began after the
				   latest poll */
	struct slot *next_free; /* client: next in the list of free slots */
	struct rx_msg rx;
	struct tx_msg tx;
	struct incoming in;
};

struct rudp_call {
	struct rudp_session *s;
	/* NULL: the client has cancelled the request, so its response will not be sent */
	struct slot *slot;
	uint32_t held_bytes; /* number of bytes of the peer's rx_bytes_per_session that the request
				occupies */
	bool in_use;
	void *user;
	void *token;
	struct rudp_call *next; /* next free call, or next abandoned call */
};

struct waiting { /* a request that waits for a slot */
	const void *msg;
	uint32_t len;
	uint64_t cookie;
};
struct wait_ring {
	struct waiting *w;
	uint32_t head, tail, mask;
};

size_t rudp_call_bytes(const struct rudp *r, bool is_client);
/* memory: rudp_call_bytes() bytes, all zero. */
void rudp_call_init(struct rudp_session *s, uint8_t *memory);
void rudp_call_reset(struct rudp_session *s, unsigned n_slots, uint32_t free_bytes);
void rudp_call_activate(struct rudp_session *s);
/* Processes a received DATA packet. Returns 0 if its chunks were stored or not needed, -ENOBUFS if
 * memory is short, so that the peer must resend them, or -EBADMSG. It may call the application,
 * which may end the session. */
int rudp_call_rx(struct rudp_session *s, const struct wire_common *c, const struct wire_data *d);
void rudp_call_acked(struct rudp_session *s, uint16_t slot, uint32_t gen, uint16_t chunk);
/* Marks the chunk for retransmission unless it was acknowledged. Returns whether it was marked. */
bool rudp_call_lost(struct rudp_session *s, uint16_t slot, uint32_t gen, uint16_t chunk);
void rudp_call_poll(struct rudp_session *s, uint64_t now);
/* Server: returns when the oldest unacknowledged response reaches its time limit. */
uint64_t rudp_call_deadline(const struct rudp_session *s);
/* Returns whether the client is stuck, because it acknowledges too few bytes of its responses. A
 * client on a slow, shared link still acknowledges enough bytes. */
bool rudp_call_stuck(struct rudp_session *s, uint64_t now);
/* Client: a grant arrived. Sends the rest of the request, or, if the grant asks for it, all of it
 * again as a new generation. */
void rudp_call_granted(struct rudp_session *s, const struct wire_grant *g);
/* Client: sets how many bytes may be sent before a grant. */
void rudp_call_set_free(struct rudp_session *s, uint32_t bytes);
/* Server: gets memory for an announced request. Returns false if memory is short at present. */
bool rudp_call_reserve(struct rudp_session *s, struct slot *slot);
/* Server: drops a stalled partial request; frees its memory and informs the client. */
void rudp_call_discard(struct rudp_session *s, struct slot *slot);
/* Ends all calls and returns their buffers. A client's application gets `response` with `status`
 * for each, a server's application gets `call_gone` or `sent`. */
void rudp_session_end_calls(struct rudp_session *s, int status);

#endif
