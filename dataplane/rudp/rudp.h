/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reliable transport: requests and responses of up to 1 MiB plus a header between two workers,
 * over every path that connects them. It is a pure state machine: it owns sessions, paths, timers
 * and packets in flight; it never opens a socket, reads a clock or starts a thread. The caller
 * passes the time as `now_ns` and received packets to rudp_rx; packets leave through ops->tx, only
 * from within rudp_poll. One endpoint belongs to one core and takes no locks. struct rudp_limits
 * bounds its memory, which is allocated when an endpoint or session is created, never per packet.
 *
 * plenum-protocol(7) specifies the wire format. The caller's loop runs in this order, so that
 * packets which have already arrived are processed before timers:
 *
 * 	rudp_rx() for every received datagram   may call every op but tx and tx_flush
 * 	rudp_poll()                             may call every op; tx_flush at its end, and in
 * 	                                        between when it sends much
 * 	sleep until rudp_deadline() or the next packet
 *
 * Within an op the application may call any function of this header except rudp_free, rudp_rx and
 * rudp_poll; within tx, tx_flush and buf_get it may call only rudp_tx_stamp and functions that
 * change nothing.
 *
 * Delivery: the peer's `request` receives each request exactly once per session incarnation, and
 * rudp_respond answers it exactly once. Requests are independent and unordered. When the peer
 * restarts (another epoch) or is lost, every call ends with -ECONNRESET, including queued ones. The
 * caller cannot know whether the peer has executed the request and must decide what to do: the file
 * system protocol sends the request again, with a mark by which the server recognises a repeat.
 *
 * Life of a session. A client's session connects and is UP. After LOST, ENDED or RESTARTED, its
 * calls have ended, and it connects again, until rudp_session_close() is called. A server's session
 * lasts from `accept` and UP to CLOSED. Before CLOSED, an event may report the reason (RESTARTED,
 * LOST, ENDED, STUCK), every call ends, and the application gets every response back. On both sides
 * the session pointer is invalid after CLOSED.
 */
#ifndef PLENUM_DATAPLANE_RUDP_H
#define PLENUM_DATAPLANE_RUDP_H

#include "dataplane/datagram.h"

#define RUDP_MSG_BYTES_MAX ((1U << 20) + 4096)
/* Maximum number of bytes of application data in the handshake. */
#define RUDP_HELLO_BYTES_MAX 256
#define RUDP_PATHS_MAX 8	       /* maximum number of paths per session */
#define RUDP_PORTS_MAX PLENUM_LEGS_MAX /* maximum number of ports per endpoint */

struct rudp;
struct rudp_session;
struct rudp_call; /* a request that the application is executing; valid from `request` until
		     rudp_respond */

enum rudp_event {
	RUDP_SESSION_UP,	/* client: connected; server: a client connected */
	RUDP_SESSION_REFUSED,	/* client: the peer refused the session; code: the negative errno
				   that the peer sent */
	RUDP_SESSION_RESTARTED, /* the peer no longer knows the session, or has restarted; the
				   session's calls have ended with -ECONNRESET */
	RUDP_SESSION_LOST,	/* nothing arrived on any path for limits.lost_ns; a client keeps
				   connecting */
	RUDP_SESSION_ENDED, /* client: the peer closed the session, and the client keeps connecting;
			       both sides: the cluster key of the session was removed */
	RUDP_SESSION_STUCK, /* server: the client acknowledged too few responses within
			       limits.answer_ns, or rudp_responses_short() ended the session */
	RUDP_SESSION_CLOSED, /* the last event of a session. Client: follows rudp_session_close.
				Server: follows every end of the session; unless the client
				closed it, the event before this one has the reason */
	RUDP_PATH_UP,
	RUDP_PATH_DOWN, /* code: -ENETDOWN if the link of this host is down, -ENOLINK if the peer
			   reports that its link is down, -ETIMEDOUT if the path was silent */
	RUDP_PATH_MTU,	/* path MTU discovery found another size; code: that size */
	RUDP_PATH_GSO,	/* code 1: no packets of GSO bursts arrive, so packets are sent one by one
			   from now on; 0: bursts arrive again */
	RUDP_PATH_LOSS, /* code 1: the path loses far more packets than usual; 0: the loss is as
			   usual again */
	RUDP_PATH_SLOW, /* code 1: the round trip is far longer than usual, or than on another
			   port's path; 0: it no longer is */
	RUDP_PATH_SRC_PORTS, /* code: count of the port's source ports whose packets do not reach
				the peer */
	RUDP_EVENT_MAX
};

