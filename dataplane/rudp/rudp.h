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
 *	rudp_rx() for every received datagram   may call every op but tx and tx_flush
 *	rudp_poll()                             may call every op; tx_flush at its end, and in
 *	                                        between when it sends much
 *	sleep until rudp_deadline() or the next packet
 *
 * From within every op but tx, tx_flush and buf_get the caller may call any function of this header
 * but rudp_free, rudp_rx and rudp_poll.
 *
 * Delivery: the peer's `request` receives each request exactly once per session incarnation, and
 * rudp_respond answers it exactly once. Requests are independent and unordered. When the peer
 * restarts (another epoch) or is lost, every call ends with -ECONNRESET, also queued ones. The
 * caller cannot know whether the peer has executed the request, and decides what to do: the file
 * system protocol sends it again, with a mark by which the server recognises a repeat.
 *
 * Life of a session. A client's session retries until rudp_session_close: connecting, UP, then
 * LOST, ENDED or RESTARTED (its calls have ended and it is connecting again), then UP once more. A
 * server's session lasts from `accept` and UP to CLOSED; before CLOSED an event may report the
 * reason (RESTARTED, LOST, ENDED, STUCK), every call has ended and every response has been handed
 * back. At both ends the session pointer is invalid after CLOSED.
 */
#ifndef PLENUM_DATAPLANE_RUDP_H
#define PLENUM_DATAPLANE_RUDP_H

#include "dataplane/datagram.h"

#define RUDP_MSG_BYTES_MAX ((1U << 20) + 4096)
#define RUDP_HELLO_BYTES_MAX 256       /* application data in the handshake */
#define RUDP_PATHS_MAX 8	       /* per session */
#define RUDP_PORTS_MAX PLENUM_LEGS_MAX /* per endpoint */

struct rudp;
struct rudp_session;
struct rudp_call; /* a request that the application is executing; valid from `request` until
		     rudp_respond */

enum rudp_event {
	RUDP_SESSION_UP,      /* client: connected; server: a client connected */
	RUDP_SESSION_REFUSED, /* client: the peer refused; code: the negative errno that it sent */
	RUDP_SESSION_RESTARTED, /* the peer no longer knows the session, or is a new incarnation;
				   calls ended with -ECONNRESET */
	RUDP_SESSION_LOST,	/* nothing arrived on any path for limits.lost_ns; a client keeps
				   connecting */
	RUDP_SESSION_ENDED,	/* the peer closed the session (a client keeps connecting), or the
				   session's cluster key was dropped */
	RUDP_SESSION_STUCK,	/* server: the client did not acknowledge a response for
				   limits.answer_ns */
	RUDP_SESSION_CLOSED,	/* the peer closed the session, or rudp_session_close was called */
	RUDP_PATH_UP,
	RUDP_PATH_DOWN, /* code: a negative errno: -ENETDOWN: our link is down; -ENOLINK: the peer
			   reports its link down; -ETIMEDOUT: the path was silent */
	RUDP_PATH_MTU,	/* path MTU discovery found another size; code: that size */
	RUDP_PATH_GSO,	/* code 1: no packet of a GSO burst arrives, so packets leave one by one
			      from now on; 0: bursts arrive again */
	RUDP_PATH_LOSS, /* code 1: the path loses far more packets than usual; 0: no longer */
	RUDP_PATH_SLOW, /* code 1: the round trip is far above the usual one, or that of another
			   port's path; 0: no longer */
	RUDP_PATH_SRC_PORTS, /* code: number of the port's source ports whose packets do not arrive
			      */
	RUDP_EVENT_MAX
};

