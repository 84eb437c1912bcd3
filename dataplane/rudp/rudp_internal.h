/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the rudp*.c files and included nowhere else. rudp.c: endpoint, poll, stateless replies.
 * rudp_session.c: session life cycle. rudp_hello.c, rudp_accept.c: handshake. rudp_call.c: slots,
 * requests, responses. rudp_grant.c: order of big requests. rudp_incast_share.c: limit for many
 * senders of small messages. rudp_tx.c: which chunk to send when, on which path. rudp_rx.c: packets
 * in, acknowledgements out. rudp_path.c: path states and probes. rudp_suspect.c: early
 * retransmission on another path. rudp_loss.c: acknowledgements and losses. Parts of a path that
 * know nothing of the rest, each with its own header: rudp_sent (packets in flight), rudp_rtt,
 * rudp_cc (congestion window), rudp_mtu, rudp_acks (packets received), rudp_gso (GSO burst health),
 * rudp_src_ports.
 *
 * A request occupies a slot of its session, with the same index at both ends; each use of a slot
 * has a larger generation. So (slot, generation) names a request, old packets are recognised
 * without a history, and a new generation acknowledges the previous one completely. Chunks are
 * numbered within their message; packets are numbered per path and never resent: lost chunks travel
 * again in a packet with a new number.
 */
#ifndef PLENUM_DATAPLANE_RUDP_INTERNAL_H
#define PLENUM_DATAPLANE_RUDP_INTERNAL_H

#include "dataplane/rudp/rudp.h"
#include "dataplane/rudp/rudp_acks.h"
#include "dataplane/rudp/rudp_cc.h"
#include "dataplane/rudp/rudp_gso.h"
#include "dataplane/rudp/rudp_mtu.h"
#include "dataplane/rudp/rudp_rtt.h"
#include "dataplane/rudp/rudp_secure.h"
#include "dataplane/rudp/rudp_sent.h"
#include "dataplane/rudp/rudp_src_ports.h"
#include "dataplane/rudp/wire.h"

#define RUDP_TIME_NEVER UINT64_MAX
#define RUDP_CHUNK_WORDS ((WIRE_CHUNKS_MAX + 63) / 64)
#define RUDP_SEEDS_MAX 16
#define RUDP_RAW_MAX 32	   /* replies without a session, queued for the next poll */
#define RUDP_RAW_BYTES 120 /* the longest such reply */
/* The longest body of an answer to HELLO, sealed. */
#define RUDP_ANSWER_MAX \
	(WIRE_ACCEPT_BODY_BYTES + WIRE_ADDRS_MAX * WIRE_ADDR_BYTES + RUDP_NOISE_OVERHEAD)

#define RUDP_GSO_BYTES 65000U /* a GSO burst fits one segmented send */
#define RUDP_GSO_PACKETS 64U
#define RUDP_INDEX_MASK \
	0xffffULL /* the low bits of a session's number are its index in the table */
#define RUDP_FIRST_CALLS 4U
#define RUDP_GSO_LONG 16384U /* bytes: bursts of this size get a send timestamp */
#define RUDP_GSO_BURSTS_MAX 16U
#define RUDP_FLUSH_BYTES \
	100000U /* two bursts: then the ports send, so that the peer can start working */
_Static_assert(RUDP_GSO_BURSTS_MAX *RUDP_GSO_LONG >= RUDP_FLUSH_BYTES,
	       "every long burst has a record");
#define RUDP_POLL_PACKETS 512U /* limit per poll, then the caller looks at its input again */
_Static_assert(RUDP_SMALL_BYTES == WIRE_SMALL_BYTES, "rudp and the wire format agree on small");
#define RUDP_SMALL_OVERSHOOT (16U << 10) /* small messages may exceed the window by this */
#define RUDP_PACE_SMALL 4U		 /* below this window small messages are paced too */
#define RUDP_LINE_BYTES 64		 /* cache line of the processor */
#define RUDP_DRAIN_BYTES (8U << 10)	 /* window while the minimum round trip is remeasured */

struct list {
	struct list *next, *prev;
};
static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}
static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}
static inline void list_add_tail(struct list *head, struct list *l)
{
	l->prev = head->prev;
	l->next = head;
	head->prev->next = l;
	head->prev = l;
}
static inline void list_del(struct list *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
	list_init(l);
}
#define list_entry(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/* An outgoing message. */
enum tx_queue {
	TX_NONE,   /* nothing to send now */
	TX_URGENT, /* has lost chunks */
	TX_SMALL,
	TX_BIG,
	TX_QUEUE_MAX
};
struct tx_msg {
	struct list node;
	const uint8_t *data;
	uint32_t len;
	uint16_t chunk_bytes, n_chunks;
	uint16_t next_chunk;	 /* first chunk not sent yet */
	uint16_t allowed_chunks; /* chunks below this may be sent: all, except for an ungranted
				  * request
				  */
	uint16_t n_lost, n_acked;
	uint8_t queue;	/* enum tx_queue */
	bool active;	/* acknowledgements still matter */
	bool granted;	/* the peer has memory for all of it, or it needs no grant */
	bool announce;	/* its announcement must be sent */
	uint8_t turn;	/* of a big message: selects its source port */
	uint8_t prefer; /* of a response: the path its request came on, preferred among equals */
	struct chunk_word { /* 64 chunks; interleaved, because most messages have one word */
		uint64_t acked, lost;
	} chunks[RUDP_CHUNK_WORDS];
};

