/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The structures of session and endpoint, for the files of dataplane/rudp and its folder session,
 * and for tests. Each part of these structures has a header with the functions that may change it:
 *
 * 	rudp_path.h       path states: rudp_path.c; probes: rudp_path_poll.c; suspect paths:
 * 	                  rudp_suspect.c
 * 	rudp_loss.h       acknowledgements and losses: rudp_loss.c, rudp_loss_move.c
 * 	rudp_call.h       slots, requests, responses: rudp_call.c
 * 	rudp_grant.h      order of big requests: rudp_grant.c, rudp_grant_run.c
 * 	rudp_incast.h     limit for many senders of small messages: rudp_incast_share.c
 *
 * The functions of the other files are declared here, from the top layer down: rudp_report.c,
 * rudp_validate.c, rudp_tx.c (which chunk to send, when and on which path), rudp_ack_out.c,
 * rudp_timer.c, rudp_tx_queue.c and rudp_endpoint.c (packets to the ports, events to the
 * application). The folder `session` is above them all: it connects, receives packets, polls
 * sessions and ends them. Below them all are the parts of a path, which know nothing of the other
 * files: rudp_sent (packets in flight), rudp_rtt, rudp_cc (congestion window), rudp_mtu, rudp_acks
 * (packets received), rudp_gso (GSO burst health), rudp_src_ports.
 *
 * A request occupies a slot of its session, with the same index on both sides; each use of a slot
 * has a larger generation number than the one before. So slot and generation together name a
 * request, and packets of earlier requests are recognised without a history. A request of a new
 * generation acknowledges the response of the previous one completely. Chunks are numbered within
 * their message; packets are numbered per path and never resent: lost chunks travel again in a
 * packet with a new number.
 */
#ifndef PLENUM_DATAPLANE_RUDP_INTERNAL_H
#define PLENUM_DATAPLANE_RUDP_INTERNAL_H

#include "dataplane/rudp/rudp.h"
#include "dataplane/rudp/rudp_call.h"
#include "dataplane/rudp/rudp_grant.h"
#include "dataplane/rudp/rudp_incast.h"
#include "dataplane/rudp/rudp_loss.h"
#include "dataplane/rudp/rudp_path.h"
#include "dataplane/rudp/rudp_secure.h"
#include "dataplane/rudp/wire/wire.h"
#include "netcfg/base/list.h"

struct rudp_handshake;

#define RUDP_TIME_NEVER UINT64_MAX
#define RUDP_SEEDS_MAX 16
/* Maximum number of replies to packets without a session that the next poll sends. */
#define RUDP_RAW_MAX 32
#define RUDP_RAW_BYTES 120 /* length in bytes of the longest such reply */
/* Maximum number of bytes of a GSO burst, so that it can be sent as one segmented packet. */
#define RUDP_GSO_BYTES 65000U
#define RUDP_GSO_PACKETS 64U
/* The low bits of a session's number are its index in the table. */
#define RUDP_INDEX_MASK 0xffffULL
#define RUDP_FIRST_CALLS 4U
/* Minimum number of bytes of a large burst, see burst_end() in rudp_tx.c. */
#define RUDP_GSO_LONG 16384U
#define RUDP_GSO_BURSTS_MAX 16U
/* After this many payload bytes the ports are flushed. It is less than two bursts, so that the peer
 * can start to work early. */
#define RUDP_FLUSH_BYTES 100000U
_Static_assert(RUDP_GSO_BURSTS_MAX *RUDP_GSO_LONG >= RUDP_FLUSH_BYTES,
	       "every long burst has a record");
/* Limits of one poll. A poll that reaches a limit returns, so that the caller reads packets:
 * neither the load of one peer nor the timers of thousands of silent peers must delay others. */
