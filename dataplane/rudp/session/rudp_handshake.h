/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The handshake of a session, on the client's side (rudp_hello.c) and the server's side
 * (rudp_accept.c), and LABEL, which later changes a part of what it negotiated (rudp_label.c).
 */
#ifndef PLENUM_DATAPLANE_RUDP_HANDSHAKE_H
#define PLENUM_DATAPLANE_RUDP_HANDSHAKE_H

#include "dataplane/rudp/crypto/rudp_noise.h"
#include "dataplane/rudp/rudp_path.h"
#include "dataplane/rudp/wire/wire.h"

/* Maximum number of bytes of the sealed body of an answer to HELLO. */
#define RUDP_PROOF_MAX (WIRE_CERTIFICATE_HEAD_BYTES + WIRE_CERTIFICATE_MAX)
#define RUDP_ANSWER_MAX                                                               \
	(RUDP_PROOF_MAX + WIRE_ACCEPT_BODY_BYTES + WIRE_ADDRS_MAX * WIRE_ADDR_BYTES + \
	 RUDP_NOISE_OVERHEAD)
/* Maximum number of bytes of the sealed body of a HELLO. */
#define RUDP_HELLO_MAX \
	(RUDP_PROOF_MAX + WIRE_HELLO_BODY_BYTES + WIRE_HELLO_APP_MAX + RUDP_NOISE_IK_OVERHEAD)
_Static_assert(RUDP_HELLO_MAX <= RUDP_ANSWER_MAX, "rudp_handshake.body has space for both");
_Static_assert(RUDP_ANSWER_MAX + WIRE_ANSWER_BYTES < 1232, "fits into a packet of the least MTU");

/* Maximum time after which a refused client tries again; up to a quarter is added to it. */
#define RUDP_REFUSED_MOST_NS (4 * NSEC_PER_SEC)

/* State of a handshake. Client: the HELLO with its cookie, and the Noise state that can read the
 * answer. Server: the ACCEPT, which is kept until the client has confirmed it. */
struct rudp_handshake {
	struct rudp_noise noise;
	bool identity;	  /* client: the handshake is IKpsk1, which proves identities */
	bool chosen, due; /* client: the handshake continues on `path`; server: ACCEPT must be sent
			     at the next poll */
	uint8_t path;
	uint8_t n_late;	 /* client: consecutive handshakes that were not accepted in time */
	uint8_t n_stale; /* client: consecutive cookies that the server rejected */
	/* client: n_failed: count of consecutive rounds of handshakes that failed; refused_paths: a
	 * bit for each path that was refused in the current round */
	uint8_t n_failed, refused_paths;
	unsigned n_sent;
	uint32_t stamp;
	uint64_t chosen_ns;
	uint16_t body_len;
	uint8_t hdr[WIRE_HELLO_BYTES];
	uint8_t body[RUDP_ANSWER_MAX];
	/* client: all addresses of the server in the server's order, including those that no port
	 * of this client reaches */
	struct wire_addr addrs[WIRE_ADDRS_MAX];
	unsigned n_addrs;
};

/* rudp_accept.c: server side of the handshake */
int rudp_accept_init(struct rudp *r);
int rudp_accept_hello(struct rudp *r, unsigned port, const struct datagram_addr *src,
		      const struct wire_common *c, const uint8_t *data, size_t len, uint64_t now);
/* Sends the session's ACCEPT again. */
void rudp_accept_send(struct rudp_session *s);
/* Answers a HELLO of another version with the versions that this endpoint supports. */
void rudp_accept_versions(struct rudp *r, unsigned port, const struct datagram_addr *src,
			  const uint8_t *data);
/* Processes JOIN. data: the packet as rudp_rx_open() returned it. */
int rudp_accept_join(struct rudp_session *s, unsigned port, const struct datagram_addr *src,
		     const struct wire_common *c, const uint8_t *data, size_t len, uint64_t now);

/* rudp_hello_paths.c: the paths that a client tries */
/* Returns a bit for each port from which to reach `a`: the ports in the subnet of `a`. If there are
 * none, returns the ports with routes to other subnets. If there are none either, returns all ports
 * of the address family of `a`. */
unsigned rudp_hello_ports(const struct rudp *r, const struct ip_addr *a, unsigned *ret);
/* Adds paths to the addresses that the client tries. There may be more combinations of port and
 * address than paths. Combinations in which port and address belong together come first, so that
 * each port has a path and each address is tried. */
void rudp_hello_add_seeds(struct rudp_session *s, uint64_t now);
/* Adds paths to the addresses that the server listed, beginning with that index. */
void rudp_hello_add_addresses(struct rudp_session *s, unsigned first, uint64_t now);
/* Returns the stamp of a packet of the handshake: microseconds. */
static inline uint32_t rudp_stamp(uint64_t now)
{
	return (uint32_t)(now / NSEC_PER_USEC);
}

/* rudp_hello.c: client side of the handshake */
void rudp_hello_start(struct rudp_session *s, uint64_t now);
/* Ends the pause of a refused client at once, because the reason for the refusal may no longer
 * exist. */
void rudp_hello_unpause(struct rudp_session *s, uint64_t now);
/* Like rudp_hello_start(), but after a former session has ended. Waits first if sessions with this
 * server repeatedly end right after they began. */
void rudp_hello_start_again(struct rudp_session *s, uint64_t now);
void rudp_hello_poll(struct rudp_session *s, uint64_t now);
/* Adds paths for a new port of this client, or for a new address of the server. */
void rudp_hello_port(struct rudp_session *s, uint64_t now);
void rudp_hello_address(struct rudp_session *s, unsigned index, const struct wire_addr *a,
			uint64_t now);
/* Decides whether the path is standby, by the labels on both sides or, while a label is unknown, by
 * the order of addresses. */
void rudp_hello_classify(struct rudp_session *s, struct rudp_path *p, uint64_t now);
uint64_t rudp_hello_deadline(const struct rudp_session *s);
int rudp_hello_rx(struct rudp *r, unsigned port, const struct datagram_addr *src,
		  const struct wire_common *c, const uint8_t *data, size_t len, uint64_t now);
int rudp_hello_joined(struct rudp_session *s, struct rudp_path *p, const struct wire_common *c,
		      const uint8_t *data, size_t len, uint64_t now);
int rudp_hello_versions(struct rudp *r, unsigned port, const struct datagram_addr *src,
			const uint8_t *data, size_t len, uint64_t now);

/* rudp_label.c: changes of labels */
void rudp_label_path_made(struct rudp_session *s, struct rudp_path *p, uint64_t now);
/* Call while p->label_pending. */
void rudp_label_poll(struct rudp_session *s, struct rudp_path *p, uint64_t now);
int rudp_label_rx(struct rudp_session *s, struct rudp_path *p, const struct wire_common *c,
		  const uint8_t *data, size_t len, uint64_t now);

#endif
