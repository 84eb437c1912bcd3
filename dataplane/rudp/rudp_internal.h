/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the rudp*.c files share; nobody else includes it. rudp.c: endpoint, poll, stateless replies.
 * rudp_session.c: life of a session. rudp_hello.c, rudp_accept.c: handshake. rudp_call.c: slots,
 * requests, responses. rudp_grant.c: whose request may come next. rudp_incast.c: what many senders
 * of small ones may have on their way. rudp_tx.c: which chunk goes on which path. rudp_rx.c:
 * packets in, acknowledgements out. rudp_path.c: up, suspect, down; probes. rudp_suspect.c: what
 * goes by another path before that. rudp_loss.c: acknowledgements in, what they and losses mean.
 * Parts of a path that know nothing of the rest, each with a header of its own: rudp_sent (what is
 * on its way), rudp_rtt, rudp_cc (the congestion window), rudp_acks (what has come in), rudp_gso
 * (whether trains arrive), rudp_src_ports (which source ports do).
 *
 * A request lives in a slot of its session, the same at both ends; each use of the slot has a
 * larger generation, so (slot, generation) names a request, old packets are recognised without a
 * history, and a new generation acknowledges all of the one before. Chunks are numbered within
 * their message; packets are numbered per path and never sent twice: what is lost travels again
 * under a new number.
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
#define RUDP_RAW_MAX 32	   /* replies without a session that wait for the next poll */
#define RUDP_RAW_BYTES 120 /* of the longest */
/* The longest body of an answer to HELLO, sealed. */
#define RUDP_ANSWER_MAX \
	(WIRE_ACCEPT_BODY_BYTES + WIRE_ADDRS_MAX * WIRE_ADDR_BYTES + RUDP_NOISE_OVERHEAD)

#define RUDP_GSO_BYTES 65000U /* a train fits one segmented send */
#define RUDP_GSO_PACKETS 64U
#define RUDP_INDEX_MASK 0xffffULL /* the low bits of a session's number are its place */
#define RUDP_FIRST_CALLS 4U
#define RUDP_GSO_LONG 16384U /* bytes: when it leaves is worth knowing */
#define RUDP_GSOS_MAX 16U
#define RUDP_FLUSH_BYTES 100000U /* two trains: then the ports send, so that the peer has work */
_Static_assert(RUDP_GSOS_MAX *RUDP_GSO_LONG >= RUDP_FLUSH_BYTES, "no long train is missed");
#define RUDP_POLL_PACKETS 512U /* sent by one poll, then the caller looks at its input again */
_Static_assert(RUDP_SMALL_BYTES == WIRE_SMALL_BYTES, "small alike");
#define RUDP_SMALL_OVERSHOOT (16U << 10) /* small messages may exceed the window by this */
#define RUDP_PACE_SMALL 4U		 /* windows of fewer packets are paced for small ones too */
#define RUDP_LINE_BYTES 64		 /* of the processor's caches */
#define RUDP_DRAIN_BYTES (8U << 10)	 /* while the least round trip is measured anew */

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
	uint16_t next_chunk; /* first that was never sent */
	uint16_t may_chunks; /* those below may be sent: all, but for a request without a grant */
	uint16_t n_lost, n_acked;
	uint8_t queue;	    /* enum tx_queue */
	bool active;	    /* acknowledgements for it matter */
	bool granted;	    /* the peer has memory for all of it, or it needs no grant */
	bool need;	    /* it is to be announced */
	uint8_t turn;	    /* of a big one: by which source port of a path it goes */
	uint8_t prefer;	    /* a response's path: the one that its request came by, where equal */
	struct chunk_word { /* of 64 chunks; side by side, as most messages have one */
		uint64_t acked, lost;
	} chunks[RUDP_CHUNK_WORDS];
};

/* An incoming message. */
struct rx_msg {
	uint8_t *buf;
	uint32_t len;
	uint16_t chunk_bytes, n_chunks, n_got;
	bool active;
	uint64_t got[RUDP_CHUNK_WORDS]; /* of one with several chunks */
};

enum slot_state {
	SLOT_IDLE,
	SLOT_CALLING,	 /* client: request sent, response awaited */
	SLOT_ANNOUNCED,	 /* server: a request that there is no memory for yet */
	SLOT_RECEIVING,	 /* server: request partly here; its memory is */
	SLOT_DISCARDED,	 /* server: half a request came and no more; it is to come again */
	SLOT_EXECUTING,	 /* server: the application has it */
	SLOT_RESPONDING, /* server: until the response is acknowledged */
};