#define RUDP_POLL_PACKETS 512U
#define RUDP_POLL_TIMERS 128U
_Static_assert(RUDP_SMALL_BYTES == WIRE_SMALL_BYTES, "one limit of small requests");
/* Small messages may exceed the congestion window by this many bytes. */
#define RUDP_SMALL_OVERSHOOT (16U << 10)
/* If the window has fewer packets than this, small messages are paced too. */
#define RUDP_PACE_SMALL 4U
/* Congestion window in bytes while the path's minimum round trip is being measured again. */
#define RUDP_DRAIN_BYTES (8U << 10)

enum session_state { SESSION_CONNECTING, SESSION_UP, SESSION_DEAD };

/* The keys by which rudp_index.c finds a session: the hash of its HELLO; the peer's identity and
 * number; the peer's number alone; the peer's identity alone. A client's session is only found by
 * the peer's number. */
enum rudp_index {
	RUDP_INDEX_HELLO,
	RUDP_INDEX_CLIENT,
	RUDP_INDEX_NUMBER,
	RUDP_INDEX_IDENTITY,
	RUDP_INDEX_MAX
};

/* Times are in ns of clock_now_ns(). */
struct rudp_session {
	struct rudp *r;
	uint64_t number;	  /* number of the session in packets from the peer; the low bits
				     are its index in the table, see RUDP_INDEX_MASK */
	uint64_t peer_number;	  /* number of the session in packets to the peer; 0: not known
				     yet */
	uint64_t peer_identity;	  /* peer_identity, peer_epoch: identity and epoch of the peer's
				     rudp_config */
	uint64_t replaced_number; /* client: peer_number of the former session, which the server
				     ends; 0: the client had no session */
	uint32_t peer_epoch;
	bool is_client;
	uint8_t state;			/* enum session_state */
	bool dirty;			/* the session is in the endpoint's dirty_list */
	struct rudp_session *next_dead; /* next session in rudp.dead, for a session in
					   SESSION_DEAD */
	void *user;			/* the application's pointer */
	struct list dirty_node;
	struct list index[RUDP_INDEX_MAX]; /* nodes in the chains of rudp.index */
	struct list siblings;		   /* server: ring of all sessions with the same
					      peer_identity */
	unsigned timer_at;		   /* index in the timer heap plus 1; 0: none */
	uint64_t last_rx_ns;		   /* when the peer's last packet arrived on any path */
	size_t bytes; /* size of the memory mapping that holds the session and its arrays */
	char refusal[WIRE_REFUSE_TEXT_MAX + 1]; /* the word of the last REFUSE that arrived or of
						   the one to send */
	/* server: the validated address from which the client sent HELLO */
	struct datagram_addr hello_from;

	unsigned n_paths; /* count of entries of `paths` in use; some of them may be PATH_NONE */
	uint16_t chunk_bytes; /* size of the chunks of new messages; a chunk fits into a packet of
				 every path that is up */
	uint16_t peer_mtu;    /* largest MTU of the peer's ports; 0: unknown */
	uint32_t labels;      /* server: value of rudp.labels when ACCEPT was made; if it differs
				 later, a new path gets a LABEL */
	uint8_t n_addrs_confirmed; /* server: count of this server's addresses that the client has
				      confirmed */
	uint64_t addr_ns;	   /* server: when to send the next unconfirmed address to the
				      client */
	uint64_t addr_interval;	   /* server: interval (ns) after which that address is sent
				      again */
	uint64_t ack_serial; /* number of the last control packet that was sent (ACK, CLOSE, JOIN,
				JOINED, LABEL, SHARE); the paths of a session share this counter */
	uint32_t peer_ack_serial; /* highest number of an ACK of the peer, modulo 2^32 */
	bool state_due;		  /* the state of this side's paths must be sent at once */
	uint8_t peer_down_mask;	  /* a bit for each path, set if the peer reports in its ACKs that
				     the path's link is down */