#define RUDP_HOST_MAX 64

/* A peer, as the application has checked its proof. */
struct rudp_peer {
	char host[RUDP_HOST_MAX]; /* proven: the name in the certificate; else the name that the
				     peer claims, "" if it claims none */
	bool proven;
	uint64_t epoch;		  /* epoch of the certificate */
	char word[RUDP_HOST_MAX]; /* with a refusal: the word to send with it */
};

struct rudp_proof;

struct rudp_ops {
	/* Queues one datagram on `port`. Returns 0; -EAGAIN if the port is full, in which case rudp
	 * keeps the packet and retries at the next rudp_poll; or another negative errno if the path
	 * is unusable at present, which rudp treats as a lost packet. */
	int (*tx)(void *user, unsigned port, const struct datagram_addr *dst,
		  const struct datagram *pkt);
	/* Sends everything that is queued. After the call, payload pointers are not used any
	 * more. */
	void (*tx_flush)(void *user);
	/* Returns memory for an incoming message of len bytes; its first byte is stored at the
	 * returned pointer. With this op the application controls how much it accepts, and from
	 * which peer. A client that announces a request of more than 16 KiB gets its grant only
	 * when this op has provided memory. Until then it waits; waiting clients are served in
	 * turn. Returns NULL if there is no memory for this peer now: a packet that needed no grant
	 * is then dropped, and the peer retransmits it later. The buffer returns to the application
	 * via `request` or `response`, or via buf_put if the message will never be complete. For a
	 * response, cookie is the one passed to rudp_call_send; else it is 0. */
	void *(*buf_get)(void *user, struct rudp_session *s, bool is_response, uint64_t cookie,
			 size_t len);
	void (*buf_put)(void *user, struct rudp_session *s, void *buf);
	/* A complete request has arrived. The application then owns buf, and must call
	 * rudp_respond(call) once, now or later, unless the session ends first: then rudp calls
	 * `call_gone`. */
	void (*request)(void *user, struct rudp_session *s, struct rudp_call *call, void *buf,
			size_t len);
	/* The session has ended before the application has answered the call. `call` is invalid
	 * after this callback. */
	void (*call_gone)(void *user, struct rudp_session *s, struct rudp_call *call);
	/* A call has ended. status 0: buf has the response and belongs to the application; negative
	 * errno: buf is NULL. The application may reuse the memory of the request. */
	void (*response)(void *user, struct rudp_session *s, uint64_t cookie, int status, void *buf,
			 size_t len);
	/* Server: the application may reuse the memory of the response that it passed to
	 * rudp_respond() with this token. Either the client has acknowledged the response or no
	 * longer waits for it, or the session has ended. */
	void (*sent)(void *user, struct rudp_session *s, void *token);
	/* Server: a client sends HELLO. Tells who it is, and changes nothing. proof: NULL: the
	 * handshake was by the cluster's key alone. A negative errno refuses the client and is sent
	 * to it with ret->word. If the op returns 0, the HELLO ends older sessions of this peer,
	 * but none of another host. If the op is NULL, no peer is proven. */
	int (*identify)(void *user, const struct datagram_addr *from, const void *hello, size_t len,
			const struct rudp_proof *proof, struct rudp_peer *ret);
	/* Server: `identify` has returned 0. Return 0 to accept it, and set *ret_user to the value
	 * that rudp_session_user returns. A negative errno refuses the client and is sent to it. */
	int (*accept)(void *user, struct rudp_session *s, const void *hello, size_t len,
		      void **ret_user);
	/* Server: Returns whether rudp_responses_short() may end this session. If the op is NULL,
	 * it may end any session. */
	bool (*may_end)(void *user, struct rudp_session *s);
	/* Client: the server accepted the session, and rudp_session_proof() tells who the server
	 * is. Return 0 to use the session. After a negative errno, the session counts as refused
	 * with that code and with the word of rudp_session_refuse_with(). If the op is NULL, the
	 * client uses any session. */
	int (*accepted)(void *user, struct rudp_session *s);
	/* Reports an event of a session or path. path: index into the list of
	 * rudp_session_paths. */
	void (*event)(void *user, struct rudp_session *s, enum rudp_event e, unsigned path,
		      int code);
};

/* Protection of a session's packets, numbered as on the wire. A higher value is stronger. If the
 * two sides have different settings, the stronger one applies. */