struct rudp_ops {
	/* Queues one datagram on `port`. Returns 0; -EAGAIN: the port is full, and rudp keeps the
	 * packet and retries at the next rudp_poll; other negative errno: the path is unusable at
	 * present, which rudp treats as a loss. */
	int (*tx)(void *user, unsigned port, const struct datagram_addr *dst,
		  const struct datagram *pkt);
	/* Sends everything queued; payload pointers are not used after this. */
	void (*tx_flush)(void *user);
	/* Returns memory for an incoming message of len bytes; its first byte is stored at the
	 * returned pointer. With this op the application controls how much it accepts, and from
	 * which peer. A client gets a grant for a request of more than 16 KiB only together with
	 * memory from here, and waits while there is none. Waiting clients are served in turn.
	 * NULL: there is no memory for this peer now; an ungranted packet is then dropped and
	 * retransmitted later. The buffer returns to the application via `request` or `response`,
	 * or via buf_put if the message will never be complete. For a response, cookie is the one
	 * passed to rudp_call_send; else it is 0. */
	void *(*buf_get)(void *user, struct rudp_session *s, bool is_response, uint64_t cookie,
			 size_t len);
	void (*buf_put)(void *user, struct rudp_session *s, void *buf);
	/* A complete request arrived. The application owns buf and must call rudp_respond(call)
	 * once, now or later, unless the session ends first: then rudp calls `call_gone`. */
	void (*request)(void *user, struct rudp_session *s, struct rudp_call *call, void *buf,
			size_t len);
	/* The session of the call ended before the call was answered: the pointer is invalid from
	 * now on. */
	void (*call_gone)(void *user, struct rudp_session *s, struct rudp_call *call);
	/* A call ended. status 0: buf holds the response and belongs to the application; negative
	 * errno: buf is NULL. The caller may reuse the request's memory. */
	void (*response)(void *user, struct rudp_session *s, uint64_t cookie, int status, void *buf,
			 size_t len);
	/* Server: the client acknowledged the response passed to rudp_respond with this token, or
	 * its session ended: the caller may reuse the response's memory. */
	void (*sent)(void *user, struct rudp_session *s, void *token);
	/* Server: a client sends HELLO. Return 0 to accept it, and set *ret_user to the value that
	 * rudp_session_user returns. A negative errno refuses the client and is sent to it. */
	int (*accept)(void *user, struct rudp_session *s, const void *hello, size_t len,
		      void **ret_user);
	/* Server: whether rudp_responses_short() may end this session. The op may be NULL: any
	 * session may end. */
	bool (*may_end)(void *user, struct rudp_session *s);
	/* path: index into the list of rudp_session_paths. */
	void (*event)(void *user, struct rudp_session *s, enum rudp_event e, unsigned path,
		      int code);
};

/* Protection of a session's packets, numbered as on the wire. A higher value is stronger; of the
 * two ends' settings the stronger one applies. */
enum rudp_security {
	RUDP_SECURITY_NONE, /* no protection: the network is trusted */
	RUDP_AUTH,	    /* authenticated: packets come unaltered from a holder of the key */
	RUDP_ENCRYPT,	    /* authenticated and encrypted */
	RUDP_SECURITY_MAX
};
#define RUDP_KEYS_MAX 2
#define RUDP_KEY_BYTES 32

struct rudp_limits {		    /* 0 selects the default, which is in brackets */
	uint32_t sessions;	    /* [4096]; 65536 at most */
	uint32_t calls_per_session; /* outstanding requests [128]; further ones queue at the sender
				     */
	uint32_t rx_bytes_per_session; /* memory for requests of more than 16 KiB that one peer may
					  have here, granted and not answered [8 MiB] */
	uint64_t min_rto_ns;	       /* [1 ms] */
	uint64_t path_dead_ns; /* traffic leaves a path that is silent for this long [8 ms, at least
				  two retransmission timeouts] */
	uint64_t hold_ns; /* a path that came up again carries traffic after this time; one that
			     goes up and down often after twice as long [1 s] */
	uint64_t keepalive_ns; /* interval of probes on idle paths [1 s] */
	uint64_t lost_ns;      /* a session with no live path is lost after this [5 s] */
	uint64_t stall_ns;     /* a partly received request that makes no progress for this long is
				 discarded and requested again; the timeout doubles for a client that
				 stalls repeatedly [500 ms] */
	/* The server closes the session of a client that within this time neither acknowledges one
	 * whole response nor makes much progress on any, so that it cannot hold memory forever [10
	 * s] */
	uint64_t answer_ns;
	uint64_t phase_packets; /* packets sealed with one key before the next key [4 Mi] */
};