/* Server: the part of a slot that rudp_grant.c keeps while a request comes. */
struct coming {
	struct list node; /* in a list of its state: needs, tells, fresh or stale */
	struct list tell; /* in the session's list of grants to be sent */
	bool granted;	  /* all of it may come */
	bool counted;	  /* in the bytes on their way */
	uint8_t patience; /* doublings of the time that half of it is kept */
	uint32_t way_bytes;
	uint16_t marked; /* chunks that were here at mark_ns */
	uint64_t since_ns, heard_ns, mark_ns;
};

/* In the order of use: a message of one packet touches the first lines of it and of tx alone. Lines
 * of cache count where many are under way. */
struct slot {
	_Alignas(RUDP_LINE_BYTES) uint32_t gen; /* of the latest use */
	uint32_t free_bytes; /* client: what it may send without a grant, while it has none */
	uint16_t index;
	uint8_t state;
	bool big;		/* client: counted among those */
	uint64_t cookie;	/* client */
	struct rudp_call *call; /* server: EXECUTING */
	void *token;		/* server: RESPONDING */
	struct list answer;	/* server: in the session's list of those */
	uint64_t answer_ns;	/* since when; 0: since the latest poll */
	struct slot *next_free; /* client */
	struct rx_msg rx;
	struct tx_msg tx;
	struct coming in;
};

struct rudp_call {
	struct rudp_session *s;
	struct slot *slot;   /* NULL: the client gave it up; nobody wants the answer */
	uint32_t held_bytes; /* of the peer's share */
	bool in_use;
	void *user;
	void *token;
	struct rudp_call *next; /* free, or answered after it was given up */
};

struct waiting { /* a request that has no slot yet */
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

/* Up, and silent while the peer answers on another path. */
enum path_doubt {
	SUSPECT_NONE,
	SUSPECT_ASKED,	/* the oldest small message on it went by another path, too */
	SUSPECT_PROVEN, /* the peer answered there, and still not here: all small messages did */
	SUSPECT_LEFT,	/* for long: everything did */
};

struct rudp_path {
	uint8_t state, index, port;
	uint8_t doubt; /* enum path_doubt; while other paths are without, nothing new is sent */
	bool standby;
	bool suspect;	 /* up, but silent: nothing new is sent on it */
	bool local_down; /* the link under our port */
	bool peer_down;	 /* the peer says that it cannot use it */
	bool tx_blocked; /* the port is full: until the next poll */
	struct datagram_addr remote;

	struct rudp_sent sent;
	struct rudp_mtu mtu;
	struct rudp_rtt rtt;
	struct rudp_cc cc;
	struct rudp_acks acks;
	struct rudp_gso train;
	struct rudp_src_ports sources;
	uint64_t pace_ns; /* nothing big is sent before */