enum rudp_security {
	RUDP_SECURITY_NONE, /* packets are not protected: the network is trusted */
	RUDP_AUTH,	    /* authenticated: packets come unaltered from a holder of the key */
	RUDP_ENCRYPT,	    /* authenticated and encrypted */
	RUDP_SECURITY_MAX
};
#define RUDP_KEYS_MAX 2
#define RUDP_KEY_BYTES 32
#define RUDP_CERTIFICATE_MAX 320

/* The identity of this host. rudp proves the key to peers that have an identity too, and sends them
 * the certificate, whose content only the application knows. */
struct rudp_host_key {
	bool used; /* false: this host has no identity */
	uint8_t secret[RUDP_KEY_BYTES], public[RUDP_KEY_BYTES];
	uint8_t certificate[RUDP_CERTIFICATE_MAX];
	uint16_t certificate_len;
};

/* The key that a peer has proved in the handshake, and the certificate that it sent. */
struct rudp_proof {
	uint8_t key[RUDP_KEY_BYTES];
	const uint8_t *certificate;
	size_t certificate_len;
};

struct rudp_limits {		    /* a value of 0 selects the default, which is given in
				       brackets */
	uint32_t sessions;	    /* [4096]; 65536 at most */
	uint32_t calls_per_session; /* requests in progress at a time [128]; further requests queue
				       at the sender */
	uint32_t rx_bytes_per_session; /* memory of this endpoint that one peer's requests of more
					  than 16 KiB may occupy, from the grant until they are
					  answered [8 MiB] */
	uint64_t min_rto_ns;	       /* [1 ms] */
	uint64_t path_dead_ns; /* when a path has been silent for this long, its packets move to
				  other paths [8 ms, at least two retransmission timeouts] */
	uint64_t hold_ns;      /* a path that came up again carries traffic only after this time, or
				  after twice this time if it goes up and down often [1 s] */
	uint64_t keepalive_ns; /* interval of probes on idle paths [1 s] */
	uint64_t lost_ns;      /* a session with no live path is lost after this [5 s] */
	uint64_t stall_ns;     /* if a partly received request makes no progress for this long, the
				  server discards it and asks the client to send it again; the time
				  doubles for a client that stalls repeatedly [500 ms] */
	/* Within this time a client must acknowledge a whole response, or many bytes of responses.
	 * Otherwise the server ends its session, because the client could occupy memory for ever
	 * [10 s]. */
	uint64_t answer_ns;
	uint64_t phase_packets; /* count of packets that are sealed with one key before the sender
				   switches to the next key [4 Mi] */
};

struct rudp_port_info {
	struct datagram_addr local;
	uint8_t prefix_len;
	bool routed;	 /* a router behind this port leads to other subnets */
	uint32_t mtu;	 /* largest IP packet of the leg, bytes */
	uint32_t label;	 /* hash of the label of the switch behind the port; 0: unknown. Paths
			    between ports with equal labels are preferred */
	uint8_t sources; /* count of additional UDP source ports from which the port can send
			    (datagram.source), at most 7; big messages rotate over those that reach
			    the peer */
	bool up;
};

struct rudp_config {
	uint64_t identity; /* a number that identifies this worker, the same after each restart */
	uint32_t epoch;	   /* a number that must grow with each restart */
	uint64_t seed;	   /* seed of session numbers and jitter; random in production, fixed in
			      tests */
	struct rudp_limits limits;
	const struct rudp_ops *ops;
	void *user;
	enum rudp_security security;
	unsigned n_keys; /* 0 without security, else at least one */
	/* The cluster's keys, 32 random bytes each. Peers may use any of them in handshakes with
	 * this endpoint; its own handshakes use the first. */
	uint8_t keys[RUDP_KEYS_MAX][RUDP_KEY_BYTES];
	struct rudp_host_key host_key; /* needs security */
	struct rudp_port_info ports[RUDP_PORTS_MAX];
	unsigned n_ports;
};