struct rudp_port_info {
	struct datagram_addr local;
	uint8_t prefix_len;
	bool routed;	 /* a router leads from it to other subnets */
	uint32_t mtu;	 /* largest IP packet of the leg, bytes */
	uint32_t label;	 /* hash of the switch's label, 0: unknown; paths between equal labels are
			    preferred */
	uint8_t sources; /* number of additional UDP source ports that it can send from
			    (datagram.source), at most 7; big messages rotate over those that reach
			    the peer */
	bool up;
};

struct rudp_config {
	uint64_t identity; /* identifies this worker; stable across its restarts */
	uint32_t epoch;	   /* must be larger after each restart */
	uint64_t seed; /* for session numbers and jitter; random in production, fixed in tests */
	struct rudp_limits limits;
	const struct rudp_ops *ops;
	void *user;
	enum rudp_security security;
	unsigned n_keys; /* 0 without security, else at least one */
	/* The keys a peer may use for us, 32 random bytes each; we use the first. */
	uint8_t keys[RUDP_KEYS_MAX][RUDP_KEY_BYTES];
	struct rudp_port_info ports[RUDP_PORTS_MAX];
	unsigned n_ports;
};

struct rudp_path_info {
	unsigned port;
	struct datagram_addr remote;
	bool up, standby;
	bool swapped;	 /* client: this port is on another switch than the peer, while a different
			    port of ours is on the peer's switch */
	bool alone;	 /* packets leave one by one, because no packet of a GSO burst arrived */
	uint8_t sources; /* source ports that carry load, including the port's own */
	uint8_t sources_lost; /* bit per source port (see datagram.h): packets from it do not reach
				 the peer */
	/* Packets of a million that are lost on the way to the peer and from it; UINT32_MAX:
	 * unknown. */
	uint32_t loss_out_ppm, loss_in_ppm;
	bool lossy_out, lossy_in; /* the loss is far larger than usual, or than on another path to
				     the peer */
	bool avoided;		  /* lossy, and a better path carries the load */
	/* The round trip of a slow path; 0: the path is not slow. slow_than_ns: the round trip that
	 * it was compared with: that of another port's path to the peer, or of this path earlier
	 * (slow_port is then RUDP_PORTS_MAX). */
	uint64_t slow_ns, slow_than_ns;
	unsigned slow_port;
	uint64_t peer_srtt_ns; /* as the peer measures it; 0: unknown */
	/* When a message, not a probe, last measured the round trip; 0: never. */
	uint64_t rtt_at_ns;
	bool joining, suspect; /* joining: no handshake yet; suspect: up, but packets on it have
				  timed out */
	uint64_t srtt_ns, rto_ns;
	uint32_t cwnd_bytes, in_flight_bytes;
	/* Bytes of an IP packet: in use now; result of the last search; limit of the links of both
	 * hosts. */
	uint32_t mtu, mtu_found, mtu_most;
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes, lost_packets, retransmits, failovers;
	uint64_t rx_lost_packets; /* packets of the peer that did not arrive */
	uint64_t last_pause_ns;
	uint64_t since_ns; /* when its state last changed, or when it was created */
	uint64_t heard_ns; /* of the peer's last packet on it; 0: none yet */
};

/* Returns 0 with *ret set, -EINVAL or -ENOMEM. */
int rudp_new(const struct rudp_config *cfg, uint64_t now_ns, struct rudp **ret);
/* Frees rudp's own memory without callbacks; the application may reuse all memory that it lent. For
 * an orderly end call rudp_session_close on each session, then rudp_poll, then this. */
struct rudp *rudp_free(struct rudp *r);

/*
 * Client: starts a session with the worker that answers at any of `addrs`; the handshake brings its
 * other addresses. It retries until the session is closed. hello (RUDP_HELLO_BYTES_MAX bytes at
 * most) is copied. Returns 0 with *ret set; -EINVAL; or -ENOSPC if limits.sessions is reached.
 */
int rudp_connect(struct rudp *r, const struct datagram_addr *addrs, unsigned n_addrs,
		 const void *hello, size_t hello_len, void *session_user, uint64_t now_ns,
		 struct rudp_session **ret);