	/* Slots from index n_fresh on were not used in this incarnation; their memory may never
	 * have been accessed. */
	struct slot *slots;
	unsigned n_slots, n_fresh;
	struct slot *free_slots; /* linked list of the free slots below n_fresh */
	/* n_active: count of slots in use; n_active_big: how many of them have big requests */
	unsigned n_active, n_active_big;
	struct wait_ring wait_small, wait_big; /* client: requests that wait for a slot */
	uint32_t free_most;	  /* client: how many bytes of big requests may be in flight without
				     a grant */
	uint32_t free_used;	  /* client: how many of free_most are in use */
	struct grant_peer grants; /* server: big requests of this client that wait for memory */
	struct list answers;	  /* server: slots in SLOT_RESPONDING, oldest first */
	struct list answering;	  /* server: node in rudp.answering while `answers` is not empty */
	uint64_t answers_ns;	  /* server: start of the interval in which answers_bytes counts */
	uint64_t answers_bytes;	  /* server: number of bytes of responses that the client has
				     acknowledged since answers_ns; a client with too few is
				     stuck */
	uint64_t acked_ns; /* server: when the client last acknowledged a part of a response; 0:
			      never */
	uint64_t asked_ns; /* server: when rudp_standing.c last sent a PING */
	uint8_t n_asked;   /* consecutive PINGs of rudp_standing.c without an answer */
	uint8_t n_pinged;  /* server: count of unanswered PINGs since pinged_ns, while memory for
			      responses is short */
	bool ask_due;	   /* rudp_standing.c has requested a PING, which the next poll sends */
	uint64_t pinged_ns;
	/* server: calls: the requests that the application executes; free_calls: list of the unused
	 * entries of `calls` */
	struct rudp_call *calls, *free_calls;
	struct rudp_call *abandoned_calls; /* server: calls whose response is not needed any more */
	unsigned n_calls, n_fresh_calls;   /* entries of `calls`, with the meaning of n_slots and
					      n_fresh for `slots` */
	struct rudp_call first_calls[RUDP_FIRST_CALLS]; /* the first calls use these entries, before
							   the entries of `calls` */

	struct list tx[TX_QUEUE_MAX]; /* messages that have chunks to send */
	uint8_t pausing;    /* a bit for each path whose packets in flight were moved to other
			       paths, while none of them has arrived there yet */
	uint8_t turn;	    /* running number of the next big message, by which its source port is
			       chosen */
	uint32_t small_run; /* number of bytes of small messages that were sent since the last burst
			       of a big message */

	/* client: the handshake */
	struct datagram_addr seeds[RUDP_SEEDS_MAX]; /* addresses of the server to try */
	unsigned n_seeds, first_seed; /* count of seeds; index of the seed tried first */
	uint64_t refused_ns; /* when REFUSE last arrived; the next two members are its negative
				errno and its sender */
	int refused_code;    /* negative errno of the last REFUSE */
	struct datagram_addr refused_by;
	bool refused_here;	/* ops->accepted of this host has refused the server */
	uint64_t connecting_ns; /* when this handshake began */
	uint64_t rotate_ns;	/* when to begin with the next seed; used only if there are more
				   seeds than paths */
	uint64_t up_ns; /* when the last ACCEPT arrived; server: when the session was accepted */
	uint16_t hello_len; /* bytes of `hello`, the application's data in HELLO */
	uint8_t hello[WIRE_HELLO_APP_MAX];

	struct pkt_rec *rings; /* memory of rudp_path.sent for all paths */

	/* Valid only within ops->accepted; NULL: the peer has proved nothing. */
	const struct rudp_proof *proof;
	char peer_host[RUDP_HOST_MAX]; /* as in struct rudp_peer */
	bool peer_proven;
	uint64_t peer_host_epoch;
	uint64_t peer_hash; /* of the proven name; 0: none */
	uint8_t key;	    /* index of the endpoint's key used in the handshake */
	bool key_gone; /* the endpoint has removed that key, so the next poll ends the session */
	struct rudp_secure *secure;	  /* packet protection; NULL: packets are not protected */
	struct rudp_handshake *handshake; /* client: always set; server: NULL after the first packet
					     from the client */
	uint64_t hello_hash;		  /* server: hash of the client's HELLO */
	uint8_t peer_token[WIRE_TOKEN_BYTES];	/* a RESET is from the peer only if it contains this
						   token */
	struct rudp_path paths[RUDP_PATHS_MAX]; /* the last member of the struct, because most
						   sessions use only the first two paths */
};