struct rudp_path_info {
	unsigned port;
	struct datagram_addr remote;
	bool up, standby;
	bool swapped;	 /* client: the path's port and the peer's port are on different switches,
			    although another port of this host is on the peer's switch */
	bool alone;	 /* packets are sent one by one, because no packets of GSO bursts have
			    arrived */
	uint8_t sources; /* count of source ports that carry load, including the port's own */
	uint8_t sources_lost; /* a bit for each source port (datagram.source), set if packets from
				 this source port do not reach the peer */
	/* How many packets of a million are lost from this endpoint to the peer, and from the peer
	 * to this endpoint; UINT32_MAX: unknown. */
	uint32_t loss_out_ppm, loss_in_ppm;
	bool lossy_out, lossy_in; /* the loss is far larger than usual, or than on another path to
				     the peer */
	bool avoided;		  /* the path is lossy, and a better path carries the load */
	/* slow_ns: the round trip of a slow path; 0: the path is not slow. slow_than_ns: the
	 * shorter round trip that it was compared with. slow_port: the port whose path to the peer
	 * has the shorter round trip; RUDP_PORTS_MAX: this path itself had the shorter round trip
	 * earlier. */
	uint64_t slow_ns, slow_than_ns;
	unsigned slow_port;
	uint64_t peer_srtt_ns; /* round trip as the peer measures it; 0: unknown */
	/* When a message, not a probe, last measured the round trip; 0: never. */
	uint64_t rtt_at_ns;
	bool joining, suspect; /* joining: no handshake so far; suspect: up, but packets on it have
				  timed out */
	uint64_t srtt_ns, rto_ns;
	uint32_t cwnd_bytes, in_flight_bytes;
	/* Sizes of an IP packet in bytes. mtu: in use now; mtu_found: the result of the last
	 * search; mtu_most: the largest that the links of both hosts allow. */
	uint32_t mtu, mtu_found, mtu_most;
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes, lost_packets, retransmits, failovers;
	uint64_t rx_lost_packets; /* packets that the peer sent and that did not arrive */
	uint64_t last_pause_ns;
	uint64_t since_ns; /* when the state of the path last changed, or when the path was
			      created */
	uint64_t heard_ns; /* when the peer's last packet on this path arrived; 0: none yet */
};

/* Creates an endpoint. Returns 0 with *ret set, or -EINVAL or -ENOMEM. */
int rudp_new(const struct rudp_config *cfg, uint64_t now_ns, struct rudp **ret);
/* Frees the endpoint without calling any op. The application may then reuse all memory that it had
 * passed to rudp. For an orderly end, first call rudp_session_close() on each session, then
 * rudp_poll(). */
struct rudp *rudp_free(struct rudp *r);

/*
 * Client: starts a session with the worker that has any of the addresses `addrs`; the handshake
 * reports the worker's other addresses. Retries until the session is closed. Copies hello (at most
 * RUDP_HELLO_BYTES_MAX bytes). Returns 0 with *ret set, -EINVAL, or -ENOSPC if limits.sessions is
 * reached.
 */
int rudp_connect(struct rudp *r, const struct datagram_addr *addrs, unsigned n_addrs,
		 const void *hello, size_t hello_len, void *session_user, uint64_t now_ns,
		 struct rudp_session **ret);
/* Sends CLOSE (best effort), ends every call with -ECANCELED and frees the session. */
void rudp_session_close(struct rudp_session *s, uint64_t now_ns);
/* Server, for use within `accept`: sends one word, such as a name, with the refusal. The word is
 * cut after 44 bytes. */
void rudp_session_refuse_with(struct rudp_session *s, const char *word);
/* For use within `accepted`: returns what the peer has proved; NULL: the handshake was
 * by the cluster's key alone. */
const struct rudp_proof *rudp_session_proof(const struct rudp_session *s);
/* For use within `accepted`: sets who the peer is, for rudp_expel(). */
void rudp_session_set_peer(struct rudp_session *s, const struct rudp_peer *peer);
/* Returns the name that the peer has proven; "": none. */
const char *rudp_session_host(const struct rudp_session *s);
/* Server: returns the source address of the client's HELLO, which a cookie has validated. */
void rudp_session_from(const struct rudp_session *s, struct datagram_addr *ret);
/* Client: returns the word of the last refusal ("" if it had none), and the address from which the
 * refusal came. */
const char *rudp_session_refusal(const struct rudp_session *s, struct datagram_addr *ret_from);
/* Client: returns whether this client has refused the server last (by an error of ops->accepted),
 * and not the server the client. */
bool rudp_session_refused_here(const struct rudp_session *s);
void *rudp_session_user(const struct rudp_session *s);
/* Returns the protection of the session's packets; RUDP_SECURITY_NONE before the session is up. */
enum rudp_security rudp_session_security(const struct rudp_session *s);
/* The current cipher key of one direction of an encrypted session, for decrypting captures. number:
 * the session number in the packets; phase: how many keys came before this one. The caller must
 * wipe the key. rudp_session_key() gets the key of received packets (in) or sent packets; it
 * returns false if the session is not encrypted. */