/* Sends CLOSE (best effort), ends every call with -ECANCELED and frees the session. */
void rudp_session_close(struct rudp_session *s, uint64_t now_ns);
/* Server, from within `accept`: sends one word, such as a name, with the refusal. The word is cut
 * after 44 bytes. */
void rudp_session_refuse_with(struct rudp_session *s, const char *word);
/* Server: source address of the client's HELLO, validated by a cookie. */
void rudp_session_from(const struct rudp_session *s, struct datagram_addr *ret);
/* Client: the word of the last refusal ("" for none) and the address it came from. */
const char *rudp_session_refusal(const struct rudp_session *s, struct datagram_addr *ret_from);
void *rudp_session_user(const struct rudp_session *s);
/* Protection of the session's packets; RUDP_SECURITY_NONE before the session is up. */
enum rudp_security rudp_session_security(const struct rudp_session *s);
/* The current cipher key of one direction of an encrypted session, for decrypting captures: the
 * session number in the packets, how many keys came before this one, and the key, which the caller
 * must wipe. Returns false if the session is not encrypted. */
struct rudp_session_key {
	uint64_t number, phase;
	uint32_t cipher; /* as in HELLO and ACCEPT */
	uint8_t key[RUDP_KEY_BYTES];
};
bool rudp_session_key(const struct rudp_session *s, bool in, struct rudp_session_key *ret);
bool rudp_session_is_up(const struct rudp_session *s);
/* Whether a path of it is up. */
bool rudp_session_answers(const struct rudp_session *s);
/* When the peer's last packet arrived; at first when the session began. */
uint64_t rudp_session_heard_ns(const struct rudp_session *s);
/* The peer's identity and epoch; 0 before the first handshake. */
uint64_t rudp_session_peer(const struct rudp_session *s, uint32_t *ret_epoch);
unsigned rudp_session_paths(const struct rudp_session *s, struct rudp_path_info *ret, unsigned max);
/* A small number, unique among the endpoint's current sessions. */
unsigned rudp_session_index(const struct rudp_session *s);
/* Number of sessions, including those that are still connecting. */
unsigned rudp_session_count(const struct rudp *r);
/* Iterates over all sessions: NULL gives the first; NULL at the end. */
struct rudp_session *rudp_session_next(struct rudp *r, struct rudp_session *prev);

/*
 * Sends len bytes at msg as one request; they stay the caller's but must not change until
 * `response`. The request queues while the session is connecting or all slots are taken. Requests
 * of more than 16 KiB wait for the server's grant and leave a quarter of the slots to smaller ones.
 * Returns 0; -EMSGSIZE; -EINVAL: no bytes, or a server's session; -ENOTCONN: closed; or -ENOBUFS:
 * calls_per_session requests are queued already.
 */
int rudp_call_send(struct rudp_session *s, const void *msg, size_t len, uint64_t cookie);
/* Answers a request with 0 to RUDP_MSG_BYTES_MAX bytes. msg must not change until `sent` returns
 * `token`, which never happens within this call. */
void rudp_respond(struct rudp_call *call, const void *msg, size_t len, void *token);
void rudp_call_set_user(struct rudp_call *call, void *user);
void *rudp_call_user(const struct rudp_call *call);
struct rudp_session *rudp_call_session(const struct rudp_call *call);

/* Whether a client acknowledges its responses. A server that lacks memory for responses uses it to
 * decide which clients may occupy that memory. */
enum rudp_standing {
	RUDP_STANDING_GOOD, /* the client acknowledged parts of responses within the last second */
	RUDP_STANDING_NEW, /* the client did not, but sent something within the last milliseconds */
	/* The client leaves packets unacknowledged, or has sent nothing lately. If it has sent
	 * nothing, the next poll asks it for a sign of life; call this function again later. */
	RUDP_STANDING_SILENT,
};
enum rudp_standing rudp_session_standing(struct rudp_session *s);
/* Server: a response waits for memory that other responses occupy. For the next 20 ms rudp may end
 * sessions (RUDP_SESSION_STUCK), if ops->may_end agrees, whose client has left responses
 * unacknowledged for some 40 ms and has not answered several PINGs sent in this time. Their calls
 * end with -ECONNRESET; the clients reconnect when they can. */
