/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Private functions of this folder, which has the endpoint's loop, and sessions from their
 * handshake to their end. The files of dataplane/rudp never call this folder. From the top layer
 * down: rudp.c (poll, stateless replies, public functions), rudp_session_poll.c, rudp_rx.c
 * (received packets), rudp_accept.c (server side of the handshake), rudp_standing.c (which clients
 * still acknowledge responses), rudp_label.c and rudp_port.c (changes of ports), rudp_keys.c,
 * rudp_session_end.c, rudp_hello.c (client side of the handshake), rudp_hello_paths.c,
 * rudp_session.c (memory and number of a session), rudp_index.c (finds sessions for handshakes and
 * RESETs).
 */
#ifndef PLENUM_DATAPLANE_RUDP_SESSION_INTERNAL_H
#define PLENUM_DATAPLANE_RUDP_SESSION_INTERNAL_H

#include "dataplane/rudp/rudp_internal.h"
#include "dataplane/rudp/session/rudp_handshake.h"

/* rudp_index.c */
int rudp_index_init(struct rudp *r);
void rudp_index_init_session(struct rudp_session *s);
/* Server: adds the session to the chains. Call it when hello_hash, peer_identity and peer_number
 * are set. */
void rudp_index_add_client(struct rudp_session *s);
/* Client: adds the session to the chain by number. Call it when peer_number is set. */
void rudp_index_add_number(struct rudp_session *s);
void rudp_index_drop(struct rudp_session *s);
/* Returns the session that this HELLO created, or NULL if there is none. */
struct rudp_session *rudp_index_hello(const struct rudp *r, uint64_t hash);
/* Returns a hash of the host name that the peer has proved; 0: the peer has proved no name. */
uint64_t rudp_index_peer(const struct rudp *r, const struct rudp_peer *peer);
struct rudp_session *rudp_index_client(const struct rudp *r, uint64_t identity, uint64_t number,
				       uint64_t peer);
/* Returns any session of this identity with this peer, or NULL; the ring `siblings` of this session
 * has the others. */
struct rudp_session *rudp_index_sibling(const struct rudp *r, uint64_t identity, uint64_t peer);
/* Finds the session to which a RESET applies: among the first few sessions whose peer_number is
 * `number`, the one for which fits() returns true. Returns NULL if there is none. */
struct rudp_session *rudp_index_number(const struct rudp *r, uint64_t number,
				       bool (*fits)(const struct rudp_session *s, const void *user),
				       const void *user);
int rudp_hellos_init(struct rudp *r);
void rudp_hellos_done(struct rudp *r);
/* Returns whether this HELLO has created a session already, even if that session has ended. */
bool rudp_hello_is_used(const struct rudp *r, uint64_t hash);
void rudp_hello_note(struct rudp *r, uint64_t hash);

/* rudp_session.c */
int rudp_session_new(struct rudp *r, bool is_client, struct rudp_session **ret);
void rudp_session_free(struct rudp_session *s); /* frees only the memory */
/* Frees the session's entry in the endpoint's table. */
void rudp_session_unplace(struct rudp_session *s);
/* Gives the session another number with the same index. Packets with the old number are then
 * invalid. */
void rudp_session_renumber(struct rudp_session *s);
/* Sets the MTU of the peer's largest port, and the chunk size of messages accordingly. */
void rudp_session_set_mtu(struct rudp_session *s, uint16_t peer_mtu);
static inline struct rudp_session *rudp_session_find(const struct rudp *r, uint64_t number)
{
	unsigned index = (unsigned)(number & RUDP_INDEX_MASK);
	struct rudp_session *s = index < r->n_sessions ? r->sessions[index] : NULL;

	return s && s->number == number ? s : NULL;
}
/* Frees the state of a handshake that is complete. */
void rudp_handshake_free(struct rudp_session *s);
/* Turns packet protection on. Returns 0, -ENOMEM or -EIO. */
int rudp_session_secure(struct rudp_session *s, enum rudp_security security,
			enum rudp_cipher cipher, const struct rudp_noise_keys *keys);
/* Frees the session's keys, which are valid only for this incarnation of the peer. */
void rudp_session_keys_forget(struct rudp_session *s);

/* rudp_session_end.c */
/* Ends the session and its calls, and reports event `e`. The session's memory is freed when the
 * last running public function of rudp returns. */
void rudp_session_end(struct rudp_session *s, enum rudp_event e, int status);
/* Client: forgets the peer's incarnation and starts a new handshake. */
void rudp_session_reconnect(struct rudp_session *s, enum rudp_event e, uint64_t now);
/* Server: ends a session whose client acknowledges no responses, or too few; sends CLOSE. */
void rudp_session_stuck(struct rudp_session *s);

/* rudp_session_poll.c */
void rudp_session_poll(struct rudp_session *s, uint64_t now);

/* rudp_port.c: ports added to running sessions */
bool rudp_port_valid(const struct rudp_port_info *p);
/* Writes the port's address into rudp.addrs, in the form in which ACCEPT and LABEL list it. */
void rudp_port_put_addr(struct rudp *r, unsigned port);
static inline bool rudp_port_addrs_pending(const struct rudp_session *s)
{
	return !s->is_client && s->n_addrs_confirmed < s->r->n_addrs;
}
/* Call while rudp_port_addrs_pending is true. */
void rudp_port_poll(struct rudp_session *s, uint64_t now);
/* Processes LABEL with ADDRESS. */
int rudp_port_rx(struct rudp_session *s, struct rudp_path *p, const struct wire_common *c,
		 const uint8_t *data, size_t len, uint64_t now);

/* rudp_keys.c: key changes. Call rudp_keys_end() while s->key_gone is set. It ends a server's
 * session, or tries again at the next poll if CLOSE cannot be sent now. It makes a client's session
 * connect again with the new keys. */
void rudp_keys_end(struct rudp_session *s, uint64_t now);

/* rudp_standing.c */
/* Sends a PING. Call it while s->ask_due is set. */
void rudp_standing_ask(struct rudp_session *s, uint64_t now);
/* If a port has received nothing for this long, the port itself may be the cause of the silence,
 * not the clients. */
#define RUDP_DEAF_NS (40 * NSEC_PER_MSEC)
/* Call when a packet of a session arrived. */
static inline void rudp_standing_heard(struct rudp *r, unsigned port, uint64_t now)
{
	if (PLENUM_UNLIKELY(now >= r->heard_ns[port] + RUDP_DEAF_NS))
		r->hears_since_ns[port] = now;
	r->heard_ns[port] = now;
}
/* Ends silent sessions while memory for responses is short. */
void rudp_standing_run(struct rudp *r, uint64_t now);
uint64_t rudp_standing_deadline(const struct rudp *r, uint64_t now);

/* rudp_rx.c */
/* Implements rudp_rx_open() for sessions with packet protection. */
int rudp_rx_unseal(struct rudp_session *s, const struct wire_common *c, const uint8_t **data,
		   size_t *len);
/* Verifies that a packet is from the peer and not a replay: *data and *len become the result of
 * rudp_secure_open. Returns 0 or -EBADMSG. */
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

#endif
