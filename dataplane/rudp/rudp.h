/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reliable transport: requests and responses of up to 1 MiB and a header between two workers,
 * over every path they share. A pure state machine: it owns sessions, paths, timers and what is in
 * flight; it never opens a socket, reads a clock or starts a thread. Time comes in as `now_ns`,
 * packets come in by rudp_rx and leave through ops->tx, and only from within rudp_poll. One
 * endpoint belongs to one core; nothing here locks. Memory is bounded by struct rudp_limits and
 * allocated when a session or endpoint is made, never on the way of a packet.
 *
 * The wire format is plenum-protocol(7). The caller's turn, in this order, so that packets that
 * are already here count before timers do:
 *
 *	rudp_rx() for every received datagram   may call every op but tx and tx_flush
 *	rudp_poll()                             may call every op; tx_flush at its end, and between
 *	                                        when much is sent
 *	sleep until rudp_deadline() or the next packet
 *
 * From within every op but tx, tx_flush and buf_get the caller may call any function of this header
 * but rudp_free, rudp_rx and rudp_poll.
 *
 * Delivery: each request is handed to the peer's `request` exactly once per session incarnation and
 * answered exactly once by rudp_respond; requests are independent, there is no order between them.
 * When the peer has restarted (another epoch) or is lost, every call ends with -ECONNRESET, those
 * that still waited in the queue too: whether it was executed is not known, the caller decides (the
 * file system protocol sends it again, marked, and the server recognises it).
 *
 * Life of a session. Client: from rudp_connect until rudp_session_close it goes on for ever:
 * connecting, UP, then LOST, ENDED or RESTARTED (calls have ended by then, it is connecting again),
 * and UP once more. Server: from `accept` and UP to CLOSED, before which the reason may be told
 * (RESTARTED, LOST, ENDED, STUCK), every call has gone and every response was handed back. With
 * CLOSED the session's pointer ends, at either end.
 */
#ifndef PLENUM_DATAPLANE_RUDP_H
#define PLENUM_DATAPLANE_RUDP_H

#include "dataplane/datagram.h"

#define RUDP_MSG_BYTES_MAX ((1U << 20) + 4096)
#define RUDP_HELLO_BYTES_MAX 256       /* what an application may add to the handshake */
#define RUDP_PATHS_MAX 8	       /* per session */
#define RUDP_PORTS_MAX PLENUM_LEGS_MAX /* per endpoint */

struct rudp;
struct rudp_session;
struct rudp_call; /* a request being served; valid from `request` until rudp_respond */

enum rudp_event {
	RUDP_SESSION_UP,	/* client: connected; server: a client connected */
	RUDP_SESSION_REFUSED,	/* client: the peer answered, but no; code = its negative errno */
	RUDP_SESSION_RESTARTED, /* the peer does not know the session any more, or is a new
				 * incarnation; calls ended with -ECONNRESET */
	RUDP_SESSION_LOST,   /* no path has answered for limits.lost_ns; connecting goes on (client)
			      */
	RUDP_SESSION_ENDED,  /* the peer said goodbye, connecting goes on (client); or the key that
			      * it was made with has been dropped */
	RUDP_SESSION_STUCK,  /* server: the client did not take an answer for limits.answer_ns */
	RUDP_SESSION_CLOSED, /* the peer said goodbye, or rudp_session_close was called */
	RUDP_PATH_UP,
	RUDP_PATH_DOWN,	  /* code = negative errno: -ENETDOWN our link, -ENOLINK the peer's, as it
			   * says, -ETIMEDOUT silence */
	RUDP_PATH_MTU,	  /* another size of packets was found to arrive; code = it */
	RUDP_PATH_TRAINS, /* code 1: of packets that leave together none arrives, and they leave one
			   * by one from now on; 0: they do arrive */
	RUDP_PATH_SOURCES, /* code = so many of the port's sources do not arrive */
	RUDP_EVENT_MAX
};