/* An incoming message. */
struct rx_msg {
	uint8_t *buf;
	uint32_t len;
	uint16_t chunk_bytes, n_chunks, n_got;
	bool active;
	uint64_t got[RUDP_CHUNK_WORDS]; /* of messages with several chunks */
};

enum slot_state {
	SLOT_IDLE,
	SLOT_CALLING,	 /* client: request sent, response awaited */
	SLOT_ANNOUNCED,	 /* server: a request without memory yet */
	SLOT_RECEIVING,	 /* server: a request partly received into its memory */
	SLOT_DISCARDED,	 /* server: the partial request stalled and was dropped; the client must
			    resend it */
	SLOT_EXECUTING,	 /* server: the application has it */
	SLOT_RESPONDING, /* server: response not fully acknowledged */
};

/* Server: rudp_grant.c's part of a slot while its request arrives. */
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

/* Members are in order of use: a message of one packet touches only the first cache lines of slot
 * and tx. This matters when many messages are in flight. */
struct slot {
	_Alignas(RUDP_LINE_BYTES) uint32_t gen; /* of the current use */
	uint32_t free_bytes;			/* client: bytes it may send before its grant */
	uint16_t index;
	uint8_t state;
	bool big;		/* client: counted in n_active_big */
	uint64_t cookie;	/* client */
	struct rudp_call *call; /* server, in SLOT_EXECUTING */
	void *token;		/* server, in SLOT_RESPONDING */
	struct list answer;	/* server: in the session's list of responses */
	uint64_t answer_ns;	/* start of the response; 0: since the latest poll */
	struct slot *next_free; /* client */
	struct rx_msg rx;
	struct tx_msg tx;
	struct incoming in;
};

struct rudp_call {
	struct rudp_session *s;
	struct slot *slot;   /* NULL: the client gave up on it, and its response is not sent */
	uint32_t held_bytes; /* counts against rx_bytes_per_session */
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

enum path_state {
	PATH_NONE,
	PATH_JOINING, /* client: HELLO sent, no ACCEPT yet */
	PATH_UP,
	PATH_DOWN,
};

/* A suspect path is up and silent while the peer answers on another path. */
enum suspect_stage {
	SUSPECT_NONE,
	SUSPECT_PROBED,	   /* its oldest small message was copied to another path as a probe */
	SUSPECT_CONFIRMED, /* the peer answered there and still not here: all its small messages
			   were copied */
	SUSPECT_MOVED,	   /* still silent: all its packets were moved */
};

struct rudp_path {
	uint8_t state, index, port;
	uint8_t suspect_stage; /* enum suspect_stage; a suspect path sends nothing new while others
			  are not suspect */
	bool standby;
	bool timed_out;	 /* up, but two timeouts passed: sends nothing new */
	bool local_down; /* the link under our port */
	bool peer_down;	 /* the peer reports its link down */
	bool tx_blocked; /* the port is full, until the next poll */
	struct datagram_addr remote;

	struct rudp_sent sent;
	struct rudp_mtu mtu;
	struct rudp_rtt rtt;
	struct rudp_cc cc;
	struct rudp_acks acks;
	struct rudp_gso gso;
	struct rudp_src_ports src_ports;
	uint64_t pace_ns; /* big messages wait until then */