/* A short packet that has no record in rudp_path.sent. The next poll sends it. */
struct raw_pkt {
	unsigned port;
	struct datagram_addr dst;
	bool sent; /* the packet was passed to the port, which uses `bytes` until the flush */
	uint8_t len;
	uint8_t bytes[RUDP_RAW_BYTES];
};

/* Packets of a big message that are sent together on a path. */
struct gso_burst {
	struct rudp_path *path;
	uint64_t first_pn;
	unsigned n;
};

/* rudp_bulk.c: a host to which something was sent, and when. */
struct rudp_sent_to {
	uint64_t host, at_ns;
};

/* rudp_bulk.c: bytes of bulk data that a poll has sent to a host. */
struct bulk_host {
	uint64_t poll; /* value of rudp.n_polls to which `bytes` belongs */
	uint32_t bytes;
};
#define RUDP_BULK_HOSTS 256U /* the index is eight bits of the hash */

struct rudp_timer {
	uint64_t at_ns;
	struct rudp_session *session;
};

struct rudp {
	struct rudp_config cfg;
	struct rudp_limits lim; /* limits of cfg, with the default instead of each 0 */
	const struct rudp_ops *ops;
	void *user;
	uint64_t now;	    /* the latest time (ns) that the caller has passed */
	uint64_t polled_ns; /* time of the last rudp_poll; packets may have waited since then */
	uint64_t waited_ns; /* how long received packets waited in the host, if the port knows; else
			       RUDP_TIME_NEVER */
	/* key: the random key of rudp_hash, drawn at the start; counter: state of rudp_random. */
	uint64_t key[2], counter;
	struct rudp_session **sessions; /* table of the sessions; the low bits of a session's number
					   are its index; NULL: the entry is free */
	unsigned n_sessions, n_live;	/* size of the table; count of live sessions */
	unsigned free_from;		/* all entries below this index are in use */
	struct rudp_timer *heap;	/* timers, ordered by at_ns */
	unsigned n_heap;
	struct list dirty_list;	   /* sessions to poll */
	struct rudp_session *dead; /* list of ended sessions, which are freed when `depth` returns
				      to 0 */
	bool dirty;		   /* the next poll has something to do */
	bool again;		   /* the current poll stopped early, because a port or buffer
				      was full */
	bool rests;	/* set by rudp_ack_at_once(): acknowledgements are sent at once instead of
			   waiting for a packet that can carry them */
	unsigned depth; /* count of nested calls of public functions that are running; ended
			   sessions are freed when it returns to 0 */
	uint64_t deadline; /* when to poll even if no packet arrives; RUDP_TIME_NEVER: no timer is
			      set */
	uint32_t blocked_ports; /* a bit for each port that accepts no more packets in this poll */
	unsigned sent_in_poll;	/* count of packets sent in this poll */
	uint64_t n_polls;	/* count of polls so far */
	struct bulk_host bulk_hosts[RUDP_BULK_HOSTS]; /* indexed by the hash of the host's
							 address */
	/* The last two hosts that got small messages, and the last two that got bulk data. */
	struct rudp_sent_to small_to[2], bulk_to[2];
	uint32_t unflushed; /* payload bytes sent since the last flush */
	unsigned n_bursts;  /* count of large bursts since the last flush, which are in `bursts` */
	struct gso_burst bursts[RUDP_GSO_BURSTS_MAX];
	uint64_t reset_tokens_ns; /* limits the rate of RESETs: each RESET moves this time forward
				     by 10 ms, and it must not be later than the current time */
	uint64_t drops;		  /* packets that were damaged or belong to no session */
	struct grants grants;	  /* server: selects the big requests that get memory next */
	uint64_t short_since_ns;  /* when memory for responses became short */
	uint64_t short_until_ns;  /* responses count as short of memory until then */
	uint64_t short_check_ns;  /* when rudp_standing.c searches next for silent clients */
	struct list answering;	  /* sessions with unacknowledged responses */
	unsigned n_answering;	  /* count of sessions in `answering` */
	unsigned n_to_check;	  /* count of sessions that the running search still has to check */
	/* For each port: when it last received a packet of a session, and when it began to receive
	 * such packets without a pause. */
	uint64_t heard_ns[RUDP_PORTS_MAX], hears_since_ns[RUDP_PORTS_MAX];
	struct rudp_incast incasts[RUDP_PORTS_MAX]; /* one for each port of this endpoint */
	uint16_t mtu;				    /* largest MTU of this endpoint's ports: bytes
						       of an IP packet */
	unsigned raw_n;
	struct raw_pkt raw[RUDP_RAW_MAX]; /* replies that the next poll sends */
	uint32_t labels;		  /* incremented when a port's label changes */
	uint8_t n_addrs; /* server: count of this server's addresses that ACCEPT and LABEL list */
	uint8_t addrs[RUDP_PORTS_MAX * WIRE_ADDR_BYTES];
	enum rudp_cipher cipher; /* cipher that this endpoint offers in its own handshakes */
	/* Hash chains of sessions: index_mask + 1 chains for each of the RUDP_INDEX_MAX kinds of
	 * key. */
	struct list *index;
	unsigned index_mask;
	struct rudp_hellos *hellos; /* server: hashes of the latest 2 * n_sessions HELLOs that
				       created sessions, so that a repeated HELLO creates no second
				       session */
	uint64_t *spent_ns; /* server: limits the handshakes that an address may cause. For each
			       hash of addresses: when their budget is full again */
	uint8_t *seal_buf;  /* sealed packets that the port has not sent yet; NULL: packets are not
			       protected */
	size_t seal_used;   /* bytes of seal_buf in use */
	uint8_t scratch[WIRE_PACKET_BYTES_MAX]; /* memory for a decrypted packet */
};
/* Space for all packets between two flushes, and for some MTU probes. */
#define RUDP_SEAL_BUF_BYTES (RUDP_FLUSH_BYTES + 4 * (size_t)RUDP_GSO_BYTES)