struct rudp_session_key {
	uint64_t number, phase;
	uint32_t cipher; /* cipher number, as in HELLO and ACCEPT */
	uint8_t key[RUDP_KEY_BYTES];
};
bool rudp_session_key(const struct rudp_session *s, bool in, struct rudp_session_key *ret);
bool rudp_session_is_up(const struct rudp_session *s);
/* Returns whether any path of the session is up. */
bool rudp_session_answers(const struct rudp_session *s);
/* Returns when the peer's last packet arrived or, before the first packet, when the session was
 * created. */
uint64_t rudp_session_heard_ns(const struct rudp_session *s);
/* Returns the peer's identity, and its epoch in *ret_epoch; 0 before the first handshake. */
uint64_t rudp_session_peer(const struct rudp_session *s, uint32_t *ret_epoch);
unsigned rudp_session_paths(const struct rudp_session *s, struct rudp_path_info *ret, unsigned max);
/* Returns a small number, unique among the endpoint's current sessions. */
unsigned rudp_session_index(const struct rudp_session *s);
/* Returns the number of sessions, including those that are still connecting. */
unsigned rudp_session_count(const struct rudp *r);
/* Returns the size of the table of sessions. All values of rudp_session_index() are less than
 * this. */
unsigned rudp_session_table(const struct rudp *r);
/* Returns the session with that index, or NULL if the index is not in use. */
const struct rudp_session *rudp_session_at(const struct rudp *r, unsigned index);
/* Returns when the session last became up or, while it is connecting, when it began to connect. */
uint64_t rudp_session_since_ns(const struct rudp_session *s);
/* Client: counts the requests that were sent and not answered, and those that wait for a slot.
 * Server: both are 0, because the application knows its requests. */
void rudp_session_calls(const struct rudp_session *s, uint32_t *ret_in_flight,
			uint32_t *ret_waiting);
/* Iterates over all sessions. Returns the session after prev (prev NULL: the first one), or NULL at
 * the end. */
struct rudp_session *rudp_session_next(struct rudp *r, struct rudp_session *prev);

/*
 * Sends len bytes at msg as one request. The caller still owns them, but must not change them until
 * `response` is called. The request queues while the session is connecting or all slots are taken.
 * Requests of more than 16 KiB wait for the server's grant and leave a quarter of the slots to
 * smaller requests. Returns 0; -EMSGSIZE if the request is too long; -EINVAL if len is 0 or the
 * session is a server's; -ENOTCONN if the session is closed; or -ENOBUFS if calls_per_session
 * requests are queued already.
 */
int rudp_call_send(struct rudp_session *s, const void *msg, size_t len, uint64_t cookie);
/* Answers a request with 0 to RUDP_MSG_BYTES_MAX bytes. msg must not change until `sent` is called
 * with `token`, which never happens within this call. */
void rudp_respond(struct rudp_call *call, const void *msg, size_t len, void *token);
void rudp_call_set_user(struct rudp_call *call, void *user);
void *rudp_call_user(const struct rudp_call *call);
struct rudp_session *rudp_call_session(const struct rudp_call *call);

/* Whether a client acknowledges the responses that it gets. A server that lacks memory for
 * responses decides by this which clients may occupy memory. */
enum rudp_standing {
	RUDP_STANDING_GOOD, /* the client acknowledged parts of responses within the last second */
	RUDP_STANDING_NEW,  /* no part of a response was acknowledged within the last second,
			       but the client sent something within the last milliseconds */
	/* The client leaves packets unacknowledged, or has sent nothing lately. If the client has
	 * sent nothing, the next poll sends it a PING; call this function again later. */
	RUDP_STANDING_SILENT,
};
enum rudp_standing rudp_session_standing(struct rudp_session *s);
/* Server: call it while a response waits for memory that other responses occupy. For the next 20 ms
 * rudp may then end sessions (RUDP_SESSION_STUCK), if ops->may_end agrees. It ends a session if the
 * client has left responses unacknowledged for some 40 ms and has not answered several PINGs in
 * that time. It also ends a session if the client answers PINGs but has acknowledged no part of its
 * responses for 500 ms. The calls of an ended session end with `call_gone`; the client reconnects
 * when it can. */
void rudp_responses_short(struct rudp *r);

/* Requests up to this length need no grant. buf_get must reserve memory for them that larger
 * requests cannot use, because otherwise large requests of a client would block its small ones. */