	/* health */
	uint64_t last_rx_ns, probe_ns;
	bool probe_due;
	uint8_t quiet; /* doublings of the probe interval: number of intervals without a message */
	uint64_t answered_since; /* down: start of the current run of answered probes; 0: none */
	unsigned unanswered, missed; /* probes since the last answer; those sent while the peer
					answered elsewhere */
	uint64_t probe_sent_ns;	     /* send time of the last one */
	unsigned probes_sent, probes_answered; /* probes and answers since answered_since */
	uint64_t hold_ns;      /* how long it must answer to be up again; grows while it flaps */
	uint64_t recovered_ns; /* time of the last recovery; 0: never was down */
	uint64_t timed_out_ns,
		alive_elsewhere_ns; /* when the peer answered on another path, but not here */
	int tx_error_code;
	uint64_t tx_error_ns; /* since when the port refuses our packets */
	uint64_t hello_ns, hello_interval, cookie;
	bool hello_again;    /* the peer must learn the changed standby flag */
	bool crossed;	     /* client: standby by address order, used when labels are unknown */
	uint32_t peer_label; /* client: label of the peer's end */
	uint32_t label_pn;   /* client: packet number of the LABEL that set it; 0: ACCEPT did */
	uint32_t join_pn; /* server: packet number of the JOIN that set `standby`; 0: HELLO did */
	uint32_t class_stamp; /* when `standby` changed, in the unit of JOIN's stamps */
	bool label_pending;   /* server: the client has not confirmed our end's label */
	uint64_t label_ns, label_interval;
	uint32_t incast_stamp;	   /* the port's incast window in which this path last received */
	uint32_t share_sent_bytes; /* incast share last sent to the peer */
	uint64_t share_sent_ns;
	uint32_t share_pn,
		share_bytes; /* incast share received from the peer, and in which packet */
	uint64_t share_until;
	uint64_t small_pace_ns; /* next small message by the incast share */
	uint64_t peer_alive_ns; /* when the peer answered on another path during this path's silence
				 */
	uint64_t pause_since, pause_from, pause_ns; /* of the latest failover */

	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes, lost_packets, retransmits, failovers;
	uint64_t last_pause_ns;
	uint64_t since_ns; /* of the last change of state, or of its creation */
};

/* Size classes of requests waiting for a grant: up to 32 KiB, 64 KiB ... and larger. */
#define GRANT_CLASSES 7
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

/* Arrivals on one port from all senders: rudp_incast_share.c. */
struct rudp_incast {
	uint64_t window_ns; /* start of the current window */
	uint32_t stamp;	    /* number of the current window */
	uint32_t packets, expected, bytes, n_senders;
	uint32_t limit_bytes; /* limit for all senders together in flight; 0: none */
	uint32_t share_bytes; /* limit for each sender */
	uint32_t first_loss;  /* losses per 1024 packets when the limit began */
	uint32_t futile_cuts; /* consecutive cuts that did not halve the losses */
	uint32_t few_windows; /* consecutive windows with few senders */
	uint64_t paused_ns;
};

enum session_state { SESSION_CONNECTING, SESSION_UP, SESSION_DEAD };

/* State of a handshake. Client: the HELLO with its cookie and the Noise state for reading the
 * answer. Server: the ACCEPT, kept until the client has confirmed it. */
struct rudp_handshake {
	struct rudp_noise noise;
	bool chosen,
		due; /* client: `path` is being followed; server: ACCEPT is due at the next poll */
	uint8_t path;
	uint8_t n_late; /* client: consecutive handshakes that were not accepted in time */
	unsigned n_sent;
	uint32_t stamp;
	uint64_t chosen_ns;
	uint16_t body_len;
	uint8_t hdr[WIRE_HELLO_BYTES];
	uint8_t body[RUDP_ANSWER_MAX];
	/* client: all addresses of the server, in its order, including those that no port of ours
	 * reaches */
	struct wire_addr addrs[WIRE_ADDRS_MAX];
	unsigned n_addrs;
};

struct rudp_session {
	struct rudp *r;
	uint64_t number, peer_number; /* each names the session in packets to its owner */
	uint64_t peer_identity, replaced_number;
	uint32_t peer_epoch;
	bool is_client;
	uint8_t state; /* enum session_state */
	bool dirty;    /* in the endpoint's dirty_list */
	struct rudp_session *next_dead;
	void *user;
	struct list dirty_node;
	unsigned timer_at; /* index in the timer heap plus 1; 0: none */
	uint64_t timer_ns, last_rx_ns;
	size_t bytes; /* size of the mapping that holds the session and its arrays */
	char refusal[WIRE_REFUSE_TEXT_MAX + 1]; /* word sent or received with REFUSE */
	struct datagram_addr hello_from;	/* server: the client's address, validated */

	unsigned n_paths;
	uint16_t chunk_bytes;	   /* of new messages: fits every path that is up */
	uint16_t peer_mtu;	   /* the largest of its ports; 0: unknown */
	uint32_t labels;	   /* server: value of the endpoint's `labels` at ACCEPT */
	uint8_t n_addrs_confirmed; /* server: number of our addresses that the client has confirmed
				    */
	uint64_t addr_ns, addr_interval; /* when to send the next address; its retry interval */
	uint64_t ack_serial; /* counter of control packets sent (ACK, CLOSE, JOIN, JOINED, LABEL,
				SHARE) */
	uint32_t peer_ack_serial;
	bool state_due; /* send the state of our paths at once */
	uint8_t peer_down_mask;

	/* Slots from n_fresh on are unused in this incarnation; their memory may never have been
	 * touched. */
	struct slot *slots;
	unsigned n_slots, n_fresh;
	struct slot *free_slots;
	unsigned n_active, n_active_big;
	struct wait_ring wait_small, wait_big;
	uint32_t free_most, free_used; /* client: limit and use of bytes sent before a grant */
	struct grant_peer grants;      /* server */
	struct list answers;	       /* server: slots in SLOT_RESPONDING, oldest first */
	uint64_t answers_ns;	       /* bytes acknowledged of them since answers_ns */
	uint64_t answers_bytes;
	struct rudp_call *calls, *free_calls, *abandoned_calls;
	unsigned n_calls, n_fresh_calls;
	struct rudp_call first_calls[RUDP_FIRST_CALLS]; /* used before those in `calls` */