static inline bool rudp_addr_equal(const struct datagram_addr *a, const struct datagram_addr *b)
{
	return a->port == b->port && !memcmp(&a->ip, &b->ip, sizeof(a->ip));
}

/* Returns the size of the IP packet that carries `bytes` of a rudp packet on p: adds the headers of
 * IP and UDP, and the tag. */
static inline uint32_t rudp_path_packet(const struct rudp_session *s, const struct rudp_path *p,
					uint32_t bytes)
{
	return bytes + rudp_path_ip_headers(p) + (s->secure ? RUDP_SECURE_BYTES : 0);
}
/* Returns the largest payload of a DATA packet on p in an IP packet of mtu bytes. */
static inline uint32_t rudp_path_payload_max(const struct rudp_session *s,
					     const struct rudp_path *p, uint32_t mtu)
{
	return mtu - rudp_path_packet(s, p, WIRE_DATA_BYTES);
}
/* Call when memory or a call was freed, so that waiting requests can be granted. */
static inline void rudp_grant_again(struct rudp *r)
{
	if (PLENUM_UNLIKELY(r->grants.n_peers))
		r->grants.retry_ns = r->now;
}
/* Excludes the bytes of the request from grants.granted_bytes. */
static inline void rudp_granted_remove(struct rudp *r, struct slot *slot)
{
	if (!slot->in.counted)
		return;
	slot->in.counted = false;
	r->grants.granted_bytes -= slot->in.granted_bytes;
	r->grants.n_granted--;
}