void rudp_responses_short(struct rudp *r);

/* Requests up to this length need no grant. buf_get must reserve some memory for them that larger
 * requests cannot take, else a client's large requests starve its small ones. */
#define RUDP_SMALL_BYTES 16384U
/*
 * Whether a peer that holds `held` of the application's n buffers of one kind may take another one
 * while n_free are free. A peer may always have a first buffer. It gets more while it holds less
 * than an eighth of all buffers and fewer than are free. So a peer that never returns buffers
 * blocks no other. For buf_get and for response buffers.
 */
static inline bool rudp_incast_allows(unsigned held, unsigned n_free, unsigned n)
{
	return n_free > 0 && (held == 0 || (held < n_free && held < n / 8));
}

/* Processes one received datagram (UDP payload); its bytes are not used after the return. Returns
 * 0, or -EBADMSG: the datagram is foreign or damaged; it is dropped and counted. */
int rudp_rx(struct rudp *r, unsigned port, const struct datagram_addr *src, const void *data,
	    size_t len, uint64_t now_ns);
/* How long the datagrams of the following rudp_rx calls have waited in this host, if the port
 * knows. Congestion control does not count this time as network delay. UINT64_MAX (the default):
 * unknown; they may have arrived right after the last rudp_poll. */
void rudp_rx_waited(struct rudp *r, uint64_t ns);
/* rests: the caller sleeps between events, and requests are too rare to carry the acknowledgement
 * of the previous response. Acknowledgements then leave at once, because a delayed one would need a
 * timer that wakes the caller again. Off by default. */
void rudp_ack_at_once(struct rudp *r, bool rests);
/* Call from within tx_flush: the packets given to `port` since the last flush leave from `now_ns`
 * on. If a flush has many bytes, the last ones leave long after rudp_poll read the time; this keeps
 * the difference out of the round trip. */
void rudp_tx_stamp(struct rudp *r, unsigned port, uint64_t now_ns);
/* Whether the packets to flush are so many that reading the clock for rudp_tx_stamp is worth its
 * time. */
bool rudp_tx_wants_stamp(const struct rudp *r);
/* Runs due timers and sends what may be sent. Returns true if more was ready, but tx returned
 * -EAGAIN or a limit of packets or timers was reached: pass received packets to rudp_rx, then call
 * this again without sleeping. */
bool rudp_poll(struct rudp *r, uint64_t now_ns);
/* When to call rudp_poll next, even without packets; 0: at once; UINT64_MAX: no timer. */
uint64_t rudp_deadline(const struct rudp *r);
/* The agent reports that the link under a port went down or came back. Down: traffic leaves its
 * paths at once, and the next rudp_poll retransmits the packets in flight there on other paths. */
void rudp_port_set_up(struct rudp *r, unsigned port, bool up, uint64_t now_ns);
/* Adds a port with another address of ours. Running sessions get paths on it as soon as our clients
 * learn the address. Returns 0, and the new port is the last one; -EINVAL: invalid port; or
 * -ENOSPC. */
int rudp_port_add(struct rudp *r, const struct rudp_port_info *info, uint64_t now_ns);
/* The switch behind a port changed, became known, or became unknown (0). Sessions continue; peers
 * receive the new label. */
void rudp_port_set_label(struct rudp *r, unsigned port, uint32_t label, uint64_t now_ns);
/*
 * Replaces the cluster's keys by n_keys keys, the preferred one first. Handshakes use them from now
 * on. Sessions whose handshake used a key that is still valid continue. Others end: a client's
 * reconnects, a server's sends CLOSE to its client. Returns the number of ended sessions, or
 * -EINVAL without any change: no key, too many keys, or an endpoint without security.
 */
int rudp_set_keys(struct rudp *r, const uint8_t (*keys)[RUDP_KEY_BYTES], unsigned n_keys,
		  uint64_t now_ns);
/* The host refused to send datagrams of this size to dst after ops->tx had taken them. */
void rudp_too_big(struct rudp *r, unsigned port, const struct datagram_addr *dst, uint32_t bytes,
		  uint64_t now_ns);
uint64_t rudp_rx_drops(const struct rudp *r);

#endif
