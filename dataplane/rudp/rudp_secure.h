/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packet protection of one session: each packet gets a 16-byte tag after its common header, with a
 * key per direction from the handshake. Under RUDP_ENCRYPT everything behind the tag is encrypted
 * too. A nonce must not repeat: each path numbers its own packets, and a counter of the session
 * numbers control packets, which are not acknowledged.
 *
 * Keys change in phases. After some million packets a sender switches to the next key (Rekey of
 * Noise) and signals that by a bit in the packet; the other side then switches its own send key
 * too. This module uses sessions and paths only by number, and allocates memory only in
 * rudp_secure_init().
 */
#ifndef PLENUM_DATAPLANE_RUDP_SECURE_H
#define PLENUM_DATAPLANE_RUDP_SECURE_H

#include "dataplane/datagram.h"
#include "dataplane/rudp/crypto/rudp_noise.h"
#include "dataplane/rudp/rudp.h"
#include "dataplane/rudp/wire/wire.h"

#define RUDP_SECURE_BYTES RUDP_AEAD_TAG_BYTES /* bytes that protection adds to a packet */
/* Each path has a counter of packet numbers; this is the counter of control packets (ACK, CLOSE,
 * JOIN, JOINED, LABEL, SHARE). */
#define RUDP_SECURE_CONTROL WIRE_PATHS_MAX
/* Count of packets that are sealed with one key: half of the number that RFC 9001 allows. */
#define RUDP_SECURE_PHASE_PACKETS (1ULL << 22)
/* After this many failed authentications the session rejects all packets (RFC 9001, 6.6). */
#define RUDP_SECURE_FORGED_MAX (1ULL << 36)
/* Packets with up to this many bytes of payload are copied: packets of 1500 bytes are, packets of
 * 9000 bytes are not. */
#define RUDP_SECURE_JOIN_MOST 2048U
/* Size of the replay window of the control counter. Packets with numbers older than the window are
 * dropped. */
#define RUDP_SECURE_WINDOW 1024U

struct rudp_secure {
	enum rudp_security mode;
	enum rudp_cipher cipher;
	struct rudp_aead tx, rx;
	struct rudp_aead other; /* the cipher for packets of the previous or next phase */
	uint8_t tx_key[RUDP_AEAD_KEY_BYTES];
	uint8_t rx_key[3][RUDP_AEAD_KEY_BYTES]; /* keys of the previous, current and next phase */
	uint64_t tx_phase, rx_phase;
	uint64_t tx_sealed, rx_opened; /* count of packets sealed and opened in this phase */
	uint64_t phase_packets;
	uint64_t forged;
	uint64_t tx_next[WIRE_PATHS_MAX + 1]; /* per counter: the lowest packet number that may
						 still be sealed */
	uint64_t seen_top, seen[RUDP_SECURE_WINDOW / 64];
};

/* Returns 0, -ENOMEM or -EIO. phase_packets 0 stands for RUDP_SECURE_PHASE_PACKETS. */
int rudp_secure_init(struct rudp_secure *x, enum rudp_security mode, enum rudp_cipher cipher,
		     const struct rudp_noise_keys *keys, uint64_t phase_packets);
/* Wipes the keys; x may be all zeros. */
void rudp_secure_done(struct rudp_secure *x);

/* Returns the current key of one direction, and how many keys came before it. */
void rudp_secure_key(const struct rudp_secure *x, bool in, uint64_t *ret_phase,
		     const uint8_t **ret);

/*
 * Seals a packet. in: a packet that begins with the common header. ret: the same packet with its
 * tag. If rudp_secure_joins() returns true, the whole packet is stored in one piece in `buf` (which
 * needs the packet's size plus RUDP_SECURE_BYTES) and becomes ret's payload, with an empty header.
 * A number may be used again only if the packet was not sent; call rudp_secure_sent() when it was
 * sent. Returns 0, -EKEYEXPIRED if no usable key is left, so that the session must end, or -EIO.
 */
int rudp_secure_seal(struct rudp_secure *x, unsigned counter, uint64_t number,
		     const struct datagram *in, uint8_t *buf, struct datagram *ret);
/* Returns whether the packet is sealed in one piece in a buffer. Only smaller payloads are, because
 * the port would copy them anyway; a large payload is not copied for its tag. */
static inline bool rudp_secure_joins(const struct rudp_secure *x, const struct datagram *in)
{
	return in->payload_len > 0 &&
	       (x->mode == RUDP_ENCRYPT || in->payload_len <= RUDP_SECURE_JOIN_MOST);
}
static inline void rudp_secure_sent(struct rudp_secure *x, unsigned counter, uint64_t number)
{
	x->tx_next[counter] = number + 1;
}

/*
 * Opens a packet. data: a whole datagram. Returns 0, or -EBADMSG if the packet is forged, damaged
 * or (only control packets) replayed. On success *ret is the packet as it was before sealing: its
 * fields are at their usual offsets, except that the common header is missing. It is in `buf` (len
 * bytes) under RUDP_ENCRYPT, else in data.
 */
int rudp_secure_open(struct rudp_secure *x, unsigned counter, uint64_t number, const uint8_t *data,
		     size_t len, uint8_t *buf, const uint8_t **ret, size_t *ret_len);

#endif