/* Adds the response to the session's list of responses that are not acknowledged yet. */
static inline void rudp_answer_add(struct rudp_session *s, struct list *answer)
{
	if (list_empty(&s->answers)) {
		list_add_tail(&s->r->answering, &s->answering);
		s->r->n_answering++;
	}
	list_add_tail(&s->answers, answer);
}
static inline void rudp_answer_remove(struct rudp_session *s, struct list *answer)
{
	list_del(answer);
	if (!list_empty(&s->answers))
		return;
	list_del(&s->answering);
	s->r->n_answering--;
}

/* Returns how long the packet that is being processed may have waited in this host. */
static inline uint64_t rudp_waited(const struct rudp *r, uint64_t now)
{
	return r->waited_ns == RUDP_TIME_NEVER ? now - r->polled_ns : r->waited_ns;
}

/* rudp_endpoint.c */
/* Returns the SipHash-2-4 of the data with the endpoint's key. */
uint64_t rudp_hash(const struct rudp *r, const void *data, size_t len);
uint64_t rudp_random(struct rudp *r);
/* Marks the session for the next poll. */
static inline void rudp_session_touch(struct rudp_session *s)
{
	s->r->dirty = true;
	if (s->dirty || s->state == SESSION_DEAD)
		return;
	s->dirty = true;
	list_add_tail(&s->r->dirty_list, &s->dirty_node);
}
/* Makes the token for a RESET of this endpoint's session `number`. It proves that this host has
 * sent the RESET. key: index of the cluster key from which the token is made. */
int rudp_token_make(const struct rudp *r, unsigned key, uint64_t number,
		    uint8_t ret[WIRE_TOKEN_BYTES]);
/* Queues a packet of up to RUDP_RAW_BYTES for the next poll. Returns NULL if the queue is full. */
struct raw_pkt *rudp_raw_add(struct rudp *r, unsigned port, const struct datagram_addr *dst);
/* Makes all ports send the packets that they have queued. */
void rudp_flush(struct rudp *r);
/* Calls ops->tx, counts the packet, and records whether the port is full. Returns the same values
 * as ops->tx.
 */
int rudp_transmit(struct rudp *r, unsigned port, const struct datagram_addr *dst,
		  const struct datagram *pkt);

void rudp_session_event(struct rudp_session *s, enum rudp_event e, unsigned path, int code);
/* Implements rudp_session_transmit() for sessions with packet protection. */
int rudp_session_seal(struct rudp_session *s, const struct rudp_path *p, const struct datagram *pkt,
		      unsigned counter, uint64_t number);
/* Sends a packet of an UP session, sealed if the session has packet protection. counter: p->index
 * for packets numbered by the path, else RUDP_SECURE_CONTROL. number: the packet's full number in
 * that counter. The number may be used for another packet only if this call fails. Has the results
 * of ops->tx. */
static inline int rudp_session_transmit(struct rudp_session *s, const struct rudp_path *p,
					const struct datagram *pkt, unsigned counter,
					uint64_t number)
{
	return s->secure ? rudp_session_seal(s, p, pkt, counter, number)
			 : rudp_transmit(s->r, p->port, &p->remote, pkt);
}
/* Sends a short packet without payload to any address, in the next poll. Otherwise like
 * rudp_session_transmit. Returns 0, or a negative errno if the packet was not queued. */
int rudp_session_raw(struct rudp_session *s, unsigned port, const struct datagram_addr *dst,
		     const struct datagram *pkt, uint64_t number);
void rudp_session_send_close(struct rudp_session *s);

/* rudp_validate.c: validation of source ports. Call rudp_validate_poll() only if the port has more
 * than one source port. */
void rudp_validate_poll(struct rudp_session *s, struct rudp_path *p, uint64_t now);
uint64_t rudp_validate_deadline(const struct rudp_path *p);
/* Returns whether a packet may be from the peer although it does not come from the path's remote
 * address. It is from the peer if it can also be opened with the session's key. */
bool rudp_validate_is_from(const struct rudp_path *p, const struct datagram_addr *src,
			   const struct wire_common *c);