#define RUDP_SMALL_BYTES 16384U
/*
 * Returns whether a peer may use one more of the application's buffers, for buf_get and for
 * response buffers. held: buffers that the peer holds; n: all buffers of this kind; n_free: free
 * ones. A peer may always have a first buffer. It may have more while it holds less than an eighth
 * of all buffers, and fewer than are free. So a peer that never frees its buffers does not block
 * others.
 */
static inline bool rudp_incast_allows(unsigned held, unsigned n_free, unsigned n)
{
	return n_free > 0 && (held == 0 || (held < n_free && held < n / 8));
}

/* Processes one received datagram (the UDP payload), whose bytes are not used after the call.
 * Returns 0, or -EBADMSG if the datagram is foreign or damaged: it is then dropped and counted. */
int rudp_rx(struct rudp *r, unsigned port, const struct datagram_addr *src, const void *data,
	    size_t len, uint64_t now_ns);
/* Sets how long the datagrams of the following rudp_rx() calls have waited in this host, if the
 * port knows that. Congestion control does not count this time as network delay. UINT64_MAX (the
 * default): unknown; they may have waited since the last rudp_poll(). */
void rudp_rx_waited(struct rudp *r, uint64_t ns);
/* Sets whether acknowledgements are sent at once; by default they are not. rests: the caller sleeps
 * between events, and sends requests too rarely to carry the acknowledgement of the previous
 * response. A delayed acknowledgement would then need a timer, which wakes the caller once more. */
void rudp_ack_at_once(struct rudp *r, bool rests);
/* Call from within tx_flush: sets now_ns as the send time of the packets of large bursts (16 KiB
 * and more) that were passed to `port` since the last flush. In a flush of many bytes, the last
 * packets leave long after the time that rudp_poll got. With this call, that delay does not count
 * as part of the round trip. */
void rudp_tx_stamp(struct rudp *r, unsigned port, uint64_t now_ns);
/* Returns whether a large burst waits for the flush, so that the caller should read the clock and
 * call rudp_tx_stamp(). */
bool rudp_tx_wants_stamp(const struct rudp *r);
/* Runs due timers and sends what may be sent. Returns true if it stopped early: tx returned
 * -EAGAIN, or a limit of packets or timers was reached. The caller must then pass received packets
 * to rudp_rx, and call rudp_poll again without sleeping. */
bool rudp_poll(struct rudp *r, uint64_t now_ns);
/* Returns when to call rudp_poll next, even without packets; 0: at once; UINT64_MAX: no timer. */
uint64_t rudp_deadline(const struct rudp *r);
/* Call when the agent reports that the link of a port went down or came back. When it went down,
 * rudp sends nothing more on the port's paths, and the next rudp_poll() retransmits their packets
 * in flight on other paths. */
void rudp_port_set_up(struct rudp *r, unsigned port, bool up, uint64_t now_ns);
/* Adds a port with another address of this host as the last port. Running sessions get paths on it
 * when their clients learn the address. Returns 0, -EINVAL if the port is invalid, or -ENOSPC. */
int rudp_port_add(struct rudp *r, const struct rudp_port_info *info, uint64_t now_ns);
/* Call when the switch behind a port changed, became known, or became unknown (label 0). Sessions
 * continue; peers receive the new label. */
void rudp_port_set_label(struct rudp *r, unsigned port, uint32_t label, uint64_t now_ns);
/*
 * Replaces the cluster's keys by n_keys keys, the preferred one first. Handshakes use them from now
 * on. Sessions whose handshake used a key that is still valid continue. The others end: a client's
 * session reconnects, a server's session sends CLOSE to its client. Returns the number of ended
 * sessions. Returns -EINVAL and changes nothing if n_keys is 0 or too large, or if the endpoint has
 * no security.
 */
int rudp_set_keys(struct rudp *r, const uint8_t (*keys)[RUDP_KEY_BYTES], unsigned n_keys,
		  uint64_t now_ns);
/* Ends the sessions with that host whose certificates have this epoch or an earlier one, and those
 * with peers that claim its name without proof, as rudp_set_keys() ends sessions. A name with a
 * domain and one without are the same host. Returns the number of ended sessions. */
int rudp_expel(struct rudp *r, const char *host, uint64_t epoch, uint64_t now_ns);
/* Call when the host refused to send datagrams of this size to dst after ops->tx had taken them. */
void rudp_too_big(struct rudp *r, unsigned port, const struct datagram_addr *dst, uint32_t bytes,
		  uint64_t now_ns);
uint64_t rudp_rx_drops(const struct rudp *r);

#endif