struct rudp_ops {
	/* Queue one datagram on `port`. 0; -EAGAIN: full now, rudp keeps it and tries again at the
	 * next rudp_poll; other negative errno: the path is unusable at present (treated as a
	 * loss). */
	int (*tx)(void *user, unsigned port, const struct datagram_addr *dst,
		  const struct datagram *pkt);
	/* Everything queued leaves now; payload pointers are not used after this. */
	void (*tx_flush)(void *user);
	/* Memory for an incoming message of len bytes, of which the first byte comes at the
	 * returned pointer. It is how the application says what it has room for, and for whom: a
	 * request of more than 16 KiB is granted to its client only with memory from here, and
	 * waits while there is none; what others wait for is offered to them in turn. NULL: none
	 * for this peer now; a packet that came unasked is dropped and comes again. It is handed
	 * back by `request` or `response` (then the application's to free), or by buf_put when the
	 * message will never be complete. is_response: cookie is the rudp_call_send caller's; else
	 * 0. */
	void *(*buf_get)(void *user, struct rudp_session *s, bool is_response, uint64_t cookie,
			 size_t len);
	void (*buf_put)(void *user, struct rudp_session *s, void *buf);
	/* A whole request arrived. The application owns buf and must call rudp_respond(call) once,
	 * now or later, unless the session ends first (then `call_gone`). */
	void (*request)(void *user, struct rudp_session *s, struct rudp_call *call, void *buf,
			size_t len);
	/* call is no longer valid: its session ended before it was answered. */
	void (*call_gone)(void *user, struct rudp_session *s, struct rudp_call *call);
	/* A call ended. status 0: buf holds the response, the application owns it; negative errno:
	 * buf is NULL. The request's memory is the caller's again. */
	void (*response)(void *user, struct rudp_session *s, uint64_t cookie, int status, void *buf,
			 size_t len);
	/* Server: the response given to rudp_respond with this token is acknowledged or its session
	 * is gone: its memory is the caller's again. */
	void (*sent)(void *user, struct rudp_session *s, void *token);
	/* Server: a client says hello. 0 accepts, *ret_user becomes rudp_session_user; negative
	 * errno refuses and is sent to it. */
	int (*accept)(void *user, struct rudp_session *s, const void *hello, size_t len,
		      void **ret_user);
	/* path: which of those that rudp_session_paths lists. */
	void (*event)(void *user, struct rudp_session *s, enum rudp_event e, unsigned path,
		      int code);
};

/* What guards the packets of a session. As on the wire; the higher one is the stronger, and of two
 * ends the stronger wish holds. */
enum rudp_security {
	RUDP_SECURITY_NONE, /* nothing: the network is trusted */
	RUDP_AUTH,	    /* who has the key sends them, and nobody altered them */
	RUDP_ENCRYPT,	    /* and nobody read them */
	RUDP_SECURITY_MAX
};
#define RUDP_KEYS_MAX 2
#define RUDP_KEY_BYTES 32

struct rudp_limits {		       /* 0: the default in brackets */
	uint32_t sessions;	       /* [4096]; 65536 at most */
	uint32_t calls_per_session;    /* outstanding requests [128]; more wait at the sender */
	uint32_t rx_bytes_per_session; /* of requests of more than 16 KiB that a peer may have
					* here, granted and not answered [8 MiB] */
	uint64_t min_rto_ns;	       /* [1 ms] */
	uint64_t path_dead_ns; /* silence after which a path with traffic is left [8 ms, and at
				* least two retransmission timeouts] */
	uint64_t hold_ns;      /* a recovered path is used again after this, one that flaps after
				* twice as long [1 s] */
	uint64_t keepalive_ns; /* idle paths are probed this often [1 s] */
	uint64_t lost_ns;      /* a session with no live path is lost after this [5 s] */
	uint64_t half_ns; /* half a request is given up when no more of it comes for so long, and is
			   * asked for anew; a client to whom it happens again is given longer
			   * [500 ms] */
	/* A client that has not acknowledged an answer whole by then, and little of any in so long,
	 * is parted with, so that it keeps nobody's memory for ever [10 s] */
	uint64_t answer_ns;
	uint64_t phase_packets; /* sealed with one key, then comes the next [4 Mi] */
};

struct rudp_port_info {
	struct datagram_addr local;
	uint8_t prefix_len;
	bool routed;	/* a router leads from it to other subnets */
	uint32_t mtu;	/* bytes of IP packet the leg carries */
	uint32_t label; /* hash of the switch's label, 0: unknown; paths of equal ones are preferred
			 */
	uint8_t sources; /* UDP ports that it can send from beside its own (datagram.source); 7 at
			  * most. Big messages take turns at those that the peer hears */
	bool up;
};