	/* health */
	uint64_t heard_ns, probe_ns;
	bool probe_due;
	uint8_t quiet; /* doublings of the time between probes: so many went without a message */
	uint64_t answered_since;     /* down: probes are answered since then; 0: they are not */
	unsigned unanswered, missed; /* probes since the last answer; while the peer was heard */
	uint64_t asked_ns;	     /* when the last of them left */
	unsigned asks, answers;	     /* probes, and how many of them, since answered_since */
	uint64_t hold_ns;   /* how long it must have answered to be up again: more while it flaps */
	uint64_t server_ns; /* when it came back last; 0: it never was down */
	uint64_t suspect_ns,
		alive_elsewhere_ns; /* the peer answers on another path, but not here */
	int tx_error_code;
	uint64_t tx_error_ns; /* since when the port refuses our packets */
	uint64_t hello_ns, hello_interval, cookie;
	bool hello_again; /* the peer is to hear of a changed class */
	bool crossed; /* client: by their order the two ends are no pair: where labels do not say */
	uint32_t peer_label;  /* client: of the other end */
	uint32_t label_pn;    /* client: number of the LABEL that said so; 0: ACCEPT did */
	uint32_t join_pn;     /* server: number of the JOIN that told `standby`; 0: HELLO did */
	uint32_t class_stamp; /* when `standby` changed last, as JOIN's stamps count */
	bool telling;	      /* server: the client has yet to hear of our end's label */
	uint64_t tell_ns, tell_interval;
	uint32_t incast_stamp; /* of the port's window in which something came by it */
	uint32_t told_bytes;   /* the share that the peer was told */
	uint64_t told_ns;
	uint32_t share_pn, share_bytes; /* what the peer told us, and in which packet */
	uint64_t share_until;
	uint64_t small_ns;  /* until then no small message is sent, by the share */
	uint64_t proven_ns; /* when an answer on another path told against this one's silence */
	uint64_t pause_since, pause_from, pause_ns; /* of the latest failover */

	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes, lost_packets, retransmits, failovers;
	uint64_t last_pause_ns;
	uint64_t since_ns; /* when it came up or went down last, or was made */
};

/* The classes by length of requests that wait for a grant: up to 32 KiB, 64 KiB ... and more. */
#define GRANT_CLASSES 7
struct grant_peer {
	struct list needs[GRANT_CLASSES]; /* slots, in the order of their coming */
	struct list nodes[GRANT_CLASSES]; /* in the endpoint's queue, where needs is not empty */
	struct list tells;		  /* slots whose grant is to be sent */
	uint32_t held_bytes;		  /* memory that its requests of more than 16 KiB take */
	uint32_t n_here;		  /* its requests that are announced or half here */
	uint8_t patience;		  /* of the next; larger with each that stopped half way */
};
struct grants {				   /* of the endpoint */
	struct list queues[GRANT_CLASSES]; /* sessions */
	struct list fresh, stale;	   /* half requests, by the time of their latest chunk */
	uint64_t way_bytes;		   /* granted and not here yet; those that stall apart */
	unsigned way_parts;		   /* of what may be on its way, where nothing is lost */
	unsigned n_way, n_peers;	   /* peers with a request announced or half here */
	unsigned turn;
	bool short_of_memory; /* buf_get had none for the last one that was asked for */
	uint64_t window_ns, window_bytes, rate_bytes; /* per WINDOW_NS */
	uint64_t check_ns, retry_ns;
};

/* What comes to one of our ports, by whomever: rudp_incast.c. */
struct rudp_incast {
	uint64_t window_ns; /* since when it is counted */
	uint32_t stamp;	    /* of this window */
	uint32_t packets, expected, bytes, n_senders;
	uint32_t limit_bytes; /* all senders together may have on their way; 0: as they like */
	uint32_t share_bytes; /* each of them */
	uint32_t first_loss;  /* of 1024 packets, when it began */
	uint32_t in_vain;     /* cuts in a row that did not halve it */
	uint32_t few;	      /* windows in a row with few senders */
	uint64_t paused_ns;
};

enum session_state { SESSION_CONNECTING, SESSION_UP, SESSION_DEAD };

/* Of a handshake. Client: the HELLO with its cookie, and what its answer is read with. Server: the
 * ACCEPT, until the client has shown that it got it. */
struct rudp_opening {
	struct rudp_noise noise;
	bool chosen, due; /* client: `path` is followed; server: to be sent at the next poll */
	uint8_t path;
	uint8_t n_late; /* client: choices in a row that did not accept in time */
	unsigned said;
	uint32_t stamp;
	uint64_t chosen_ns;
	uint16_t body_len;
	uint8_t hdr[WIRE_HELLO_BYTES];
	uint8_t body[RUDP_ANSWER_MAX];
	/* client: all of the server's, in its order; also those that no port of ours reaches */
	struct wire_addr addrs[WIRE_ADDRS_MAX];
	unsigned n_addrs;
};

struct rudp_session {
	struct rudp *r;
	uint64_t number, peer_number; /* each names the session in packets towards its owner */
	uint64_t peer_identity, replaced_number;
	uint32_t peer_epoch;
	bool is_client;
	uint8_t state; /* enum session_state */
	bool dirty;    /* wants to be polled */
	struct rudp_session *next_dead;
	void *user;
	struct list dirty_node;
	unsigned timer_at; /* place in the heap and 1; 0: none */
	uint64_t timer_ns, heard_ns;
	size_t bytes; /* of the memory that it and all that it has lie in */
	char refusal[WIRE_REFUSE_TEXT_MAX + 1]; /* what goes with REFUSE, or came with it */
	struct datagram_addr hello_from;	/* server: the client's, proven */

	unsigned n_paths;
	uint16_t chunk_bytes; /* of messages that begin now: fits every path that is up */
	uint16_t peer_mtu;    /* of the largest of its ports; 0: not known yet */
	uint32_t labels;      /* server: the endpoint's `labels` that ACCEPT has told */
	uint8_t n_told; /* server: so many of the endpoint's addresses has the client heard of */
	uint64_t tell_ns, tell_interval; /* the next one is told then, and again after that */
	uint64_t ack_serial;		 /* of the last ACK, CLOSE, JOIN, JOINED, LABEL or SHARE */
	uint32_t peer_ack_serial;
	bool tell; /* the peer is to hear at once of our paths' state */
	uint8_t peer_down_mask;

	/* Those from n_fresh on were never used in this incarnation, and their memory may never
	 * have been touched. */
	struct slot *slots;
	unsigned n_slots, n_fresh;
	struct slot *free_slots;
	unsigned n_active, n_active_big;
	struct wait_ring wait_small, wait_big;
	uint32_t free_most, free_used; /* client: bytes that requests without a grant may send */
	struct grant_peer grants;      /* server */
	struct list answers;	       /* server: slots that are RESPONDING, the oldest first */
	uint64_t answers_ns;	       /* since then so much of them was acknowledged: */
	uint64_t answers_bytes;
	struct rudp_call *calls, *free_calls, *done_calls;
	unsigned n_calls, n_fresh_calls;
	struct rudp_call first_calls[RUDP_FIRST_CALLS]; /* used before `calls` is */