	struct list tx[TX_QUEUE_MAX];
	uint8_t pausing;    /* bit per path: failed over with packets in flight, of which none has
			       arrived yet */
	uint8_t turn;	    /* for the next big message */
	uint32_t small_run; /* bytes of small messages sent since the last burst of a big one */

	/* client: the handshake */
	struct datagram_addr seeds[RUDP_SEEDS_MAX];
	unsigned n_seeds, first_seed;
	uint64_t refused_ns;
	int refused_code;
	struct datagram_addr refused_by;
	uint64_t connecting_ns, rotate_ns;
	uint16_t hello_len;
	uint8_t hello[WIRE_HELLO_APP_MAX];

	struct pkt_rec *rings;

	uint8_t key;   /* index of the endpoint's key used in the handshake */
	bool key_gone; /* the endpoint dropped that key: the session ends at the next poll */
	struct rudp_secure *secure;		/* NULL: no packet protection */
	struct rudp_handshake *handshake;	/* server: until the first packet from the client */
	uint64_t hello_hash;			/* server: hash of its HELLO */
	uint8_t peer_token[WIRE_TOKEN_BYTES];	/* proves that a RESET comes from the peer */
	struct rudp_path paths[RUDP_PATHS_MAX]; /* last: most sessions touch only two of them */
};

struct raw_pkt {
	unsigned port;
	struct datagram_addr dst;
	bool sent; /* the port uses its bytes until the flush */
	uint8_t len;
	uint8_t bytes[RUDP_RAW_BYTES];
};

/* Packets of a big message sent on a path in one go. */
struct gso_burst {
	struct rudp_path *path;
	uint64_t first_pn;
	unsigned n;
};

struct rudp {
	struct rudp_config cfg;
	struct rudp_limits lim;
	const struct rudp_ops *ops;
	void *user;
	uint64_t now;
	uint64_t polled_ns; /* time of the last rudp_poll: packets may have waited since then */
	uint64_t waited_ns; /* how long packets waited in the host, if the port knows; else
			       RUDP_TIME_NEVER */
	uint64_t key[2], counter;
	struct rudp_session **sessions;
	unsigned n_sessions, n_live; /* table size; live sessions */
	unsigned free_from;	     /* no free index below it */
	struct rudp_session **heap;  /* by timer_ns */
	unsigned n_heap;
	struct list dirty_list; /* sessions to poll */
	struct rudp_session *dead;
	bool dirty;	/* the next poll has something to do */
	bool again;	/* this poll stopped early */
	bool rests;	/* acknowledgements are not delayed for piggybacking */
	unsigned depth; /* nesting of our entry points: dead sessions are freed at 0 */
	uint64_t deadline;
	uint32_t blocked_ports; /* bit per port, for one poll */
	unsigned sent_in_poll;
	uint32_t unflushed; /* payload bytes since the last flush */
	unsigned n_bursts;  /* bursts since then */
	struct gso_burst bursts[RUDP_GSO_BURSTS_MAX];
	uint64_t reset_tokens_ns;
	uint64_t drops;
	struct grants grants;
	struct rudp_incast incasts[RUDP_PORTS_MAX];
	uint16_t mtu; /* largest of the ports: bytes of IP packet */
	unsigned raw_n;
	struct raw_pkt raw[RUDP_RAW_MAX];
	uint32_t labels; /* counts changes of the ports' labels */
	uint8_t n_addrs;
	uint8_t addrs[RUDP_PORTS_MAX * WIRE_ADDR_BYTES];
	enum rudp_cipher cipher; /* of sessions that we open */
	uint64_t *hellos; /* ring of hashes of HELLOs that created sessions, 2 * n_sessions */
	unsigned next_hello;
	uint8_t *seal_buf; /* sealed packets until the port has sent them; or NULL */
	size_t seal_used;
	uint8_t scratch[WIRE_PACKET_BYTES_MAX]; /* a decrypted packet */
};
/* All packets between two flushes, plus some MTU probes. */
#define RUDP_SEAL_BUF_BYTES (RUDP_FLUSH_BYTES + 4 * (size_t)RUDP_GSO_BYTES)

static inline bool rudp_addr_equal(const struct datagram_addr *a, const struct datagram_addr *b)
{
	return a->port == b->port && !memcmp(&a->ip, &b->ip, sizeof(a->ip));
}

/* How long the packet being processed may have waited in this host. */
static inline uint64_t rudp_waited(const struct rudp *r, uint64_t now)
{
	return r->waited_ns == RUDP_TIME_NEVER ? now - r->polled_ns : r->waited_ns;
}

/* rudp.c */
uint64_t rudp_hash(const struct rudp *r, const void *data, size_t len); /* keyed: SipHash-2-4 */
uint64_t rudp_random(struct rudp *r);
bool rudp_port_valid(const struct rudp_port_info *p);
/* Marks the session for the next poll. */
static inline void rudp_session_touch(struct rudp_session *s)
{
	s->r->dirty = true;
	if (s->dirty || s->state == SESSION_DEAD)
		return;
	s->dirty = true;
	list_add_tail(&s->r->dirty_list, &s->dirty_node);
}
/* The token in a RESET of our session `number`, which proves that we sent it; key: index of ours.
 */
int rudp_token_make(const struct rudp *r, unsigned key, uint64_t number,
		    uint8_t ret[WIRE_TOKEN_BYTES]);
/* Queues a packet of up to RUDP_RAW_BYTES for the next poll; NULL: the queue is full. */
struct raw_pkt *rudp_raw_add(struct rudp *r, unsigned port, const struct datagram_addr *dst);
/* Lets the ports send what they were given. */
void rudp_flush(struct rudp *r);
/* Calls ops->tx, counts the packet and records a full port. Returns as ops->tx. */
int rudp_transmit(struct rudp *r, unsigned port, const struct datagram_addr *dst,
		  const struct datagram *pkt);

/* rudp_session.c */
int rudp_session_new(struct rudp *r, bool is_client, struct rudp_session **ret);
void rudp_session_free(struct rudp_session *s); /* memory only */
/* Frees its index in the endpoint's table. */
void rudp_session_unplace(struct rudp_session *s);
/* Assigns another number with the same index: packets to the old number are invalid from now on. */
void rudp_session_renumber(struct rudp_session *s);
/* Sets the MTU of the peer's largest port, and cuts messages for it. */
void rudp_session_set_mtu(struct rudp_session *s, uint16_t peer_mtu);
static inline struct rudp_session *rudp_session_find(const struct rudp *r, uint64_t number)
{
	unsigned index = (unsigned)(number & RUDP_INDEX_MASK);
	struct rudp_session *s = index < r->n_sessions ? r->sessions[index] : NULL;

	return s && s->number == number ? s : NULL;
}
/* Ends all calls (client: `response` with status; server: call_gone, sent) and returns buffers. */
void rudp_session_end_calls(struct rudp_session *s, int status);
/* Ends the session: ends its calls, delivers `e`, and frees its memory when the call stack has
 * unwound. */
void rudp_session_end(struct rudp_session *s, enum rudp_event e, int status);
/* Client: forgets the peer's incarnation and starts a new handshake. */
void rudp_session_reconnect(struct rudp_session *s, enum rudp_event e, uint64_t now);
void rudp_session_event(struct rudp_session *s, enum rudp_event e, unsigned path, int code);
void rudp_session_poll(struct rudp_session *s, uint64_t now);
/* rudp_session_transmit with packet protection. */
int rudp_session_seal(struct rudp_session *s, const struct rudp_path *p, const struct datagram *pkt,
		      unsigned counter, uint64_t number);
/* Sends a packet of an UP session, sealing it if the session has packet protection. counter:
 * p->index for packets numbered by the path, else RUDP_SECURE_CONTROL; number: its full number
 * there, to be reused only after a failure. Returns as ops->tx. */
static inline int rudp_session_transmit(struct rudp_session *s, const struct rudp_path *p,
					const struct datagram *pkt, unsigned counter,
					uint64_t number)
{
	return s->secure ? rudp_session_seal(s, p, pkt, counter, number)
			 : rudp_transmit(s->r, p->port, &p->remote, pkt);
}
/* As rudp_session_transmit for a short packet without payload, to any address: it leaves with the
 * next poll. 0; negative errno: not queued. */
int rudp_session_raw(struct rudp_session *s, unsigned port, const struct datagram_addr *dst,
		     const struct datagram *pkt, uint64_t number);
/* Frees the state of a finished handshake. */
void rudp_handshake_free(struct rudp_session *s);
/* Turns packet protection on. 0, -ENOMEM, -EIO. */
int rudp_session_secure(struct rudp_session *s, enum rudp_security security,
			enum rudp_cipher cipher, const struct rudp_noise_keys *keys);
void rudp_session_send_close(struct rudp_session *s);

/* rudp_accept.c: server side of the handshake */
int rudp_accept_init(struct rudp *r);
/* Encodes a port's address as for ACCEPT. */
void rudp_accept_put_addr(struct rudp *r, unsigned port);
int rudp_accept_hello(struct rudp *r, unsigned port, const struct datagram_addr *src,
		      const struct wire_common *c, const uint8_t *data, size_t len, uint64_t now);
/* Sends the session's ACCEPT again. */
void rudp_accept_send(struct rudp_session *s);
/* Answers a HELLO of another version. */
void rudp_accept_versions(struct rudp *r, unsigned port, const struct datagram_addr *src,
			  const uint8_t *data);
/* data: opened by rudp_rx_open. */
int rudp_accept_join(struct rudp_session *s, unsigned port, const struct datagram_addr *src,
		     const struct wire_common *c, const uint8_t *data, size_t len, uint64_t now);

/* rudp_label.c: changes of labels */
void rudp_label_path_made(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* Call while p->label_pending. */
void rudp_label_poll(struct rudp_session *s, struct rudp_path *p, uint64_t now);
int rudp_label_rx(struct rudp_session *s, struct rudp_path *p, const struct wire_common *c,
		  const uint8_t *data, size_t len, uint64_t now);

/* rudp_port.c: ports added to running sessions */
static inline bool rudp_port_addrs_pending(const struct rudp_session *s)
{
	return !s->is_client && s->n_addrs_confirmed < s->r->n_addrs;
}
/* Call while rudp_port_addrs_pending. */
void rudp_port_poll(struct rudp_session *s, uint64_t now);
/* Processes LABEL with ADDRESS. */
int rudp_port_rx(struct rudp_session *s, struct rudp_path *p, const struct wire_common *c,
		 const uint8_t *data, size_t len, uint64_t now);

/* rudp_validate.c: validation of source ports. Call only if our port has more than one. */
void rudp_validate_poll(struct rudp_session *s, struct rudp_path *p, uint64_t now);
uint64_t rudp_validate_deadline(const struct rudp_path *p);
/* A packet from another address than the path's may still be from the peer, if it opens. */
bool rudp_validate_is_from(const struct rudp_path *p, const struct datagram_addr *src,
			   const struct wire_common *c);
/* Processes LABEL with SOURCE. */
int rudp_validate_rx(struct rudp_session *s, struct rudp_path *p, const struct datagram_addr *src,
		     const struct wire_common *c, const uint8_t *data, size_t len);

/* rudp_keys.c: key changes. Call while s->key_gone: ends the session, or waits for the next poll.
 */
void rudp_keys_end(struct rudp_session *s, uint64_t now);

/* rudp_hello.c: client side of the handshake */
void rudp_hello_start(struct rudp_session *s, uint64_t now);
void rudp_hello_poll(struct rudp_session *s, uint64_t now);
/* Adds paths for a new port of ours, or for a new address of the server. */
void rudp_hello_port(struct rudp_session *s, uint64_t now);
void rudp_hello_address(struct rudp_session *s, unsigned index, const struct wire_addr *a,
			uint64_t now);
/* Sets the path's standby flag by the labels of its ends, or by address order. */
void rudp_hello_classify(struct rudp_session *s, struct rudp_path *p, uint64_t now);
uint64_t rudp_hello_deadline(const struct rudp_session *s);
int rudp_hello_rx(struct rudp *r, unsigned port, const struct datagram_addr *src,
		  const struct wire_common *c, const uint8_t *data, size_t len, uint64_t now);
int rudp_hello_joined(struct rudp_session *s, struct rudp_path *p, const struct wire_common *c,
		      const uint8_t *data, size_t len, uint64_t now);
int rudp_hello_versions(struct rudp *r, unsigned port, const struct datagram_addr *src,
			const uint8_t *data, size_t len, uint64_t now);

/* rudp_path.c */
/* The only constructor of a path: every incarnation of path `index` starts here without any state
 * of the previous one. */
void rudp_path_init(struct rudp_session *s, unsigned index, unsigned port,
		    const struct datagram_addr *remote, bool standby, uint64_t now);
void rudp_path_set_up(struct rudp_session *s, struct rudp_path *p, uint64_t now);
void rudp_path_set_down(struct rudp_session *s, struct rudp_path *p, int code, uint64_t now);
void rudp_path_poll(struct rudp_session *s, struct rudp_path *p, uint64_t now);
uint64_t rudp_path_deadline(const struct rudp_session *s, const struct rudp_path *p);
/* The peer answered, on p itself, a packet that we sent on p. */
void rudp_path_answered(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* The peer reported which paths it cannot use. */
void rudp_path_peer_mask(struct rudp_session *s, uint8_t mask, uint64_t now);
/* The port refused a packet permanently. */
void rudp_path_tx_error(struct rudp_session *s, struct rudp_path *p, int code, uint64_t now);
static inline uint32_t rudp_path_ip_headers(const struct rudp_path *p)
{
	return p->remote.ip.family == AF_INET6 ? 48 : 28;
}
/* Size of the IP packet for `bytes` of rudp packet on p: plus IP, UDP and tag. */
static inline uint32_t rudp_path_packet(const struct rudp_session *s, const struct rudp_path *p,
					uint32_t bytes)
{
	return bytes + rudp_path_ip_headers(p) + (s->secure ? RUDP_SECURE_BYTES : 0);
}
/* Largest payload of a DATA packet on p in an IP packet of mtu bytes. */
static inline uint32_t rudp_path_payload_max(const struct rudp_session *s,
					     const struct rudp_path *p, uint32_t mtu)
{
	return mtu - rudp_path_packet(s, p, WIRE_DATA_BYTES);
}
/* Chooses the chunk size of new messages for the paths that are up. */
void rudp_path_set_chunk_bytes(struct rudp_session *s);
/* Reacts to results of MTU discovery: bits of enum rudp_mtu_result. */
void rudp_path_mtu_result(struct rudp_session *s, struct rudp_path *p, unsigned news, uint64_t now);
/* Our own host refused a datagram with this UDP payload on p. */
void rudp_path_too_big(struct rudp_session *s, struct rudp_path *p, uint32_t bytes, uint64_t now);
/* A probe interval passed without a message in either direction. */
static inline void rudp_path_quiet(struct rudp_path *p)
{
	p->quiet = (uint8_t)MIN_OF(p->quiet + 1U, 2U);
}
/* Whether no other path is up. */
bool rudp_path_is_only(const struct rudp_session *s, const struct rudp_path *p);

/* rudp_suspect.c */
void rudp_suspect_poll(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* The suspect path has answered. */
void rudp_suspect_over(struct rudp_session *s, struct rudp_path *p);
uint64_t rudp_suspect_deadline(const struct rudp_session *s, const struct rudp_path *p);

/* rudp_loss.c */
int rudp_loss_ack(struct rudp_session *s, const struct wire_ack *a, const struct rudp_path *via,
		  uint64_t now);
void rudp_loss_detect(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* Moves all packets off the path; their chunks are retransmitted on others. */
void rudp_loss_move_all(struct rudp_session *s, struct rudp_path *p);
/* Retransmits the chunks of small messages (or of the oldest one) and announcements; their packets
 * stay in flight. False: there were none. */
bool rudp_loss_copy_small(struct rudp_session *s, struct rudp_path *p, bool oldest);
/* Packets above this size will not arrive: retransmits their chunks in smaller ones. */
void rudp_loss_move_above(struct rudp_session *s, struct rudp_path *p, uint32_t bytes);
/* Records a packet just handed to the port. */
static inline void rudp_loss_sent(struct rudp_path *p, uint16_t slot, uint32_t gen, uint16_t chunk,
				  unsigned n_chunks, uint32_t bytes, uint64_t now)
{
	if (rudp_sent_add(&p->sent, slot, gen, chunk, n_chunks, bytes, now) && !p->timed_out &&
	    !p->suspect_stage)
		p->sent.progress_ns = now;
	if (slot != PKT_NO_SLOT)
		p->quiet = 0;
	p->tx_packets++;
	p->tx_bytes += bytes;
	p->tx_error_ns = 0;
}
/* host: the part that may be the hosts' delay instead of the network's. */
void rudp_path_rtt(struct rudp_path *p, uint64_t rtt, uint64_t host, uint64_t now);
uint64_t rudp_path_rto(const struct rudp_session *s, const struct rudp_path *p);
uint64_t rudp_path_pto(const struct rudp_session *s, const struct rudp_path *p);

/* rudp_call.c */
size_t rudp_call_bytes(const struct rudp *r, bool is_client);
/* memory: rudp_call_bytes of zeros. */
void rudp_call_init(struct rudp_session *s, uint8_t *memory);
void rudp_call_reset(struct rudp_session *s, unsigned n_slots, uint32_t free_bytes);
void rudp_call_activate(struct rudp_session *s);
/* Processes a received chunk. 0: stored or not needed; -ENOBUFS: no memory, it must be resent;
 * -EBADMSG. May end the session (runs the application's callbacks). */
int rudp_call_rx(struct rudp_session *s, const struct wire_common *c, const struct wire_data *d);
void rudp_call_acked(struct rudp_session *s, uint16_t slot, uint32_t gen, uint16_t chunk);
/* Marks the chunk for retransmission unless it was acknowledged. True if it was marked. */
bool rudp_call_lost(struct rudp_session *s, uint16_t slot, uint32_t gen, uint16_t chunk);
void rudp_call_poll(struct rudp_session *s, uint64_t now);
/* Server: when the oldest unacknowledged response reaches its time limit. */
uint64_t rudp_call_deadline(const struct rudp_session *s);
/* Whether the client takes no responses at all, in contrast to one that shares a slow link. */
bool rudp_call_stuck(struct rudp_session *s, uint64_t now);
/* Client: processes a grant. */
void rudp_call_granted(struct rudp_session *s, const struct wire_grant *g);
/* Client: sets how many bytes may be sent before a grant. */
void rudp_call_set_free(struct rudp_session *s, uint32_t bytes);
/* Server: gets memory for an announced request. False: none at present. */
bool rudp_call_reserve(struct rudp_session *s, struct slot *slot);
/* Server: drops a stalled partial request; frees its memory and informs the client. */
void rudp_call_discard(struct rudp_session *s, struct slot *slot);

/* rudp_timer.c */
void rudp_timer_set(struct rudp_session *s, uint64_t at_ns);
void rudp_timer_drop(struct rudp_session *s);
uint64_t rudp_timer_next(const struct rudp *r);
/* Marks sessions whose timer is due. */
void rudp_timer_run(struct rudp *r, uint64_t now);

/* rudp_grant.c */
void rudp_grant_init(struct rudp *r);
void rudp_grant_peer_init(struct rudp_session *s);
/* A request was announced: it waits for memory, or has memory (SLOT_RECEIVING) and waits for its
 * turn. */
void rudp_grant_announced(struct rudp_session *s, struct slot *slot);
/* It has memory already: moves it before those of its client without memory. */
void rudp_grant_first(struct rudp_session *s, struct slot *slot);
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
/* Memory or a call was freed: peers may be waiting for it. */
static inline void rudp_grant_again(struct rudp *r)
{
	if (PLENUM_UNLIKELY(r->grants.n_peers))
		r->grants.retry_ns = r->now;
}
/* Issues grants and drops stalled partial requests. */
void rudp_grant_run(struct rudp *r, uint64_t now);
uint64_t rudp_grant_deadline(const struct rudp *r);
/* Losses of about one millisecond on one of our ports. */
void rudp_grant_losses(struct rudp *r, uint64_t lost, uint64_t packets);
/* How many bytes of a request this peer may send before a grant. */
uint32_t rudp_grant_free_bytes(const struct rudp_session *s);

/* rudp_incast_share.c */
/* Counts a received packet of len bytes; ahead: its number minus the highest before. */
void rudp_incast_came(struct rudp_session *s, struct rudp_path *p, uint64_t ahead, size_t len,
		      uint64_t now);
/* Sends the peer its incast share if it changed or is due again. */
void rudp_incast_tell(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* Processes SHARE: the peer's limit for our small messages in flight on p. */
int rudp_incast_rx(struct rudp_path *p, const struct wire_common *c, const uint8_t *data,
		   size_t len, uint64_t now);

/* Paces p after sending bytes of a small message under a valid incast share. */
void rudp_incast_sent(struct rudp_path *p, uint32_t bytes, uint64_t now);

/* rudp_tx.c */
void rudp_tx_queue(struct rudp_session *s, struct tx_msg *m);
void rudp_tx_drop(struct tx_msg *m);
bool rudp_tx_pending(const struct rudp_session *s);
/* Sends what may be sent; bulk: big messages too. */
void rudp_tx_run(struct rudp_session *s, bool bulk, uint64_t now);
/* Sends queued grants. */
void rudp_tx_grants(struct rudp_session *s, uint64_t now);
void rudp_tx_probe(struct rudp_session *s, struct rudp_path *p, uint64_t now);
void rudp_tx_ping(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* Sends a PING padded to an IP packet of mtu bytes. 0; -EMSGSIZE: our own host refuses the size;
 * other negative errno: not sent. */
int rudp_tx_ping_padded(struct rudp_session *s, struct rudp_path *p, uint16_t mtu, uint64_t now);

/* rudp_rx.c */
/* rudp_rx_open with packet protection. */
int rudp_rx_unseal(struct rudp_session *s, const struct wire_common *c, const uint8_t **data,
		   size_t *len);
/* Verifies that a packet is from the peer and not a replay: *data and *len become the result of
 * rudp_secure_open. 0, -EBADMSG. */
static inline int rudp_rx_open(struct rudp_session *s, const struct wire_common *c,
			       const uint8_t **data, size_t *len)
{
	if (s->secure)
		return rudp_rx_unseal(s, c, data, len);
	return c->phase ? -EBADMSG : 0;
}
/* Processes JOIN, which may be for a new path. */
int rudp_rx_join(struct rudp_session *s, unsigned port, const struct datagram_addr *src,
		 const struct wire_common *c, const uint8_t *data, size_t len, uint64_t now);
int rudp_rx_packet(struct rudp_session *s, unsigned port, const struct datagram_addr *src,
		   const struct wire_common *c, const uint8_t *data, size_t len, uint64_t now);
void rudp_rx_send_acks(struct rudp_session *s, uint64_t now);
/* Whether received packets are not acknowledged yet. */
static inline bool rudp_rx_acks_wait(const struct rudp_session *s)
{
	bool any = false;

	for (unsigned i = 0; i < s->n_paths; i++)
		any |= s->paths[i].acks.pending > 0;
	return any;
}
/* Fills an acknowledgement to piggyback on DATA over `on`; returns the path that it is for, NULL if
 * none is pending or it does not fit. Call rudp_acks_sent once it is sent. */
struct rudp_path *rudp_rx_piggyback(struct rudp_session *s, struct rudp_path *on,
				    struct wire_ack *ret, uint64_t now);

#endif