/* Processes LABEL with SOURCE. */
int rudp_validate_rx(struct rudp_session *s, struct rudp_path *p, const struct datagram_addr *src,
		     const struct wire_common *c, const uint8_t *data, size_t len);

/* rudp_report.c: the loss of a path, which each side measures and reports to the other side. */
/* Starts to count losses again. Does not count packets that were sent before now, nor packets that
 * were lost before the first packet from now on has arrived. */
static inline void rudp_report_restart(struct rudp_path *p)
{
	p->quality.counts = false;
	p->quality.out_from = p->sent.next_pn;
}
/* Processes the report of a PING, after the PING itself was recorded as received. */
int rudp_report_rx(struct rudp_session *s, struct rudp_path *p, const struct wire_report *r,
		   uint64_t now);
/* Call when packets on a path were not answered in time: some of them, or of their answers, may be
 * lost. */
void rudp_report_unanswered(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* Call when p is up and the time p->quality.probe_ns has come. */
void rudp_report_poll(struct rudp_session *s, struct rudp_path *p, uint64_t now);

/* rudp_timer.c */
void rudp_timer_set(struct rudp_session *s, uint64_t at_ns);
void rudp_timer_drop(struct rudp_session *s);
uint64_t rudp_timer_next(const struct rudp *r);
/* Marks up to RUDP_POLL_TIMERS sessions whose timers are due for the next poll, in the order of
 * their times. Returns true if there are more. */
bool rudp_timer_run(struct rudp *r, uint64_t now);

/* rudp_tx_queue.c */
/* Returns whether the message counts as small. A big request counts as small while its announcement
 * is due. */
static inline bool rudp_tx_is_small(const struct tx_msg *m)
{
	return m->len <= RUDP_SMALL_BYTES || m->announce;
}
void rudp_tx_queue(struct rudp_session *s, struct tx_msg *m);
void rudp_tx_drop(struct tx_msg *m);
bool rudp_tx_pending(const struct rudp_session *s);

/* rudp_bulk.c: shares the bulk data that a server sends among hosts */
void rudp_bulk_note_small(struct rudp *r, const struct rudp_path *p, uint64_t now);
/* Returns whether this poll may begin, or continue, to send bulk data to the path's host. */
bool rudp_bulk_may_send(struct rudp *r, const struct rudp_path *p, uint64_t now);
void rudp_bulk_sent(struct rudp *r, const struct rudp_path *p, uint32_t bytes, uint64_t now);

/* rudp_tx.c */
/* Sends the messages that may be sent now. bulk: sends big messages too. */
void rudp_tx_run(struct rudp_session *s, bool bulk, uint64_t now);
/* Sends queued grants. */
void rudp_tx_grants(struct rudp_session *s, uint64_t now);
void rudp_tx_probe(struct rudp_session *s, struct rudp_path *p, uint64_t now);
void rudp_tx_ping(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* Sends a PING padded to an IP packet of mtu bytes. Returns 0, -EMSGSIZE if this host refuses the
 * size, or another negative errno if sending failed. */
int rudp_tx_ping_padded(struct rudp_session *s, struct rudp_path *p, uint16_t mtu, uint64_t now);

/* rudp_ack_out.c */
void rudp_ack_out_send(struct rudp_session *s, uint64_t now);
/* Returns whether an acknowledgement is pending. */
static inline bool rudp_ack_out_waits(const struct rudp_session *s)
{
	bool any = false;

	for (unsigned i = 0; i < s->n_paths; i++)
		any |= s->paths[i].acks.pending > 0;
	return any;
}
/* Finds a pending acknowledgement that a DATA packet on path `on` can carry, and writes it to *ret.
 * Returns the path whose packets it acknowledges, or NULL if none is pending or none fits. Call
 * rudp_acks_sent() when the packet was sent. */
struct rudp_path *rudp_ack_out_piggyback(struct rudp_session *s, struct rudp_path *on,
					 struct wire_ack *ret, uint64_t now);

#endif
