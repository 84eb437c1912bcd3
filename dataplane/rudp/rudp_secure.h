/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packet protection of one session: a 16-byte tag after each common header, made with one key per
 * direction from the handshake; under RUDP_ENCRYPT everything behind the tag is encrypted too. A
 * nonce is used once: each path numbers its own packets, and a session counter numbers control
 * packets, which are not acknowledged. Keys have phases: after some million packets a sender
 * switches to the next key (Noise's Rekey) and signals it by a bit; the other end follows with its
 * own key. Knows sessions and paths only by number; allocates only when created.
 */
#ifndef PLENUM_DATAPLANE_RUDP_SECURE_H
#define PLENUM_DATAPLANE_RUDP_SECURE_H

#include "dataplane/datagram.h"
#include "dataplane/rudp/crypto/rudp_noise.h"
#include "dataplane/rudp/rudp.h"
#include "dataplane/rudp/wire/wire.h"

#define RUDP_SECURE_BYTES RUDP_AEAD_TAG_BYTES /* growth of a packet */
/* Counters of packet numbers: one per path, and this one for control packets (ACK, CLOSE, JOIN,
 * JOINED, LABEL, SHARE). */
#define RUDP_SECURE_CONTROL WIRE_PATHS_MAX
#define RUDP_SECURE_PHASE_PACKETS (1ULL << 22) /* under one key: half of what RFC 9001 allows */
/* Authentication failures before the session rejects all packets, RFC 9001, 6.6. */
#define RUDP_SECURE_FORGED_MAX (1ULL << 36)
#define RUDP_SECURE_JOIN_MOST 2048U /* payload bytes: copies packets of 1500 bytes, not of 9000 */
/* Replay window of the control counter; older numbers are dropped. */
#define RUDP_SECURE_WINDOW 1024U

struct rudp_secure {
	enum rudp_security mode;
	enum rudp_cipher cipher;
	struct rudp_aead tx, rx;
	struct rudp_aead other; /* opens packets of the previous or next phase */
	uint8_t tx_key[RUDP_AEAD_KEY_BYTES];
	uint8_t rx_key[3][RUDP_AEAD_KEY_BYTES]; /* of the previous, current and next phase */
	uint64_t tx_phase, rx_phase;
	uint64_t tx_sealed, rx_opened; /* in this phase */
	uint64_t phase_packets;
	uint64_t forged;
	uint64_t tx_next[WIRE_PATHS_MAX + 1]; /* the lowest number that may still be sealed */
	uint64_t seen_top, seen[RUDP_SECURE_WINDOW / 64];
};

/* 0, -ENOMEM, -EIO. phase_packets 0: RUDP_SECURE_PHASE_PACKETS. */
int rudp_secure_init(struct rudp_secure *x, enum rudp_security mode, enum rudp_cipher cipher,
		     const struct rudp_noise_keys *keys, uint64_t phase_packets);
/* Forgets the keys; zeros are accepted. */
void rudp_secure_done(struct rudp_secure *x);

/* The current key of one direction and the number of keys before it. */
void rudp_secure_key(const struct rudp_secure *x, bool in, uint64_t *ret_phase,
		     const uint8_t **ret);

/*
 * in: a packet that begins with the common header. ret: the same packet with its tag. If
 * rudp_secure_joins, the whole packet is stored in one piece in `buf` (packet size plus
 * RUDP_SECURE_BYTES) and becomes ret's payload, with an empty header. A number may be reused only
 * if the packet was not sent; rudp_secure_sent records that it was. 0; -EKEYEXPIRED: no usable key
 * left, end the session; -EIO.
 */
int rudp_secure_seal(struct rudp_secure *x, unsigned counter, uint64_t number,
		     const struct datagram *in, uint8_t *buf, struct datagram *ret);
/* A large payload is not copied for a tag alone; other payloads the port copies anyway. */
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
 * data: a whole datagram. 0: *ret is the packet as before sealing, except that the common header is
 * missing: its other fields are at their usual offsets. It is in `buf` (len bytes) under
 * RUDP_ENCRYPT, else in data. -EBADMSG: forged, damaged or, for control packets, replayed.
 */
int rudp_secure_open(struct rudp_secure *x, unsigned counter, uint64_t number, const uint8_t *data,
		     size_t len, uint8_t *buf, const uint8_t **ret, size_t *ret_len);

#endif