struct rudp_config {
	uint64_t identity; /* names this worker; stable across its restarts */
	uint32_t epoch;	   /* larger at each restart */
	uint64_t seed; /* for session numbers and jitter; random in production, fixed in tests */
	struct rudp_limits limits;
	const struct rudp_ops *ops;
	void *user;
	enum rudp_security security;
	unsigned n_keys; /* none without security, else at least one */
	/* The keys that a peer may know us by, 32 random bytes each; we use the first. */
	uint8_t keys[RUDP_KEYS_MAX][RUDP_KEY_BYTES];
	struct rudp_port_info ports[RUDP_PORTS_MAX];
	unsigned n_ports;
};

struct rudp_path_info {
	unsigned port;
	struct datagram_addr remote;
	bool up, standby;
	bool swapped;	 /* client: another port of ours is on the switch of the other end, this one
			    not */
	bool alone;	 /* packets leave one by one: of those that left together none arrived */
	uint8_t sources; /* of the port's, with its own, so many carry load */
	uint8_t sources_lost;  /* bit per source of datagram.h: the peer does not hear it */
	bool joining, suspect; /* nobody has answered on it yet; it is up, but silent */
	uint64_t srtt_ns, rto_ns;
	uint32_t cwnd_bytes, in_flight_bytes;
	/* Bytes of IP packet: in use now; what the last search found to arrive; what both hosts
	 * take. */
	uint32_t mtu, mtu_found, mtu_most;
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes, lost_packets, retransmits, failovers;
	uint64_t last_pause_ns;
	uint64_t since_ns; /* when it came up or went down last, or was made */
};

/* 0 and *ret; -EINVAL, -ENOMEM. */
int rudp_new(const struct rudp_config *cfg, uint64_t now_ns, struct rudp **ret);
/* Frees rudp's own memory and calls nobody back: what the application lent is its own again. To
 * part in good order: rudp_session_close on each session, rudp_poll, then this. */
struct rudp *rudp_free(struct rudp *r);

/*
 * Client: starts a session with the worker that answers at any of `addrs`; the rest of its
 * addresses are learnt in the handshake. Goes on trying until closed. hello (RUDP_HELLO_BYTES_MAX
 * at most) is copied. 0 and *ret; -EINVAL; -ENOSPC: limits.sessions.
 */
int rudp_connect(struct rudp *r, const struct datagram_addr *addrs, unsigned n_addrs,
		 const void *hello, size_t hello_len, void *session_user, uint64_t now_ns,
		 struct rudp_session **ret);
/* Says goodbye (best effort), ends every call with -ECANCELED, frees the session. */
void rudp_session_close(struct rudp_session *s, uint64_t now_ns);
/* Server, within `accept`: one word, such as a name, that goes along with a refusal. It is cut
 * after 44 bytes. */
void rudp_session_refuse_with(struct rudp_session *s, const char *word);
/* Server: where the client's hello came from; it has shown that it can be reached there. */
void rudp_session_from(const struct rudp_session *s, struct datagram_addr *ret);
/* Client: the word that came with the last refusal, "" for none, and from where. */
const char *rudp_session_refusal(const struct rudp_session *s, struct datagram_addr *ret_from);
void *rudp_session_user(const struct rudp_session *s);
/* What guards its packets; RUDP_SECURITY_NONE before it is up. */
enum rudp_security rudp_session_security(const struct rudp_session *s);
/* What ciphers the packets of an encrypted session in one direction at present, for who may read
 * what was captured: the number of the session in them, which key since the first it is, and the
 * key, which is the caller's to wipe. False: the session is not encrypted. */
struct rudp_session_key {
	uint64_t number, phase;
	uint32_t cipher; /* as in HELLO and ACCEPT */
	uint8_t key[RUDP_KEY_BYTES];
};
bool rudp_session_key(const struct rudp_session *s, bool in, struct rudp_session_key *ret);
bool rudp_session_is_up(const struct rudp_session *s);
/* The peer's identity and epoch; 0 before the first handshake. */
uint64_t rudp_session_peer(const struct rudp_session *s, uint32_t *ret_epoch);
unsigned rudp_session_paths(const struct rudp_session *s, struct rudp_path_info *ret, unsigned max);
/* A small number that no other session of this endpoint has at the time. */
unsigned rudp_session_index(const struct rudp_session *s);
/* Walks all sessions: NULL gives the first; NULL at the end. */
struct rudp_session *rudp_session_next(struct rudp *r, struct rudp_session *prev);

/*
 * Sends len bytes at msg as one request; they stay the caller's but must not change until
 * `response`. Waits in the session's queue while it is connecting or all slots are taken; those of
 * more than 16 KiB wait for the server's grant and leave a quarter of the slots to smaller ones. 0;
 * -EMSGSIZE; -EINVAL: no bytes, or a server's session; -ENOTCONN: closed; -ENOBUFS:
 * calls_per_session of them wait already.
 */