	struct list tx[TX_QUEUE_MAX];
	uint8_t pausing; /* bit per path: left with packets in flight, none of which arrived yet */
	uint8_t turn;	 /* of the next big message */
	uint32_t small_run; /* bytes of small messages sent since the last train of a big one */

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

	uint8_t key;   /* of the endpoint's: the one that the handshake was made with */
	bool key_gone; /* that one is the endpoint's no more: it ends at the next poll */
	struct rudp_secure *secure;		/* NULL: nothing guards the packets */
	struct rudp_opening *opening;		/* server: until the first packet from the client */
	uint64_t hello_hash;			/* server: of the HELLO that it began with */
	uint8_t peer_token[WIRE_TOKEN_BYTES];	/* in a RESET that is really the peer's */
	struct rudp_path paths[RUDP_PATHS_MAX]; /* last: most sessions touch two of them */
};

struct raw_pkt {
	unsigned port;
	struct datagram_addr dst;
	bool sent; /* its bytes are the port's until the flush */
	uint8_t len;
	uint8_t bytes[RUDP_RAW_BYTES];
};

/* What one poll sent of a big message on a path, in one go. */
struct train {
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
	uint64_t polled_ns; /* last rudp_poll: what came later may have waited since then */
	uint64_t waited_ns; /* how long it did, where the port knows; else RUDP_TIME_NEVER */
	uint64_t key[2], counter;
	struct rudp_session **sessions;
	unsigned n_sessions, n_live; /* places; sessions in being */
	unsigned free_from;	     /* no place before it is free */
	struct rudp_session **heap;  /* by timer_ns */
	unsigned n_heap;
	struct list dirty_list; /* sessions that want to be polled */
	struct rudp_session *dead;
	bool dirty;	/* the next poll has something to do */
	bool again;	/* this poll stopped early */
	bool rests;	/* nothing is acknowledged late for the sake of a request that may come */
	unsigned depth; /* of our own entry points: the dead are reaped at 0 */
	uint64_t deadline;
	uint32_t blocked_ports; /* bit per port, for one poll */
	unsigned sent_in_poll;
	uint32_t unflushed; /* bytes of its messages since the last flush */
	unsigned n_trains;  /* since then */
	struct train trains[RUDP_GSOS_MAX];
	uint64_t reset_tokens_ns;
	uint64_t drops;
	struct grants grants;
	struct rudp_incast incasts[RUDP_PORTS_MAX];
	uint16_t mtu; /* largest of the ports: bytes of IP packet */
	unsigned raw_n;
	struct raw_pkt raw[RUDP_RAW_MAX];
	uint32_t labels; /* times that one of the ports' has changed */
	uint8_t n_addrs;
	uint8_t addrs[RUDP_PORTS_MAX * WIRE_ADDR_BYTES];
	enum rudp_cipher cipher; /* of the sessions that we open */
	uint64_t *hellos;	 /* hashes of those that made sessions lately, 2 * n_sessions */
	unsigned next_hello;
	uint8_t *room; /* where packets are sealed, until the port has sent them; or NULL */
	size_t room_used;
	uint8_t scratch[WIRE_PACKET_BYTES_MAX]; /* a packet that was deciphered */
};
/* Between two flushes, with some probes of the packet size. */
#define RUDP_ROOM_BYTES (RUDP_FLUSH_BYTES + 4 * (size_t)RUDP_GSO_BYTES)

static inline bool rudp_addr_equal(const struct datagram_addr *a, const struct datagram_addr *b)
{
	return a->port == b->port && !memcmp(&a->ip, &b->ip, sizeof(a->ip));
}

/* How long the packet that is being looked at may have waited in this host. */
static inline uint64_t rudp_waited(const struct rudp *r, uint64_t now)
{
	return r->waited_ns == RUDP_TIME_NEVER ? now - r->polled_ns : r->waited_ns;
}

/* rudp.c */
uint64_t rudp_hash(const struct rudp *r, const void *data, size_t len); /* keyed: SipHash-2-4 */
uint64_t rudp_random(struct rudp *r);
bool rudp_port_valid(const struct rudp_port_info *p);
/* The next poll looks at it. */
static inline void rudp_session_touch(struct rudp_session *s)
{
	s->r->dirty = true;
	if (s->dirty || s->state == SESSION_DEAD)
		return;
	s->dirty = true;
	list_add_tail(&s->r->dirty_list, &s->dirty_node);
}
/* What a RESET of our session `number` carries to prove that it is ours; key: which of them. */
int rudp_token_make(const struct rudp *r, unsigned key, uint64_t number,
		    uint8_t ret[WIRE_TOKEN_BYTES]);
/* A packet of up to RUDP_RAW_BYTES for the next poll; dropped where too many wait. */
struct raw_pkt *rudp_raw_add(struct rudp *r, unsigned port, const struct datagram_addr *dst);
/* The ports send what they were given. */
void rudp_flush(struct rudp *r);
/* ops->tx; counts; notes a full port. As ops->tx. */
int rudp_transmit(struct rudp *r, unsigned port, const struct datagram_addr *dst,
		  const struct datagram *pkt);

/* rudp_session.c */
int rudp_session_new(struct rudp *r, bool is_client, struct rudp_session **ret);
void rudp_session_free(struct rudp_session *s); /* memory only */
/* Its place in the endpoint's table is free. */
void rudp_session_unplace(struct rudp_session *s);
/* Another number for the same place: packets to the old one are nobody's from now on. */
void rudp_session_renumber(struct rudp_session *s);
/* The peer has told what the largest of its ports takes, and whether packets carry a tag. */
void rudp_session_set_mtu(struct rudp_session *s, uint16_t peer_mtu);
static inline struct rudp_session *rudp_session_find(const struct rudp *r, uint64_t number)
{
	unsigned index = (unsigned)(number & RUDP_INDEX_MASK);
	struct rudp_session *s = index < r->n_sessions ? r->sessions[index] : NULL;

	return s && s->number == number ? s : NULL;
}
/* All calls end (client: -status to `response`; server: call_gone, sent), buffers go back. */
void rudp_session_end_calls(struct rudp_session *s, int status);
/* The session is over: calls end, `e` is delivered, memory is freed when the stack is unwound. */
void rudp_session_end(struct rudp_session *s, enum rudp_event e, int status);
/* Client: forgets the peer's incarnation and shakes hands again. */
void rudp_session_reconnect(struct rudp_session *s, enum rudp_event e, uint64_t now);
void rudp_session_event(struct rudp_session *s, enum rudp_event e, unsigned path, int code);
void rudp_session_poll(struct rudp_session *s, uint64_t now);
/* As rudp_session_transmit, where something guards the packets. */
int rudp_session_seal(struct rudp_session *s, const struct rudp_path *p, const struct datagram *pkt,
		      unsigned counter, uint64_t number);
/* The one way out for packets of a session that is up: here they are sealed. counter: p->index for
 * what is numbered by the path, else RUDP_SECURE_CONTROL; number: the whole of its number there,
 * used again only where this failed. As ops->tx. */
static inline int rudp_session_transmit(struct rudp_session *s, const struct rudp_path *p,
					const struct datagram *pkt, unsigned counter,
					uint64_t number)
{
	return s->secure ? rudp_session_seal(s, p, pkt, counter, number)
			 : rudp_transmit(s->r, p->port, &p->remote, pkt);
}
/* The same for a short packet without payload, to an address that need not be a path's: it leaves
 * with the next poll. 0; negative errno: not taken. */
int rudp_session_raw(struct rudp_session *s, unsigned port, const struct datagram_addr *dst,
		     const struct datagram *pkt, uint64_t number);
/* The handshake is over. */
void rudp_opening_free(struct rudp_session *s);
/* From now on packets are sealed. 0, -ENOMEM, -EIO. */
int rudp_session_secure(struct rudp_session *s, enum rudp_security security,
			enum rudp_cipher cipher, const struct rudp_noise_keys *keys);
void rudp_session_say_bye(struct rudp_session *s);

/* rudp_accept.c: the server's part of the handshake */
int rudp_accept_init(struct rudp *r);
/* A port as ACCEPT names it. */
void rudp_accept_put_addr(struct rudp *r, unsigned port);
int rudp_accept_hello(struct rudp *r, unsigned port, const struct datagram_addr *src,
		      const struct wire_common *c, const uint8_t *data, size_t len, uint64_t now);
/* Says once more what the session was accepted with. */
void rudp_accept_send(struct rudp_session *s);
/* A HELLO of another version than ours. */
void rudp_accept_versions(struct rudp *r, unsigned port, const struct datagram_addr *src,
			  const uint8_t *data);
/* data: as rudp_rx_open gives it. */
int rudp_accept_join(struct rudp_session *s, unsigned port, const struct datagram_addr *src,
		     const struct wire_common *c, const uint8_t *data, size_t len, uint64_t now);

/* rudp_label.c: labels that change */
void rudp_label_path_made(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* While p->telling. */
void rudp_label_poll(struct rudp_session *s, struct rudp_path *p, uint64_t now);
int rudp_label_rx(struct rudp_session *s, struct rudp_path *p, const struct wire_common *c,
		  const uint8_t *data, size_t len, uint64_t now);

/* rudp_port.c: ports that come while sessions run */
static inline bool rudp_port_untold(const struct rudp_session *s)
{
	return !s->is_client && s->n_told < s->r->n_addrs;
}
/* While rudp_port_untold. */
void rudp_port_poll(struct rudp_session *s, uint64_t now);
/* LABEL with ADDRESS. */
int rudp_port_rx(struct rudp_session *s, struct rudp_path *p, const struct wire_common *c,
		 const uint8_t *data, size_t len, uint64_t now);

/* rudp_validate.c: source ports. Where our port has more than one. */
void rudp_validate_poll(struct rudp_session *s, struct rudp_path *p, uint64_t now);
uint64_t rudp_validate_deadline(const struct rudp_path *p);
/* A packet from another address than the path's may be its peer's all the same, if it opens. */
bool rudp_validate_is_from(const struct rudp_path *p, const struct datagram_addr *src,
			   const struct wire_common *c);
/* LABEL with SOURCE. */
int rudp_validate_rx(struct rudp_session *s, struct rudp_path *p, const struct datagram_addr *src,
		     const struct wire_common *c, const uint8_t *data, size_t len);

/* rudp_keys.c: keys that change. While s->key_gone: the session ends, or waits for the next poll.
 */
void rudp_keys_end(struct rudp_session *s, uint64_t now);

/* rudp_hello.c: the client's */
void rudp_hello_start(struct rudp_session *s, uint64_t now);
void rudp_hello_poll(struct rudp_session *s, uint64_t now);
/* One more port of ours; one more address of the server's. */
void rudp_hello_port(struct rudp_session *s, uint64_t now);
void rudp_hello_address(struct rudp_session *s, unsigned index, const struct wire_addr *a,
			uint64_t now);
/* Whether the path is standby, by the labels of its ends, or by their order. */
void rudp_hello_classify(struct rudp_session *s, struct rudp_path *p, uint64_t now);
uint64_t rudp_hello_deadline(const struct rudp_session *s);
int rudp_hello_rx(struct rudp *r, unsigned port, const struct datagram_addr *src,
		  const struct wire_common *c, const uint8_t *data, size_t len, uint64_t now);
int rudp_hello_joined(struct rudp_session *s, struct rudp_path *p, const struct wire_common *c,
		      const uint8_t *data, size_t len, uint64_t now);
int rudp_hello_versions(struct rudp *r, unsigned port, const struct datagram_addr *src,
			const uint8_t *data, size_t len, uint64_t now);

/* rudp_path.c */
/* The one constructor of a path: whatever takes place `index` of the session from now on, the first
 * path there or the next life of one, starts here and knows nothing of what was before. */
void rudp_path_init(struct rudp_session *s, unsigned index, unsigned port,
		    const struct datagram_addr *remote, bool standby, uint64_t now);
void rudp_path_set_up(struct rudp_session *s, struct rudp_path *p, uint64_t now);
void rudp_path_set_down(struct rudp_session *s, struct rudp_path *p, int code, uint64_t now);
void rudp_path_poll(struct rudp_session *s, struct rudp_path *p, uint64_t now);
uint64_t rudp_path_deadline(const struct rudp_session *s, const struct rudp_path *p);
/* An answer came over p itself to something that we sent on it. */
void rudp_path_answered(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* The peer told which paths it cannot use. */
void rudp_path_peer_mask(struct rudp_session *s, uint8_t mask, uint64_t now);
/* The port refused a packet for good. */
void rudp_path_tx_error(struct rudp_session *s, struct rudp_path *p, int code, uint64_t now);
static inline uint32_t rudp_path_ip_headers(const struct rudp_path *p)
{
	return p->remote.ip.family == AF_INET6 ? 48 : 28;
}
/* What rudp counts as a packet of p, as an IP packet: with IP, UDP, and the tag. */
static inline uint32_t rudp_path_packet(const struct rudp_session *s, const struct rudp_path *p,
					uint32_t bytes)
{
	return bytes + rudp_path_ip_headers(p) + (s->secure ? RUDP_SECURE_BYTES : 0);
}
/* How large a message's part of a packet may be on p, if packets may have mtu bytes of IP. */
static inline uint32_t rudp_path_room(const struct rudp_session *s, const struct rudp_path *p,
				      uint32_t mtu)
{
	return mtu - rudp_path_packet(s, p, WIRE_DATA_BYTES);
}
/* Messages that begin from now on are cut for the paths that are up. */
void rudp_path_cut(struct rudp_session *s);
/* What the search for p's packet size came to know; a bit set of enum rudp_mtu_news. */
void rudp_path_mtu_news(struct rudp_session *s, struct rudp_path *p, unsigned news, uint64_t now);
/* Our own host refused a datagram of so many bytes, all of UDP's payload, on p. */
void rudp_path_too_big(struct rudp_session *s, struct rudp_path *p, uint32_t bytes, uint64_t now);
/* A probe went by, in either direction, and no message since the one before. */
static inline void rudp_path_quiet(struct rudp_path *p)
{
	p->quiet = (uint8_t)MIN_OF(p->quiet + 1U, 2U);
}
/* No other path is up. */
bool rudp_path_alone(const struct rudp_session *s, const struct rudp_path *p);

/* rudp_suspect.c */
void rudp_suspect_poll(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* The path has answered. */
void rudp_suspect_over(struct rudp_session *s, struct rudp_path *p);
uint64_t rudp_suspect_deadline(const struct rudp_session *s, const struct rudp_path *p);

/* rudp_loss.c */
int rudp_loss_ack(struct rudp_session *s, const struct wire_ack *a, const struct rudp_path *via,
		  uint64_t now);
void rudp_loss_detect(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* Takes all packets off the path; their chunks travel again on others. */
void rudp_loss_move_all(struct rudp_session *s, struct rudp_path *p);
/* The chunks of small messages, or of the oldest one, and what announces large ones travel once
 * more; their packets stay on their way. False: there were none. */
bool rudp_loss_copy_small(struct rudp_session *s, struct rudp_path *p, bool oldest);
/* Those of more than so many bytes will not arrive: their chunks travel again in smaller ones. */
void rudp_loss_move_above(struct rudp_session *s, struct rudp_path *p, uint32_t bytes);
/* Notes a packet that was just handed to the port. */
static inline void rudp_loss_sent(struct rudp_path *p, uint16_t slot, uint32_t gen, uint16_t chunk,
				  unsigned n_chunks, uint32_t bytes, uint64_t now)
{
	if (rudp_sent_add(&p->sent, slot, gen, chunk, n_chunks, bytes, now) && !p->suspect &&
	    !p->doubt)
		p->sent.progress_ns = now;
	if (slot != PKT_NO_SLOT)
		p->quiet = 0;
	p->tx_packets++;
	p->tx_bytes += bytes;
	p->tx_error_ns = 0;
}
/* host: the part of it that may be the hosts' and not the network's. */
void rudp_path_rtt(struct rudp_path *p, uint64_t rtt, uint64_t host, uint64_t now);
uint64_t rudp_path_rto(const struct rudp_session *s, const struct rudp_path *p);
uint64_t rudp_path_pto(const struct rudp_session *s, const struct rudp_path *p);

/* rudp_call.c */
size_t rudp_call_bytes(const struct rudp *r, bool is_client);
/* memory: rudp_call_bytes of zeros. */
void rudp_call_init(struct rudp_session *s, uint8_t *memory);
void rudp_call_reset(struct rudp_session *s, unsigned n_slots, uint32_t free_bytes);
void rudp_call_activate(struct rudp_session *s);
/* A chunk arrived. 0: taken (or not needed any more); -ENOBUFS: no memory now, must come again;
 * -EBADMSG. May end the session (the application's callbacks run). */
int rudp_call_rx(struct rudp_session *s, const struct wire_common *c, const struct wire_data *d);
void rudp_call_acked(struct rudp_session *s, uint16_t slot, uint32_t gen, uint16_t chunk);
/* The chunk must travel again, unless it has arrived meanwhile. True where it will. */
bool rudp_call_lost(struct rudp_session *s, uint16_t slot, uint32_t gen, uint16_t chunk);
void rudp_call_poll(struct rudp_session *s, uint64_t now);
/* Server: when the client has had an answer for so long that it will not take it. */
uint64_t rudp_call_deadline(const struct rudp_session *s);
/* Whether it is one that will not, and not only one of many on a slow way. */
bool rudp_call_stuck(struct rudp_session *s, uint64_t now);
/* Client: the server says so. */
void rudp_call_granted(struct rudp_session *s, const struct wire_grant *g);
/* Client: how much of a request may be sent before it is granted. */
void rudp_call_set_free(struct rudp_session *s, uint32_t bytes);
/* Server: memory for an announced request. False: none at present. */
bool rudp_call_reserve(struct rudp_session *s, struct slot *slot);
/* Server: half a request is given up; its memory is free and the client hears of it. */
void rudp_call_discard(struct rudp_session *s, struct slot *slot);

/* rudp_timer.c */
void rudp_timer_set(struct rudp_session *s, uint64_t at_ns);
void rudp_timer_drop(struct rudp_session *s);
uint64_t rudp_timer_next(const struct rudp *r);
/* Those that are due are touched. */
void rudp_timer_run(struct rudp *r, uint64_t now);

/* rudp_grant.c */
void rudp_grant_init(struct rudp *r);
void rudp_grant_peer_init(struct rudp_session *s);
/* A request is announced: it waits for memory, or has it (SLOT_RECEIVING) and waits for its turn.
 */
void rudp_grant_need(struct rudp_session *s, struct slot *slot);
/* It has memory already: before those of its client that have none. */
void rudp_grant_first(struct rudp_session *s, struct slot *slot);
/* It began to be received without a grant: a small one. */
void rudp_grant_begin(struct rudp_session *s, struct slot *slot);
/* A chunk of a request was stored. */
void rudp_grant_progress(struct rudp_session *s, struct slot *slot, uint32_t bytes);
/* The request is whole, or over. */
void rudp_grant_end(struct rudp_session *s, struct slot *slot);
/* The peer is to hear (again) what `slot` may do. */
void rudp_grant_tell(struct rudp_session *s, struct slot *slot);
/* A packet with grants was lost. */
void rudp_grant_lost(struct rudp_session *s);
/* Memory or a call has come back. Whoever waits for it is one of those peers. */
static inline void rudp_grant_again(struct rudp *r)
{
	if (PLENUM_UNLIKELY(r->grants.n_peers))
		r->grants.retry_ns = r->now;
}
/* Gives grants to whom they belong, takes half requests back. */
void rudp_grant_run(struct rudp *r, uint64_t now);
uint64_t rudp_grant_deadline(const struct rudp *r);
/* In a millisecond or so, on one of our ports. */
void rudp_grant_losses(struct rudp *r, uint64_t lost, uint64_t packets);
/* How much of a request this peer may send before it is granted. */
uint32_t rudp_grant_free_bytes(const struct rudp_session *s);

/* rudp_incast.c */
/* A packet of len bytes came; its number is so much ahead of the highest before. */
void rudp_incast_came(struct rudp_session *s, struct rudp_path *p, uint64_t ahead, size_t len,
		      uint64_t now);
/* The peer hears of its share, where there is one and it has not heard. */
void rudp_incast_tell(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* As much as the peer says of our small messages on its way by p. */
int rudp_incast_rx(struct rudp_path *p, const struct wire_common *c, const uint8_t *data,
		   size_t len, uint64_t now);

/* So many bytes of a small message were sent by p, whose share is valid. */
void rudp_incast_sent(struct rudp_path *p, uint32_t bytes, uint64_t now);

/* rudp_tx.c */
void rudp_tx_queue(struct rudp_session *s, struct tx_msg *m);
void rudp_tx_drop(struct tx_msg *m);
bool rudp_tx_pending(const struct rudp_session *s);
/* Sends what may be sent; bulk: big messages too. */
void rudp_tx_run(struct rudp_session *s, bool bulk, uint64_t now);
/* A probe: the oldest chunk on its way on p once more, or a PING. */
/* Grants that are to be sent. */
void rudp_tx_grants(struct rudp_session *s, uint64_t now);
void rudp_tx_probe(struct rudp_session *s, struct rudp_path *p, uint64_t now);
void rudp_tx_ping(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* A PING padded to mtu bytes of IP packet. 0; -EMSGSIZE: our own host does not take it; other
 * negative errno: not sent. */
int rudp_tx_ping_padded(struct rudp_session *s, struct rudp_path *p, uint16_t mtu, uint64_t now);

/* rudp_rx.c */
/* As rudp_rx_open, where something guards the packets. */
int rudp_rx_unseal(struct rudp_session *s, const struct wire_common *c, const uint8_t **data,
		   size_t *len);
/* A packet from the network is really the peer's, and new where its counter says so: *data and *len
 * become what rudp_secure_open says. 0, -EBADMSG. */
static inline int rudp_rx_open(struct rudp_session *s, const struct wire_common *c,
			       const uint8_t **data, size_t *len)
{
	if (s->secure)
		return rudp_rx_unseal(s, c, data, len);
	return c->phase ? -EBADMSG : 0;
}
/* JOIN on a path that need not be one yet. */
int rudp_rx_join(struct rudp_session *s, unsigned port, const struct datagram_addr *src,
		 const struct wire_common *c, const uint8_t *data, size_t len, uint64_t now);
int rudp_rx_packet(struct rudp_session *s, unsigned port, const struct datagram_addr *src,
		   const struct wire_common *c, const uint8_t *data, size_t len, uint64_t now);
void rudp_rx_send_acks(struct rudp_session *s, uint64_t now);
/* Whether the peer is still to hear of something that came. */
static inline bool rudp_rx_acks_wait(const struct rudp_session *s)
{
	bool any = false;

	for (unsigned i = 0; i < s->n_paths; i++)
		any |= s->paths[i].acks.pending > 0;
	return any;
}
/* Fills the acknowledgement that rides on DATA over `on`; returns the path that it is of, NULL
 * where none is waiting or it would not fit. Once sent: rudp_acks_said. */
struct rudp_path *rudp_rx_piggyback(struct rudp_session *s, struct rudp_path *on,
				    struct wire_ack *ret, uint64_t now);

#endif