int rudp_call_send(struct rudp_session *s, const void *msg, size_t len, uint64_t cookie);
/* Answers a request, RUDP_MSG_BYTES_MAX at most, none allowed. msg must not change until `sent`
 * hands `token` back (never from within this call). */
void rudp_respond(struct rudp_call *call, const void *msg, size_t len, void *token);
void rudp_call_set_user(struct rudp_call *call, void *user);
void *rudp_call_user(const struct rudp_call *call);
struct rudp_session *rudp_call_session(const struct rudp_call *call);

/* Requests up to this length come without a grant; buf_get keeps something back for them that
 * larger ones cannot take, else a client's small requests wait for its own large ones. */
#define RUDP_SMALL_BYTES 16384U
/*
 * Whether a peer that holds `held` of an application's n buffers of one kind may take another,
 * where n_free are free: an eighth of all at most, and as many as it leaves free for others; the
 * first always. So one that gives none back blocks nobody. For buf_get, and for whatever answers
 * are made in.
 */
static inline bool rudp_incast_allows(unsigned held, unsigned n_free, unsigned n)
{
	return n_free > 0 && (held == 0 || (held < n_free && held < n / 8));
}

/* One received datagram (UDP payload); the bytes are not used after return. 0; -EBADMSG: not ours
 * or damaged, counted; nothing happens. */
int rudp_rx(struct rudp *r, unsigned port, const struct datagram_addr *src, const void *data,
	    size_t len, uint64_t now_ns);
/* How long the datagrams of the rudp_rx calls that follow have been in this host, where the port
 * knows; congestion control takes it for no fault of the network. UINT64_MAX, as at first: not
 * known, they may have come right after the last rudp_poll. */
void rudp_rx_waited(struct rudp *r, uint64_t ns);
/* Whether whoever polls sleeps until there is something to do, and requests are so rare that none
 * carries the acknowledgement of the answer before: that waits for no timer then, which would wake
 * the sleeper once more for each. Not so at first. */
void rudp_rests(struct rudp *r, bool rests);
/* From within tx_flush: what `port` was given since the last one leaves from now on. When many
 * bytes go, the last leave long after rudp_poll was told the time; where this is said, that is no
 * fault of the network either. */
void rudp_tx_leaves(struct rudp *r, unsigned port, uint64_t now_ns);
/* Whether so much is to leave that the clock is worth reading. */
bool rudp_tx_is_long(const struct rudp *r);
/* Runs timers that are due and sends what may be sent. Returns true if it would have sent more but
 * for tx's -EAGAIN or its own burst limit (call again without sleeping). */
bool rudp_poll(struct rudp *r, uint64_t now_ns);
/* When rudp_poll wants to be called next, whatever arrives; 0: at once; UINT64_MAX: no timer. */
uint64_t rudp_deadline(const struct rudp *r);
/* The link under a port went away or came back (from the agent). Down: its paths are left at once
 * and what was in flight on them goes elsewhere at the next rudp_poll. */
void rudp_port_set_up(struct rudp *r, unsigned port, bool up, uint64_t now_ns);
/* One more port, with one more address of ours: sessions go on and have paths by it, too, as the
 * clients of ours hear of it. 0: it is the last one; -EINVAL: no such port can be; -ENOSPC. */
int rudp_port_add(struct rudp *r, const struct rudp_port_info *info, uint64_t now_ns);
/* Another switch is behind a port, or it is known now, or not any more (0). Sessions go on; peers
 * are told. */
void rudp_port_set_label(struct rudp *r, unsigned port, uint32_t label, uint64_t now_ns);
/*
 * The keys of the cluster have changed: n_keys of them, the one to use first. Handshakes take them
 * from now on. Sessions whose handshake was made with one that is still there go on; others end: a
 * client's connects anew, a server's tells its client to. The number of those; -EINVAL, and nothing
 * has changed: no key or too many, or an endpoint without security.
 */
int rudp_set_keys(struct rudp *r, const uint8_t (*keys)[RUDP_KEY_BYTES], unsigned n_keys,
		  uint64_t now_ns);
/* The host refused to send datagrams of this size to dst after ops->tx had taken them. */
void rudp_too_big(struct rudp *r, unsigned port, const struct datagram_addr *dst, uint32_t bytes,
		  uint64_t now_ns);
uint64_t rudp_rx_drops(const struct rudp *r);

#endif
